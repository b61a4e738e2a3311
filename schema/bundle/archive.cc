#include "schema/bundle/archive.h"

#include <zstd.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <utility>

#include "base/utf8.h"
#include "schema/bundle/names.h"
#include "schema/bundle/refuse.h"

namespace capbench::bundle {
namespace {

constexpr std::size_t kBlock = 512;
constexpr std::size_t kEnd = 2 * kBlock;  // of zeros, behind the last member
constexpr int kLevel = 9;                 // beyond it, text shrinks by little and takes long
constexpr std::uint64_t kSignatureBytes = 64U << 10U;
constexpr std::uint64_t kRatioFloor = 1U << 20U;  // what little unpacks to may be as regular as it likes
constexpr std::string_view kWhole = "the bundle";

// POSIX.1-1988, "ustar Interchange Format".
struct Header {
  char name[100];
  char mode[8];
  char uid[8];
  char gid[8];
  char size[12];
  char mtime[12];
  char checksum[8];
  char type;
  char link[100];
  char magic[6];
  char version[2];
  char owner[32];
  char group[32];
  char major[8];
  char minor[8];
  char prefix[155];
  char unused[12];
};
static_assert(sizeof(Header) == kBlock);

std::uint64_t padded(std::uint64_t size) {
  return (size + kBlock - 1) / kBlock * kBlock;
}

// Octal digits and a NUL.
template <std::size_t Size>
void put_octal(char (&field)[Size], std::uint64_t value) {
  field[Size - 1] = '\0';
  for (std::size_t i = Size - 1; i-- > 0; value /= 8) field[i] = static_cast<char>('0' + value % 8);
}

// As put_octal() writes it; nothing else is a number here.
std::optional<std::uint64_t> octal(std::string_view field) {
  std::uint64_t value = 0;
  if (field.back() != '\0') return std::nullopt;
  field.remove_suffix(1);
  for (const char c : field) {
    if (c < '0' || c > '7') return std::nullopt;
    value = value * 8 + static_cast<std::uint64_t>(c - '0');
  }
  return value;
}

// The sum of the header's bytes, its own field taken for blanks.
std::uint64_t checksum(const Header& header) {
  Header blank = header;
  std::memset(blank.checksum, ' ', sizeof blank.checksum);
  std::array<unsigned char, kBlock> bytes{};
  std::memcpy(bytes.data(), &blank, kBlock);
  std::uint64_t sum = 0;
  for (const unsigned char byte : bytes) sum += byte;
  return sum;
}

void put_checksum(Header& header) {
  const std::uint64_t sum = checksum(header);
  char digits[7];
  put_octal(digits, sum);
  std::memcpy(header.checksum, digits, sizeof digits);
  header.checksum[7] = ' ';
}

Header header_of(const Member& member) {
  Header header{};
  std::memcpy(header.name, member.name.data(), std::min(member.name.size(), sizeof header.name));
  put_octal(header.mode, 0644);
  put_octal(header.uid, 0);
  put_octal(header.gid, 0);
  put_octal(header.size, member.bytes.size());
  put_octal(header.mtime, 0);
  header.type = '0';
  std::memcpy(header.magic, "ustar", 6);
  std::memcpy(header.version, "00", 2);
  put_octal(header.major, 0);
  put_octal(header.minor, 0);
  put_checksum(header);
  return header;
}

template <std::size_t Size>
std::string_view view(const char (&field)[Size]) {
  return {field, Size};
}

bool is_zero(std::string_view bytes) {
  return std::all_of(bytes.begin(), bytes.end(), [](char c) { return c == '\0'; });
}

std::string_view type_name(char type) {
  switch (type) {
    case '1':
      return "a hard link";
    case '2':
      return "a symbolic link";
    case '3':
      return "a character device";
    case '4':
      return "a block device";
    case '5':
      return "a folder";
    case '6':
      return "a named pipe";
    case 'x':
    case 'g':
    case 'X':
      return "a pax record";
    case 'L':
    case 'K':
      return "a long name";
    case 'S':
      return "a sparse file";
    default:
      return "an entry of unknown kind";
  }
}

std::string above(std::string_view what, std::uint64_t found, std::uint64_t limit) {
  return std::string(what) + ": " + std::to_string(found) + ", at most " + std::to_string(limit) + " are taken";
}

constexpr std::string_view kSmaller = "make several bundles of fewer runs each";

Status check_size(const Member& member, std::uint64_t size, const Limits& limits) {
  const Kind kind = kind_of(member.name);
  const std::uint64_t limit = kind == Kind::kRaw         ? limits.raw_bytes
                              : kind == Kind::kSignature ? kSignatureBytes
                                                         : limits.json_bytes;
  if (size <= limit) return {};
  return refuse(member.name, above("too many bytes", size, limit),
                kind == Kind::kRaw ? "withhold the raw output, or measure with a tool that prints less" : kSmaller);
}

Status check_total(std::uint64_t unpacked, std::uint64_t archive_bytes, const Limits& limits) {
  if (unpacked > limits.unpacked_bytes) {
    return refuse(kWhole, above("too many bytes when unpacked", unpacked, limits.unpacked_bytes), kSmaller);
  }
  if (unpacked > kRatioFloor && archive_bytes > 0 && unpacked / archive_bytes > limits.ratio) {
    return refuse(kWhole, above("unpacks to too many times its size", unpacked / archive_bytes, limits.ratio),
                  "leave out members that are nothing but repetition");
  }
  return {};
}

Status check_archive_bytes(std::uint64_t bytes, const Limits& limits) {
  if (bytes <= limits.archive_bytes) return {};
  return refuse(kWhole, above("too many bytes", bytes, limits.archive_bytes), kSmaller);
}

Status check_count(std::size_t members, const Limits& limits) {
  if (members <= limits.members) return {};
  return refuse(kWhole, above("too many members", members, limits.members), kSmaller);
}

constexpr std::string_view kFrameMagic = "\x28\xB5\x2F\xFD";  // RFC 8878, 3.1.1

// Exactly one frame, which says how much it unpacks to.
Result<std::string> decompress(std::string_view archive, const Limits& limits) {
  if (Status status = check_archive_bytes(archive.size(), limits); !status) return std::move(status).error();
  if (!may_be_bundle(archive)) {
    return refuse(kWhole,
                  archive.empty() ? "empty" : "not a capbench bundle: it does not begin as a Zstandard file does",
                  "name a file that `capbench submit --out FILE` wrote");
  }
  const unsigned long long claimed = ZSTD_getFrameContentSize(archive.data(), archive.size());
  if (claimed == ZSTD_CONTENTSIZE_ERROR) return refuse(kWhole, "its compressed form is damaged", kAskAgain);
  if (claimed == ZSTD_CONTENTSIZE_UNKNOWN) {
    return refuse(kWhole, "it does not say how much it unpacks to", kMakeAgain);
  }
  if (Status status = check_total(claimed, archive.size(), limits); !status) return std::move(status).error();
  const std::size_t frame = ZSTD_findFrameCompressedSize(archive.data(), archive.size());
  if (ZSTD_isError(frame) != 0) return refuse(kWhole, "its compressed form is cut short or damaged", kAskAgain);
  if (frame != archive.size()) {
    return refuse(kWhole, std::to_string(archive.size() - frame) + " bytes follow its end", kAskAgain);
  }
  std::string tar(static_cast<std::size_t>(claimed), '\0');
  const std::size_t size = ZSTD_decompress(tar.data(), tar.size(), archive.data(), archive.size());
  if (ZSTD_isError(size) != 0) {
    return refuse(kWhole, std::string("its compressed form is damaged (") + ZSTD_getErrorName(size) + ")", kAskAgain);
  }
  if (size != tar.size()) return refuse(kWhole, "it unpacks to less than it says", kAskAgain);
  return tar;
}

// What is not as header_of() writes it.
Error foreign_header(std::string_view name) {
  return refuse(name, "its header is not as capbench writes it (mode, owner, time or padding)", kMakeAgain);
}

class Walk {
 public:
  Walk(std::string_view tar, const Limits& limits) : tar_(tar), limits_(limits) {}

  Result<std::vector<Member>> members() {
    if (tar_.size() % kBlock != 0 || tar_.size() < kEnd) {
      return refuse(kWhole, "no tar archive is in it", kMakeAgain);
    }
    for (;;) {
      if (tar_.size() - at_ < kEnd) return refuse(kWhole, "its tar archive has no end", kAskAgain);
      if (is_zero(tar_.substr(at_, kBlock))) break;
      if (Status status = next(); !status) return std::move(status).error();
    }
    if (tar_.size() - at_ != kEnd || !is_zero(tar_.substr(at_))) {
      return refuse(kWhole, "something follows the end of its tar archive", kAskAgain);
    }
    return std::move(members_);
  }

 private:
  Status next() {
    Header header;
    std::memcpy(&header, tar_.data() + at_, kBlock);
    // The member points into the archive, not into the copy.
    const std::string_view field = tar_.substr(at_, sizeof header.name);
    Member member{field.substr(0, std::min(field.find('\0'), field.size())), {}};
    // A name that is not a member's may hold anything.
    const auto refuse_entry = [&](std::string cause, std::string_view remedy) {
      return refuse(member.name.empty() ? std::string(kWhole) : in_quotes(member.name), std::move(cause), remedy);
    };
    Header right = header;
    put_checksum(right);
    if (view(right.checksum) != view(header.checksum)) {
      return refuse_entry("the checksum of its header is wrong", kAskAgain);
    }
    if (header.type != '0') {
      return refuse_entry("it is " + std::string(type_name(header.type)) + "; a bundle holds regular files only",
                          kMakeAgain);
    }
    if (!is_zero(field.substr(member.name.size()))) return refuse_entry("its name goes on behind a NUL", kMakeAgain);
    if (kind_of(member.name) == Kind::kNone) return refuse_entry(why_no_name(member.name), kMakeAgain);
    const std::optional<std::uint64_t> size = octal(view(header.size));
    if (!size) return refuse(member.name, "its size is not a number as capbench writes it", kMakeAgain);
    if (Status status = check_count(members_.size() + 1, limits_); !status) return status;
    if (Status status = check_size(member, *size, limits_); !status) return status;
    if (*size > tar_.size() - at_ - kBlock) return refuse(member.name, "it is cut short", kAskAgain);
    const std::uint64_t room = padded(*size);
    if (room > tar_.size() - at_ - kBlock) return refuse(member.name, "it is cut short", kAskAgain);
    member.bytes = tar_.substr(at_ + kBlock, static_cast<std::size_t>(*size));
    const Header expected = header_of(member);
    if (std::memcmp(&expected, &header, kBlock) != 0) return foreign_header(member.name);
    if (!is_zero(tar_.substr(at_ + kBlock + member.bytes.size(), static_cast<std::size_t>(room - *size)))) {
      return foreign_header(member.name);
    }
    if (!members_.empty() && member.name <= members_.back().name) {
      return refuse(member.name, member.name == members_.back().name ? "it is there twice" : "it is out of order",
                    kMakeAgain);
    }
    members_.push_back(member);
    at_ += kBlock + static_cast<std::size_t>(room);
    return {};
  }

  std::string_view tar_;
  const Limits& limits_;
  std::size_t at_ = 0;
  std::vector<Member> members_;
};

}  // namespace

bool may_be_bundle(std::string_view beginning) {
  return beginning.starts_with(kFrameMagic);
}

std::uint64_t unpacked_size(const std::vector<Member>& members) {
  std::uint64_t size = kEnd;
  for (const Member& member : members) size += kBlock + padded(member.bytes.size());
  return size;
}

Status check_sizes(const std::vector<Member>& members, std::uint64_t archive_bytes, const Limits& limits) {
  if (Status status = check_count(members.size(), limits); !status) return status;
  for (const Member& member : members) {
    if (Status status = check_size(member, member.bytes.size(), limits); !status) return status;
  }
  if (Status status = check_archive_bytes(archive_bytes, limits); !status) return status;
  return check_total(unpacked_size(members), archive_bytes, limits);
}

Result<std::string> pack(const std::vector<Member>& members) {
  std::string tar;
  tar.reserve(static_cast<std::size_t>(unpacked_size(members)));
  for (const Member& member : members) {
    const Header header = header_of(member);
    const std::size_t begin = tar.size();
    tar.resize(begin + kBlock);
    std::memcpy(tar.data() + begin, &header, kBlock);
    tar += member.bytes;
    tar.resize(static_cast<std::size_t>(padded(tar.size())), '\0');
  }
  tar.resize(tar.size() + kEnd, '\0');

  struct Free {
    void operator()(ZSTD_CCtx* context) const { ZSTD_freeCCtx(context); }
  };
  const std::unique_ptr<ZSTD_CCtx, Free> context(ZSTD_createCCtx());
  const Error no_memory{ErrorKind::kMachine, std::string(kWhole), "not enough memory to compress it",
                        "close other programs, or choose fewer runs"};
  if (!context) return no_memory;
  ZSTD_CCtx_setParameter(context.get(), ZSTD_c_compressionLevel, kLevel);
  ZSTD_CCtx_setParameter(context.get(), ZSTD_c_checksumFlag, 1);
  ZSTD_CCtx_setParameter(context.get(), ZSTD_c_contentSizeFlag, 1);
  std::string archive(ZSTD_compressBound(tar.size()), '\0');
  const std::size_t size = ZSTD_compress2(context.get(), archive.data(), archive.size(), tar.data(), tar.size());
  if (ZSTD_isError(size) != 0) return no_memory;
  archive.resize(size);
  return archive;
}

Result<Unpacked> unpack(std::string_view archive, const Limits& limits) {
  Result<std::string> tar = decompress(archive, limits);
  if (!tar) return std::move(tar).error();
  Unpacked unpacked{std::move(*tar), {}};
  // A short text that is moved would leave the members behind; no tar archive is that short.
  Result<std::vector<Member>> members = Walk(unpacked.tar, limits).members();
  if (!members) return std::move(members).error();
  unpacked.members = std::move(*members);
  return unpacked;
}

}  // namespace capbench::bundle
