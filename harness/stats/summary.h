// Medians and spread of the samples of one arm. Pure; every function is thread-safe.
//
// Convention of every median here: sort; the middle value, or for an even count the mean of the two middle values, of
// *tokens per second* (not of times: the two differ for even counts). It is the convention of the published evidence,
// whose medians it reproduces exactly from the tokens/s that llama-bench printed (6 digits); from the exact
// `samples_ns` the result agrees with those to the rounding of the print.
#ifndef CAPBENCH_HARNESS_STATS_SUMMARY_H_
#define CAPBENCH_HARNESS_STATS_SUMMARY_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"

namespace capbench::stats {

// One process: its samples in tokens/s, in the order they were taken.
struct Trial {
  std::int64_t block = 0;
  std::vector<double> samples;
};

// 1e9 * n_tokens / ns, as llama-bench computes it. NaN unless both are positive: 0 tokens/s would look like a
// measurement.
double tokens_per_second(std::int64_t n_tokens, std::int64_t ns);

// Each of `samples_ns` in tokens/s.
std::vector<double> tokens_per_second(std::int64_t n_tokens, std::span<const std::int64_t> samples_ns);

// NaN if there are no values.
double median(std::span<const double> values);

// Median of |value - median|, not scaled to a standard deviation. NaN if there are no values.
double median_absolute_deviation(std::span<const double> values);

// Standard deviation (n-1) over mean. Nothing for fewer than two values.
std::optional<double> coefficient_of_variation(std::span<const double> values);

// The median of each trial's samples.
std::vector<double> trial_medians(std::span<const Trial> trials);

// The headline of an arm: the median of its trials' medians; with one trial the median of its samples. NaN without
// trials.
double median_of_trial_medians(std::span<const Trial> trials);

// What a headline is called: "median of trial medians", or "median of samples" with a single trial.
std::string estimator_name(std::size_t n_trials);

struct Summary {
  double median = 0;      // of trial medians, tokens/s
  std::string estimator;  // estimator_name()
  std::size_t n_trials = 0;
  std::size_t n_samples = 0;
  double min = 0;  // over all samples
  double max = 0;
  std::optional<double> cv_samples;  // coefficient of variation over all samples
  std::optional<double> cv_trials;   // and over trial medians: what the next run will differ by
};

// Fails if there is no trial, a trial is empty, or a sample is not a finite positive number (from 1e-100 to 1e100: the
// rest is no measurement, and could overflow).
Result<Summary> summarize(std::span<const Trial> trials);

// The same check alone; `what` names the arm in the error.
Status check_trials(std::span<const Trial> trials, const std::string& what);

}  // namespace capbench::stats

#endif  // CAPBENCH_HARNESS_STATS_SUMMARY_H_
