#include "harness/stats/change_points.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "harness/stats/distribution.h"
#include "harness/stats/elementary.h"
#include "harness/stats/hodges_lehmann.h"
#include "harness/stats/random.h"

namespace capbench::stats {
namespace {

constexpr std::size_t kWindow = 100;
constexpr std::size_t kSide = kWindow / 2;  // of a settled change, at most
constexpr double kSpike = 5;                // standard deviations
constexpr double kMadToDeviation = 1.4826;  // of a normal distribution
constexpr double kSteps = 255;              // that a segment's range is divided into: bytes are summed 16 at a time
constexpr std::size_t kMoves = 20;
constexpr std::array<std::size_t, 3> kScales = {25, 50, kWindow};
constexpr std::uint32_t kSearchPermutations = 99;

Status check(std::span<const double> values, const ChangePointOptions& options) {
  const auto refuse = [](const char* what, const char* cause, const char* remedy) {
    return Error{ErrorKind::kUsage, what, cause, remedy};
  };
  if (!(options.level >= 0.001 && options.level <= 0.2)) return refuse("level", "out of range", "0.001 to 0.2");
  if (!(options.min_effect >= 0 && options.min_effect <= 0.9)) return refuse("min_effect", "out of range", "0 to 0.9");
  if (!(options.min_sigmas >= 0 && options.min_sigmas <= 10)) return refuse("min_sigmas", "out of range", "0 to 10");
  if (options.min_segment < 4 || options.min_segment > kSide) return refuse("min_segment", "out of range", "4 to 50");
  if (options.permutations < 99 || options.permutations > 9999) {
    return refuse("permutations", "out of range", "99 to 9,999");
  }
  if (!(options.confidence >= 0.5 && options.confidence <= 0.99)) {
    return refuse("confidence", "out of range", "0.5 to 0.99");
  }
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (!(values[i] >= 1e-100 && values[i] <= 1e100)) {
      return Error{ErrorKind::kUsage, "point " + std::to_string(i) + " of the series",
                   "not a speed: not finite and positive", "leave it out"};
    }
  }
  return {};
}

// The room's median() takes a copy too; this one sorts what it is given.
double median_of(std::vector<double>& values) {
  const std::size_t middle = values.size() / 2;
  const auto at = [&](std::size_t i) { return values.begin() + static_cast<std::ptrdiff_t>(i); };
  std::nth_element(values.begin(), at(middle), values.end());
  const double upper = values[middle];
  if (values.size() % 2 == 1) return upper;
  return (*std::max_element(values.begin(), at(middle)) + upper) / 2;
}

// Standard deviation of noise from the differences of neighbours, most of which see no step.
double neighbour_noise(std::span<const double> logs) {
  if (logs.size() < 2) return 0;
  std::vector<double> differences(logs.size() - 1);
  for (std::size_t i = 0; i + 1 < logs.size(); ++i) differences[i] = std::abs(logs[i + 1] - logs[i]);
  return kMadToDeviation * median_of(differences) / std::sqrt(2.0);
}

std::vector<double> despiked(std::span<const double> logs) {
  constexpr std::size_t kReach = 2;
  std::vector<double> out(logs.begin(), logs.end());
  if (logs.size() < 2 * kReach + 1) return out;
  for (std::size_t begin = 0; begin < logs.size(); begin += kWindow) {
    // Noise of the place: that of a window, the last one a whole window too.
    const std::size_t from = logs.size() < kWindow ? 0 : std::min(begin, logs.size() - kWindow);
    const double limit = kSpike * neighbour_noise(logs.subspan(from, std::min(kWindow, logs.size() - from)));
    for (std::size_t i = begin; i < std::min(begin + kWindow, logs.size()); ++i) {
      const std::size_t first = std::min(i < kReach ? 0 : i - kReach, logs.size() - (2 * kReach + 1));
      std::array<double, 2 * kReach + 1> five{};
      std::copy_n(logs.begin() + static_cast<std::ptrdiff_t>(first), five.size(), five.begin());
      std::nth_element(five.begin(), five.begin() + kReach, five.end());
      if (std::abs(logs[i] - five[kReach]) > limit) out[i] = five[kReach];
    }
  }
  return out;
}

// A segment as whole numbers, each with the sum of its distances to all others.
struct Distances {
  std::vector<std::uint8_t> values;
  std::vector<std::int32_t> sums;
  std::int32_t total = 0;  // over all pairs
  bool flat = false;       // all values are one
};

std::int32_t distances_to(std::uint8_t value, std::span<const std::uint8_t> others) {
  std::int32_t sum = 0;
  for (const std::uint8_t other : others) sum += std::abs(other - value);
  return sum;
}

Distances distances_of(std::span<const double> logs) {
  Distances d;
  const auto [low, high] = std::minmax_element(logs.begin(), logs.end());
  d.flat = !(*high > *low);
  const double base = *low;
  const double scale = d.flat ? 0 : kSteps / (*high - *low);
  d.values.reserve(logs.size());
  for (const double value : logs) {
    d.values.push_back(static_cast<std::uint8_t>((value - base) * scale + 0.5));
  }
  for (const std::uint8_t value : d.values) {
    d.sums.push_back(distances_to(value, d.values));
    d.total += d.sums.back();
  }
  d.total /= 2;
  return d;
}

struct Split {
  std::size_t at = 0;  // of the first value of the right side
  double energy = 0;
};

// The split with the largest energy distance m n / (m + n) * (2 E|X-Y| - E|X-X'| - E|Y-Y'|), `fewest` values or more on
// either side.
Split best_split(std::span<const std::uint8_t> values, std::span<const std::int32_t> sums, std::int32_t total,
                 std::size_t fewest) {
  Split best;
  std::int32_t left = 0;    // distances within the left side
  std::int32_t across = 0;  // from the left side to the right
  const std::size_t size = values.size();
  for (std::size_t k = 0; k + fewest < size; ++k) {
    const std::int32_t to_left = distances_to(values[k], values.first(k));
    left += to_left;
    across += sums[k] - 2 * to_left;
    const std::size_t at = k + 1;
    if (at < fewest) continue;
    const double m = static_cast<double>(at);
    const double n = static_cast<double>(size - at);
    const double right = static_cast<double>(total - left - across);
    const double energy = m * n / (m + n) *
                          (2 * static_cast<double>(across) / (m * n) - 2 * static_cast<double>(left) / (m * (m - 1)) -
                           2 * right / (n * (n - 1)));
    if (best.at == 0 || energy > best.energy) best = {at, energy};
  }
  return best;
}

// Uniform over 0 .. bound-1 for small bounds, within 1 part in 2^32; Random::below() divides twice.
std::size_t draw_below(Random& random, std::size_t bound) {
  return static_cast<std::size_t>(((random.next() >> 32U) * bound) >> 32U);
}

struct Test {
  std::uint32_t permutations = 0;
  std::uint32_t allowed = 0;  // so many of them may have a split as good
};

// P that a random order of the values has a split as good: (1 + those that have) / (1 + permutations). 1 as soon as
// there are more than allowed.
double permutation_p(Distances d, const Split& best, const Test& test, std::size_t fewest, std::uint64_t seed) {
  if (d.flat) return 1;
  Random random(seed);
  std::uint32_t as_good = 0;
  for (std::uint32_t round = 0; round < test.permutations; ++round) {
    for (std::size_t i = d.values.size(); i > 1; --i) {
      const std::size_t j = draw_below(random, i);
      std::swap(d.values[i - 1], d.values[j]);
      std::swap(d.sums[i - 1], d.sums[j]);
    }
    if (best_split(d.values, d.sums, d.total, fewest).energy >= best.energy && ++as_good > test.allowed) return 1;
  }
  return (1.0 + as_good) / (test.permutations + 1.0);
}

// Every segment has random numbers of its own, whatever was looked at before it.
std::uint64_t seed_of(std::size_t begin, std::size_t size, const ChangePointOptions& options) {
  return options.seed + 0x9E3779B97F4A7C15U * (std::uint64_t{begin} * 2 * kWindow + size + 1);
}

// Splits of one window, by their place in the series.
void search(std::span<const double> logs, std::size_t begin, std::size_t end, const ChangePointOptions& options,
            std::vector<std::size_t>& found) {
  if (end - begin < 2 * options.min_segment) return;
  const Distances d = distances_of(logs.subspan(begin, end - begin));
  const Split best = best_split(d.values, d.sums, d.total, options.min_segment);
  // Few permutations: what is found here by luck is tested again when it is settled.
  if (permutation_p(d, best, {kSearchPermutations, 0}, options.min_segment, seed_of(begin, end - begin, options)) == 1)
    return;
  found.push_back(begin + best.at);
  search(logs, begin, begin + best.at, options, found);
  search(logs, begin + best.at, end, options, found);
}

std::vector<std::size_t> search_windows(std::span<const double> logs, const ChangePointOptions& options) {
  std::vector<std::size_t> found;
  for (const std::size_t scale : kScales) {
    const std::size_t last = logs.size() < scale ? 0 : logs.size() - scale;
    for (std::size_t begin = 0;; begin += scale / 2) {
      const std::size_t from = std::min(begin, last);
      search(logs, from, std::min(from + scale, logs.size()), options, found);
      if (from == last) break;
    }
    if (logs.size() <= scale) break;
  }
  std::sort(found.begin(), found.end());
  found.erase(std::unique(found.begin(), found.end()), found.end());
  return found;
}

class Settling {
 public:
  Settling(std::span<const double> raw, std::span<const double> calm, const ChangePointOptions& options)
      : raw_(raw),
        calm_(calm),
        options_(options),
        test_{options.permutations, 0},
        quantile_(normal_quantile((1 + options.confidence) / 2)) {
    // (1 + allowed) / (1 + permutations) < level
    while ((2.0 + test_.allowed) / (1.0 + test_.permutations) < options.level) ++test_.allowed;
  }

  std::vector<ChangePoint> settle(const std::vector<std::size_t>& places) {
    for (const std::size_t place : places) points_.push_back({place});
    // A place that moves changes what its neighbours are judged by. Moving alone could go on for ever.
    for (std::size_t moves = 0;;) {
      const auto [falls, moved] = judge_all();
      if (falls) {
        remove_weakest();
      } else if (!moved || ++moves > kMoves) {
        if (!mark_lines() && confirm_all()) break;
        std::erase_if(points_, [](const Point& point) { return !point.stands; });
      }
    }
    std::vector<ChangePoint> out;
    for (const Point& point : points_) out.push_back(describe(point));
    return out;
  }

 private:
  struct Point {
    std::size_t at = 0;
    std::size_t begin = 0;  // of what it was judged by; an empty range: not yet
    std::size_t end = 0;
    double shift = 0;  // of logs, Hodges-Lehmann
    double low = 0;    // its interval
    double high = 0;
    double noise = 0;
    double p = 1;
    bool stands = false;
    bool confirmed = false;  // by all permutations
  };

  // Where a side ends: at the neighbour, at the reach of a side, at the end of the series.
  std::size_t begin_of(std::size_t i) const {
    const std::size_t previous = i == 0 ? 0 : points_[i - 1].at;
    return std::max(previous, points_[i].at < kSide ? 0 : points_[i].at - kSide);
  }
  std::size_t end_of(std::size_t i) const {
    const std::size_t next = i + 1 == points_.size() ? raw_.size() : points_[i + 1].at;
    return std::min(next, points_[i].at + kSide);
  }

  struct Judged {
    bool falls = false;  // some point does not stand
    bool moved = false;  // some point was placed anew
  };
  Judged judge_all() {
    Judged judged;
    for (std::size_t i = 0; i < points_.size(); ++i) {
      const std::size_t begin = begin_of(i);
      const std::size_t end = end_of(i);
      Point& point = points_[i];
      if (point.begin != begin || point.end != end) {
        place(point, begin, end);
        judged.moved = true;
      }
      judged.falls = judged.falls || !point.stands;
    }
    return judged;
  }

  void place(Point& point, std::size_t begin, std::size_t end) {
    point.begin = begin;
    point.end = end;
    point.stands = false;
    point.shift = 0;
    if (end - begin < 2 * options_.min_segment) return;
    const Distances d = distances_of(calm_.subspan(begin, end - begin));
    const Split best = best_split(d.values, d.sums, d.total, options_.min_segment);
    point.at = begin + best.at;
    estimate(point);
    const double least = log_of(1 + options_.min_effect);
    const double size = std::abs(point.shift);
    const double reach = std::max(std::abs(point.low), std::abs(point.high));
    if (size < options_.min_sigmas * point.noise || reach < least) return;
    point.p =
        permutation_p(d, best, {kSearchPermutations, 0}, options_.min_segment, seed_of(begin, end - begin, options_));
    point.stands = point.p < 1;
    point.confirmed = false;
  }

  std::vector<double> sorted(std::size_t begin, std::size_t end) const {
    std::vector<double> out(raw_.begin() + static_cast<std::ptrdiff_t>(begin),
                            raw_.begin() + static_cast<std::ptrdiff_t>(end));
    std::sort(out.begin(), out.end());
    return out;
  }

  static double middle(const std::vector<double>& in_order) {
    const std::size_t half = in_order.size() / 2;
    return in_order.size() % 2 == 1 ? in_order[half] : (in_order[half - 1] + in_order[half]) / 2;
  }

  void estimate(Point& point) {
    const std::vector<double> before = sorted(point.begin, point.at);
    const std::vector<double> after = sorted(point.at, point.end);
    point.shift = hodges_lehmann_shift(after, before);
    const std::uint64_t rank = rank_of(before.size(), after.size());
    const std::uint64_t pairs = std::uint64_t{before.size()} * after.size();
    point.low = kth_difference(after, before, rank);
    point.high = kth_difference(after, before, pairs + 1 - rank);
    std::vector<double> residuals;
    residuals.reserve(before.size() + after.size());
    for (const double value : before) residuals.push_back(std::abs(value - middle(before)));
    for (const double value : after) residuals.push_back(std::abs(value - middle(after)));
    // Two medians were fitted; neighbours know nothing of slow waves, and residuals nothing of other steps.
    const double n = static_cast<double>(residuals.size());
    const double around = kMadToDeviation * median_of(residuals) * std::sqrt(n / (n - 2));
    point.noise = std::max(around, neighbour_noise(raw_.subspan(point.begin, point.end - point.begin)));
  }

  // Exact where the normal approximation is not good yet; it takes a while to make.
  std::uint64_t rank_of(std::size_t m, std::size_t n) {
    constexpr double kLarge = 400;
    const double pairs = static_cast<double>(m) * static_cast<double>(n);
    if (pairs >= kLarge) {
      return static_cast<std::uint64_t>(pairs / 2 -
                                        quantile_ * std::sqrt(pairs * (static_cast<double>(m + n) + 1) / 12));
    }
    const auto [place, is_new] = ranks_.try_emplace({m, n}, 0);
    if (is_new) place->second = mann_whitney_rank(m, n, (1 - options_.confidence) / 2);
    return std::max<std::uint64_t>(1, place->second);
  }

  // With all permutations, those that have come this far. True if all stand.
  bool confirm_all() {
    bool all = true;
    for (Point& point : points_) {
      if (point.confirmed) continue;
      const Distances d = distances_of(calm_.subspan(point.begin, point.end - point.begin));
      const Split best = best_split(d.values, d.sums, d.total, options_.min_segment);
      point.p =
          permutation_p(d, best, test_, options_.min_segment, seed_of(point.begin, point.end - point.begin, options_));
      point.stands = point.p < options_.level;
      point.confirmed = true;
      all = all && point.stands;
    }
    return all;
  }

  // Marks each run of steps in one direction that a straight line explains as well: a drift looks like stairs. By
  // Schwarz's criterion over the run: two parameters against a level and a place for each step; but a single step
  // need only fit better. True if there was one.
  bool mark_lines() {
    bool any = false;
    for (std::size_t first = 0; first < points_.size();) {
      std::size_t last = first;
      const auto up = [&](std::size_t i) { return points_[i].shift > 0; };
      while (last + 1 < points_.size() && up(last + 1) == up(first) && points_[last].end == points_[last + 1].at &&
             points_[last + 1].begin == points_[last].at) {
        ++last;
      }
      if (is_line(first, last)) {
        for (std::size_t i = first; i <= last; ++i) points_[i].stands = false;
        any = true;
      }
      first = last + 1;
    }
    return any;
  }

  bool is_line(std::size_t first, std::size_t last) const {
    const std::size_t begin = points_[first].begin;
    const std::span<const double> y = calm_.subspan(begin, points_[last].end - begin);
    const double n = static_cast<double>(y.size());
    double by_steps = 0;  // what is left unexplained
    std::size_t from = begin;
    for (std::size_t i = first; i <= last + 1; ++i) {
      const std::size_t to = i <= last ? points_[i].at : points_[last].end;
      by_steps += around_mean(calm_.subspan(from, to - from));
      from = to;
    }
    double mean = 0;
    for (const double value : y) mean += value / n;
    double covariance = 0;
    double spread = 0;
    for (std::size_t i = 0; i < y.size(); ++i) {
      const double x = static_cast<double>(i) - (n - 1) / 2;
      covariance += x * (y[i] - mean);
      spread += x * x;
    }
    const double by_line = around_mean(y) - covariance * covariance / spread;
    const auto more = 2 * static_cast<double>(last - first);
    return n * log_of(std::max(by_line, 1e-300)) < n * log_of(std::max(by_steps, 1e-300)) + more * log_of(n);
  }

  static double around_mean(std::span<const double> values) {
    double mean = 0;
    for (const double value : values) mean += value / static_cast<double>(values.size());
    double sum = 0;
    for (const double value : values) sum += (value - mean) * (value - mean);
    return sum;
  }

  // Those that do not stand and are no stronger than a neighbour that does not: at least one.
  void remove_weakest() {
    const auto strength = [&](std::size_t i) { return std::abs(points_[i].shift); };
    const auto falls = [&](std::size_t i) { return i < points_.size() && !points_[i].stands; };
    std::vector<Point> kept;
    bool removed_previous = false;
    for (std::size_t i = 0; i < points_.size(); ++i) {
      const bool weaker_than_previous = i == 0 || !falls(i - 1) || strength(i) <= strength(i - 1);
      const bool weaker_than_next = !falls(i + 1) || strength(i) <= strength(i + 1);
      if (falls(i) && weaker_than_previous && weaker_than_next && !removed_previous) {
        removed_previous = true;
        continue;
      }
      removed_previous = false;
      kept.push_back(points_[i]);
    }
    points_ = std::move(kept);
  }

  ChangePoint describe(const Point& point) const {
    ChangePoint out;
    out.index = point.at;
    out.begin = point.begin;
    out.end = point.end;
    out.before = exp_of(middle(sorted(point.begin, point.at)));
    out.after = exp_of(middle(sorted(point.at, point.end)));
    out.ratio = exp_of(point.shift);
    out.lo = exp_of(point.low);
    out.hi = exp_of(point.high);
    out.noise = exp_of(point.noise) - 1;
    out.p = point.p;
    locate(point, out);
    return out;
  }

  // The posterior of the place, from its peak outwards until it holds enough.
  void locate(const Point& point, ChangePoint& out) const {
    const double before = middle(sorted(point.begin, point.at));
    const double after = middle(sorted(point.at, point.end));
    const double variance = std::max(point.noise * point.noise, 1e-30);
    const std::size_t size = point.end - point.begin;
    std::vector<double> log_weight(size, 0);  // of the first point after the step being begin + i; 0 is impossible
    double sum = 0;
    for (std::size_t i = 1; i < size; ++i) {
      const double y = calm_[point.begin + i - 1];
      sum += ((y - after) * (y - after) - (y - before) * (y - before)) / (2 * variance);
      log_weight[i] = sum;
    }
    const std::size_t at = point.at - point.begin;
    std::vector<double> weight(size, 0);
    double total = 0;
    for (std::size_t i = 1; i < size; ++i) {
      weight[i] = exp_of(std::min(log_weight[i] - log_weight[at], 500.0));
      total += weight[i];
    }
    std::size_t first = at;
    std::size_t last = at;
    double held = weight[at];
    while (held < options_.confidence * total && (first > 1 || last + 1 < size)) {
      const double left = first > 1 ? weight[first - 1] : -1;
      const double right = last + 1 < size ? weight[last + 1] : -1;
      held += std::max(left, right);
      if (left >= right) {
        --first;
      } else {
        ++last;
      }
    }
    out.first = point.begin + first;
    out.last = point.begin + last;
  }

  std::span<const double> raw_;
  std::span<const double> calm_;
  const ChangePointOptions& options_;
  Test test_;
  double quantile_;
  std::vector<Point> points_;
  std::map<std::pair<std::size_t, std::size_t>, std::uint64_t> ranks_;
};

std::vector<ChangePoint> search_and_settle(std::span<const double> logs, const ChangePointOptions& options) {
  const std::vector<double> calm = despiked(logs);
  return Settling(logs, calm, options).settle(search_windows(calm, options));
}

// The slope that all levels share, per point: 0 unless it is beyond doubt.
double slope_within(std::span<const double> logs, std::span<const ChangePoint> changes) {
  constexpr double kBeyondDoubt = 3;  // standard errors
  const std::vector<double> calm = despiked(logs);
  double covariance = 0;
  double spread = 0;
  double squares = 0;
  std::size_t begin = 0;
  for (std::size_t c = 0; c <= changes.size(); ++c) {
    const std::size_t end = c < changes.size() ? changes[c].index : calm.size();
    const auto n = static_cast<double>(end - begin);
    double mean = 0;
    for (std::size_t i = begin; i < end; ++i) mean += calm[i] / n;
    for (std::size_t i = begin; i < end; ++i) {
      const double x = static_cast<double>(i - begin) - (n - 1) / 2;
      covariance += x * (calm[i] - mean);
      spread += x * x;
      squares += (calm[i] - mean) * (calm[i] - mean);
    }
    begin = end;
  }
  const double freedom = static_cast<double>(calm.size()) - static_cast<double>(changes.size()) - 2;
  if (freedom < 1 || !(spread > 0)) return 0;
  const double slope = covariance / spread;
  const double variance = std::max(squares - slope * covariance, 0.0) / freedom;
  return slope * slope * spread > kBeyondDoubt * kBeyondDoubt * variance ? slope : 0;
}

}  // namespace

Result<std::vector<ChangePoint>> find_change_points(std::span<const double> values, const ChangePointOptions& options) {
  if (Status status = check(values, options); !status) return std::move(status).error();
  if (values.size() < 2 * options.min_segment) return std::vector<ChangePoint>{};
  std::vector<double> logs;
  logs.reserve(values.size());
  for (const double value : values) logs.push_back(log_of(value));
  std::vector<ChangePoint> found = search_and_settle(logs, options);
  const double slope = slope_within(logs, found);
  if (slope == 0) return found;
  for (std::size_t i = 0; i < logs.size(); ++i) {
    logs[i] -= slope * (static_cast<double>(i) - static_cast<double>(logs.size() - 1) / 2);
  }
  return search_and_settle(logs, options);
}

}  // namespace capbench::stats
