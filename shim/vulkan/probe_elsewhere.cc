// Where the layer is not built: systems other than Linux, whose Vulkan headers and loader are not looked for.
#include "shim/vulkan/probe.h"

namespace capbench::shim::vulkan {

Result<std::vector<ProbedDevice>> probe_devices() {
  return Error{ErrorKind::kMachine, "Vulkan", "this program asks for it on Linux only",
               "run it on Linux, with a Vulkan driver"};
}

}  // namespace capbench::shim::vulkan
