#include <fmt/format.h>

#include "shim/macho/fixup_encodings.h"

namespace capbench::macho {
namespace {

// Formats of pointers.
constexpr std::uint16_t kArm64e = 1;
constexpr std::uint16_t k64 = 2;
constexpr std::uint16_t k64Offset = 6;
constexpr std::uint16_t kArm64eUserland = 9;
constexpr std::uint16_t kArm64eUserland24 = 12;

constexpr std::uint16_t kNoChain = 0xffff;
constexpr std::uint16_t kSeveralChains = 0x8000;
constexpr std::uint64_t kPointerSize = 8;

struct Import {
  std::int32_t library = 0;
  bool weak = false;
  std::string_view name;
  std::int64_t addend = 0;
};

struct Header {
  std::uint32_t starts = 0;
  std::uint32_t imports = 0;
  std::uint32_t symbols = 0;
  std::uint32_t import_count = 0;
  std::uint32_t import_format = 0;
  std::uint32_t symbol_format = 0;
};

// `width` bits of `value` from bit `low`.
constexpr std::uint64_t bits(std::uint64_t value, unsigned low, unsigned width) {
  return value >> low & ((std::uint64_t{1} << width) - 1);
}

constexpr std::int64_t sign_extended(std::uint64_t value, unsigned width) {
  const std::uint64_t sign = std::uint64_t{1} << (width - 1);
  return static_cast<std::int64_t>((value ^ sign) - sign);
}

// Ordinals near the top of their field are negative: the special ones.
constexpr std::int32_t library_ordinal(std::uint64_t value, unsigned width) {
  const std::uint64_t top = (std::uint64_t{1} << width) - 16;
  return static_cast<std::int32_t>(value > top ? sign_extended(value, width) : static_cast<std::int64_t>(value));
}

Error bad(std::string cause) {
  return malformed("chained fix-ups", std::move(cause));
}

Result<Header> read_header(Bytes data) {
  const auto version = little<std::uint32_t>(data, 0);
  if (!version || data.size() < 28) return bad("are cut off");
  if (*version != 0) return bad(fmt::format("have version {}; 0 is known", *version));
  const auto word = [data](std::uint64_t at) { return little<std::uint32_t>(data, at).value_or(0); };
  return Header{word(4), word(8), word(12), word(16), word(20), word(24)};
}

Result<std::vector<Import>> read_imports(Bytes data, const Header& header) {
  constexpr std::uint64_t kNameBytesPerByte = 64;
  const std::uint32_t format = header.import_format;
  if (format < 1 || format > 3) return bad(fmt::format("have imports of format {}; 1 to 3 are known", format));
  if (header.symbol_format != 0) return bad("have compressed symbol names, which no linker writes");
  const std::uint64_t entry_size = format == 1 ? 4 : format == 2 ? 8 : 16;
  if (!within(header.imports, header.import_count * entry_size, data.size()) || header.symbols > data.size()) {
    return bad(fmt::format("say {} imports and have no room for them", header.import_count));
  }
  const Bytes names = data.subspan(header.symbols);
  std::vector<Import> imports;
  imports.reserve(header.import_count);
  std::uint64_t name_bytes = 0;
  for (std::uint32_t i = 0; i < header.import_count; ++i) {
    const std::uint64_t at = header.imports + i * entry_size;
    Import import;
    std::uint64_t name_offset = 0;
    if (format == 3) {
      const std::uint64_t word = little<std::uint64_t>(data, at).value_or(0);
      import.library = library_ordinal(bits(word, 0, 16), 16);
      import.weak = bits(word, 16, 1) != 0;
      name_offset = bits(word, 32, 32);
      import.addend = static_cast<std::int64_t>(little<std::uint64_t>(data, at + 8).value_or(0));
    } else {
      const std::uint64_t word = little<std::uint32_t>(data, at).value_or(0);
      import.library = library_ordinal(bits(word, 0, 8), 8);
      import.weak = bits(word, 8, 1) != 0;
      name_offset = bits(word, 9, 23);
      if (format == 2) import.addend = sign_extended(little<std::uint32_t>(data, at + 4).value_or(0), 32);
    }
    const std::optional<std::string_view> name = c_string(names, name_offset);
    if (!name) return bad(fmt::format("import {}: its name lies outside of them", i));
    import.name = *name;
    name_bytes += name->size();
    if (name_bytes / kNameBytesPerByte > names.size()) return bad("their names overlap without end");
    imports.push_back(import);
  }
  return imports;
}

struct Pointer {
  Fixup fixup;
  std::uint64_t next = 0;    // in units of the format's stride; 0 ends the chain
  std::uint64_t import = 0;  // of a bind
};

Pointer decode_64(std::uint64_t word, bool offsets, std::uint64_t base) {
  Pointer pointer;
  pointer.next = bits(word, 51, 12);
  if (bits(word, 63, 1) != 0) {
    pointer.fixup.kind = FixupKind::kBind;
    pointer.import = bits(word, 0, 24);
    pointer.fixup.addend = static_cast<std::int64_t>(bits(word, 24, 8));
    return pointer;
  }
  pointer.fixup.target = (bits(word, 0, 36) + (offsets ? base : 0)) | bits(word, 36, 8) << 56U;
  return pointer;
}

Pointer decode_arm64e(std::uint64_t word, std::uint16_t format, std::uint64_t base) {
  Pointer pointer;
  pointer.next = bits(word, 51, 11);
  const bool bind = bits(word, 62, 1) != 0;
  const bool authenticated = bits(word, 63, 1) != 0;
  if (authenticated) {
    pointer.fixup.auth = PointerAuth{static_cast<std::uint8_t>(bits(word, 49, 2)), bits(word, 48, 1) != 0,
                                     static_cast<std::uint16_t>(bits(word, 32, 16))};
  }
  if (bind) {
    pointer.fixup.kind = FixupKind::kBind;
    pointer.import = bits(word, 0, format == kArm64eUserland24 ? 24 : 16);
    if (!authenticated) pointer.fixup.addend = sign_extended(bits(word, 32, 19), 19);
  } else if (authenticated) {
    pointer.fixup.target = base + bits(word, 0, 32);
  } else {
    pointer.fixup.target = (bits(word, 0, 43) + (format == kArm64e ? 0 : base)) | bits(word, 43, 8) << 56U;
  }
  return pointer;
}

class ChainReader {
 public:
  ChainReader(const Image& image, const std::vector<Import>& imports) : image_(image), imports_(imports) {}

  // The starts of one segment; `index` is that of the segment.
  Status read_segment(Bytes starts, std::size_t index) {
    const auto page_size = little<std::uint16_t>(starts, 4);
    const auto format = little<std::uint16_t>(starts, 6);
    const auto segment_offset = little<std::uint64_t>(starts, 8);
    const auto page_count = little<std::uint16_t>(starts, 20);
    if (!page_size || !format || !segment_offset || !page_count) return bad("the starts of a segment are cut off");
    const Segment& segment = image_.segments[index];
    if (image_.base + *segment_offset != segment.address) {
      return bad(fmt::format("segment {} is not where they say", segment.name));
    }
    switch (*format) {
      case k64:
      case k64Offset:
      case kArm64e:
      case kArm64eUserland:
      case kArm64eUserland24:
        break;
      default:
        return Error{
            ErrorKind::kUsage, "Mach-O chained fix-ups",
            fmt::format("segment {} has pointers of format {}, of kernels and 32-bit programs", segment.name, *format),
            "a 64-bit program or library"};
    }
    for (std::uint64_t page = 0; page < *page_count; ++page) {
      const auto start = little<std::uint16_t>(starts, 22 + 2 * page);
      if (!start) return bad("the starts of a segment are cut off");
      if (*start == kNoChain) continue;
      if ((*start & kSeveralChains) != 0) return bad("a page has several chains, which 64-bit formats do not have");
      if (Status walked = walk(segment, *format, page * *page_size + *start); !walked) return walked;
    }
    return {};
  }

  std::vector<Fixup> take() { return std::move(fixups_); }

 private:
  Status walk(const Segment& segment, std::uint16_t format, std::uint64_t offset) {
    const bool plain = format == k64 || format == k64Offset;
    const std::uint64_t stride = plain ? 4 : 8;
    while (true) {
      const auto word = little<std::uint64_t>(segment.bytes, offset);
      if (!word) return bad(fmt::format("a chain leaves segment {}", segment.name));
      // Chains cannot loop, but hostile pages can start many chains that run through the same bytes.
      if (fixups_.size() >= image_.bytes.size() / kPointerSize) return bad("chains overlap");
      Pointer pointer =
          plain ? decode_64(*word, format == k64Offset, image_.base) : decode_arm64e(*word, format, image_.base);
      pointer.fixup.address = segment.address + offset;
      if (pointer.fixup.kind == FixupKind::kBind) {
        if (pointer.import >= imports_.size()) {
          return bad(fmt::format("a bind names import {} of {}", pointer.import, imports_.size()));
        }
        const Import& import = imports_[static_cast<std::size_t>(pointer.import)];
        pointer.fixup.library = import.library;
        pointer.fixup.symbol = import.name;
        pointer.fixup.weak_import = import.weak;
        pointer.fixup.addend = static_cast<std::int64_t>(static_cast<std::uint64_t>(pointer.fixup.addend) +
                                                         static_cast<std::uint64_t>(import.addend));
      }
      fixups_.push_back(pointer.fixup);
      if (pointer.next == 0) return {};
      offset += pointer.next * stride;
    }
  }

  const Image& image_;
  const std::vector<Import>& imports_;
  std::vector<Fixup> fixups_;
};

}  // namespace

Result<std::vector<Fixup>> read_chained_fixups(const Image& image) {
  const Bytes data = image.chained_fixups.bytes;
  const Result<Header> header = read_header(data);
  if (!header) return header.error();
  const Result<std::vector<Import>> imports = read_imports(data, *header);
  if (!imports) return imports.error();
  const auto segment_count = little<std::uint32_t>(data, header->starts);
  if (!segment_count) return bad("their starts lie outside of them");
  if (*segment_count > image.segments.size()) {
    return bad(fmt::format("know {} segments where the image has {}", *segment_count, image.segments.size()));
  }
  ChainReader reader(image, *imports);
  for (std::uint32_t i = 0; i < *segment_count; ++i) {
    const auto info = little<std::uint32_t>(data, std::uint64_t{header->starts} + 4 + 4 * std::uint64_t{i});
    if (!info) return bad("their starts are cut off");
    if (*info == 0) continue;
    const std::uint64_t at = std::uint64_t{header->starts} + *info;
    if (at > data.size()) return bad("the starts of a segment lie outside of them");
    if (Status read = reader.read_segment(data.subspan(static_cast<std::size_t>(at)), i); !read) return read.error();
  }
  return reader.take();
}

}  // namespace capbench::macho
