// Facts about the machine that trials run on, collected outside any injected process.
#ifndef CAPBENCH_HARNESS_OBSERVE_ENVIRONMENT_H_
#define CAPBENCH_HARNESS_OBSERVE_ENVIRONMENT_H_

#include <filesystem>
#include <string>

#include "schema/records.h"

namespace capbench::observe {

// Reads /proc, /sys and /etc below `root` (tests give another one). A fact that cannot be read is left out, never
// guessed. The machine's identity is a keyed hash of /etc/machine-id, so that it can be published: the original cannot
// be computed from it. Where there is none, it is the hash of the hardware facts.
schema::EnvironmentRecord collect_environment(const std::filesystem::path& root = "/");

// What makes this machine a virtual one, for people ("KVM"); empty if it is not, as far as can be seen.
std::string virtualization(const schema::EnvironmentRecord& environment);

// UTC now, with milliseconds: "2026-11-30T04:25:07.123Z".
std::string utc_now();

}  // namespace capbench::observe

#endif  // CAPBENCH_HARNESS_OBSERVE_ENVIRONMENT_H_
