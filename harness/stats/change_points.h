// Where a series of speeds changes its level: builds of llama.cpp, versions of a system, days. Pure, thread-safe,
// seeded: the same series gives the same bytes on every platform.
//
// The method is E-divisive (Matteson and James, "A nonparametric approach for multiple change point analysis of
// multivariate data", JASA 2014) on logarithms, with the magnitude filter that the study in README.md found to matter,
// and with three additions that make it linear in the length of the series and harder to fool:
//
//   despiked   a point that is further than 5 standard deviations from the median of its five neighbours counts as
//              that median: a lone slow process moves no segment. min_segment keeps real changes out of reach of this.
//   windows    splits are sought in windows of 100 points that overlap by half. What the magnitude filter lets pass
//              shows within 20 points on either side, so a longer window finds nothing more; it only hides short
//              segments and takes slow drift for steps. A split is the largest energy distance between the two sides
//              of its segment; a permutation test (Besag and Clifford's sequential form: it ends as soon as the answer
//              is certain) decides, and each side is searched again.
//   settled    the splits of all windows together are placed anew between their neighbours (50 points at most on
//              either side) and tested again. One goes, the weakest first, if its p is not under `level`; if its step
//              is under `min_sigmas` standard deviations of the noise around it; if its step, as far as its interval
//              reaches, stays under `min_effect`; or if a straight line explains its run of steps in one direction
//              better than they do (Schwarz's criterion). A slope that the levels share beyond doubt is taken out of
//              the series, and the search made again.
//
// The energy distances are sums of whole numbers (a segment's range is divided into 255 steps), so no order of adding
// can change them.
#ifndef CAPBENCH_HARNESS_STATS_CHANGE_POINTS_H_
#define CAPBENCH_HARNESS_STATS_CHANGE_POINTS_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/result.h"

namespace capbench::stats {

struct ChangePointOptions {
  double level = 0.01;               // of each permutation test; 0.001 to 0.2
  double min_effect = 0.02;          // share of speed, 0 to 0.9: the larger of 2 % and the A/A floor
  double min_sigmas = 1.5;           // 0 to 10
  std::size_t min_segment = 5;       // points between two changes, and at either end; 4 to 50
  std::uint32_t permutations = 499;  // 99 to 9,999
  double confidence = 0.95;          // of the intervals; 0.5 to 0.99
  std::uint64_t seed = 1;
};

struct ChangePoint {
  std::size_t index = 0;  // of the first point after the step
  // The first point after the step is one of first .. last, with the confidence asked for: the posterior of its place
  // under a uniform prior, given the two levels and the noise around it.
  std::size_t first = 0;
  std::size_t last = 0;
  // The points that were compared: begin .. index-1 and index .. end-1.
  std::size_t begin = 0;
  std::size_t end = 0;
  double before = 0;  // medians of the two sides
  double after = 0;
  double ratio = 1;  // after over before: exp of the Hodges-Lehmann shift of their logarithms
  double lo = 1;     // its interval, by inverting the Mann-Whitney test
  double hi = 1;
  double noise = 0;  // standard deviation around the two levels, as a share of speed (robust)
  double p = 1;      // of the permutation test; never below 1 / (permutations + 1)
};

// In order of index. Fewer than 2 * min_segment points have no change points, and fewer than 12 too few orders to reach
// p < 0.01. Fails for a value that is not finite and
// positive, naming its place, and for options out of range.
Result<std::vector<ChangePoint>> find_change_points(std::span<const double> values,
                                                    const ChangePointOptions& options = {});

}  // namespace capbench::stats

#endif  // CAPBENCH_HARNESS_STATS_CHANGE_POINTS_H_
