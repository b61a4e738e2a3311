// What an ablation compares: which factors the arms of one test vary, and every arm's level of each. Told from what the
// arms ask for and what was observed, not from names, so suites written by hand work as well as designs.
// Pure, thread-safe.
#ifndef CAPBENCH_REPORTS_LEVELS_H_
#define CAPBENCH_REPORTS_LEVELS_H_

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "harness/suite/structs.h"

namespace capbench::reports {

// One arm, as its suite and its trials describe it.
struct ArmFacts {
  std::string name;
  std::string mode;
  std::string guest;                             // of its trials: "vm", "stand-in", or empty
  std::optional<suite::Arm> arm;                 // nothing if the suite does not have it any more
  std::map<std::string, std::string> requested;  // capabilities, as the trials were asked for them
  std::map<std::string, std::string> observed;   // answers of the device, not what an application made of them
  bool usable = false;                           // it has trials that count
};

struct VariedFactor {
  std::string name;                 // "vulkan.cooperative_matrix", "GGML_VK_DISABLE_COOPMAT", "-fa"
  std::string label;                // short, for tables and sentences
  std::string kind;                 // "capability", "variable", "argument"
  std::vector<std::string> levels;  // stock first, unlocked last; suite::kUnset where nothing is said
  bool requested = true;            // false: no arm asked for it, it changed with something else
};

// Factors that some arm varies together, and the arms in which nothing else varies.
struct FactorFamily {
  struct Cell {
    std::size_t arm = 0;              // index into the arms given
    std::vector<std::size_t> levels;  // of each factor, an index into its levels
    std::vector<std::size_t> twins;   // other arms of the same levels, left out of the comparison
  };
  std::string place;  // where its arms ran, for people: "VM, target lume-1"; empty: the host or a stand-in guest
  std::vector<VariedFactor> factors;
  std::vector<Cell> cells;
  std::vector<std::string> notes;
};

// Arms are compared only within one place: one guest that is a machine of its own, one target, one executable and one
// device. A stand-in guest and the host are one place, since only answers differ there. A factor's levels: what a
// design says; else what an arm sets, then what its stand-in guest answers, then what was observed in it, then what the
// device was seen to answer where nobody asked for anything. Variables of published shims count as the capability that
// they set. `design` gives order and labels of levels; else stock's level comes first and unlocked's last, off before
// on, small numbers before large ones, and a variable that is not set last. An instruction-set level is the library
// that it was observed to come to. What only arms without results vary is no factor, unless a design says so; a note
// names it. Families without a second cell are left out.
std::vector<FactorFamily> factor_families(const std::vector<ArmFacts>& arms,
                                          const std::optional<suite::Design>& design);

// The same without the domain: "cooperative_matrix".
std::string short_capability(const std::string& name);

}  // namespace capbench::reports

#endif  // CAPBENCH_REPORTS_LEVELS_H_
