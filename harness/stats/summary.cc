#include "harness/stats/summary.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

namespace capbench::stats {

double tokens_per_second(std::int64_t n_tokens, std::int64_t ns) {
  if (n_tokens <= 0 || ns <= 0) return std::numeric_limits<double>::quiet_NaN();
  return 1e9 * static_cast<double>(n_tokens) / static_cast<double>(ns);
}

std::vector<double> tokens_per_second(std::int64_t n_tokens, std::span<const std::int64_t> samples_ns) {
  std::vector<double> rates;
  rates.reserve(samples_ns.size());
  for (const std::int64_t ns : samples_ns) rates.push_back(tokens_per_second(n_tokens, ns));
  return rates;
}

namespace {

double median_in_place(std::span<double> values) {
  std::sort(values.begin(), values.end());
  const std::size_t half = values.size() / 2;
  if (values.size() % 2 == 1) return values[half];
  return (values[half - 1] + values[half]) / 2;
}

}  // namespace

double median(std::span<const double> values) {
  // Most are of a few: of a point's trials, of a resample. Those need no memory of their own.
  constexpr std::size_t kFew = 32;
  if (values.empty()) return std::numeric_limits<double>::quiet_NaN();
  if (values.size() == 1) return values.front();
  if (values.size() <= kFew) {
    std::array<double, kFew> few;
    std::copy(values.begin(), values.end(), few.begin());
    return median_in_place(std::span(few).first(values.size()));
  }
  std::vector<double> many(values.begin(), values.end());
  return median_in_place(many);
}

double median_absolute_deviation(std::span<const double> values) {
  const double center = median(values);
  std::vector<double> deviations;
  deviations.reserve(values.size());
  for (const double value : values) deviations.push_back(std::fabs(value - center));
  return median(deviations);
}

std::optional<double> coefficient_of_variation(std::span<const double> values) {
  if (values.size() < 2) return std::nullopt;
  const auto n = static_cast<double>(values.size());
  double mean = 0;
  for (const double value : values) mean += value / n;
  double squares = 0;
  for (const double value : values) squares += (value - mean) * (value - mean);
  return std::sqrt(squares / (n - 1)) / mean;
}

std::vector<double> trial_medians(std::span<const Trial> trials) {
  std::vector<double> medians;
  medians.reserve(trials.size());
  for (const Trial& trial : trials) medians.push_back(median(trial.samples));
  return medians;
}

double median_of_trial_medians(std::span<const Trial> trials) {
  return median(trial_medians(trials));
}

std::string estimator_name(std::size_t n_trials) {
  return n_trials == 1 ? "median of samples" : "median of trial medians";
}

namespace {

constexpr double kLeastSample = 1e-100;
constexpr double kMostSample = 1e100;

}  // namespace

Status check_trials(std::span<const Trial> trials, const std::string& what) {
  if (trials.empty()) return Error{ErrorKind::kUsage, what, "it has no trials", "run the suite, or leave this arm out"};
  for (std::size_t i = 0; i < trials.size(); ++i) {
    const std::string where = what + ", trial " + std::to_string(i);
    if (trials[i].samples.empty()) {
      return Error{ErrorKind::kUsage, where, "it has no samples", "leave the trial out, with its status as the reason"};
    }
    for (const double sample : trials[i].samples) {
      // Beyond these a mean or a ratio of two could overflow. Not a number fails both.
      if (sample >= kLeastSample && sample <= kMostSample) continue;
      return Error{ErrorKind::kUsage, where, "a sample is not a positive number of tokens per second",
                   "look at the trial's raw output"};
    }
  }
  return {};
}

Result<Summary> summarize(std::span<const Trial> trials) {
  if (Status status = check_trials(trials, "arm"); !status.ok()) return std::move(status).error();
  std::vector<double> all;
  for (const Trial& trial : trials) all.insert(all.end(), trial.samples.begin(), trial.samples.end());
  const auto [low, high] = std::minmax_element(all.begin(), all.end());
  Summary summary;
  summary.median = median_of_trial_medians(trials);
  summary.estimator = estimator_name(trials.size());
  summary.n_trials = trials.size();
  summary.n_samples = all.size();
  summary.min = *low;
  summary.max = *high;
  summary.cv_samples = coefficient_of_variation(all);
  summary.cv_trials = coefficient_of_variation(trial_medians(trials));
  return summary;
}

}  // namespace capbench::stats
