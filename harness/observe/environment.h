// The environment that trials run in: facts about a machine, collected outside any injected process.
#ifndef CAPBENCH_HARNESS_OBSERVE_ENVIRONMENT_H_
#define CAPBENCH_HARNESS_OBSERVE_ENVIRONMENT_H_

#include <filesystem>
#include <string>

#include "harness/observe/sources.h"
#include "schema/records.h"

namespace capbench::observe {

// The record of what the sources say (facts.md lists the facts): the SHA-256 of its canonical JSON names it, and the
// same machine gives the same twice. The machine's identity is a keyed hash of its own id (/etc/machine-id,
// IOPlatformUUID), so that it can be published: the original cannot be computed from it. Where there is none, it is the
// hash of the hardware's facts. Personal details are replaced. Pure.
schema::EnvironmentRecord environment_from(const SourceTexts& texts);

// This machine's. With another `root`, what files below it say; no command is run.
schema::EnvironmentRecord collect_environment(const std::filesystem::path& root = "/");

// What makes this machine a virtual one, for people ("KVM"); empty if it is not, as far as can be seen.
std::string virtualization(const schema::EnvironmentRecord& environment);

// UTC now, with milliseconds: "2026-11-30T04:25:07.123Z".
std::string utc_now();

}  // namespace capbench::observe

#endif  // CAPBENCH_HARNESS_OBSERVE_ENVIRONMENT_H_
