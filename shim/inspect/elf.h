// ELF files, 64-bit and little-endian, read from memory. As shim/macho: pure, and any bytes may be given.
// The format is that of the System V ABI, <elf.h>.
#ifndef CAPBENCH_SHIM_INSPECT_ELF_H_
#define CAPBENCH_SHIM_INSPECT_ELF_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "shim/macho/bytes.h"

namespace capbench::shim::inspect {

using macho::Bytes;

enum class ElfKind : std::uint8_t {
  kObject,
  kExecutable,
  kPie,
  kStatic,     // an executable that no dynamic linker touches
  kStaticPie,  // the same at any address
  kSharedLibrary,
  kCore,
  kOther,
};

std::string_view elf_kind_name(ElfKind kind);

// Names view the bytes that were read; they must outlive it.
struct Elf {
  std::uint16_t machine = 0;
  ElfKind kind = ElfKind::kOther;
  std::string_view interpreter;  // the dynamic linker; empty without
  std::vector<std::string_view> needed;
  std::string_view soname;
  std::vector<std::string_view> run_paths;  // DT_RUNPATH, or DT_RPATH where there is none
  bool rpath = false;                       // they are DT_RPATH
  std::string build_id;                     // hexadecimal; empty without
  std::vector<std::string_view> imports;    // dynamic symbols that others must define
  std::vector<std::string_view> exports;    // dynamic symbols that it defines
  std::vector<Bytes> loaded;                // its segments; some linkers put constants beside code
};

// "x86-64", "aarch64", ...; "machine 42" for others.
std::string machine_name(std::uint16_t machine);

bool looks_like_elf(Bytes file);

Result<Elf> read_elf(Bytes file);

}  // namespace capbench::shim::inspect

#endif  // CAPBENCH_SHIM_INSPECT_ELF_H_
