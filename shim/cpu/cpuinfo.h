// The same features from Linux's /proc/cpuinfo, for machines where this program does not run. Pure, thread-safe.
#ifndef CAPBENCH_SHIM_CPU_CPUINFO_H_
#define CAPBENCH_SHIM_CPU_CPUINFO_H_

#include <optional>
#include <string_view>

#include "shim/cpu/levels.h"

namespace capbench::shim::cpu {

// What the first "flags" line says: the kernel lists only what it lets processes use. Nothing if there is no such line
// (another architecture, or no cpuinfo at all).
std::optional<FeatureSet> features_of_cpuinfo(std::string_view cpuinfo);

}  // namespace capbench::shim::cpu

#endif  // CAPBENCH_SHIM_CPU_CPUINFO_H_
