// A design becomes arms: factors and the kinds of designs over them, the two references, and controls. Pure,
// thread-safe.
#ifndef CAPBENCH_HARNESS_DESIGN_EXPAND_H_
#define CAPBENCH_HARNESS_DESIGN_EXPAND_H_

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "harness/suite/structs.h"

namespace capbench::design {

inline constexpr std::size_t kMostArms = 256;  // of one design, controls included

// The words of a suite file, in the order of suite::DesignKind.
std::string_view kind_name(suite::DesignKind kind);

// What stands for the factor in the names of arms: its label, else a capability's usual short name ("coopmat2"), else
// the capability's name without its domain, else the variable or argument as it is.
std::string factor_label(const suite::Factor& factor);

// The text of a level in names and in Arm::factors; suite::kUnset for a null one.
std::string level_text(const std::optional<std::string>& level);

// Every arm of the design, in a fixed order: the stock reference, those between, the unlocked reference, controls.
// Arms that several kinds make are made once. The references are always there, since everything is compared with them.
//
// An arm is the base with one level of each factor laid over it. A capability whose level is what the base's stand-in
// guest answers anyway is left out of `set`, so the stock reference loads no shim where it need not. Modes: the stock
// reference is "stock" if it has a guest (a stand-in, or a target that states one) and sets nothing; the unlocked
// reference is "unlocked" if it has a guest and sets something; all others have the base's mode.
//
// Names: "stock", "unlocked" ("lowered" and "full" where the modes are not these), "stock + coopmat",
// "unlocked - coopmat2" (of factors whose ends are off and on; others read "stock, apple_family=1007"),
// "f: coopmat=on coopmat2=off" for cells of factorials; where that is longer than a name may be,
// the levels alone, "f: 10110" in the order of the factors.
//
// The error's `what` is a path below "$.design".
Result<std::vector<suite::Arm>> expand(const suite::Design& design,
                                       const std::map<std::string, suite::TargetSpec>& targets);

// Replaces the arms that the suite's design made by those that it makes now. One that a hand wrote as well stays where
// and as it was written, and learns its factors and roles. An error if a name stands for two treatments.
Status expand_into(suite::Suite& suite);

// Two arms are one treatment if they differ in name, mode, roles and factors at most.
bool same_treatment(const suite::Arm& a, const suite::Arm& b);

}  // namespace capbench::design

#endif  // CAPBENCH_HARNESS_DESIGN_EXPAND_H_
