// Is the machine fit for a trial? The limits are the suite's; whether to wait, to warn or to refuse is the caller's.
// Pure, thread-safe.
#ifndef CAPBENCH_HARNESS_OBSERVE_HYGIENE_GATE_H_
#define CAPBENCH_HARNESS_OBSERVE_HYGIENE_GATE_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "harness/observe/hygiene.h"

namespace capbench::observe {

// What is absent or false is not asked for.
struct HygieneLimits {
  std::optional<double> max_load;             // 1-minute load average
  std::optional<double> max_gpu_use_percent;  // of the busiest GPU; and no program may compute on one
  std::optional<double> min_memory_free_percent;
  std::optional<double> max_temperature_c;  // of the hottest CPU or GPU sensor; macOS: pressure above nominal
  bool require_ac = false;                  // mains power, and no low-power mode
  bool vms_stopped = false;                 // no virtual machine runs on this host
  std::vector<std::int64_t> gpus;           // only these GPUs count (their index); none: all
};

struct HygieneFinding {
  std::string name;    // the limit's: "max_load"
  std::string value;   // what was seen: "3.52"; "unknown"
  std::string limit;   // "1"
  std::string why;     // "the 1-minute load average is 3.52, more than 1"
  std::string remedy;  // "end other programs, or wait"
  bool known = true;   // false: nothing here tells, so the limit could not be checked
};

// What speaks against a trial now; empty: nothing. A limit whose value nothing tells is a finding too, with `known`
// false.
std::vector<HygieneFinding> evaluate(const HygieneLimits& limits, const Hygiene& hygiene);

}  // namespace capbench::observe

#endif  // CAPBENCH_HARNESS_OBSERVE_HYGIENE_GATE_H_
