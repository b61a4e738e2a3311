#include "harness/stats/flags.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace capbench::stats {
namespace {

constexpr double kShare = 0.10;
constexpr double kDeviations = 5;
constexpr std::size_t kFewestTrials = 3;
constexpr std::size_t kFewestSamples = 4;

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

}  // namespace

std::vector<Flag> flag_trials(std::span<const Trial> trials) {
  std::vector<double> medians;
  for (const Trial& trial : trials) {
    if (!trial.samples.empty()) medians.push_back(median(trial.samples));
  }
  const double center = median(medians);
  const double deviation = median_absolute_deviation(medians);
  std::vector<Flag> flags;
  for (std::size_t i = 0; i < trials.size(); ++i) {
    const std::vector<double>& samples = trials[i].samples;
    if (samples.empty()) continue;
    const double own = median(samples);
    if (medians.size() >= kFewestTrials && outlies(own, center, deviation)) {
      flags.push_back({i, "outlying trial", distance(own, center, "the median of the arm's trials")});
    }
    if (samples.size() < kFewestSamples) continue;
    const std::span<const double> others = std::span(samples).subspan(1);
    if (outlies(samples.front(), median(others), median_absolute_deviation(others))) {
      flags.push_back(
          {i, "outlying first sample", distance(samples.front(), median(others), "the median of the trial's others")});
    }
    if (drifts(samples, own)) {
      flags.push_back({i, "drift",
                       fmt::format("from {:.6g} to {:.6g} tokens/s, {} at every sample", samples.front(),
                                   samples.back(), samples.back() < samples.front() ? "falling" : "rising")});
    }
  }
  return flags;
}

}  // namespace capbench::stats
