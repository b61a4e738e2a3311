#include "shim/inspect/elf.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

namespace capbench::shim::inspect {
namespace {

using macho::c_string;
using macho::little;
using macho::slice_of;

constexpr std::uint16_t kTypeObject = 1;
constexpr std::uint16_t kTypeExecutable = 2;
constexpr std::uint16_t kTypeDynamic = 3;
constexpr std::uint16_t kTypeCore = 4;

constexpr std::uint32_t kLoad = 1;
constexpr std::uint32_t kDynamic = 2;
constexpr std::uint32_t kInterpreter = 3;
constexpr std::uint32_t kNote = 4;

constexpr std::uint64_t kTagNeeded = 1;
constexpr std::uint64_t kTagHash = 4;
constexpr std::uint64_t kTagStrings = 5;
constexpr std::uint64_t kTagSymbols = 6;
constexpr std::uint64_t kTagStringsSize = 10;
constexpr std::uint64_t kTagSoname = 14;
constexpr std::uint64_t kTagRpath = 15;
constexpr std::uint64_t kTagRunpath = 29;
constexpr std::uint64_t kTagGnuHash = 0x6ffffef5;
constexpr std::uint64_t kTagFlags1 = 0x6ffffffb;
constexpr std::uint64_t kFlags1Pie = 0x08000000;

constexpr std::uint32_t kSectionDynamicSymbols = 11;
constexpr std::uint64_t kSymbolSize = 24;
constexpr std::uint64_t kProgramHeaderSize = 56;
constexpr std::uint64_t kSectionHeaderSize = 64;
constexpr std::uint64_t kNameBytesPerByte = 64;

Error malformed(std::string where, std::string cause) {
  return {ErrorKind::kUsage, "ELF " + std::move(where), std::move(cause),
          "a complete file, copied or downloaded again"};
}

struct ProgramHeader {
  std::uint32_t type = 0;
  std::uint64_t offset = 0;
  std::uint64_t address = 0;
  std::uint64_t file_size = 0;
};

struct Dynamic {
  std::vector<std::uint64_t> needed, rpaths, runpaths;
  std::optional<std::uint64_t> soname, hash, gnu_hash, strings, symbols;
  std::uint64_t strings_size = 0;
  std::uint64_t flags1 = 0;
};

class Reader {
 public:
  explicit Reader(Bytes file) : file_(file) {}

  Result<Elf> read();

 private:
  Status read_program_headers();
  Status read_interpreter();
  Status read_dynamic();
  Status read_names();
  Status read_symbols();
  std::uint64_t symbol_count(Bytes from_symbols) const;
  std::optional<std::uint64_t> counted_by_section() const;
  std::optional<std::uint64_t> counted_by_gnu_hash() const;
  void read_build_id(Bytes notes);
  void read_kind(std::uint16_t type);

  // From an address as linked to the end of what the file holds of its segment.
  std::optional<Bytes> at_address(std::uint64_t address) const {
    for (const ProgramHeader& header : headers_) {
      if (header.type != kLoad || address < header.address || address - header.address >= header.file_size) continue;
      const std::optional<Bytes> bytes = slice_of(file_, header.offset, header.file_size);
      if (bytes) return bytes->subspan(static_cast<std::size_t>(address - header.address));
    }
    return std::nullopt;
  }

  Bytes file_;
  Elf elf_;
  std::vector<ProgramHeader> headers_;
  bool has_dynamic_ = false;
  Dynamic dynamic_;
  Bytes strings_;
};

Status Reader::read_program_headers() {
  const std::uint64_t table = *little<std::uint64_t>(file_, 32);
  const std::uint16_t entry_size = *little<std::uint16_t>(file_, 54);
  const std::uint16_t count = *little<std::uint16_t>(file_, 56);
  if (count != 0 && entry_size != kProgramHeaderSize) {
    return malformed("header", fmt::format("says {} bytes for each program header", entry_size));
  }
  if (!macho::within(table, count * kProgramHeaderSize, file_.size())) {
    return malformed("header", "its program headers end beyond the file");
  }
  for (std::uint64_t i = 0; i < count; ++i) {
    const std::uint64_t at = table + i * kProgramHeaderSize;
    ProgramHeader header;
    header.type = *little<std::uint32_t>(file_, at);
    header.offset = *little<std::uint64_t>(file_, at + 8);
    header.address = *little<std::uint64_t>(file_, at + 16);
    header.file_size = *little<std::uint64_t>(file_, at + 32);
    const bool read = header.type == kLoad || header.type == kDynamic || header.type == kInterpreter;
    if (read && !macho::within(header.offset, header.file_size, file_.size())) {
      return malformed(fmt::format("program header {}", i),
                       fmt::format("its {} bytes from {} are not within the file's {}", header.file_size, header.offset,
                                   file_.size()));
    }
    headers_.push_back(header);
  }
  return {};
}

Status Reader::read_interpreter() {
  for (const ProgramHeader& header : headers_) {
    if (header.type != kInterpreter) continue;
    const std::optional<std::string_view> path = c_string(*slice_of(file_, header.offset, header.file_size), 0);
    if (!path) return malformed("interpreter", "its path has no end");
    elf_.interpreter = *path;
  }
  return {};
}

Status Reader::read_dynamic() {
  for (const ProgramHeader& header : headers_) {
    if (header.type != kDynamic) continue;
    has_dynamic_ = true;
    const Bytes bytes = *slice_of(file_, header.offset, header.file_size);
    for (std::uint64_t at = 0; at + 16 <= bytes.size(); at += 16) {
      const std::uint64_t tag = *little<std::uint64_t>(bytes, at);
      const std::uint64_t value = *little<std::uint64_t>(bytes, at + 8);
      if (tag == 0) break;
      if (tag == kTagNeeded) dynamic_.needed.push_back(value);
      if (tag == kTagRpath) dynamic_.rpaths.push_back(value);
      if (tag == kTagRunpath) dynamic_.runpaths.push_back(value);
      if (tag == kTagSoname) dynamic_.soname = value;
      if (tag == kTagHash) dynamic_.hash = value;
      if (tag == kTagGnuHash) dynamic_.gnu_hash = value;
      if (tag == kTagStrings) dynamic_.strings = value;
      if (tag == kTagStringsSize) dynamic_.strings_size = value;
      if (tag == kTagSymbols) dynamic_.symbols = value;
      if (tag == kTagFlags1) dynamic_.flags1 = value;
    }
  }
  if (!dynamic_.strings) return {};
  const std::optional<Bytes> rest = at_address(*dynamic_.strings);
  const std::optional<Bytes> strings = rest ? slice_of(*rest, 0, dynamic_.strings_size) : std::nullopt;
  if (!strings) return malformed("dynamic section", "its strings lie outside the file");
  strings_ = *strings;
  return {};
}

Status Reader::read_names() {
  const auto append = [this](const std::vector<std::uint64_t>& offsets, std::vector<std::string_view>& names) {
    for (const std::uint64_t offset : offsets) {
      const std::optional<std::string_view> name = c_string(strings_, offset);
      if (!name) return false;
      names.push_back(*name);
    }
    return true;
  };
  elf_.rpath = dynamic_.runpaths.empty() && !dynamic_.rpaths.empty();
  std::vector<std::string_view> soname;
  if (!append(dynamic_.needed, elf_.needed) ||
      !append(elf_.rpath ? dynamic_.rpaths : dynamic_.runpaths, elf_.run_paths) ||
      (dynamic_.soname && !append({*dynamic_.soname}, soname))) {
    return malformed("dynamic section", "a name lies outside its strings");
  }
  if (!soname.empty()) elf_.soname = soname.front();
  return {};
}

// Of the section headers, which linkers write and `strip` keeps for this section.
std::optional<std::uint64_t> Reader::counted_by_section() const {
  const std::uint64_t table = *little<std::uint64_t>(file_, 40);
  const std::uint16_t count = *little<std::uint16_t>(file_, 60);
  if (table == 0 || !macho::within(table, count * kSectionHeaderSize, file_.size())) return std::nullopt;
  for (std::uint64_t i = 0; i < count; ++i) {
    const std::uint64_t at = table + i * kSectionHeaderSize;
    if (*little<std::uint32_t>(file_, at + 4) == kSectionDynamicSymbols &&
        *little<std::uint64_t>(file_, at + 16) == *dynamic_.symbols) {
      return *little<std::uint64_t>(file_, at + 32) / kSymbolSize;
    }
  }
  return std::nullopt;
}

// One more than the highest symbol that a chain reaches. Chains end at a set lowest bit.
std::optional<std::uint64_t> Reader::counted_by_gnu_hash() const {
  if (!dynamic_.gnu_hash) return std::nullopt;
  const std::optional<Bytes> table = at_address(*dynamic_.gnu_hash);
  if (!table) return std::nullopt;
  const auto buckets = little<std::uint32_t>(*table, 0);
  const auto first = little<std::uint32_t>(*table, 4);
  const auto bloom = little<std::uint32_t>(*table, 8);
  if (!buckets || !first || !bloom) return std::nullopt;
  const std::uint64_t buckets_at = 16 + *bloom * std::uint64_t{8};
  const std::uint64_t chains_at = buckets_at + *buckets * std::uint64_t{4};
  if (chains_at > table->size()) return std::nullopt;
  std::uint64_t last = 0;
  for (std::uint64_t i = 0; i < *buckets; ++i) {
    last = std::max<std::uint64_t>(last, little<std::uint32_t>(*table, buckets_at + 4 * i).value_or(0));
  }
  if (last < *first) return std::nullopt;
  while (true) {
    const auto entry = little<std::uint32_t>(*table, chains_at + 4 * (last - *first));
    if (!entry) return std::nullopt;
    ++last;
    if ((*entry & 1U) != 0) return last;
  }
}

std::uint64_t Reader::symbol_count(Bytes from_symbols) const {
  if (const std::optional<std::uint64_t> count = counted_by_section()) return *count;
  if (dynamic_.hash) {
    const std::optional<Bytes> table = at_address(*dynamic_.hash);
    const auto chains = table ? little<std::uint32_t>(*table, 4) : std::nullopt;
    if (chains) return *chains;
  }
  if (const std::optional<std::uint64_t> count = counted_by_gnu_hash()) return *count;
  // Linkers put the strings right behind the symbols.
  if (*dynamic_.strings > *dynamic_.symbols) return (*dynamic_.strings - *dynamic_.symbols) / kSymbolSize;
  return from_symbols.size() / kSymbolSize;
}

Status Reader::read_symbols() {
  if (!dynamic_.symbols || !dynamic_.strings) return {};
  const std::optional<Bytes> symbols = at_address(*dynamic_.symbols);
  if (!symbols) return malformed("dynamic section", "its symbols lie outside the file");
  const std::uint64_t count = symbol_count(*symbols);
  if (count > symbols->size() / kSymbolSize) {
    return malformed("dynamic section", fmt::format("says {} symbols and has no room for them", count));
  }
  std::uint64_t name_bytes = 0;
  for (std::uint64_t i = 1; i < count; ++i) {
    const std::uint64_t at = i * kSymbolSize;
    const std::optional<std::string_view> name = c_string(strings_, *little<std::uint32_t>(*symbols, at));
    if (!name) return malformed(fmt::format("dynamic symbol {}", i), "its name lies outside the strings");
    name_bytes += name->size();
    if (name_bytes / kNameBytesPerByte > strings_.size()) {
      return malformed("dynamic symbols", "their names overlap without end");
    }
    if (name->empty()) continue;
    const bool undefined = *little<std::uint16_t>(*symbols, at + 6) == 0;
    (undefined ? elf_.imports : elf_.exports).push_back(*name);
  }
  return {};
}

void Reader::read_build_id(Bytes notes) {
  constexpr std::uint32_t kBuildId = 3;
  const auto padded = [](std::uint64_t size) { return (size + 3) / 4 * 4; };
  std::uint64_t at = 0;
  while (true) {
    const auto name_size = little<std::uint32_t>(notes, at);
    const auto size = little<std::uint32_t>(notes, at + 4);
    const auto type = little<std::uint32_t>(notes, at + 8);
    if (!name_size || !size || !type) return;
    const std::optional<Bytes> name = slice_of(notes, at + 12, *name_size);
    const std::optional<Bytes> content = slice_of(notes, at + 12 + padded(*name_size), *size);
    if (!name || !content) return;
    if (*type == kBuildId && macho::padded_string(*name) == "GNU") {
      elf_.build_id.clear();
      for (const std::byte byte : *content) elf_.build_id += fmt::format("{:02x}", std::to_integer<unsigned>(byte));
      return;
    }
    at += 12 + padded(*name_size) + padded(*size);
  }
}

void Reader::read_kind(std::uint16_t type) {
  const bool linked = !elf_.interpreter.empty();
  switch (type) {
    case kTypeObject:
      elf_.kind = ElfKind::kObject;
      break;
    case kTypeExecutable:
      elf_.kind = linked ? ElfKind::kExecutable : ElfKind::kStatic;
      break;
    case kTypeDynamic:
      if ((dynamic_.flags1 & kFlags1Pie) != 0) {
        elf_.kind = linked ? ElfKind::kPie : ElfKind::kStaticPie;
      } else {
        // Before binutils 2.26 nothing but the interpreter told a program from a library; some libraries, which can
        // be run, have one too, and a name of their own.
        elf_.kind = linked && elf_.soname.empty() ? ElfKind::kPie : ElfKind::kSharedLibrary;
      }
      break;
    case kTypeCore:
      elf_.kind = ElfKind::kCore;
      break;
    default:
      elf_.kind = ElfKind::kOther;
      break;
  }
}

Result<Elf> Reader::read() {
  constexpr std::uint64_t kHeaderSize = 64;
  if (file_.size() >= 6 && (file_[4] != std::byte{2} || file_[5] != std::byte{1})) {
    return Error{ErrorKind::kUsage, "ELF file", "is not 64-bit and little-endian", "a build for x86-64 or aarch64"};
  }
  if (file_.size() < kHeaderSize) return malformed("header", fmt::format("is cut off after {} bytes", file_.size()));
  elf_.machine = *little<std::uint16_t>(file_, 18);
  Status read = read_program_headers();
  if (read) read = read_interpreter();
  if (read) read = read_dynamic();
  if (read) read = read_names();
  if (read) read = read_symbols();
  if (!read) return read.error();
  read_kind(*little<std::uint16_t>(file_, 16));
  std::uint64_t loaded = 0;
  for (const ProgramHeader& header : headers_) {
    if (header.type == kLoad) loaded += header.file_size;
    // Hostile segments overlap; reading each again would cost quadratic time.
    if (header.type == kLoad && loaded <= 2 * file_.size()) {
      elf_.loaded.push_back(*slice_of(file_, header.offset, header.file_size));
    }
    if (header.type != kNote || !elf_.build_id.empty()) continue;
    const std::optional<Bytes> notes = slice_of(file_, header.offset, header.file_size);
    if (notes) read_build_id(*notes);
  }
  return std::move(elf_);
}

}  // namespace

std::string_view elf_kind_name(ElfKind kind) {
  switch (kind) {
    case ElfKind::kObject:
      return "object";
    case ElfKind::kExecutable:
      return "executable";
    case ElfKind::kPie:
      return "position-independent executable";
    case ElfKind::kStatic:
      return "static executable";
    case ElfKind::kStaticPie:
      return "static position-independent executable";
    case ElfKind::kSharedLibrary:
      return "shared library";
    case ElfKind::kCore:
      return "core";
    case ElfKind::kOther:
      break;
  }
  return "unknown";
}

std::string machine_name(std::uint16_t machine) {
  switch (machine) {
    case 62:
      return "x86-64";
    case 183:
      return "aarch64";
    case 243:
      return "riscv";
    case 258:
      return "loongarch";
    case 21:
      return "ppc64";
    case 22:
      return "s390x";
    default:
      return fmt::format("machine {}", machine);
  }
}

bool looks_like_elf(Bytes file) {
  return macho::big<std::uint32_t>(file, 0) == 0x7f454c46U;
}

Result<Elf> read_elf(Bytes file) {
  return Reader(file).read();
}

}  // namespace capbench::shim::inspect
