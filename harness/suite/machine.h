// The physical host that a target lives on. Pure, thread-safe.
#ifndef CAPBENCH_HARNESS_SUITE_MACHINE_H_
#define CAPBENCH_HARNESS_SUITE_MACHINE_H_

#include <map>
#include <string>

#include "harness/suite/target_spec.h"

namespace capbench::suite {

// "local", or the name of the target that stands for the host. Trials on one machine run one at a time, and comparisons
// never cross machines. A target that says no machine is on "local", where its tool runs; an ssh target is a machine
// of its own. So is a target that names itself. "local" and names that are not in `targets` are "local".
std::string machine_of(const std::string& target, const std::map<std::string, TargetSpec>& targets);

// What results from that target carry: "vm", "container", or "" for a host. What the target states, else what its kind
// is: "local", "ssh" and "command" are hosts unless they say otherwise.
std::string guest_of(const std::string& target, const std::map<std::string, TargetSpec>& targets);

}  // namespace capbench::suite

#endif  // CAPBENCH_HARNESS_SUITE_MACHINE_H_
