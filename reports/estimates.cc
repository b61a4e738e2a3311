#include "reports/estimates.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "harness/stats/flags.h"
#include "harness/stats/interval.h"

namespace capbench::reports {
namespace {

std::optional<Interval> scaled(const std::optional<double>& low, const std::optional<double>& high, double scale) {
  if (!low || !high) return std::nullopt;
  return Interval{*low * scale, *high * scale};
}

}  // namespace

std::vector<double> usable_samples(std::int64_t n_tokens, const std::vector<std::int64_t>& samples_ns) {
  std::vector<double> samples = stats::tokens_per_second(n_tokens, samples_ns);
  const auto is_measurement = [](double value) { return std::isfinite(value) && value > 0; };
  if (!std::all_of(samples.begin(), samples.end(), is_measurement)) samples.clear();
  return samples;
}

std::optional<Estimate> headline(const std::vector<stats::Trial>& trials) {
  const auto found = stats::median_interval(trials);
  if (!found.ok()) return std::nullopt;
  return Estimate{found->median, scaled(found->lo, found->hi, 1), found->label, found->estimator};
}

std::optional<Estimate> ratio(const std::vector<stats::Trial>& numerator, const std::vector<stats::Trial>& denominator,
                              double scale) {
  const auto found = stats::ratio_interval(numerator, denominator);
  if (!found.ok()) return std::nullopt;
  return Estimate{found->ratio * scale, scaled(found->lo, found->hi, scale), found->label, found->estimator};
}

std::vector<std::string> arm_flags(const std::vector<stats::Trial>& trials) {
  std::set<std::string> names;
  if (trials.size() == 1) names.insert("single-process");
  if (trials.size() > 1 && trials.size() < kEnoughTrials) names.insert("few-trials");
  for (const stats::Flag& flag : stats::flag_trials(trials)) {
    std::string name = flag.name;
    std::replace(name.begin(), name.end(), ' ', '-');
    names.insert(name);
  }
  return {names.begin(), names.end()};
}

}  // namespace capbench::reports
