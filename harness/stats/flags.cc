#include "harness/stats/flags.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <optional>
#include <utility>

#include "harness/stats/distribution.h"

namespace capbench::stats {
namespace {

constexpr double kShare = 0.10;
constexpr double kDeviations = 5;
constexpr std::size_t kFewestTrials = 3;
constexpr std::size_t kFewestSamples = 4;
constexpr std::size_t kFewestForTrend = 5;
constexpr std::size_t kFewestForVariation = 3;
constexpr double kTrendLevel = 0.01;
constexpr double kTrendShare = 0.05;
constexpr double kVariation = 0.05;
constexpr std::size_t kExactKendall = 50;

bool outlies(double value, double center, double deviation) {
  return std::fabs(value - center) > std::max(kShare * center, kDeviations * deviation);
}

std::string distance(double value, double center, const char* what) {
  return fmt::format("{:.1f} % {} {}", 100 * std::fabs(value - center) / center, value < center ? "below" : "above",
                     what);
}

bool drifts(const std::vector<double>& samples, double center) {
  const bool rising = std::is_sorted(samples.begin(), samples.end());
  const bool falling = std::is_sorted(samples.rbegin(), samples.rend());
  return (rising || falling) && std::fabs(samples.back() - samples.front()) > kShare * center;
}

// The change from first to last along the line with the median slope (Theil 1950, Sen 1968); nothing unless Kendall's
// test finds a trend.
std::optional<double> trend(const std::vector<double>& samples) {
  std::vector<double> slopes;
  std::int64_t score = 0;
  for (std::size_t i = 0; i < samples.size(); ++i) {
    for (std::size_t j = i + 1; j < samples.size(); ++j) {
      score += samples[j] > samples[i] ? 1 : 0;
      score -= samples[j] < samples[i] ? 1 : 0;
      slopes.push_back((samples[j] - samples[i]) / static_cast<double>(j - i));
    }
  }
  if (std::abs(score) < kendall_critical(samples.size(), kTrendLevel)) return std::nullopt;
  return median(slopes) * static_cast<double>(samples.size() - 1);
}

std::size_t first_process(std::span<const Trial> trials) {
  std::size_t first = trials.size();
  for (std::size_t i = 0; i < trials.size(); ++i) {
    if (!trials[i].samples.empty() && (first == trials.size() || trials[i].block < trials[first].block)) first = i;
  }
  return first;
}

// Of an arm of three or more trials.
bool is_cold(std::span<const Trial> trials, std::size_t first) {
  std::vector<double> others;
  for (std::size_t i = 0; i < trials.size(); ++i) {
    if (i != first && !trials[i].samples.empty()) others.push_back(median(trials[i].samples));
  }
  const double center = median(others);
  const double limit = center - std::max(kShare * center, kDeviations * median_absolute_deviation(others));
  return std::all_of(trials[first].samples.begin(), trials[first].samples.end(),
                     [&](double sample) { return sample < limit; });
}

void flag_samples(const std::vector<double>& samples, std::size_t trial, std::vector<Flag>& flags) {
  const double own = median(samples);
  bool explained = false;
  const auto add = [&](const char* name, std::string why) {
    flags.push_back({trial, name, std::move(why)});
    explained = true;
  };
  if (samples.size() >= kFewestSamples) {
    const std::span<const double> others = std::span(samples).subspan(1);
    if (outlies(samples.front(), median(others), median_absolute_deviation(others))) {
      add("outlying first sample", distance(samples.front(), median(others), "the median of the trial's others"));
    }
    if (drifts(samples, own)) {
      add("drift", fmt::format("from {:.6g} to {:.6g} tokens/s, {} at every sample", samples.front(), samples.back(),
                               samples.back() < samples.front() ? "falling" : "rising"));
    } else if (samples.size() >= kFewestForTrend) {
      const std::optional<double> change = trend(samples);
      if (change && std::fabs(*change) > kTrendShare * own) {
        add("trend", fmt::format("{} by {:.1f} % from first to last sample", *change < 0 ? "falls" : "rises",
                                 100 * std::fabs(*change) / own));
      }
    }
  }
  const std::optional<double> variation = coefficient_of_variation(samples);
  if (!explained && samples.size() >= kFewestForVariation && *variation > kVariation) {
    add("noisy samples", fmt::format("the samples vary by {:.1f} % (standard deviation over mean)", 100 * *variation));
  }
}

}  // namespace

std::int64_t kendall_critical(std::size_t n, double level) {
  const auto pairs = static_cast<std::int64_t>(n * (n - 1) / 2);
  if (n > kExactKendall) {
    const auto size = static_cast<double>(n);
    const double deviation = std::sqrt(size * (size - 1) * (2 * size + 5) / 18);
    return static_cast<std::int64_t>(std::ceil(-normal_quantile(level / 2) * deviation));
  }
  // Chances of 0 .. pairs falling pairs, by where the next value falls among those before: uniformly.
  std::vector<double> chances(1, 1.0);
  for (std::size_t i = 1; i < n; ++i) {
    std::vector<double> next(chances.size() + i);
    for (std::size_t falls = 0; falls < chances.size(); ++falls) {
      for (std::size_t more = 0; more <= i; ++more) {
        next[falls + more] += chances[falls] / static_cast<double>(i + 1);
      }
    }
    chances = std::move(next);
  }
  // |S| = pairs - 2 falls: from the outside in, both tails alike.
  double tail = 0;
  std::int64_t critical = pairs + 1;
  for (std::size_t falls = 0; static_cast<std::int64_t>(2 * falls) < pairs; ++falls) {
    tail += 2 * chances[falls];
    if (tail > level) break;
    critical = pairs - static_cast<std::int64_t>(2 * falls);
  }
  return critical;
}

std::vector<Flag> flag_trials(std::span<const Trial> trials) {
  std::vector<double> medians;
  for (const Trial& trial : trials) {
    if (!trial.samples.empty()) medians.push_back(median(trial.samples));
  }
  const double center = median(medians);
  const double deviation = median_absolute_deviation(medians);
  const std::size_t first = first_process(trials);
  std::vector<Flag> flags;
  std::vector<double> ordinary;
  for (std::size_t i = 0; i < trials.size(); ++i) {
    if (trials[i].samples.empty()) continue;
    const double own = median(trials[i].samples);
    const bool outlying = medians.size() >= kFewestTrials && outlies(own, center, deviation);
    if (!outlying) ordinary.push_back(own);
    if (outlying) flags.push_back({i, "outlying trial", distance(own, center, "the median of the arm's trials")});
    if (i == first && medians.size() >= kFewestTrials && is_cold(trials, first)) {
      flags.push_back({i, "cold first process",
                       fmt::format("every sample of the first process is slow: {:.1f} times "
                                   "slower than the median of the arm's trials",
                                   center / own)});
    }
    flag_samples(trials[i].samples, i, flags);
  }
  const std::optional<double> variation = coefficient_of_variation(ordinary);
  if (ordinary.size() >= kFewestForVariation && *variation > kVariation) {
    flags.push_back(
        {kWholeArm, "noisy trials",
         fmt::format("the trial medians vary by {:.1f} % (standard deviation over mean)", 100 * *variation)});
  }
  return flags;
}

}  // namespace capbench::stats
