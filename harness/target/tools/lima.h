// Lima, by `limactl shell`: the tool quotes the arguments for a login shell, which may talk; files by `limactl copy`.
#ifndef CAPBENCH_HARNESS_TARGET_TOOLS_LIMA_H_
#define CAPBENCH_HARNESS_TARGET_TOOLS_LIMA_H_

#include "harness/target/transport.h"

namespace capbench::target {

const KindInfo& lima_kind();

}  // namespace capbench::target

#endif  // CAPBENCH_HARNESS_TARGET_TOOLS_LIMA_H_
