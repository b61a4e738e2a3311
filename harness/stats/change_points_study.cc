#include "harness/stats/change_points_study.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "harness/stats/change_points.h"
#include "harness/stats/elementary.h"
#include "harness/stats/simulation.h"

namespace capbench::stats::study {
namespace {

// Places with kSegment points or more between each other and to both ends: drawn, then spread.
std::vector<std::size_t> draw_places(Random& random, const Kind& kind) {
  const std::size_t most = kind.points / kSegment - 1;
  const std::size_t count = std::min(kind.steps, most);
  const std::size_t spare = kind.points - (count + 1) * kSegment;
  std::vector<std::size_t> gaps;
  for (std::size_t i = 0; i < count; ++i) gaps.push_back(static_cast<std::size_t>(random.below(spare + 1)));
  std::sort(gaps.begin(), gaps.end());
  for (std::size_t i = 0; i < count; ++i) gaps[i] += (i + 1) * kSegment;
  return gaps;
}

}  // namespace

KnownSeries make_series(Random& random, const Kind& kind) {
  KnownSeries series;
  series.noise = kind.noise;
  for (const std::size_t place : draw_places(random, kind)) {
    const double share = 0.02 * exp_of(log_of(10) * random.unit());
    series.steps.push_back({place, random.below(2) == 0 ? log_of(1 + share) : log_of(1 - share)});
  }
  double level = log_of(1000);
  double carried = 0;
  std::size_t next = 0;
  const double fresh = std::sqrt(1 - kind.autocorrelation * kind.autocorrelation);
  for (std::size_t i = 0; i < kind.points; ++i) {
    if (next < series.steps.size() && series.steps[next].index == i) level += series.steps[next++].size;
    const double deviate = kind.skewed ? 1 + log_of(1 - random.unit()) : simulation::normal(random);
    carried = i == 0 ? deviate : kind.autocorrelation * carried + fresh * deviate;
    double value = level + kind.noise * carried +
                   kind.drift * (static_cast<double>(i) / static_cast<double>(kind.points - 1) - 0.5);
    if (random.unit() < kind.outliers) value += log_of(1 - (0.05 + 0.15 * random.unit()));
    series.speeds.push_back(exp_of(value));
  }
  return series;
}

Scores& Scores::operator+=(const Scores& other) {
  points += other.points;
  found += other.found;
  right += other.right;
  large += other.large;
  large_found += other.large_found;
  return *this;
}

Scores score(const KnownSeries& series, std::span<const std::size_t> found) {
  Scores scores;
  scores.points = series.speeds.size();
  scores.found = found.size();
  std::vector<bool> taken(found.size(), false);
  for (const KnownStep& step : series.steps) {
    const bool large = std::abs(step.size) > kLarge * series.noise;
    if (large) ++scores.large;
    std::size_t best = found.size();
    std::size_t distance = kMatch + 1;
    for (std::size_t i = 0; i < found.size(); ++i) {
      const std::size_t away = found[i] > step.index ? found[i] - step.index : step.index - found[i];
      if (!taken[i] && away < distance) {
        best = i;
        distance = away;
      }
    }
    if (best == found.size()) continue;
    taken[best] = true;
    ++scores.right;
    if (large) ++scores.large_found;
  }
  return scores;
}

std::vector<std::size_t> ours(std::span<const double> speeds) {
  const auto found = find_change_points(speeds);
  std::vector<std::size_t> out;
  if (found.ok()) {
    for (const ChangePoint& point : *found) out.push_back(point.index);
  }
  return out;
}

}  // namespace capbench::stats::study
