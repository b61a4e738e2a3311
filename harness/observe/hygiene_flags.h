// Flags that a trial gets from its hygiene. The rules are fixed here, before any measurement; a flag is shown, and
// nothing is left out because of it. Pure, thread-safe.
//
//   load            before: the 1-minute load average is over 1 and over a tenth of the CPUs that the caller names.
//   gpu busy        before: the busiest GPU is more than 10 % busy, or another program holds one for computing.
//   on battery      before or after: the machine runs on its battery.
//   low power mode  before or after: it is on.
//   thermal         before or after: the thermal pressure is above nominal, or a CPU or GPU sensor shows 90 degrees
//                   Celsius or more.
//   throttled       before or after: a GPU gives a reason other than its power cap, or macOS limits the CPU's speed; or
//                   the CPU throttled in between. The power cap alone is how a GPU runs at full load, so it counts only
//                   before, when there is no load.
//   swapped         in between: 1 MiB or more was swapped out, or the swap in use grew by that.
//   memory grew     in between: the free memory fell by more than 5 points, or the compressor took 256 MiB more.
#ifndef CAPBENCH_HARNESS_OBSERVE_HYGIENE_FLAGS_H_
#define CAPBENCH_HARNESS_OBSERVE_HYGIENE_FLAGS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "harness/observe/hygiene.h"

namespace capbench::observe {

struct HygieneFlag {
  std::string name;  // as above
  std::string why;   // "38.2 MiB swapped out during the trial"

  bool operator==(const HygieneFlag&) const = default;
};

// The flags of one trial, each at most once, in the order above. `cpus`: logical CPUs of the machine; 0: not known.
std::vector<HygieneFlag> flag_hygiene(const Hygiene& before, const Hygiene& after, std::int64_t cpus);

}  // namespace capbench::observe

#endif  // CAPBENCH_HARNESS_OBSERVE_HYGIENE_FLAGS_H_
