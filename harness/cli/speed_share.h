// How near a speed of a bundle comes to what its device can do, by the reports' table of devices. Pure.
#ifndef CAPBENCH_HARNESS_CLI_SPEED_SHARE_H_
#define CAPBENCH_HARNESS_CLI_SPEED_SHARE_H_

#include <functional>

#include "harness/verify/verify.h"

namespace capbench::cli {

// One for each verification: it remembers what it has worked out of a model, so it is for one thread at a time.
std::function<verify::SpeedShare(const verify::SpeedQuestion&)> make_speed_share();

}  // namespace capbench::cli

#endif  // CAPBENCH_HARNESS_CLI_SPEED_SHARE_H_
