// UTM, by `utmctl exec` (needs the QEMU backend and its guest agent): output at the end, a status of 0 that means
// nothing; files by `utmctl file`.
#ifndef CAPBENCH_HARNESS_TARGET_TOOLS_UTM_H_
#define CAPBENCH_HARNESS_TARGET_TOOLS_UTM_H_

#include "harness/target/transport.h"

namespace capbench::target {

const KindInfo& utm_kind();

}  // namespace capbench::target

#endif  // CAPBENCH_HARNESS_TARGET_TOOLS_UTM_H_
