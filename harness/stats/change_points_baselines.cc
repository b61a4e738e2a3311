// What the search for change points is compared with.
#include <algorithm>
#include <cmath>
#include <optional>

#include "harness/stats/change_points_study.h"
#include "harness/stats/distribution.h"
#include "harness/stats/elementary.h"

namespace capbench::stats::study {
namespace {

struct Candidate {
  std::size_t index = 0;
  double energy = 0;
};

// Otava's candidate: over every end k of the right side as well, so that a short segment shows. Sides of one value
// count as having no distances within.
std::optional<Candidate> otava_candidate(std::span<const double> y, std::size_t begin, std::size_t end) {
  std::optional<Candidate> best;
  const std::size_t size = end - begin;
  if (size < 2) return best;
  // within[t]: sum of distances among the first t values.
  std::vector<double> within(size + 1, 0);
  for (std::size_t t = 0; t < size; ++t) {
    double sum = 0;
    for (std::size_t i = 0; i < t; ++i) sum += std::abs(y[begin + t] - y[begin + i]);
    within[t + 1] = within[t] + sum;
  }
  for (std::size_t t = 1; t < size; ++t) {
    double right = 0;
    for (std::size_t k = t + 1; k <= size; ++k) {
      for (std::size_t j = t; j + 1 < k; ++j) right += std::abs(y[begin + k - 1] - y[begin + j]);
      const double across = within[k] - within[t] - right;
      const double n = static_cast<double>(t);
      const double m = static_cast<double>(k - t);
      double energy = 2 / (m + n) * across;
      if (t > 1) energy -= 2 * m / (m + n) / (n - 1) * within[t];
      if (k - t > 1) energy -= 2 * n / (m + n) / (m - 1) * right;
      if (!best || energy > best->energy) best = Candidate{begin + t, energy};
    }
  }
  return best;
}

struct Stats {
  double p = 1;
  double magnitude = 0;
};

// Student's t with one variance, standard deviations over n as numpy has them.
Stats compare(std::span<const double> left, std::span<const double> right) {
  const auto mean_of = [](std::span<const double> v) {
    double sum = 0;
    for (const double x : v) sum += x;
    return sum / static_cast<double>(v.size());
  };
  const auto variance_of = [](std::span<const double> v, double mean) {
    double sum = 0;
    for (const double x : v) sum += (x - mean) * (x - mean);
    return sum / static_cast<double>(v.size());
  };
  Stats stats;
  const double a = mean_of(left);
  const double b = mean_of(right);
  stats.magnitude = std::max(std::abs(b / a - 1), std::abs(a / b - 1));
  const double n = static_cast<double>(left.size());
  const double m = static_cast<double>(right.size());
  const double df = n + m - 2;
  if (df <= 0) return stats;
  const double pooled = ((n - 1) * variance_of(left, a) + (m - 1) * variance_of(right, b)) / df;
  if (!(pooled > 0)) {
    stats.p = a == b ? 1 : 0;
    return stats;
  }
  const double t = std::abs(a - b) / std::sqrt(pooled * (1 / n + 1 / m));
  stats.p = 2 * student_t_cdf(-t, df);
  return stats;
}

// The segment of `index` between its neighbours, compared.
Stats compare_around(std::span<const double> y, const std::vector<std::size_t>& points, std::size_t index,
                     std::size_t begin, std::size_t end) {
  for (const std::size_t point : points) {
    if (point < index) begin = std::max(begin, point);
    if (point > index) end = std::min(end, point);
  }
  return compare(y.subspan(begin, index - begin), y.subspan(index, end - index));
}

// One window: the best candidate of all segments, again and again, until it is not significant.
std::vector<std::size_t> otava_window(std::span<const double> y, std::size_t begin, std::size_t end, double level) {
  std::vector<std::size_t> points;
  for (;;) {
    std::optional<Candidate> best;
    std::size_t from = begin;
    for (std::size_t i = 0; i <= points.size(); ++i) {
      const std::size_t to = i < points.size() ? points[i] : end;
      const auto candidate = otava_candidate(y, from, to);
      if (candidate && (!best || candidate->energy > best->energy)) best = candidate;
      from = to;
    }
    if (!best || !(compare_around(y, points, best->index, begin, end).p < level)) return points;
    points.push_back(best->index);
    std::sort(points.begin(), points.end());
  }
}

}  // namespace

std::vector<std::size_t> otava(std::span<const double> speeds, double least) {
  constexpr std::size_t kWindow = 50;
  constexpr double kLevel = 0.001;
  std::vector<std::size_t> points;
  for (std::size_t start = 0; start < speeds.size();) {
    const std::size_t end = std::min(start + kWindow, speeds.size());
    const std::vector<std::size_t> found = otava_window(speeds, start, end, 10 * kLevel);
    points.insert(points.end(), found.begin(), found.end());
    start = std::max(found.empty() ? 0 : found.back(), start + kWindow / 2);
  }
  std::sort(points.begin(), points.end());
  points.erase(std::unique(points.begin(), points.end()), points.end());
  // The weakest goes: the one with the largest p, or among acceptable ones the one with the least magnitude.
  while (!points.empty()) {
    std::size_t weakest = 0;
    std::size_t smallest = 0;
    std::vector<Stats> stats;
    for (const std::size_t point : points) stats.push_back(compare_around(speeds, points, point, 0, speeds.size()));
    for (std::size_t i = 1; i < points.size(); ++i) {
      if (stats[i].p > stats[weakest].p) weakest = i;
      if (stats[i].magnitude < stats[smallest].magnitude) smallest = i;
    }
    if (stats[weakest].p < kLevel) {
      if (stats[smallest].magnitude > least) break;
      weakest = smallest;
    }
    points.erase(points.begin() + static_cast<std::ptrdiff_t>(weakest));
  }
  return points;
}

namespace {

// E-divisive of one segment: the right side ends where the segment does, sides have 5 values or more.
Candidate plain_candidate(std::span<const double> y) {
  constexpr std::size_t kFewest = 5;
  Candidate best;
  double total = 0;
  std::vector<double> sums(y.size(), 0);
  for (std::size_t i = 0; i < y.size(); ++i) {
    for (std::size_t j = 0; j < y.size(); ++j) sums[i] += std::abs(y[i] - y[j]);
    total += sums[i] / 2;
  }
  double left = 0;
  double across = 0;
  for (std::size_t t = 0; t + kFewest < y.size(); ++t) {
    double to_left = 0;
    for (std::size_t i = 0; i < t; ++i) to_left += std::abs(y[t] - y[i]);
    left += to_left;
    across += sums[t] - 2 * to_left;
    if (t + 1 < kFewest) continue;
    const double n = static_cast<double>(t + 1);
    const double m = static_cast<double>(y.size() - t - 1);
    const double energy =
        m * n / (m + n) *
        (2 * across / (m * n) - 2 * left / (n * (n - 1)) - 2 * (total - left - across) / (m * (m - 1)));
    if (best.index == 0 || energy > best.energy) best = {t + 1, energy};
  }
  return best;
}

void plain_search(std::span<const double> y, std::size_t begin, std::size_t end, std::vector<std::size_t>& points) {
  constexpr std::size_t kFewest = 5;
  constexpr int kPermutations = 499;
  constexpr int kAllowed = 4;  // 1 + 4 of 500 are not under 0.01
  if (end - begin < 2 * kFewest) return;
  std::vector<double> values(y.begin() + static_cast<std::ptrdiff_t>(begin),
                             y.begin() + static_cast<std::ptrdiff_t>(end));
  const Candidate best = plain_candidate(values);
  Random random(begin * 1000003 + end);
  int as_good = 0;
  for (int round = 0; round < kPermutations; ++round) {
    shuffle(std::span<double>(values), random);
    if (plain_candidate(values).energy >= best.energy && ++as_good >= kAllowed) return;
  }
  points.push_back(begin + best.index);
  plain_search(y, begin, begin + best.index, points);
  plain_search(y, begin + best.index, end, points);
}

}  // namespace

std::vector<std::size_t> plain(std::span<const double> speeds) {
  std::vector<double> logs;
  for (const double speed : speeds) logs.push_back(log_of(speed));
  std::vector<std::size_t> points;
  plain_search(logs, 0, logs.size(), points);
  std::sort(points.begin(), points.end());
  return points;
}

}  // namespace capbench::stats::study
