// Flags for trials that look cold or drifting. The rules are fixed here, before any measurement; a flag is shown, and
// nothing is left out because of it. Pure, thread-safe.
//
//   outlying trial         3 or more trials: the trial's median is further from the arm's median (of trial medians)
//   than the
//                          larger of 10 % of that and 5 median absolute deviations of the trial medians.
//   outlying first sample  4 or more samples: the first is further from the median of the others than the larger of 10
//   % of
//                          that and 5 median absolute deviations of the others.
//   drift                  4 or more samples: they only fall or only rise (equal neighbours allowed), and first and
//   last
//                          differ by more than 10 % of the trial's median.
#ifndef CAPBENCH_HARNESS_STATS_FLAGS_H_
#define CAPBENCH_HARNESS_STATS_FLAGS_H_

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "harness/stats/summary.h"

namespace capbench::stats {

struct Flag {
  std::size_t trial = 0;  // index into the arm's trials
  std::string name;       // as above
  std::string why;        // "33.9 % below the median of the arm's trials"
};

// The flags of one arm, by trial, in the order above. Trials without samples get none.
std::vector<Flag> flag_trials(std::span<const Trial> trials);

}  // namespace capbench::stats

#endif  // CAPBENCH_HARNESS_STATS_FLAGS_H_
