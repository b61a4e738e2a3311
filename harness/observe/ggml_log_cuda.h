// What ggml's CUDA backend prints about each device while it registers. Pure; takes any bytes.
#ifndef CAPBENCH_HARNESS_OBSERVE_GGML_LOG_CUDA_H_
#define CAPBENCH_HARNESS_OBSERVE_GGML_LOG_CUDA_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace capbench::observe {

// What is not printed stays empty.
struct CudaDevice {
  std::int64_t index = 0;
  std::string name;
  std::optional<std::int64_t> major;  // compute capability
  std::optional<std::int64_t> minor;
  std::optional<bool> virtual_memory;    // "VMM: yes"
  std::optional<std::int64_t> vram_mib;  // newer builds only
};

// "  Device 0: NVIDIA H200, compute capability 9.0, VMM: yes, VRAM: 143167 MiB", in the order printed.
std::vector<CudaDevice> cuda_devices(std::string_view log);

}  // namespace capbench::observe

#endif  // CAPBENCH_HARNESS_OBSERVE_GGML_LOG_CUDA_H_
