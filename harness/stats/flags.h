// Flags for trials that look cold or drifting. The rules are fixed here, before any measurement; a flag is shown, and
// nothing is left out because of it. Pure, thread-safe.
//
//   outlying trial         3 or more trials: the trial's median is further from the arm's median (of trial medians)
//   than
//                          the larger of 10 % of that and 5 median absolute deviations of the trial medians.
//   cold first process     3 or more trials: every sample of the arm's first process is slower than the median of the
//                          other trials' medians by more than the larger of 10 % of that and 5 median absolute
//                          deviations of them. An idle GPU's clocks look so.
//   outlying first sample  4 or more samples: the first is further from the median of the others than the larger of 10
//   %
//                          of that and 5 median absolute deviations of the others.
//   drift                  4 or more samples: they only fall or only rise (equal neighbours allowed), and first and
//   last
//                          differ by more than 10 % of the trial's median.
//   trend                  5 or more samples, no drift: of all pairs of samples, those that rise and those that fall
//                          differ by more than all but 1 % of random orders would have it (Kendall's S), and the
//                          Theil-Sen line through them changes by more than 5 % of the trial's median from first to
//                          last.
//   noisy samples          3 or more samples whose coefficient of variation is over 5 %, unless a drift, a trend or an
//                          outlying first sample explains it.
//   noisy trials           3 or more trials: the coefficient of variation of the trial medians is over 5 %, even
//   without
//                          those flagged as outlying. It is about the arm.
#ifndef CAPBENCH_HARNESS_STATS_FLAGS_H_
#define CAPBENCH_HARNESS_STATS_FLAGS_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "harness/stats/summary.h"

namespace capbench::stats {

// In place of a trial's index, for flags of the arm.
inline constexpr std::size_t kWholeArm = static_cast<std::size_t>(-1);

struct Flag {
  std::size_t trial = 0;  // index into the arm's trials, or kWholeArm
  std::string name;       // as above
  std::string why;        // "33.9 % below the median of the arm's trials"
};

// The flags of one arm, by trial, in the order above, those of the arm last. Trials without samples get none. The first
// process is the trial with the lowest block, the first in the list among equals.
std::vector<Flag> flag_trials(std::span<const Trial> trials);

// The least |S| of Kendall's test, S = pairs that rise less pairs that fall, that no more than `level` of the orders of
// n values reach or exceed; n (n - 1) / 2 + 1 if there is none. Exact up to 50 values, normal beyond.
std::int64_t kendall_critical(std::size_t n, double level);

}  // namespace capbench::stats

#endif  // CAPBENCH_HARNESS_STATS_FLAGS_H_
