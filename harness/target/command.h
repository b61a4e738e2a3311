// A target by a command line of the user's own.
#ifndef CAPBENCH_HARNESS_TARGET_COMMAND_H_
#define CAPBENCH_HARNESS_TARGET_COMMAND_H_

#include "harness/target/transport.h"

namespace capbench::target {

// Lists: `run`, an argv with `{script}` (the script's text, for tools that hand arguments on unchanged) or `{words}`
// (the same for tools whose arguments a shell reads there); optionally `copy_in` and `copy_out` with `{local}` and
// `{remote}`. Without the copies files go through the command's stdin and stdout.
const KindInfo& command_kind();

}  // namespace capbench::target

#endif  // CAPBENCH_HARNESS_TARGET_COMMAND_H_
