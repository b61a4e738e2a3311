// Tart, by `tart exec` (needs the guest agent): exact arguments, separate streams, the command's own status; files
// through stdin and stdout. A VM keeps no trace of the image it was cloned from.
#ifndef CAPBENCH_HARNESS_TARGET_TOOLS_TART_H_
#define CAPBENCH_HARNESS_TARGET_TOOLS_TART_H_

#include "harness/target/transport.h"

namespace capbench::target {

const KindInfo& tart_kind();

}  // namespace capbench::target

#endif  // CAPBENCH_HARNESS_TARGET_TOOLS_TART_H_
