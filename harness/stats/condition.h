// When a factor matters: a description of the settings of the others at which its effect is shown. Internal to this
// room. Pure, thread-safe.
#ifndef CAPBENCH_HARNESS_STATS_CONDITION_H_
#define CAPBENCH_HARNESS_STATS_CONDITION_H_

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "harness/stats/cells.h"
#include "harness/stats/sufficiency.h"

namespace capbench::stats {

struct SettingClaim {
  Levels levels;  // of a cell with the setting
  Claim claim = Claim::kUnknown;
};

struct Condition {
  std::string text;  // "only without a and b"; empty: no effect is shown at any setting
  // The factors of a plain "only without ...", every setting of which was run and is known: a sentence may say "them".
  std::vector<std::size_t> without;
};

// The fewest levels of other factors that hold at every setting with an effect beyond the margin and at none with one
// within it; else those that hold the other way round ("unless"); else a count of settings. `settings` are those that
// were run: where that is not every combination of the others' levels, the text says how many it speaks of, and names
// levels only if no others describe what was run as well. Where every combination was run and those that cannot tell
// leave several descriptions equally good, all of them are named, or three and how many more there are.
Condition describe_condition(const PreparedDesign& design, std::size_t factor, std::span<const SettingClaim> settings);

// "a", "a and b", "a, b and c".
std::string joined(std::span<const std::string> names, const std::string& last_word);

}  // namespace capbench::stats

#endif  // CAPBENCH_HARNESS_STATS_CONDITION_H_
