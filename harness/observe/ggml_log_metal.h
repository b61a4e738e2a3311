// What ggml's Metal backend prints about each device while it registers. Pure; takes any bytes.
#ifndef CAPBENCH_HARNESS_OBSERVE_GGML_LOG_METAL_H_
#define CAPBENCH_HARNESS_OBSERVE_GGML_LOG_METAL_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace capbench::observe {

// What is not printed stays empty. Families are Metal's own numbers: 1009 is Apple 9, 3003 Common 3, 5001 Metal 3.
struct MetalDevice {
  std::string name;         // "MTL0"; builds before it existed print the description here
  std::string description;  // "Apple M1 Ultra", "Apple Paravirtual device"
  std::optional<std::int64_t> apple_family;
  std::optional<std::int64_t> mac_family;
  std::optional<std::int64_t> common_family;
  std::optional<std::int64_t> metal_family;
  // ggml's own conclusions from the answers.
  std::optional<bool> simdgroup_reduction;
  std::optional<bool> simdgroup_matrix_multiply;
  std::optional<bool> unified_memory;
  std::optional<bool> bfloat;
  std::optional<bool> tensor;
  std::optional<bool> residency_sets;
  std::optional<bool> shared_buffers;
  std::optional<std::int64_t> recommended_working_set;  // bytes, rounded by ggml to 10 kB
};

// ggml prints the working set in units of 10^6 bytes with two digits.
inline constexpr std::int64_t kWorkingSetRounding = 5000;

// In the order printed; a device begins with its "GPU name:" line.
std::vector<MetalDevice> metal_devices(std::string_view log);

}  // namespace capbench::observe

#endif  // CAPBENCH_HARNESS_OBSERVE_GGML_LOG_METAL_H_
