// The VM of `podman machine` (libkrun, applehv, QEMU), by `podman machine ssh`: words joined for the guest's shell;
// files by `podman machine cp`.
#ifndef CAPBENCH_HARNESS_TARGET_TOOLS_PODMAN_MACHINE_H_
#define CAPBENCH_HARNESS_TARGET_TOOLS_PODMAN_MACHINE_H_

#include "harness/target/transport.h"

namespace capbench::target {

const KindInfo& podman_machine_kind();

}  // namespace capbench::target

#endif  // CAPBENCH_HARNESS_TARGET_TOOLS_PODMAN_MACHINE_H_
