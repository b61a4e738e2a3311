// Mach-O files for tests: those linked beside this file, and what tests make of them.
#ifndef CAPBENCH_SHIM_MACHO_TESTING_FIXTURES_H_
#define CAPBENCH_SHIM_MACHO_TESTING_FIXTURES_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "shim/macho/image.h"

namespace capbench::macho::testing {

// The bytes of one of this folder's fixtures; throws std::runtime_error if it is not among the test's data.
std::string fixture(std::string_view name);

template <class T>
std::string little_bytes(T value) {
  std::string bytes;
  for (std::size_t i = 0; i < sizeof(T); ++i) bytes += static_cast<char>(value >> (8 * i) & 0xffU);
  return bytes;
}

template <class T>
std::string big_bytes(T value) {
  const std::string bytes = little_bytes(value);
  return {bytes.rbegin(), bytes.rend()};
}

// A fat file of thin ones; `wide` with 64-bit offsets.
std::string fat_file(const std::vector<std::string>& thin, bool wide = false);

struct SignatureParts {
  std::uint32_t flags = 0x2;  // ad hoc
  std::string identifier = "fixture";
  std::string team;
  std::string entitlements;  // an XML property list; empty: no blob
  bool cms = false;
  std::uint8_t platform = 0;
};

// An entitlements property list that grants these keys.
std::string entitlements_xml(const std::vector<std::string>& keys);

// A SuperBlob without hashes: what a reader looks at, not what a kernel accepts.
std::string signature_blob(const SignatureParts& parts);

// The thin file with another signature (it must have one).
std::string signed_again(std::string thin, const SignatureParts& parts);
// Without any.
std::string unsigned_file(std::string thin);

// The thin file with another subtype in its header: 2, or 0x80000002, for arm64e.
std::string with_subtype(std::string thin, std::uint32_t subtype);

// The thin file with one section under another name.
std::string with_renamed_section(std::string thin, std::string_view segment, std::string_view section,
                                 std::string_view new_segment, std::string_view new_section);

// An arm64 dylib made by hand: one library, a data segment at address 0x8000 (base 0x4000) that starts with
// `pointers`, and chained fix-ups of the given formats. Import i is named symbols[i] and has addends[i].
struct ChainedParts {
  std::uint32_t cpusubtype = 0;
  std::uint16_t pointer_format = 6;
  std::uint32_t import_format = 1;
  std::vector<std::uint64_t> pointers;
  std::vector<std::string> symbols;
  std::vector<std::int64_t> addends;
};
std::string chained_dylib(const ChainedParts& parts);

// The same with the opcode programs of LC_DYLD_INFO instead.
struct OpcodeParts {
  std::string rebase, bind, weak_bind, lazy_bind, exports;
};
std::string opcode_dylib(const OpcodeParts& parts);

}  // namespace capbench::macho::testing

#endif  // CAPBENCH_SHIM_MACHO_TESTING_FIXTURES_H_
