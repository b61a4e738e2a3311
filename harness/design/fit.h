// The largest design that fits a time. Pure, thread-safe.
#ifndef CAPBENCH_HARNESS_DESIGN_FIT_H_
#define CAPBENCH_HARNESS_DESIGN_FIT_H_

#include <string>
#include <vector>

#include "base/result.h"
#include "harness/suite/structs.h"

namespace capbench::design {

struct Fitted {
  suite::Suite suite;                 // as given if all of it fits
  double seconds = 0;                 // its time, machines in parallel
  std::vector<std::string> left_out;  // sentences; empty if nothing was
};

// Seconds that the suite takes: trials, cool-downs and loads before them; of several machines the longest. `trial_s`
// is the mean of one trial.
double duration_s(const suite::Suite& suite, double trial_s);

// Tries, in this order, what is no larger than the suite asks for: the design as it is, the fraction, leave-one-out
// with one-at-a-time, leave-one-out, then fewer blocks, but no fewer than can answer (fewest_trials; never below 3). Of
// a suite without a design only the blocks are cut. What is cut from a design is its kinds: factors, controls and arms
// written by hand stay. An error says what the least costs.
Result<Fitted> largest_design_that_fits(const suite::Suite& suite, double trial_s, double max_s);

}  // namespace capbench::design

#endif  // CAPBENCH_HARNESS_DESIGN_FIT_H_
