#include <fmt/format.h>

#include "shim/macho/image.h"

namespace capbench::macho {
namespace {

constexpr std::uint32_t kFatMagic = 0xcafebabe;
constexpr std::uint32_t kFatMagic64 = 0xcafebabf;
constexpr std::uint32_t kMagic64 = 0xfeedfacf;
constexpr std::uint32_t kMagic32 = 0xfeedface;
constexpr std::uint32_t kMagic64Swapped = 0xcffaedfe;
constexpr std::uint32_t kMagic32Swapped = 0xcefaedfe;
// Java class files share the fat magic; the number behind it is their version, 43 and more.
constexpr std::uint32_t kMostSlices = 42;

std::optional<Architecture> thin_architecture(Bytes bytes) {
  const std::optional<std::uint32_t> magic = little<std::uint32_t>(bytes, 0);
  if (!magic) return std::nullopt;
  if (*magic == kMagic64 || *magic == kMagic32) {
    const auto type = little<std::uint32_t>(bytes, 4);
    const auto subtype = little<std::uint32_t>(bytes, 8);
    if (type && subtype) return Architecture{*type, *subtype};
  }
  if (*magic == kMagic64Swapped || *magic == kMagic32Swapped) {
    const auto type = big<std::uint32_t>(bytes, 4);
    const auto subtype = big<std::uint32_t>(bytes, 8);
    if (type && subtype) return Architecture{*type, *subtype};
  }
  return std::nullopt;
}

Result<std::vector<Slice>> fat_slices(Bytes file, bool wide) {
  const std::uint32_t count = big<std::uint32_t>(file, 4).value_or(0);
  if (count == 0) return malformed("fat header", "lists no image");
  if (count > kMostSlices) {
    return malformed("fat header", fmt::format("lists {} images, as a Java class file does", count));
  }
  const std::uint64_t entry_size = wide ? 32 : 20;
  const std::uint64_t table_end = 8 + count * entry_size;
  if (table_end > file.size()) return malformed("fat header", "its table ends beyond the file");
  std::vector<Slice> slices;
  for (std::uint32_t i = 0; i < count; ++i) {
    const std::uint64_t entry = 8 + i * entry_size;
    const std::string where = fmt::format("slice {} of the fat file", i);
    Slice slice;
    slice.architecture.cputype = big<std::uint32_t>(file, entry).value_or(0);
    slice.architecture.cpusubtype = big<std::uint32_t>(file, entry + 4).value_or(0);
    slice.offset =
        wide ? big<std::uint64_t>(file, entry + 8).value_or(0) : big<std::uint32_t>(file, entry + 8).value_or(0);
    const std::uint64_t size =
        wide ? big<std::uint64_t>(file, entry + 16).value_or(0) : big<std::uint32_t>(file, entry + 12).value_or(0);
    const std::optional<Bytes> bytes = slice_of(file, slice.offset, size);
    if (!bytes || slice.offset < table_end) {
      return malformed(
          where, fmt::format("its {} bytes from {} are not within the file's {}", size, slice.offset, file.size()));
    }
    slice.bytes = *bytes;
    const std::optional<Architecture> inside = thin_architecture(*bytes);
    if (!inside) return malformed(where, "is no Mach-O image (an archive of objects, perhaps)");
    if (inside->cputype != slice.architecture.cputype) {
      return malformed(where, fmt::format("the table says {} and the image {}", architecture_name(slice.architecture),
                                          architecture_name(*inside)));
    }
    slices.push_back(slice);
  }
  return slices;
}

}  // namespace

Error malformed(std::string where, std::string cause) {
  return {ErrorKind::kUsage, "Mach-O " + std::move(where), std::move(cause),
          "a complete file, copied or downloaded again"};
}

std::optional<std::uint32_t> Architecture::ptrauth_version() const {
  if (!arm64e() || (cpusubtype >> 31U) == 0) return std::nullopt;
  return cpusubtype >> 24U & 0xfU;
}

std::string architecture_name(const Architecture& architecture) {
  const std::uint32_t subtype = architecture.subtype();
  switch (architecture.cputype) {
    case kCpuArm64:
      if (subtype == kSubtypeArm64e) return "arm64e";
      if (subtype <= 1) return "arm64";
      break;
    case kCpuX86_64:
      if (subtype == 8) return "x86_64h";
      if (subtype == 3 || subtype == 4) return "x86_64";
      break;
    case 0x0200000c:
      return "arm64_32";
    case 7:
      return "i386";
    case 12:
      return "arm";
    case 18:
      return "ppc";
    case 0x01000012:
      return "ppc64";
    default:
      break;
  }
  return fmt::format("cpu {}/{}", architecture.cputype, subtype);
}

bool looks_like_macho(Bytes file) {
  const std::optional<std::uint32_t> magic = big<std::uint32_t>(file, 0);
  if (!magic) return false;
  if (*magic == kFatMagic) return big<std::uint32_t>(file, 4).value_or(0) <= kMostSlices;
  return *magic == kFatMagic64 || *magic == kMagic64 || *magic == kMagic32 || *magic == kMagic64Swapped ||
         *magic == kMagic32Swapped;
}

Result<std::vector<Slice>> read_slices(Bytes file) {
  const std::optional<std::uint32_t> magic = big<std::uint32_t>(file, 0);
  if (!magic) return malformed("file", fmt::format("has only {} bytes", file.size()));
  if (*magic == kFatMagic || *magic == kFatMagic64) return fat_slices(file, *magic == kFatMagic64);
  if (!looks_like_macho(file)) return malformed("file", "does not start as one");
  const std::optional<Architecture> architecture = thin_architecture(file);
  if (!architecture) return malformed("header", "is cut off");
  return std::vector<Slice>{{*architecture, 0, file}};
}

}  // namespace capbench::macho
