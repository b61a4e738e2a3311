// The A/A floor: how far identical arms come apart. Pure, thread-safe, seeded.
#ifndef CAPBENCH_HARNESS_STATS_NOISE_H_
#define CAPBENCH_HARNESS_STATS_NOISE_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "harness/stats/summary.h"
#include "harness/stats/table.h"

namespace capbench::stats {

struct NoiseFloor {
  double floor = 0;     // share of speed, 1 - smaller/larger: `quantile` of the pairs come apart by no more than this
  double quantile = 0;  // 0.95; with few pairs the largest stands for it: quantile * n_pairs rounded up
  std::size_t n_pairs = 0;
  std::string source;  // "identical arms" or "random splits"
  std::string label;   // "95 % of 120 A/A pairs (random splits of 6 arms) differ by at most 1.3 %"
};

struct NoiseOptions {
  double quantile = 0.95;            // 0.5 to 0.999
  std::size_t splits_per_arm = 200;  // 1 to 100,000
  std::uint64_t seed = 1;
};

// From arms that are declared identical: each inner list is a group of them, and every pair of a group counts. Fails if
// there is no pair, or for trials that check_trials() refuses.
Result<NoiseFloor> floor_of_identical_arms(std::span<const std::vector<Arm>> groups, const NoiseOptions& options = {});

// From random halves of each arm's trials; arms with a single trial are passed over. Halves have fewer trials than
// arms, so their log ratios are scaled to those of two whole arms, by the square root of the ratio of the variances of
// the means. Fails if no arm has two trials, or for trials that check_trials() refuses.
Result<NoiseFloor> floor_of_random_splits(std::span<const Arm> arms, const NoiseOptions& options = {});

// The larger of `least` and the floor, at most 0.9: what "depends on" must exceed.
double margin_of(const std::optional<NoiseFloor>& floor, double least = 0.02);

}  // namespace capbench::stats

#endif  // CAPBENCH_HARNESS_STATS_NOISE_H_
