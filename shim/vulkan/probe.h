// What this machine's Vulkan devices answer, asked through the ordinary loader: whatever layers the environment names
// take part, so under a trial's injection it shows what the trial is told.
#ifndef CAPBENCH_SHIM_VULKAN_PROBE_H_
#define CAPBENCH_SHIM_VULKAN_PROBE_H_

#include <string>
#include <utility>
#include <vector>

#include "base/result.h"

namespace capbench::shim::vulkan {

struct ProbedDevice {
  std::string name;         // "NVIDIA H200"
  std::string driver;       // "NVIDIA"; empty for a driver below Vulkan 1.2
  std::string driver_info;  // its version, in its own words
  std::string type;         // "discrete", "integrated", "virtual", "cpu" or "other"
  std::string api_version;  // "1.3.230"
  // Every vulkan.* capability in the order of shim/common/toggles.h: "on", "off" or decimal digits.
  std::vector<std::pair<std::string, std::string>> capabilities;
};

// In the loader's order. Opens libvulkan.so.1 and keeps it open. An error if there is no loader, no driver or no
// device. Not for several threads at once with a changing environment.
Result<std::vector<ProbedDevice>> probe_devices();

}  // namespace capbench::shim::vulkan

#endif  // CAPBENCH_SHIM_VULKAN_PROBE_H_
