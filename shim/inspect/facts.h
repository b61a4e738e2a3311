// What is known about a binary, as plain values: they outlive the file they were read from.
#ifndef CAPBENCH_SHIM_INSPECT_FACTS_H_
#define CAPBENCH_SHIM_INSPECT_FACTS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "shim/inspect/questions.h"

namespace capbench::shim::inspect {

enum class Format : std::uint8_t { kMachO, kElf };

// What only the file system knows. The caller asks it: reading a file twice may not give the same answers.
struct FileStatus {
  std::string path;  // absolute, links resolved
  bool setuid = false;
  bool setgid = false;
  bool file_capabilities = false;  // Linux: security.capability
};

enum class Role : std::uint8_t {
  kProgram,
  kLibrary,  // loaded into some program, which decides
  kNeither,  // an object file, a core dump, debug symbols
};

struct Library {
  std::string name;  // Mach-O: install name; ELF: DT_NEEDED
  std::string kind;  // "regular", "weak", "reexport", "lazy", "upward"
};

struct MinimumOs {
  std::string platform;
  std::string version;
  std::string sdk;  // empty: not given
};

struct SignatureFacts {
  bool adhoc = false;
  bool linker_signed = false;
  bool hardened_runtime = false;
  bool library_validation = false;
  bool restricted = false;
  bool certificate = false;  // a CMS signature: made with a certificate
  bool platform_binary = false;
  std::string identifier;
  std::string team;
  // Entitlements that matter to injection.
  bool allow_dyld_variables = false;        // com.apple.security.cs.allow-dyld-environment-variables
  bool disable_library_validation = false;  // com.apple.security.cs.disable-library-validation
  bool get_task_allow = false;              // com.apple.security.get-task-allow
  bool app_sandbox = false;                 // com.apple.security.app-sandbox
};

struct MachOFacts {
  bool arm64 = false;
  bool arm64e = false;
  bool restricted_segment = false;
  bool encrypted = false;
  std::vector<MinimumOs> minimum_os;
  std::optional<SignatureFacts> signature;  // none: not signed
};

struct ElfFacts {
  bool linked_statically = false;
  std::string interpreter;
};

// One image: a thin file has one, a fat file several.
struct ImageFacts {
  std::string architecture;
  std::string kind;
  Role role = Role::kNeither;
  std::string install_name;  // LC_ID_DYLIB or DT_SONAME
  std::vector<Library> libraries;
  std::vector<std::string> run_paths;
  std::string build_id;  // LC_UUID or the GNU build id; hexadecimal
  std::uint64_t exported_symbols = 0;
  std::uint64_t imported_symbols = 0;
  std::optional<MachOFacts> macho;
  std::optional<ElfFacts> elf;
  std::vector<Question> questions;
};

}  // namespace capbench::shim::inspect

#endif  // CAPBENCH_SHIM_INSPECT_FACTS_H_
