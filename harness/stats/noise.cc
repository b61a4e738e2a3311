#include "harness/stats/noise.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "harness/stats/elementary.h"
#include "harness/stats/random.h"

namespace capbench::stats {
namespace {

Status check_noise_options(const NoiseOptions& options) {
  if (!(options.quantile >= 0.5 && options.quantile <= 0.999)) {
    return Error{ErrorKind::kUsage, "quantile", "expected a number from 0.5 to 0.999", "use 0.95"};
  }
  if (options.splits_per_arm < 1 || options.splits_per_arm > 100000) {
    return Error{ErrorKind::kUsage, "splits per arm", "expected an integer from 1 to 100000", "use 200"};
  }
  return {};
}

// The order statistic at quantile * n, rounded up: never less than the share of pairs asked for.
NoiseFloor floor_of(std::vector<double> distances, const NoiseOptions& options, std::string source,
                    const std::string& what) {
  std::sort(distances.begin(), distances.end());
  const auto n = static_cast<double>(distances.size());
  // A hair less, so that 0.95 * 20 is 19 whatever its last bit.
  const auto rank = static_cast<std::size_t>(std::ceil(options.quantile * n - 1e-9));
  NoiseFloor result;
  result.floor = 1 - exp_of(-distances[std::clamp<std::size_t>(rank, 1, distances.size()) - 1]);
  result.quantile = options.quantile;
  result.n_pairs = distances.size();
  result.source = std::move(source);
  result.label = fmt::format("{:g} % of {} A/A pair{} ({}) differ by at most {:.2g} %", 100 * options.quantile,
                             result.n_pairs, result.n_pairs == 1 ? "" : "s", what, 100 * result.floor);
  if (rank >= distances.size()) result.label += ": the largest of them";
  return result;
}

}  // namespace

Result<NoiseFloor> floor_of_identical_arms(std::span<const std::vector<Arm>> groups, const NoiseOptions& options) {
  if (Status status = check_noise_options(options); !status.ok()) return std::move(status).error();
  std::vector<double> distances;
  std::size_t n_arms = 0;
  for (const std::vector<Arm>& group : groups) {
    std::vector<double> logs;
    for (const Arm& arm : group) {
      if (Status status = check_trials(arm.trials, "arm `" + arm.name + "`"); !status.ok()) {
        return std::move(status).error();
      }
      logs.push_back(log_of(median_of_trial_medians(arm.trials)));
    }
    if (group.size() > 1) n_arms += group.size();
    for (std::size_t i = 0; i < logs.size(); ++i) {
      for (std::size_t j = i + 1; j < logs.size(); ++j) distances.push_back(std::fabs(logs[i] - logs[j]));
    }
  }
  if (distances.empty()) {
    return Error{ErrorKind::kUsage, "A/A floor", "no two arms are declared identical",
                 "run an arm twice under two names, or use random splits"};
  }
  return floor_of(std::move(distances), options, "identical arms", fmt::format("{} identical arms", n_arms));
}

Result<NoiseFloor> floor_of_random_splits(std::span<const Arm> arms, const NoiseOptions& options) {
  if (Status status = check_noise_options(options); !status.ok()) return std::move(status).error();
  Random random(options.seed);
  std::vector<double> distances;
  std::size_t n_arms = 0;
  for (const Arm& arm : arms) {
    if (Status status = check_trials(arm.trials, "arm `" + arm.name + "`"); !status.ok()) {
      return std::move(status).error();
    }
    const std::size_t n = arm.trials.size();
    if (n < 2) continue;
    ++n_arms;
    std::vector<double> medians = trial_medians(arm.trials);
    const std::size_t half = n / 2;
    const auto whole = static_cast<double>(n);
    const auto first = static_cast<double>(half);
    // Variance of the difference of two means of n over that of the means of the halves.
    const double scale = std::sqrt((2 / whole) / (1 / first + 1 / (whole - first)));
    for (std::size_t split = 0; split < options.splits_per_arm; ++split) {
      shuffle(std::span(medians), random);
      const double left = median(std::span(medians).first(half));
      const double right = median(std::span(medians).subspan(half));
      distances.push_back(scale * std::fabs(log_of(left) - log_of(right)));
    }
  }
  if (distances.empty()) {
    return Error{ErrorKind::kUsage, "A/A floor", "no arm has two trials", "run two or more trials of each arm"};
  }
  return floor_of(std::move(distances), options, "random splits",
                  fmt::format("random splits of {} arm{}", n_arms, n_arms == 1 ? "" : "s"));
}

double margin_of(const std::optional<NoiseFloor>& floor, double least) {
  constexpr double kMost = 0.9;
  return std::min(std::max(least, floor ? floor->floor : 0.0), kMost);
}

}  // namespace capbench::stats
