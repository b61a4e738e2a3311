// Multipass, by `multipass exec`: exact arguments; files through the stdin and stdout of `multipass transfer`, since
// the tool is confined and may not open them itself.
#ifndef CAPBENCH_HARNESS_TARGET_TOOLS_MULTIPASS_H_
#define CAPBENCH_HARNESS_TARGET_TOOLS_MULTIPASS_H_

#include "harness/target/transport.h"

namespace capbench::target {

const KindInfo& multipass_kind();

}  // namespace capbench::target

#endif  // CAPBENCH_HARNESS_TARGET_TOOLS_MULTIPASS_H_
