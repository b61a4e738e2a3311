// A made-up Vulkan driver for tests, which knows what no software driver has: cooperative matrices, bfloat16, float8,
// fast integer dot products. It computes nothing; it answers, checks and remembers. Loaded by the real loader.
//
// Environment, read when an instance is made:
//   MOCK_DEVICES=2   a second physical device, poorer than the first
//   MOCK_POOR=1      every feature of the first device is off and no integer dot product is fast, as in a real guest;
//                    extensions stay listed
//   MOCK_OLD=1       Vulkan 1.1 and no extension at all
#ifndef CAPBENCH_SHIM_VULKAN_TESTING_MOCK_ICD_H_
#define CAPBENCH_SHIM_VULKAN_TESTING_MOCK_ICD_H_

#include <vulkan/vulkan_core.h>

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace capbench::shim::vulkan {

// The last vkCreateDevice that reached the driver.
struct DeviceRequest {
  int calls = 0;  // since the library was loaded
  std::vector<std::string> extensions;
  std::map<std::string, VkBool32> features;  // by the member's name, of every structure that it knows
};

// Exported as "mock_last_request"; copies it out.
using LastRequest = void (*)(DeviceRequest*);

}  // namespace capbench::shim::vulkan

#endif  // CAPBENCH_SHIM_VULKAN_TESTING_MOCK_ICD_H_
