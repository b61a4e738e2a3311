// Parallels Desktop, by `prlctl exec --current-user`: words joined for the guest's shell; files through stdin and
// stdout.
#ifndef CAPBENCH_HARNESS_TARGET_TOOLS_PARALLELS_H_
#define CAPBENCH_HARNESS_TARGET_TOOLS_PARALLELS_H_

#include "harness/target/transport.h"

namespace capbench::target {

const KindInfo& parallels_kind();

}  // namespace capbench::target

#endif  // CAPBENCH_HARNESS_TARGET_TOOLS_PARALLELS_H_
