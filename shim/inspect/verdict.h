// Will a shim get into a process of this program, and if not, why and what to do. Rules over facts: no file is read.
// The rules of DYLD_INSERT_LIBRARIES are those of dyld(1) and of Apple's documents on System Integrity Protection and
// the hardened runtime; those of LD_PRELOAD are in ld.so(8).
#ifndef CAPBENCH_SHIM_INSPECT_VERDICT_H_
#define CAPBENCH_SHIM_INSPECT_VERDICT_H_

#include <string>
#include <string_view>
#include <vector>

#include "shim/inspect/facts.h"

namespace capbench::shim::inspect {

enum class Injection : std::uint8_t {
  kWorks,
  kBlocked,
  kProgramDecides,  // a library: inspect the program that loads it
};

std::string_view injection_name(Injection injection);

struct Obstacle {
  std::string code;    // stable: "hardened-runtime"
  std::string why;     // one clause
  std::string remedy;  // an imperative, with how to undo it
};

struct Verdict {
  Injection injection = Injection::kBlocked;
  std::string mechanism;  // "DYLD_INSERT_LIBRARIES", "LD_PRELOAD"
  std::vector<Obstacle> obstacles;
  std::vector<std::string> notes;  // what to know although it works, or beside the obstacles
};

// What the shim to be injected is. As it stands: the Metal shim as cross-built, and for ELF one that fits.
struct ShimFacts {
  bool given = false;  // read from a file
  std::vector<std::string> architectures = {"arm64"};
  std::string team;  // of its signature; empty: ad hoc or none
};

Verdict judge(const ImageFacts& image, const FileStatus& file, const ShimFacts& shim);

// Whether macOS protects what lies at this path: /System, /bin, /sbin, /usr except /usr/local.
bool protected_path(std::string_view absolute_path);

}  // namespace capbench::shim::inspect

#endif  // CAPBENCH_SHIM_INSPECT_VERDICT_H_
