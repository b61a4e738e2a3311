// Mach-O images, 64-bit and little-endian, thin or within a fat file, read from memory. Pure: no files, no state.
//
// Every struct here views the bytes it was read from; they must outlive it. Any bytes may be given: what lies outside
// the file, or contradicts itself, is an error with its place in it. Functions are safe to call from several threads.
// The format is that of Apple's <mach-o/loader.h> and <mach-o/fat.h>.
#ifndef CAPBENCH_SHIM_MACHO_IMAGE_H_
#define CAPBENCH_SHIM_MACHO_IMAGE_H_

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "shim/macho/bytes.h"

namespace capbench::macho {

inline constexpr std::uint32_t kCpuX86_64 = 0x01000007;
inline constexpr std::uint32_t kCpuArm64 = 0x0100000c;
inline constexpr std::uint32_t kSubtypeArm64e = 2;

// A processor type with its subtype, as headers and fat tables give them.
struct Architecture {
  std::uint32_t cputype = 0;
  std::uint32_t cpusubtype = 0;  // with the capability bits in the highest byte

  // The subtype without its capability bits.
  std::uint32_t subtype() const { return cpusubtype & 0x00ffffffU; }
  bool arm64() const { return cputype == kCpuArm64; }
  // Pointers are authenticated; a process of this kind loads only libraries that have a slice of it.
  bool arm64e() const { return arm64() && subtype() == kSubtypeArm64e; }
  // The ABI of pointer authentication, where arm64e states one (bit 31 of the subtype), and whether it is the kernel's.
  std::optional<std::uint32_t> ptrauth_version() const;
  bool ptrauth_kernel() const { return ptrauth_version().has_value() && (cpusubtype >> 30U & 1U) != 0; }
};

// "arm64", "arm64e", "x86_64", ...; "cpu 16777228/7" for others.
std::string architecture_name(const Architecture& architecture);

struct Slice {
  Architecture architecture;
  std::uint64_t offset = 0;  // in the file
  Bytes bytes;
};

// Whether the bytes start as a Mach-O or fat file does; says nothing about the rest.
bool looks_like_macho(Bytes file);

// The images of a file: several of a fat file, in the order of its table, one of a thin file. An image that is not
// 64-bit and little-endian is listed too; read_image() refuses it.
Result<std::vector<Slice>> read_slices(Bytes file);

enum class FileType : std::uint32_t {
  kObject = 1,
  kExecute = 2,
  kCore = 4,
  kDylib = 6,
  kDylinker = 7,
  kBundle = 8,
  kDylibStub = 9,
  kDsym = 10,
  kKext = 11,
};

// "executable", "dylib", "bundle", ...
std::string_view file_type_name(std::uint32_t file_type);

// Flags of the header.
inline constexpr std::uint32_t kFlagTwoLevel = 0x80;
inline constexpr std::uint32_t kFlagPie = 0x200000;

// Types of sections: the lowest byte of their flags.
inline constexpr std::uint32_t kSectionZeroFill = 0x1;
inline constexpr std::uint32_t kSectionCStrings = 0x2;
inline constexpr std::uint32_t kSectionLiteralPointers = 0x5;
inline constexpr std::uint32_t kSectionModInitPointers = 0x9;
inline constexpr std::uint32_t kSectionGbZeroFill = 0xc;
inline constexpr std::uint32_t kSectionInterposing = 0xd;
inline constexpr std::uint32_t kSectionThreadZeroFill = 0x12;
inline constexpr std::uint32_t kSectionInitOffsets = 0x16;

struct Section {
  std::string_view name;     // "__text"
  std::string_view segment;  // "__TEXT"
  std::uint64_t address = 0;
  std::uint64_t size = 0;
  std::uint32_t offset = 0;  // in the slice; 0 for zero-filled sections
  std::uint32_t align = 0;   // a power of two
  std::uint32_t flags = 0;
  std::array<std::uint32_t, 3> reserved = {};

  std::uint32_t type() const { return flags & 0xffU; }
  bool zero_fill() const {
    return type() == kSectionZeroFill || type() == kSectionGbZeroFill || type() == kSectionThreadZeroFill;
  }
};

inline constexpr std::uint32_t kProtRead = 1;
inline constexpr std::uint32_t kProtWrite = 2;
inline constexpr std::uint32_t kProtExecute = 4;

struct Segment {
  std::string_view name;
  std::uint64_t address = 0;  // as linked; the loader may slide it
  std::uint64_t vm_size = 0;
  std::uint64_t file_offset = 0;  // in the slice
  std::uint64_t file_size = 0;    // at most vm_size
  std::uint32_t max_prot = 0;
  std::uint32_t init_prot = 0;
  std::uint32_t flags = 0;
  std::vector<Section> sections;
  Bytes bytes;  // file_size bytes; the rest of vm_size is zeros
};

enum class LinkKind : std::uint8_t { kRegular, kWeak, kReexport, kLazy, kUpward };

std::string_view link_kind_name(LinkKind kind);

struct LinkedLibrary {
  std::string_view path;
  LinkKind kind = LinkKind::kRegular;
  std::uint32_t current_version = 0;        // as packed_version() prints it
  std::uint32_t compatibility_version = 0;  // likewise
};

struct BuildVersion {
  std::uint32_t platform = 0;  // 1 macOS, 2 iOS, 6 Mac Catalyst, ...
  std::uint32_t minos = 0;     // packed: xxxx.yy.zz
  std::uint32_t sdk = 0;       // likewise; 0 if not given
};

std::string_view platform_name(std::uint32_t platform);
// "13.0" or "13.0.1", of xxxx.yy.zz in one number.
std::string packed_version(std::uint32_t version);

// A range of __LINKEDIT, already checked to lie within the slice; empty if the image has none.
struct LinkEdit {
  bool present = false;
  Bytes bytes;
};

struct Image {
  Bytes bytes;  // the whole slice
  Architecture architecture;
  std::uint32_t file_type = 0;
  std::uint32_t flags = 0;
  std::uint64_t base = 0;  // address of the Mach header, as linked; offsets in fix-ups and exports count from it
  std::vector<Segment> segments;
  std::string_view install_name;         // LC_ID_DYLIB; empty without
  std::vector<LinkedLibrary> libraries;  // a library ordinal n means libraries[n - 1]
  std::vector<std::string_view> rpaths;
  std::vector<BuildVersion> builds;
  std::optional<std::array<std::uint8_t, 16>> uuid;
  std::optional<std::uint64_t> entry;  // address of main(), of LC_MAIN
  bool encrypted = false;              // LC_ENCRYPTION_INFO_64 with a cipher: its code cannot be read
  bool restricted = false;             // has a __RESTRICT,__restrict section

  // The tables that symbols.h, exports.h, fixups.h and signature.h read.
  LinkEdit symbol_table, string_table;  // LC_SYMTAB
  LinkEdit chained_fixups;              // LC_DYLD_CHAINED_FIXUPS
  LinkEdit exports_trie;                // LC_DYLD_EXPORTS_TRIE, or that of LC_DYLD_INFO
  LinkEdit rebase, bind, weak_bind, lazy_bind;
  LinkEdit code_signature;

  const Segment* find_segment(std::string_view name) const;
  // By segment and section name; a name of a segment may be empty, which matches any.
  const Section* find_section(std::string_view segment, std::string_view section) const;
};

// Reads the header and the load commands of one slice.
Result<Image> read_image(Bytes slice);

// What the section holds in the file. Empty for zero-filled ones.
Bytes section_bytes(const Image& image, const Section& section);

// `size` bytes at an address as linked, if they lie within the part of one segment that the file holds.
std::optional<Bytes> bytes_at(const Image& image, std::uint64_t address, std::uint64_t size);
// From the address to the end of what the file holds of its segment.
std::optional<Bytes> bytes_from(const Image& image, std::uint64_t address);

// "Mach-O WHERE: CAUSE; try: a complete file": the error of every reader in this room.
Error malformed(std::string where, std::string cause);

}  // namespace capbench::macho

#endif  // CAPBENCH_SHIM_MACHO_IMAGE_H_
