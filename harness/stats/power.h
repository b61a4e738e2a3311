// How many trials an answer takes. Pure, thread-safe, deterministic.
#ifndef CAPBENCH_HARNESS_STATS_POWER_H_
#define CAPBENCH_HARNESS_STATS_POWER_H_

#include <cstddef>
#include <optional>
#include <span>

#include "base/result.h"
#include "harness/stats/table.h"

namespace capbench::stats {

// How trials of one arm differ, from a pilot.
struct PilotNoise {
  double deviation = 0;                // standard deviation of log trial medians, pooled over arms (root mean square)
  std::size_t degrees_of_freedom = 0;  // sum over arms of trials - 1
};

// The effects of blocks that three or more arms share are removed first. Arms with a single trial are passed over.
// Fails if no arm has two, or for trials that check_trials() refuses.
Result<PilotNoise> pilot_noise(std::span<const Arm> arms);

struct PowerQuestion {
  double effect = 0.03;         // share of speed lost: the smallest that must be found. Over `margin`, under 1
  double margin = 0;            // 0: found is "an effect is shown"; else "shown to exceed the margin"
  double power = 0.9;           // 0.5 to 0.99
  double confidence = 0.95;     // 0.5 to 0.99, of the whole table
  std::size_t comparisons = 1;  // in the family of simultaneous intervals
};

inline constexpr std::size_t kMostTrials = 1000;

// Trials per arm, 3 or more; nothing if over kMostTrials. A pilot of few trials may have been lucky: the deviation used
// is its upper 80 % limit (by chi-squared with the pilot's degrees of freedom; none given: known exactly).
//
// The least T with  d >= s sqrt(2/T) (t(1 - (1 - confidence) / (2 comparisons), df) + t(power, df)),  df = 2T - 2,
// d = log(1 - margin) - log(1 - effect); from 7 trials on, where intervals rest on ranks, s is divided by sqrt(3/pi),
// the efficiency of ranks for normal noise. README.md compares it with simulations.
Result<std::optional<std::size_t>> recommended_trials(const PilotNoise& noise, const PowerQuestion& question);

// The other way round: the smallest effect that `trials` per arm can find; `question.effect` is not used. Nothing with
// fewer than 3 trials, which can show nothing.
Result<std::optional<double>> detectable_effect(const PilotNoise& noise, std::size_t trials,
                                                const PowerQuestion& question);

}  // namespace capbench::stats

#endif  // CAPBENCH_HARNESS_STATS_POWER_H_
