// Adaptive trials: after each block, go on or stop. Pure, thread-safe.
//
// Looking at intervals to decide whether to go on costs coverage. In simulation 95 % intervals of pairs stopped one by
// one at a half-width of 1 % covered 90.8 % at worst when the first look came after 3 blocks. Looking first after 8
// blocks, and stopping only when every comparison of the table is narrow enough, covers 95.0 % (worst 93.9); where a
// table has too few comparisons for that to be a brake, intervals of 97 % for both stopping and reporting cover 95.6
// to 97.6 %. Nothing is stopped because it became significant: that finds 22-29 % effects where there are none.
#ifndef CAPBENCH_HARNESS_DESIGN_UNTIL_H_
#define CAPBENCH_HARNESS_DESIGN_UNTIL_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "harness/suite/structs.h"

namespace capbench::design {

inline constexpr std::int64_t kFirstLook = 8;          // blocks
inline constexpr std::size_t kFewestForTableStop = 4;  // comparisons
inline constexpr double kStoppingConfidence = 0.97;    // of intervals, with fewer comparisons
inline constexpr double kTableConfidence = 0.95;

struct StoppingRule {
  double half_width = 0.01;     // of a ratio, relative
  std::int64_t first_look = 0;  // blocks before anything is decided
  std::int64_t cap = 0;         // blocks after which it ends in any case
  double confidence = 0.95;     // of the intervals to compute, for stopping and for reporting alike
};

// The rule for a protocol with `until` and a table of that many comparisons (arms against their reference, times
// tests, times models and workloads).
StoppingRule stopping_rule(const suite::Protocol& protocol, std::size_t comparisons);

// One comparison so far: an interval of a ratio. Nothing where there is none yet.
struct Width {
  std::string comparison;  // for people: "unlocked - coopmat2, pp512"
  std::optional<double> lo;
  std::optional<double> hi;
};

// Half of the interval's length on the logarithmic scale, as a ratio: exp((log hi - log lo) / 2) - 1. Nothing if an
// end is missing, not finite or not positive.
std::optional<double> relative_half_width(const Width& width);

enum class Next { kGoOn, kStopNarrow, kStopCap };

struct Decision {
  Next next = Next::kGoOn;
  std::size_t wide = 0;  // comparisons that are not narrow enough
  std::string widest;    // the name of the widest of them, or of one without an interval
  std::string text;      // one line for progress and for the record
};

// After `blocks` complete blocks. A comparison without an interval is wide; no comparison at all runs to the cap.
Decision decide(const StoppingRule& rule, std::int64_t blocks, std::span<const Width> widths);

// The rule as it is recorded with the run and printed beside its figures.
std::string rule_text(const StoppingRule& rule);

}  // namespace capbench::design

#endif  // CAPBENCH_HARNESS_DESIGN_UNTIL_H_
