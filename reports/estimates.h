// The one place where reports meet the statistics: which estimator, which interval, which flags. Pure, thread-safe.
#ifndef CAPBENCH_REPORTS_ESTIMATES_H_
#define CAPBENCH_REPORTS_ESTIMATES_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "harness/stats/summary.h"

namespace capbench::reports {

struct Interval {
  double low = 0;
  double high = 0;
};

// A number and how it was come by: the estimator's name travels with it.
struct Estimate {
  double value = 0;
  std::optional<Interval> ci95;  // none: too few samples for an interval
  std::string interval;          // what the interval is, in the words of harness/stats/interval.h
  std::string estimator;         // "ratio of medians of trial medians"
};

// Tokens per second of each sample, in order. Empty if any of them is not a measurement (no tokens, or no positive
// time).
std::vector<double> usable_samples(std::int64_t n_tokens, const std::vector<std::int64_t>& samples_ns);

// The headline of one arm; `trials` as counted: none of them empty. None for no trials.
std::optional<Estimate> headline(const std::vector<stats::Trial>& trials);

// Numerator's headline over denominator's, times `scale`. None if either has no trials.
std::optional<Estimate> ratio(const std::vector<stats::Trial>& numerator, const std::vector<stats::Trial>& denominator,
                              double scale = 1);

// Fewer trials than this and an interval between trials is weak (see harness/stats/interval.h).
inline constexpr std::size_t kEnoughTrials = 7;

// Flags of one arm: "single-process" (1 trial), "few-trials" (2 to 6), and those of harness/stats/flags.h with hyphens:
// "outlying-trial", "outlying-first-sample", "drift". Each once.
std::vector<std::string> arm_flags(const std::vector<stats::Trial>& trials);

}  // namespace capbench::reports

#endif  // CAPBENCH_REPORTS_ESTIMATES_H_
