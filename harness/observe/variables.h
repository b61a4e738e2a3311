// Environment variables that steer what is measured: they are facts. Pure, thread-safe.
#ifndef CAPBENCH_HARNESS_OBSERVE_VARIABLES_H_
#define CAPBENCH_HARNESS_OBSERVE_VARIABLES_H_

#include <algorithm>
#include <array>
#include <string_view>

namespace capbench::observe {

// Names that start with one of these steer ggml, llama.cpp, MLX, the GPU's drivers and loaders, the allocator, the
// threads, or a shim.
inline constexpr std::array<std::string_view, 18> kSteeringPrefixes{
    "GGML_", "LLAMA_", "MLX_", "MTL_",  "METAL_", "VK_",     "MESA_",     "RADV_",       "CUDA_",
    "HIP_",  "ROCR_",  "OMP_", "GOMP_", "KMP_",   "MALLOC_", "OPENBLAS_", "LUME_METAL_", "TART_METAL_"};

// Whole names besides.
inline constexpr std::array<std::string_view, 14> kSteeringNames{"CAPSHIM_SET",
                                                                 "CAPSHIM_GUEST",
                                                                 "LD_PRELOAD",
                                                                 "LD_AUDIT",
                                                                 "LD_LIBRARY_PATH",
                                                                 "DYLD_INSERT_LIBRARIES",
                                                                 "DYLD_LIBRARY_PATH",
                                                                 "DYLD_FRAMEWORK_PATH",
                                                                 "DYLD_FALLBACK_LIBRARY_PATH",
                                                                 "GLIBC_TUNABLES",
                                                                 "DISABLE_LAYER_AMD_SWITCHABLE_GRAPHICS_1",
                                                                 "NVIDIA_VISIBLE_DEVICES",
                                                                 "NVIDIA_DRIVER_CAPABILITIES",
                                                                 "NVIDIA_TF32_OVERRIDE"};

// Those that put a library into a process or switch one on: no command that collects facts gets them.
inline constexpr std::array<std::string_view, 6> kInjectionNames{
    "CAPSHIM_SET", "CAPSHIM_GUEST", "LD_PRELOAD", "LD_AUDIT", "DYLD_INSERT_LIBRARIES", "VK_INSTANCE_LAYERS"};

constexpr bool is_steering_variable(std::string_view name) {
  return std::any_of(kSteeringPrefixes.begin(), kSteeringPrefixes.end(),
                     [&](std::string_view prefix) { return name.starts_with(prefix); }) ||
         std::find(kSteeringNames.begin(), kSteeringNames.end(), name) != kSteeringNames.end();
}

constexpr bool is_injection_variable(std::string_view name) {
  return std::find(kInjectionNames.begin(), kInjectionNames.end(), name) != kInjectionNames.end() ||
         name.starts_with("LUME_METAL_") || name.starts_with("TART_METAL_");
}

}  // namespace capbench::observe

#endif  // CAPBENCH_HARNESS_OBSERVE_VARIABLES_H_
