// A container of podman or docker, by `run --rm`: each command is a new container, so what must outlive it lies in a
// volume.
#ifndef CAPBENCH_HARNESS_TARGET_TOOLS_CONTAINER_H_
#define CAPBENCH_HARNESS_TARGET_TOOLS_CONTAINER_H_

#include "harness/target/transport.h"

namespace capbench::target {

const KindInfo& container_kind();

}  // namespace capbench::target

#endif  // CAPBENCH_HARNESS_TARGET_TOOLS_CONTAINER_H_
