// 95 % intervals for the ratio of two arms, and for one arm. What a number of trials allows decides the method:
//
//   fewest trials   method                                                              label
//   1               percentile bootstrap over the samples of the process                within one process
//   2               lowest to highest ratio of trial medians                            min-max of 2 trials
//   3 - 6           Welch's t on the logs of trial medians                              Welch t on log trial medians,
//   weak: N trials 7 and more      Hodges-Lehmann shift of log trial medians, its interval by          Hodges-Lehmann,
//   Mann-Whitney
//                   inverting the Mann-Whitney test
//
// (Simulated coverage on normal, skewed and contaminated noise is 95-97 % for the last two. The first knows nothing of
// how processes differ from each other, and the second has no confidence level: the labels say so.) The arm with fewer
// trials decides. An interval is about its own estimate (`shift`); should the ratio of medians lie outside, the
// interval is widened to hold it, since a headline outside its own interval cannot be read. Pure, thread-safe, seeded:
// the same input gives the same bytes.
#ifndef CAPBENCH_HARNESS_STATS_INTERVAL_H_
#define CAPBENCH_HARNESS_STATS_INTERVAL_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "base/result.h"
#include "harness/stats/summary.h"

namespace capbench::stats {

struct IntervalOptions {
  double confidence = 0.95;                // 0.5 to 0.99
  std::uint32_t bootstrap_rounds = 10000;  // 100 to 1,000,000
  std::uint64_t seed = 1;                  // of the bootstrap
};

struct RatioInterval {
  double ratio = 0;          // of the two medians of trial medians: numerator over denominator
  std::string estimator;     // "ratio of medians of trial medians"; of one process each: "ratio of medians of samples"
  std::optional<double> lo;  // nothing if the samples cannot give an interval: a single sample on each side
  std::optional<double> hi;
  std::string method;  // "bootstrap", "min-max", "welch-t", "hodges-lehmann", or "none"
  std::string label;   // for people, as in the table above
  std::optional<double>
      shift;  // what "welch-t" (exp of the difference of mean logs) and "hodges-lehmann" (exp of the shift) estimate
  bool widened = false;  // to hold `ratio`
  std::size_t n_trials_a = 0;
  std::size_t n_trials_b = 0;
};

// `a` over `b`. Fails if an arm has no trials or no samples, a sample is not finite and positive, or an option is out
// of range.
Result<RatioInterval> ratio_interval(std::span<const Trial> a, std::span<const Trial> b,
                                     const IntervalOptions& options = {});

struct MedianInterval {
  double median = 0;      // of trial medians, tokens/s
  std::string estimator;  // estimator_name()
  std::optional<double> lo;
  std::optional<double> hi;
  std::string method;  // "bootstrap", "min-max", "t", "order-statistics", or "none"
  std::string label;
  bool widened = false;
  std::size_t n_trials = 0;
};

// The same rules for one arm: bootstrap; min-max; Student's t on log trial medians; from 7 trials order statistics of
// the trial medians (binomial, so never below the confidence asked for).
Result<MedianInterval> median_interval(std::span<const Trial> trials, const IntervalOptions& options = {});

}  // namespace capbench::stats

#endif  // CAPBENCH_HARNESS_STATS_INTERVAL_H_
