// What ggml's Vulkan backend prints about each device while it registers. Pure; takes any bytes.
//
// Three forms are read: 2024 "Vulkan0: NAME (DRIVER) | uma: 0 | fp16: 1 | warp size: 32", mid-2025
// "ggml_vulkan: 0 = NAME (DRIVER) | uma: 0 | fp16: 1 | bf16: 0 | warp size: 32 | shared memory: 49152 | int dot: 1 |
// matrix cores: none", and v0.5.0, which adds fp4 and "fp16: dot2".
#ifndef CAPBENCH_HARNESS_OBSERVE_GGML_LOG_VULKAN_H_
#define CAPBENCH_HARNESS_OBSERVE_GGML_LOG_VULKAN_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace capbench::observe {

// What is not printed stays empty.
struct VulkanDevice {
  std::int64_t index = 0;  // ggml's own: "-dev Vulkan0"
  std::string name;
  std::string driver;
  std::optional<bool> uma;
  std::optional<bool> fp16;
  std::optional<bool> fp16_dot2;  // "fp16: dot2"
  std::optional<bool> bf16;
  std::optional<bool> fp4;
  std::optional<std::int64_t> warp_size;
  std::optional<std::int64_t> shared_memory;  // bytes
  std::optional<bool> int_dot;
  std::string matrix_cores;  // "none", "KHR_coopmat", "NV_coopmat", "NV_coopmat2", "NV_coopmat2v"; empty: not printed
};

// In the order printed.
std::vector<VulkanDevice> vulkan_devices(std::string_view log);

// "ggml_vulkan: No devices found." or "Device with index 7 does not exist."
bool vulkan_found_no_device(std::string_view log);

}  // namespace capbench::observe

#endif  // CAPBENCH_HARNESS_OBSERVE_GGML_LOG_VULKAN_H_
