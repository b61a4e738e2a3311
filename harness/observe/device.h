// Did the process run on the device that its arm asked for? llama-bench exits 0 when it did not. Pure.
#ifndef CAPBENCH_HARNESS_OBSERVE_DEVICE_H_
#define CAPBENCH_HARNESS_OBSERVE_DEVICE_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "harness/suite/suite.h"
#include "schema/records.h"

namespace capbench::observe {

// What an arm's -dev names: "Vulkan0", "MTL0/MTL1".
struct DeviceChoice {
  struct Named {
    std::string backend;  // "Vulkan"
    std::int64_t index = 0;
  };
  std::vector<Named> devices;  // empty: the application chooses
  bool none = false;           // "none": the CPU

  // Whether the process may use that device.
  bool uses(std::string_view backend, std::int64_t index) const;
};

// A name without a number at its end ("BLAS") has index 0.
DeviceChoice chosen_devices(std::string_view dev);

// Why the process was without a GPU that the arm needs; empty if it had it or needs none. An arm needs one if it names
// a device, or sets a capability of the Vulkan or Metal domain. `log` is the process's stderr.
std::string missing_device(const suite::Arm& arm, const std::vector<schema::ResultRecord>& results,
                           std::string_view log);

}  // namespace capbench::observe

#endif  // CAPBENCH_HARNESS_OBSERVE_DEVICE_H_
