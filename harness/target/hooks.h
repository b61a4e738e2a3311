// What a suite states of any target: its image, and the commands that start and stop it.
#ifndef CAPBENCH_HARNESS_TARGET_HOOKS_H_
#define CAPBENCH_HARNESS_TARGET_HOOKS_H_

#include <string_view>

#include "base/result.h"
#include "harness/target/info.h"
#include "harness/target/spec.h"
#include "harness/target/tool.h"

namespace capbench::target {

// The option `image`, marked as stated; empty without it. "sha256:HEX" and "NAME@sha256:HEX" hold a digest. Pure.
ImageIdentity stated_image(const TargetSpec& spec);

// Runs the argv list `key` ("start", "stop") on the machine of `tools`; without one it does nothing. It must end by
// itself within `wait_s` (a VM that is started in the foreground needs `--detach`, `&` or the like).
Status run_hook(const TargetSpec& spec, std::string_view key, std::string_view target, ToolRunner& tools, int stop_fd);

// The option `wait_s`: how long a target may take to answer after its start.
int wait_seconds(const TargetSpec& spec);

}  // namespace capbench::target

#endif  // CAPBENCH_HARNESS_TARGET_HOOKS_H_
