// Anka, by `anka run -n`: exact arguments, the command's own status but 125; files by `anka cp`.
#ifndef CAPBENCH_HARNESS_TARGET_TOOLS_ANKA_H_
#define CAPBENCH_HARNESS_TARGET_TOOLS_ANKA_H_

#include "harness/target/transport.h"

namespace capbench::target {

const KindInfo& anka_kind();

}  // namespace capbench::target

#endif  // CAPBENCH_HARNESS_TARGET_TOOLS_ANKA_H_
