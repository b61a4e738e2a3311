// Shows which instructions run by running them, in a child process that may die of it.
#ifndef CAPBENCH_SHIM_CPU_EXECUTE_H_
#define CAPBENCH_SHIM_CPU_EXECUTE_H_

#include <cstddef>
#include <cstdint>

#include "shim/cpu/levels.h"

namespace capbench::shim::cpu {

// Executes something and says whether the result is right. May end its process instead.
using Probe = bool (*)();

inline constexpr std::size_t kMaxProbes = 32;

// Bit i is set if probes[i] ran to its end and gave the right result. A probe that raises a signal, ends its process or
// is wrong clears its own bit only. At most kMaxProbes are run.
//
// One child process per stretch without a fault. It shares the caller's memory while the caller's thread waits
// (CLONE_VM and CLONE_VFORK, as posix_spawn does), so nothing is copied; its end raises no signal and no wait() of the
// host sees it; a fault is caught in the child, so the kernel logs and dumps nothing. If no child can be made, no bit
// is set. Any thread; all signals are blocked in it meanwhile.
std::uint32_t run_probes(const Probe* probes, std::size_t count);

// The subset of `wanted` that runs here: one instruction or more of each, with its result checked. Ask only for
// features whose registers the kernel saves (detect.h, enabled_by). Empty where the architecture is not x86-64.
FeatureSet execute_features(FeatureSet wanted);

}  // namespace capbench::shim::cpu

#endif  // CAPBENCH_SHIM_CPU_EXECUTE_H_
