// The one table of capabilities: what can be set, to which values, who asks for it, and what else changes with it.
// The shims, the suite format, `capbench shim describe` and the documentation all read this table.
#ifndef CAPBENCH_SHIM_COMMON_TOGGLES_H_
#define CAPBENCH_SHIM_COMMON_TOGGLES_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace capbench::shim {

// Where a capability is answered; each domain has a library of its own.
enum class Domain : std::uint8_t { kCpu, kMetal, kVulkan };

struct DomainInfo {
  Domain domain;
  std::string_view name;       // "cpu", the part of a capability's name before the dot
  std::string_view library;    // file name of the shim; empty: this build has no shim for the domain
  std::string_view platform;   // where the domain's capabilities are answered
  std::string_view injection;  // the environment variable that puts the library into a process
};

inline constexpr std::array<DomainInfo, 3> kDomains = {{
    {Domain::kCpu, "cpu", "libcapshim_cpu.so", "Linux on x86-64", "LD_PRELOAD"},
    {Domain::kMetal, "metal", "libcapshim_metal.dylib", "macOS on Apple silicon", "DYLD_INSERT_LIBRARIES"},
    {Domain::kVulkan, "vulkan", "libcapshim_vulkan.so", "Linux with a Vulkan 1.2 driver", "VK_INSTANCE_LAYERS"},
}};

enum class ValueKind : std::uint8_t {
  kLevel,    // one of `levels`
  kInteger,  // decimal digits, within [low, high]
  kSwitch,   // "on" or "off"
};

// A list of level names with static storage.
struct Levels {
  const std::string_view* names = nullptr;
  std::size_t count = 0;
};

struct Toggle {
  std::string_view name;
  Domain domain;
  ValueKind kind;
  std::int64_t low;
  std::int64_t high;
  Levels levels;
  std::string_view description;
  std::string_view asked_by;
  std::string_view side_effects;  // empty: none known
  std::string_view alias;         // the variable by which published shims know it; empty: none
};

// The order is that of ggml's x86 CPU libraries, by rising score; `best` is whatever the machine has. Each is a set of
// features, not a rung of a ladder: shim/cpu/levels.h.
inline constexpr std::array<std::string_view, 15> kCpuIsaLevels = {
    "x64",        "sse42",       "sandybridge", "ivybridge",  "piledriver", "haswell",        "alderlake", "skylakex",
    "cannonlake", "cascadelake", "icelake",     "cooperlake", "zen4",       "sapphirerapids", "best",
};

namespace detail {

constexpr Toggle level(std::string_view name, Domain domain, Levels levels, std::string_view description,
                       std::string_view asked_by, std::string_view side_effects) {
  return {name, domain, ValueKind::kLevel, 0, 0, levels, description, asked_by, side_effects, ""};
}

constexpr Toggle integer(std::string_view name, Domain domain, std::int64_t low, std::int64_t high,
                         std::string_view description, std::string_view asked_by, std::string_view side_effects,
                         std::string_view alias = "") {
  return {name, domain, ValueKind::kInteger, low, high, {}, description, asked_by, side_effects, alias};
}

constexpr Toggle on_off(std::string_view name, Domain domain, std::string_view description, std::string_view asked_by,
                        std::string_view side_effects) {
  return {name, domain, ValueKind::kSwitch, 0, 1, {}, description, asked_by, side_effects, ""};
}

inline constexpr std::int64_t kMaxBytes = std::int64_t{1} << 46U;

}  // namespace detail

inline constexpr std::array<Toggle, 23> kToggles = {{
    detail::level("cpu.isa", Domain::kCpu, {kCpuIsaLevels.data(), kCpuIsaLevels.size()},
                  "instruction-set level that decides which CPU library ggml loads",
                  "ggml_backend_score of each libggml-cpu-LEVEL.so, asked by ggml_backend_load_best",
                  "only builds with one CPU library per level ask; CPUID itself and the C library's own choices stay"),

    detail::integer("metal.apple_family", Domain::kMetal, 1001, 1021,
                    "highest Apple GPU family that supportsFamily: admits (1001 is Apple 1)",
                    "llama.cpp: 1007 for simdgroup reduction and matrix multiply, 1006 for bfloat; MLX",
                    "the highest family also picks llama.cpp's flash-attention tuning", "LUME_METAL_APPLE_FAMILY_MAX"),
    detail::integer("metal.mac_family", Domain::kMetal, 2001, 2002, "highest Mac family that supportsFamily: admits",
                    "older applications", ""),
    detail::integer("metal.common_family", Domain::kMetal, 3001, 3006,
                    "highest Common family that supportsFamily: admits", "llama.cpp prints it on x86", ""),
    detail::integer("metal.metal_family", Domain::kMetal, 5001, 5006,
                    "highest Metal family that supportsFamily: admits",
                    "llama.cpp: 5001 for bfloat and simdgroup reduction, 5002 for the tensor interface; MLX",
                    "5001 makes MLX ask for a residency set, which a paravirtual device cannot make"),
    detail::integer("metal.max_threadgroup_memory", Domain::kMetal, 4096, 1 << 20U,
                    "maxThreadgroupMemoryLength, in bytes",
                    "llama.cpp's flash attention with heads of 512 and more; MLX",
                    "more than the GPU has removes llama.cpp's own guard", "LUME_METAL_MAX_THREADGROUP_MEMORY"),
    detail::integer("metal.recommended_working_set", Domain::kMetal, 1 << 20U, detail::kMaxBytes,
                    "recommendedMaxWorkingSetSize, in bytes", "llama.cpp's total and free memory; MLX's memory limit",
                    "", "LUME_METAL_RECOMMENDED_WORKING_SET_SIZE"),
    detail::integer("metal.max_buffer_length", Domain::kMetal, 1 << 20U, detail::kMaxBytes, "maxBufferLength, in bytes",
                    "llama.cpp: largest buffer, and how a mapped model is split", ""),
    detail::on_off("metal.unified_memory", Domain::kMetal, "hasUnifiedMemory", "llama.cpp: shared buffers by default",
                   ""),
    detail::on_off("metal.bfloat", Domain::kMetal, "answers of the supportsBFloat kind, where a device has them",
                   "applications other than llama.cpp, which derives bfloat from families", ""),

    detail::on_off("vulkan.cooperative_matrix", Domain::kVulkan,
                   "VK_KHR_cooperative_matrix: its features and its shapes", "ggml: matrix cores KHR_coopmat",
                   "the features are hidden and the extension's name kept: without the name ggml takes an NVIDIA card "
                   "for pre-Turing; VK_NV_cooperative_matrix2 stays, as a capability of its own"),
    detail::on_off("vulkan.cooperative_matrix2", Domain::kVulkan,
                   "VK_NV_cooperative_matrix2: its features, limits and shapes", "ggml: matrix cores NV_coopmat2", ""),
    detail::on_off("vulkan.cooperative_matrix_decode_vector", Domain::kVulkan, "VK_NV_cooperative_matrix_decode_vector",
                   "ggml: matrix cores NV_coopmat2v", "says nothing without vulkan.cooperative_matrix2"),
    detail::on_off("vulkan.shader_float16", Domain::kVulkan, "shaderFloat16",
                   "ggml: fp16, float16 accumulation and flash-attention variants",
                   "ggml's least workable shared memory changes with it; cooperative-matrix shapes of float16 stay"),
    detail::on_off("vulkan.mixed_float_dot_product", Domain::kVulkan, "VK_VALVE_shader_mixed_float_dot_product",
                   "ggml: fp16 dot2", ""),
    detail::on_off("vulkan.bfloat16", Domain::kVulkan,
                   "VK_KHR_shader_bfloat16, and cooperative-matrix shapes of bfloat16", "ggml: bf16", ""),
    detail::on_off("vulkan.ocp_fp4", Domain::kVulkan,
                   "microscaling and float8 features, and cooperative-matrix shapes of these types", "ggml: fp4",
                   "float8 is hidden with it"),
    detail::on_off("vulkan.integer_dot_product", Domain::kVulkan,
                   "shaderIntegerDotProduct and the properties that say which products are fast",
                   "ggml: int dot, quantised matrix multiply",
                   "integerDotProduct4x8BitPackedMixedSignednessAccelerated stays, since ggml tells AMD RDNA3 by it; "
                   "ggml tells Intel Xe1 by one that is hidden"),
    detail::on_off("vulkan.storage_16bit", Domain::kVulkan,
                   "storageBuffer16BitAccess and uniformAndStorageBuffer16BitAccess",
                   "ggml accepts a device only with it", "off: ggml refuses the device or ends"),
    detail::on_off("vulkan.subgroup_size_control", Domain::kVulkan,
                   "subgroupSizeControl, computeFullSubgroups and requiredSubgroupSizeStages",
                   "ggml: subgroup sizes per pipeline, flash attention with matrix cores",
                   "the extension's name and the range of sizes are kept: ggml tells AMD and Intel architectures by "
                   "them"),
    detail::integer("vulkan.max_compute_shared_memory", Domain::kVulkan, 16384, 1 << 20U,
                    "maxComputeSharedMemorySize, in bytes", "ggml: which tile sizes fit",
                    "ggml ends with an exception when even its smallest tile does not fit"),
    detail::integer("vulkan.subgroup_size", Domain::kVulkan, 1, 128, "subgroupSize, a power of two",
                    "ggml: warp size and the kernels built for it",
                    "a size the GPU does not run gives wrong results; the range minSubgroupSize to maxSubgroupSize is "
                    "widened to hold it"),
    detail::integer("vulkan.max_storage_buffer_range", Domain::kVulkan, 1 << 27U, (std::int64_t{1} << 32U) - 1,
                    "maxStorageBufferRange, in bytes", "ggml: operations on larger tensors go to the CPU", ""),
}};

inline constexpr std::size_t kToggleCount = kToggles.size();

constexpr const DomainInfo& domain_info(Domain domain) {
  return kDomains[static_cast<std::size_t>(domain)];
}

// Whether this build has a shim library that answers for the domain.
constexpr bool has_shim(Domain domain) {
  return !domain_info(domain).library.empty();
}

// Index into kToggles, or kToggleCount for an unknown name.
constexpr std::size_t find_toggle(std::string_view name) {
  for (std::size_t i = 0; i < kToggleCount; ++i) {
    if (kToggles[i].name == name) return i;
  }
  return kToggleCount;
}

}  // namespace capbench::shim

#endif  // CAPBENCH_SHIM_COMMON_TOGGLES_H_
