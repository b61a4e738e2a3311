// Lume, by `lume ssh`: words joined for the guest's shell, both streams in one at the end, 60 seconds by default; files
// by ssh, with the user's key.
#ifndef CAPBENCH_HARNESS_TARGET_TOOLS_LUME_H_
#define CAPBENCH_HARNESS_TARGET_TOOLS_LUME_H_

#include "harness/target/transport.h"

namespace capbench::target {

const KindInfo& lume_kind();

}  // namespace capbench::target

#endif  // CAPBENCH_HARNESS_TARGET_TOOLS_LUME_H_
