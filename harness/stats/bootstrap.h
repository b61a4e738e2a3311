// The two-level bootstrap, fast: trials drawn with replacement, then the samples of each drawn trial. Pure,
// thread-safe.
#ifndef CAPBENCH_HARNESS_STATS_BOOTSTRAP_H_
#define CAPBENCH_HARNESS_STATS_BOOTSTRAP_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "harness/stats/summary.h"

namespace capbench::stats {

// `rounds` replicates of an arm's headline. Trials must pass check_trials().
//
// The median of n samples drawn with replacement from n is one of few values, with chances that depend on n alone: for
// odd n the order statistics, for even n the means of two of them. So a drawn trial costs one random number, not n and
// a sort. (Trials of more than 32 samples are resampled the long way.)
std::vector<double> resampled_medians(std::span<const Trial> trials, std::uint32_t rounds, std::uint64_t seed);

// A value of the resampled median: order statistics `low` and `high` (from 0; equal for odd n), and its chance. All of
// them, for 1 <= n <= 32; chances add up to 1.
struct MedianOutcome {
  std::size_t low = 0;
  std::size_t high = 0;
  double chance = 0;
};
std::vector<MedianOutcome> resampled_median_outcomes(std::size_t n);

}  // namespace capbench::stats

#endif  // CAPBENCH_HARNESS_STATS_BOOTSTRAP_H_
