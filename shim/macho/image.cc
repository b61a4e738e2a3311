#include "shim/macho/image.h"

#include <fmt/format.h>

#include <algorithm>

namespace capbench::macho {
namespace {

constexpr std::uint32_t kMagic64 = 0xfeedfacf;
constexpr std::uint64_t kHeaderSize = 32;

// Load commands; the highest bit says that the loader must know the command.
constexpr std::uint32_t kMustKnow = 0x80000000;
constexpr std::uint32_t kSymtab = 0x2;
constexpr std::uint32_t kUnixThread = 0x5;
constexpr std::uint32_t kLoadDylib = 0xc;
constexpr std::uint32_t kIdDylib = 0xd;
constexpr std::uint32_t kLoadWeakDylib = 0x18 | kMustKnow;
constexpr std::uint32_t kSegment64 = 0x19;
constexpr std::uint32_t kUuid = 0x1b;
constexpr std::uint32_t kRpath = 0x1c | kMustKnow;
constexpr std::uint32_t kCodeSignature = 0x1d;
constexpr std::uint32_t kReexportDylib = 0x1f | kMustKnow;
constexpr std::uint32_t kLazyLoadDylib = 0x20;
constexpr std::uint32_t kDyldInfo = 0x22;
constexpr std::uint32_t kLoadUpwardDylib = 0x23 | kMustKnow;
constexpr std::uint32_t kVersionMinMacos = 0x24;
constexpr std::uint32_t kVersionMinIos = 0x25;
constexpr std::uint32_t kMain = 0x28 | kMustKnow;
constexpr std::uint32_t kEncryptionInfo64 = 0x2c;
constexpr std::uint32_t kVersionMinTvos = 0x2f;
constexpr std::uint32_t kVersionMinWatchos = 0x30;
constexpr std::uint32_t kBuildVersion = 0x32;
constexpr std::uint32_t kExportsTrie = 0x33 | kMustKnow;
constexpr std::uint32_t kChainedFixups = 0x34 | kMustKnow;

struct Command {
  std::uint32_t type = 0;
  Bytes bytes;  // with its 8 bytes of type and size
  std::string where;
};

template <class T>
T field(const Command& command, std::uint64_t offset) {
  return little<T>(command.bytes, offset).value_or(0);
}

Status need(const Command& command, std::uint64_t size) {
  if (command.bytes.size() >= size) return {};
  return malformed(command.where, fmt::format("has {} bytes where {} are needed", command.bytes.size(), size));
}

Result<std::string_view> command_string(const Command& command, std::uint64_t field_offset, std::uint64_t fixed_size) {
  if (Status enough = need(command, fixed_size); !enough) return enough.error();
  const auto offset = field<std::uint32_t>(command, field_offset);
  const std::optional<std::string_view> text = offset < fixed_size ? std::nullopt : c_string(command.bytes, offset);
  if (!text) return malformed(command.where, "its string lies outside of it or has no end");
  return *text;
}

Result<LinkEdit> link_edit(const Image& image, const Command& command, std::uint32_t offset, std::uint64_t size) {
  if (size == 0) return LinkEdit{};
  const std::optional<Bytes> bytes = slice_of(image.bytes, offset, size);
  if (!bytes) {
    return malformed(command.where, fmt::format("its {} bytes from {} are not within the image's {}", size, offset,
                                                image.bytes.size()));
  }
  return LinkEdit{true, *bytes};
}

// Reads an {offset, size} pair of the command into `out`.
Status read_link_edit(const Image& image, const Command& command, std::uint64_t at, LinkEdit& out) {
  if (Status enough = need(command, at + 8); !enough) return enough;
  const Result<LinkEdit> data =
      link_edit(image, command, field<std::uint32_t>(command, at), field<std::uint32_t>(command, at + 4));
  if (!data) return data.error();
  out = *data;
  return {};
}

Result<Section> read_section(const Image& image, const Segment& segment, const Command& command, std::uint64_t at) {
  Section section;
  section.name = padded_string(command.bytes.subspan(static_cast<std::size_t>(at), 16));
  section.segment = padded_string(command.bytes.subspan(static_cast<std::size_t>(at) + 16, 16));
  section.address = field<std::uint64_t>(command, at + 32);
  section.size = field<std::uint64_t>(command, at + 40);
  section.offset = field<std::uint32_t>(command, at + 48);
  section.align = field<std::uint32_t>(command, at + 52);
  section.flags = field<std::uint32_t>(command, at + 64);
  for (std::size_t i = 0; i < section.reserved.size(); ++i) {
    section.reserved[i] = field<std::uint32_t>(command, at + 68 + 4 * i);
  }
  const std::string where = fmt::format("section {},{}", section.segment, section.name);
  if (section.address < segment.address || !within(section.address - segment.address, section.size, segment.vm_size)) {
    return malformed(where, "lies outside its segment");
  }
  if (!section.zero_fill() && section.size != 0 && !within(section.offset, section.size, image.bytes.size())) {
    return malformed(where, fmt::format("its {} bytes from {} are not within the image's {}", section.size,
                                        section.offset, image.bytes.size()));
  }
  return section;
}

Status read_segment(Image& image, const Command& command) {
  constexpr std::uint64_t kFixed = 72;
  constexpr std::uint64_t kSectionSize = 80;
  if (Status enough = need(command, kFixed); !enough) return enough;
  Segment segment;
  segment.name = padded_string(command.bytes.subspan(8, 16));
  segment.address = field<std::uint64_t>(command, 24);
  segment.vm_size = field<std::uint64_t>(command, 32);
  segment.file_offset = field<std::uint64_t>(command, 40);
  segment.file_size = field<std::uint64_t>(command, 48);
  segment.max_prot = field<std::uint32_t>(command, 56);
  segment.init_prot = field<std::uint32_t>(command, 60);
  segment.flags = field<std::uint32_t>(command, 68);
  const std::string where = fmt::format("segment {}", segment.name);
  const std::optional<Bytes> bytes = slice_of(image.bytes, segment.file_offset, segment.file_size);
  if (!bytes) {
    return malformed(where, fmt::format("its {} bytes from {} are not within the image's {}", segment.file_size,
                                        segment.file_offset, image.bytes.size()));
  }
  segment.bytes = *bytes;
  if (segment.file_size > segment.vm_size) return malformed(where, "has more bytes in the file than in memory");
  if (segment.vm_size > UINT64_MAX - segment.address) return malformed(where, "ends beyond the address space");
  const auto count = field<std::uint32_t>(command, 64);
  if (count > (command.bytes.size() - kFixed) / kSectionSize) {
    return malformed(where, fmt::format("says {} sections and has no room for them", count));
  }
  for (std::uint64_t i = 0; i < count; ++i) {
    const Result<Section> section = read_section(image, segment, command, kFixed + i * kSectionSize);
    if (!section) return section.error();
    image.restricted = image.restricted || (section->segment == "__RESTRICT" && section->name == "__restrict");
    segment.sections.push_back(*section);
  }
  image.segments.push_back(std::move(segment));
  return {};
}

std::optional<LinkKind> link_kind(std::uint32_t command) {
  switch (command) {
    case kLoadDylib:
      return LinkKind::kRegular;
    case kLoadWeakDylib:
      return LinkKind::kWeak;
    case kReexportDylib:
      return LinkKind::kReexport;
    case kLazyLoadDylib:
      return LinkKind::kLazy;
    case kLoadUpwardDylib:
      return LinkKind::kUpward;
    default:
      return std::nullopt;
  }
}

Status read_library(Image& image, const Command& command, LinkKind kind) {
  const Result<std::string_view> path = command_string(command, 8, 24);
  if (!path) return path.error();
  image.libraries.push_back({*path, kind, field<std::uint32_t>(command, 16), field<std::uint32_t>(command, 20)});
  return {};
}

Status read_dyld_info(Image& image, const Command& command) {
  LinkEdit* const parts[] = {&image.rebase, &image.bind, &image.weak_bind, &image.lazy_bind};
  std::uint64_t at = 8;
  for (LinkEdit* part : parts) {
    if (Status read = read_link_edit(image, command, at, *part); !read) return read;
    at += 8;
  }
  LinkEdit trie;
  if (Status read = read_link_edit(image, command, at, trie); !read) return read;
  if (!image.exports_trie.present) image.exports_trie = trie;
  return {};
}

Status read_symtab(Image& image, const Command& command) {
  if (Status enough = need(command, 24); !enough) return enough;
  const Result<LinkEdit> symbols = link_edit(image, command, field<std::uint32_t>(command, 8),
                                             field<std::uint32_t>(command, 12) * std::uint64_t{16});
  if (!symbols) return symbols.error();
  image.symbol_table = *symbols;
  return read_link_edit(image, command, 16, image.string_table);
}

std::uint32_t platform_of(std::uint32_t version_min_command) {
  switch (version_min_command) {
    case kVersionMinMacos:
      return 1;
    case kVersionMinIos:
      return 2;
    case kVersionMinTvos:
      return 3;
    default:
      return 4;
  }
}

Status read_version(Image& image, const Command& command) {
  const bool modern = command.type == kBuildVersion;
  if (Status enough = need(command, modern ? 24 : 16); !enough) return enough;
  if (modern) {
    image.builds.push_back(
        {field<std::uint32_t>(command, 8), field<std::uint32_t>(command, 12), field<std::uint32_t>(command, 16)});
  } else {
    image.builds.push_back(
        {platform_of(command.type), field<std::uint32_t>(command, 8), field<std::uint32_t>(command, 12)});
  }
  return {};
}

Status read_uuid(Image& image, const Command& command) {
  if (Status enough = need(command, 24); !enough) return enough;
  std::array<std::uint8_t, 16> uuid = {};
  for (std::size_t i = 0; i < uuid.size(); ++i) uuid[i] = std::to_integer<std::uint8_t>(command.bytes[8 + i]);
  image.uuid = uuid;
  return {};
}

Status read_command(Image& image, const Command& command) {
  if (const std::optional<LinkKind> kind = link_kind(command.type)) return read_library(image, command, *kind);
  switch (command.type) {
    case kSegment64:
      return read_segment(image, command);
    case kSymtab:
      return read_symtab(image, command);
    case kIdDylib: {
      const Result<std::string_view> name = command_string(command, 8, 24);
      if (!name) return name.error();
      image.install_name = *name;
      return {};
    }
    case kRpath: {
      const Result<std::string_view> path = command_string(command, 8, 12);
      if (!path) return path.error();
      image.rpaths.push_back(*path);
      return {};
    }
    case kDyldInfo:
    case kDyldInfo | kMustKnow:
      return read_dyld_info(image, command);
    case kExportsTrie:
      return read_link_edit(image, command, 8, image.exports_trie);
    case kChainedFixups:
      return read_link_edit(image, command, 8, image.chained_fixups);
    case kCodeSignature:
      return read_link_edit(image, command, 8, image.code_signature);
    case kBuildVersion:
    case kVersionMinMacos:
    case kVersionMinIos:
    case kVersionMinTvos:
    case kVersionMinWatchos:
      return read_version(image, command);
    case kUuid:
      return read_uuid(image, command);
    case kMain:
      if (Status enough = need(command, 24); !enough) return enough;
      image.entry = field<std::uint64_t>(command, 8);  // an offset; the base is added when all segments are known
      return {};
    case kEncryptionInfo64:
      if (Status enough = need(command, 24); !enough) return enough;
      image.encrypted = field<std::uint32_t>(command, 16) != 0;
      return {};
    case kUnixThread:  // the entry of kernels and of static programs: nobody here starts those
    default:
      return {};
  }
}

Status read_commands(Image& image, std::uint32_t count, std::uint32_t size) {
  const std::optional<Bytes> commands = slice_of(image.bytes, kHeaderSize, size);
  if (!commands) return malformed("header", "its load commands end beyond the image");
  std::uint64_t at = 0;
  for (std::uint32_t i = 0; i < count; ++i) {
    Command command;
    const auto type = little<std::uint32_t>(*commands, at);
    const auto length = little<std::uint32_t>(*commands, at + 4);
    if (!type || !length) return malformed("header", fmt::format("says {} load commands and has {}", count, i));
    command.where = fmt::format("load command {} (type 0x{:x})", i, *type);
    const std::optional<Bytes> bytes = slice_of(*commands, at, *length);
    if (!bytes || *length < 8) return malformed(command.where, fmt::format("has a size of {}", *length));
    command.type = *type;
    command.bytes = *bytes;
    if (Status read = read_command(image, command); !read) return read;
    at += *length;
  }
  return {};
}

// The segment that holds the Mach header.
std::uint64_t base_address(const Image& image) {
  for (const Segment& segment : image.segments) {
    if (segment.file_offset == 0 && segment.file_size != 0) return segment.address;
  }
  return 0;
}

}  // namespace

std::string_view file_type_name(std::uint32_t file_type) {
  switch (static_cast<FileType>(file_type)) {
    case FileType::kObject:
      return "object";
    case FileType::kExecute:
      return "executable";
    case FileType::kCore:
      return "core";
    case FileType::kDylib:
      return "dylib";
    case FileType::kDylinker:
      return "dynamic linker";
    case FileType::kBundle:
      return "bundle";
    case FileType::kDylibStub:
      return "dylib stub";
    case FileType::kDsym:
      return "debug symbols";
    case FileType::kKext:
      return "kernel extension";
  }
  return "unknown";
}

std::string_view link_kind_name(LinkKind kind) {
  switch (kind) {
    case LinkKind::kRegular:
      return "regular";
    case LinkKind::kWeak:
      return "weak";
    case LinkKind::kReexport:
      return "reexport";
    case LinkKind::kLazy:
      return "lazy";
    case LinkKind::kUpward:
      return "upward";
  }
  return "regular";
}

std::string_view platform_name(std::uint32_t platform) {
  constexpr std::string_view kNames[] = {
      "unknown",
      "macOS",
      "iOS",
      "tvOS",
      "watchOS",
      "bridgeOS",
      "Mac Catalyst",
      "iOS simulator",
      "tvOS simulator",
      "watchOS simulator",
      "DriverKit",
      "visionOS",
      "visionOS simulator",
  };
  return platform < std::size(kNames) ? kNames[platform] : kNames[0];
}

std::string packed_version(std::uint32_t version) {
  const std::uint32_t patch = version & 0xffU;
  std::string text = fmt::format("{}.{}", version >> 16U, version >> 8U & 0xffU);
  if (patch != 0) text += fmt::format(".{}", patch);
  return text;
}

const Segment* Image::find_segment(std::string_view name) const {
  const auto found =
      std::find_if(segments.begin(), segments.end(), [name](const Segment& s) { return s.name == name; });
  return found == segments.end() ? nullptr : &*found;
}

const Section* Image::find_section(std::string_view segment, std::string_view section) const {
  for (const Segment& holder : segments) {
    for (const Section& candidate : holder.sections) {
      if (candidate.name == section && (segment.empty() || candidate.segment == segment)) return &candidate;
    }
  }
  return nullptr;
}

Result<Image> read_image(Bytes slice) {
  if (slice.size() < kHeaderSize) return malformed("header", fmt::format("is cut off after {} bytes", slice.size()));
  if (little<std::uint32_t>(slice, 0) != kMagic64) {
    return Error{ErrorKind::kUsage, "Mach-O image", "is not 64-bit and little-endian", "a build for arm64 or x86_64"};
  }
  Image image;
  image.bytes = slice;
  image.architecture = {*little<std::uint32_t>(slice, 4), *little<std::uint32_t>(slice, 8)};
  image.file_type = *little<std::uint32_t>(slice, 12);
  image.flags = *little<std::uint32_t>(slice, 24);
  if (Status read = read_commands(image, *little<std::uint32_t>(slice, 16), *little<std::uint32_t>(slice, 20)); !read) {
    return read.error();
  }
  image.base = base_address(image);
  if (image.entry) *image.entry += image.base;
  return image;
}

Bytes section_bytes(const Image& image, const Section& section) {
  if (section.zero_fill()) return {};
  return slice_of(image.bytes, section.offset, section.size).value_or(Bytes{});
}

std::optional<Bytes> bytes_from(const Image& image, std::uint64_t address) {
  for (const Segment& segment : image.segments) {
    if (address < segment.address || address - segment.address >= segment.bytes.size()) continue;
    return segment.bytes.subspan(static_cast<std::size_t>(address - segment.address));
  }
  return std::nullopt;
}

std::optional<Bytes> bytes_at(const Image& image, std::uint64_t address, std::uint64_t size) {
  const std::optional<Bytes> rest = bytes_from(image, address);
  return rest ? slice_of(*rest, 0, size) : std::nullopt;
}

}  // namespace capbench::macho
