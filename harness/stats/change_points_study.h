// How good the search for change points is: made-up series whose changes are known, the scores, and Apache Otava's
// method as the baseline. Test only.
//
// A series has 10 points or more between changes and at either end. Its noise is normal on the logarithmic scale, or
// skewed to the slow side; 2 % of the points are outliers, 5 to 20 % slow. Steps are of 2 to 20 % in either direction,
// even on the logarithmic scale. Drift is a straight line over the whole series, and no change point: whoever reports
// one there has raised a false alarm. A found change is right if a true one lies within 3 points of it that no other
// found change has taken; recall counts the true ones over 3 standard deviations of the noise.
#ifndef CAPBENCH_HARNESS_STATS_CHANGE_POINTS_STUDY_H_
#define CAPBENCH_HARNESS_STATS_CHANGE_POINTS_STUDY_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "harness/stats/random.h"

namespace capbench::stats::study {

inline constexpr std::size_t kMatch = 3;
inline constexpr std::size_t kSegment = 10;
inline constexpr double kLarge = 3;  // standard deviations

struct Kind {
  std::size_t points = 100;
  double noise = 0.01;     // standard deviation of log speed
  std::size_t steps = 0;   // at most; as many as have room
  double outliers = 0.02;  // share of points
  double drift = 0;        // of log speed, over the whole series
  double autocorrelation = 0;
  bool skewed = false;
};

struct KnownStep {
  std::size_t index = 0;  // of the first point after it
  double size = 0;        // of log speed
};

struct KnownSeries {
  std::vector<double> speeds;
  std::vector<KnownStep> steps;  // in order
  double noise = 0;
};

KnownSeries make_series(Random& random, const Kind& kind);

struct Scores {
  std::size_t points = 0;
  std::size_t found = 0;
  std::size_t right = 0;
  std::size_t large = 0;        // true changes over kLarge standard deviations
  std::size_t large_found = 0;  // of these

  double precision() const { return found == 0 ? 1 : static_cast<double>(right) / static_cast<double>(found); }
  double recall() const { return large == 0 ? 1 : static_cast<double>(large_found) / static_cast<double>(large); }
  double false_alarms_per_1000() const {
    return points == 0 ? 0 : 1000 * static_cast<double>(found - right) / static_cast<double>(points);
  }
  Scores& operator+=(const Scores& other);
};

// `found` in order: the first points after each change.
Scores score(const KnownSeries& series, std::span<const std::size_t> found);

using Method = std::function<std::vector<std::size_t>(std::span<const double>)>;

// This room's, with its defaults.
std::vector<std::size_t> ours(std::span<const double> speeds);
// E-divisive as published, p < 0.01 by 499 permutations, minimum segment 5, without windows or filter.
std::vector<std::size_t> plain(std::span<const double> speeds);
// Apache Otava (formerly Hunter; Fleming et al., "Hunter: Using Change Point Detection to Hunt for Performance
// Regressions", ICPE 2023) with its defaults: windows of 50, Student's t, p < 0.001. `least`: its minimum magnitude, by
// default 0.
std::vector<std::size_t> otava(std::span<const double> speeds, double least = 0);

}  // namespace capbench::stats::study

#endif  // CAPBENCH_HARNESS_STATS_CHANGE_POINTS_STUDY_H_
