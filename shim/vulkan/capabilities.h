// Which words of which Vulkan structures make up each vulkan.* capability. Pure data.
//
// Everything that this layer changes is a 32-bit word: a feature or a property, a limit, a mask. A word has a slot; the
// same slot stands in every structure that carries the word (VkPhysicalDeviceShaderFloat16Int8Features and
// VkPhysicalDeviceVulkan12Features both hold shaderFloat16), so they cannot disagree.
#ifndef CAPBENCH_SHIM_VULKAN_CAPABILITIES_H_
#define CAPBENCH_SHIM_VULKAN_CAPABILITIES_H_

#include <vulkan/vulkan_core.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "shim/common/toggles.h"
#include "shim/vulkan/newer_structures.h"

namespace capbench::shim::vulkan {

enum class Capability : std::uint8_t {
  kCooperativeMatrix,
  kCooperativeMatrix2,
  kDecodeVector,
  kShaderFloat16,
  kMixedFloatDotProduct,
  kBfloat16,
  kOcpFp4,
  kIntegerDotProduct,
  kStorage16Bit,
  kSubgroupSizeControl,
  kMaxComputeSharedMemory,
  kSubgroupSize,
  kMaxStorageBufferRange,
};

inline constexpr std::size_t kCapabilityCount = 13;

// The rows of kToggles, in the order of Capability.
inline constexpr std::array<std::string_view, kCapabilityCount> kCapabilityNames = {
    "vulkan.cooperative_matrix",
    "vulkan.cooperative_matrix2",
    "vulkan.cooperative_matrix_decode_vector",
    "vulkan.shader_float16",
    "vulkan.mixed_float_dot_product",
    "vulkan.bfloat16",
    "vulkan.ocp_fp4",
    "vulkan.integer_dot_product",
    "vulkan.storage_16bit",
    "vulkan.subgroup_size_control",
    "vulkan.max_compute_shared_memory",
    "vulkan.subgroup_size",
    "vulkan.max_storage_buffer_range",
};

constexpr std::size_t index_of(Capability capability) {
  return static_cast<std::size_t>(capability);
}

constexpr const Toggle& toggle_of(Capability capability) {
  return kToggles[find_toggle(kCapabilityNames[index_of(capability)])];
}

namespace detail {

constexpr bool every_vulkan_toggle_is_here() {
  std::size_t toggles = 0;
  for (const Toggle& toggle : kToggles) toggles += toggle.domain == Domain::kVulkan ? 1U : 0U;
  for (const std::string_view name : kCapabilityNames) {
    if (find_toggle(name) == kToggleCount) return false;
  }
  return toggles == kCapabilityCount;
}

}  // namespace detail

static_assert(detail::every_vulkan_toggle_is_here());

// A set of capabilities: bit index_of(capability).
using CapabilitySet = std::uint32_t;

constexpr CapabilitySet bit_of(Capability capability) {
  return CapabilitySet{1} << index_of(capability);
}

namespace slot {

inline constexpr std::size_t kCooperativeMatrix = 0;          // and ...RobustBufferAccess
inline constexpr std::size_t kCooperativeMatrixStages = 2;    // property
inline constexpr std::size_t kCooperativeMatrix2 = 3;         // seven features
inline constexpr std::size_t kCooperativeMatrix2Limits = 10;  // three properties
inline constexpr std::size_t kDecodeVector = 13;
inline constexpr std::size_t kShaderFloat16 = 14;
inline constexpr std::size_t kMixedFloatDotProduct = 15;   // four features
inline constexpr std::size_t kBfloat16 = 19;               // three features
inline constexpr std::size_t kMicroscaling = 22;           // four features
inline constexpr std::size_t kFloat8 = 26;                 // two features
inline constexpr std::size_t kIntegerDotProduct = 28;      // feature
inline constexpr std::size_t kIntegerDotAccelerated = 29;  // thirty properties
inline constexpr std::size_t kIntegerDotPackedSigned = kIntegerDotAccelerated + 4;
inline constexpr std::size_t kIntegerDotPackedMixed = kIntegerDotAccelerated + 5;
inline constexpr std::size_t kStorage16Bit = 59;                // and uniformAndStorage...
inline constexpr std::size_t kSubgroupSizeControl = 61;         // and computeFullSubgroups
inline constexpr std::size_t kRequiredSubgroupSizeStages = 63;  // property
inline constexpr std::size_t kMaxComputeSharedMemory = 64;
inline constexpr std::size_t kSubgroupSize = 65;
inline constexpr std::size_t kMinSubgroupSize = 66;  // and maxSubgroupSize
inline constexpr std::size_t kMaxSubgroupSize = 67;
inline constexpr std::size_t kMaxStorageBufferRange = 68;

}  // namespace slot

inline constexpr std::size_t kSlotCount = 69;

enum class Part : std::uint8_t { kFeature, kProperty };

// Consecutive words of one structure, and the slots that they belong to.
struct Run {
  VkStructureType structure;
  std::size_t offset;  // of the first word, in bytes
  std::size_t slot;    // of the first word
  std::size_t count;
  Capability capability;
  Part part;
};

namespace detail {

inline constexpr std::size_t kLimits =
    offsetof(VkPhysicalDeviceProperties2, properties) + offsetof(VkPhysicalDeviceProperties, limits);

// The thirty properties of integer dot products stand in the same order in both structures.
static_assert(offsetof(VkPhysicalDeviceVulkan13Properties,
                       integerDotProductAccumulatingSaturating64BitMixedSignednessAccelerated) -
                  offsetof(VkPhysicalDeviceVulkan13Properties, integerDotProduct8BitUnsignedAccelerated) ==
              29 * sizeof(VkBool32));
static_assert(offsetof(VkPhysicalDeviceVulkan13Properties, integerDotProduct4x8BitPackedMixedSignednessAccelerated) -
                  offsetof(VkPhysicalDeviceVulkan13Properties, integerDotProduct8BitUnsignedAccelerated) ==
              5 * sizeof(VkBool32));

}  // namespace detail

// integerDotProduct4x8BitPackedMixedSignednessAccelerated is in no run on purpose: ggml tells AMD's RDNA3 by it.
inline constexpr auto kRuns = std::to_array<Run>({
    {kCooperativeMatrixFeatures, offsetof(CooperativeMatrixFeatures, cooperativeMatrix), slot::kCooperativeMatrix, 2,
     Capability::kCooperativeMatrix, Part::kFeature},
    {kCooperativeMatrixProperties, offsetof(CooperativeMatrixProperties, cooperativeMatrixSupportedStages),
     slot::kCooperativeMatrixStages, 1, Capability::kCooperativeMatrix, Part::kProperty},

    {kCooperativeMatrix2Features, offsetof(CooperativeMatrix2Features, cooperativeMatrixWorkgroupScope),
     slot::kCooperativeMatrix2, 7, Capability::kCooperativeMatrix2, Part::kFeature},
    {kCooperativeMatrix2Properties,
     offsetof(CooperativeMatrix2Properties, cooperativeMatrixWorkgroupScopeMaxWorkgroupSize),
     slot::kCooperativeMatrix2Limits, 3, Capability::kCooperativeMatrix2, Part::kProperty},

    {kDecodeVectorFeatures, offsetof(DecodeVectorFeatures, cooperativeMatrixDecodeVector), slot::kDecodeVector, 1,
     Capability::kDecodeVector, Part::kFeature},

    {VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_FLOAT16_INT8_FEATURES,
     offsetof(VkPhysicalDeviceShaderFloat16Int8Features, shaderFloat16), slot::kShaderFloat16, 1,
     Capability::kShaderFloat16, Part::kFeature},
    {VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES, offsetof(VkPhysicalDeviceVulkan12Features, shaderFloat16),
     slot::kShaderFloat16, 1, Capability::kShaderFloat16, Part::kFeature},

    {kMixedFloatDotProductFeatures, offsetof(MixedFloatDotProductFeatures, shaderMixedFloatDotProductFloat16AccFloat32),
     slot::kMixedFloatDotProduct, 4, Capability::kMixedFloatDotProduct, Part::kFeature},

    {kBfloat16Features, offsetof(Bfloat16Features, shaderBFloat16Type), slot::kBfloat16, 3, Capability::kBfloat16,
     Part::kFeature},

    {kMicroscalingFeatures, offsetof(MicroscalingFeatures, shaderFloat4), slot::kMicroscaling, 4, Capability::kOcpFp4,
     Part::kFeature},
    {kFloat8Features, offsetof(Float8Features, shaderFloat8), slot::kFloat8, 2, Capability::kOcpFp4, Part::kFeature},

    {VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_INTEGER_DOT_PRODUCT_FEATURES,
     offsetof(VkPhysicalDeviceShaderIntegerDotProductFeatures, shaderIntegerDotProduct), slot::kIntegerDotProduct, 1,
     Capability::kIntegerDotProduct, Part::kFeature},
    {VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_3_FEATURES,
     offsetof(VkPhysicalDeviceVulkan13Features, shaderIntegerDotProduct), slot::kIntegerDotProduct, 1,
     Capability::kIntegerDotProduct, Part::kFeature},
    {VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_INTEGER_DOT_PRODUCT_PROPERTIES,
     offsetof(VkPhysicalDeviceShaderIntegerDotProductProperties, integerDotProduct8BitUnsignedAccelerated),
     slot::kIntegerDotAccelerated, 5, Capability::kIntegerDotProduct, Part::kProperty},
    {VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_INTEGER_DOT_PRODUCT_PROPERTIES,
     offsetof(VkPhysicalDeviceShaderIntegerDotProductProperties, integerDotProduct16BitUnsignedAccelerated),
     slot::kIntegerDotAccelerated + 6, 24, Capability::kIntegerDotProduct, Part::kProperty},
    {VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_3_PROPERTIES,
     offsetof(VkPhysicalDeviceVulkan13Properties, integerDotProduct8BitUnsignedAccelerated),
     slot::kIntegerDotAccelerated, 5, Capability::kIntegerDotProduct, Part::kProperty},
    {VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_3_PROPERTIES,
     offsetof(VkPhysicalDeviceVulkan13Properties, integerDotProduct16BitUnsignedAccelerated),
     slot::kIntegerDotAccelerated + 6, 24, Capability::kIntegerDotProduct, Part::kProperty},

    {VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_16BIT_STORAGE_FEATURES,
     offsetof(VkPhysicalDevice16BitStorageFeatures, storageBuffer16BitAccess), slot::kStorage16Bit, 2,
     Capability::kStorage16Bit, Part::kFeature},
    {VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_1_FEATURES,
     offsetof(VkPhysicalDeviceVulkan11Features, storageBuffer16BitAccess), slot::kStorage16Bit, 2,
     Capability::kStorage16Bit, Part::kFeature},

    {VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SUBGROUP_SIZE_CONTROL_FEATURES,
     offsetof(VkPhysicalDeviceSubgroupSizeControlFeatures, subgroupSizeControl), slot::kSubgroupSizeControl, 2,
     Capability::kSubgroupSizeControl, Part::kFeature},
    {VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_3_FEATURES,
     offsetof(VkPhysicalDeviceVulkan13Features, subgroupSizeControl), slot::kSubgroupSizeControl, 2,
     Capability::kSubgroupSizeControl, Part::kFeature},
    {VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SUBGROUP_SIZE_CONTROL_PROPERTIES,
     offsetof(VkPhysicalDeviceSubgroupSizeControlProperties, requiredSubgroupSizeStages),
     slot::kRequiredSubgroupSizeStages, 1, Capability::kSubgroupSizeControl, Part::kProperty},
    {VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_3_PROPERTIES,
     offsetof(VkPhysicalDeviceVulkan13Properties, requiredSubgroupSizeStages), slot::kRequiredSubgroupSizeStages, 1,
     Capability::kSubgroupSizeControl, Part::kProperty},

    {VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2,
     detail::kLimits + offsetof(VkPhysicalDeviceLimits, maxComputeSharedMemorySize), slot::kMaxComputeSharedMemory, 1,
     Capability::kMaxComputeSharedMemory, Part::kProperty},
    {VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2,
     detail::kLimits + offsetof(VkPhysicalDeviceLimits, maxStorageBufferRange), slot::kMaxStorageBufferRange, 1,
     Capability::kMaxStorageBufferRange, Part::kProperty},

    {VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SUBGROUP_PROPERTIES, offsetof(VkPhysicalDeviceSubgroupProperties, subgroupSize),
     slot::kSubgroupSize, 1, Capability::kSubgroupSize, Part::kProperty},
    {VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_1_PROPERTIES,
     offsetof(VkPhysicalDeviceVulkan11Properties, subgroupSize), slot::kSubgroupSize, 1, Capability::kSubgroupSize,
     Part::kProperty},
    {VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SUBGROUP_SIZE_CONTROL_PROPERTIES,
     offsetof(VkPhysicalDeviceSubgroupSizeControlProperties, minSubgroupSize), slot::kMinSubgroupSize, 2,
     Capability::kSubgroupSize, Part::kProperty},
    {VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_3_PROPERTIES,
     offsetof(VkPhysicalDeviceVulkan13Properties, minSubgroupSize), slot::kMinSubgroupSize, 2,
     Capability::kSubgroupSize, Part::kProperty},
});

// A feature that "on" promises, by slot: `count` slots from `slot`.
struct Headline {
  Capability capability;
  std::size_t slot;
  std::size_t count;
};

// A switch is on if each of its headline words is set.
inline constexpr auto kHeadlines = std::to_array<Headline>({
    {Capability::kCooperativeMatrix, slot::kCooperativeMatrix, 1},
    {Capability::kCooperativeMatrix2, slot::kCooperativeMatrix2, 7},
    {Capability::kDecodeVector, slot::kDecodeVector, 1},
    {Capability::kShaderFloat16, slot::kShaderFloat16, 1},
    {Capability::kMixedFloatDotProduct, slot::kMixedFloatDotProduct, 1},
    {Capability::kBfloat16, slot::kBfloat16, 1},
    {Capability::kOcpFp4, slot::kMicroscaling, 1},
    {Capability::kOcpFp4, slot::kFloat8, 1},
    {Capability::kIntegerDotProduct, slot::kIntegerDotProduct, 1},
    {Capability::kIntegerDotProduct, slot::kIntegerDotPackedSigned, 1},
    {Capability::kStorage16Bit, slot::kStorage16Bit, 1},
    {Capability::kSubgroupSizeControl, slot::kSubgroupSizeControl, 2},
});

// Where a structure may be asked for: the core version that has it (0: none), or a listed extension ("": none).
struct Source {
  VkStructureType structure;
  Part part;
  std::uint32_t core_version;
  std::string_view extension;
};

// The individual structures only: the aggregates (VkPhysicalDeviceVulkan1xFeatures) hold the same words.
inline constexpr auto kSources = std::to_array<Source>({
    {kCooperativeMatrixFeatures, Part::kFeature, 0, "VK_KHR_cooperative_matrix"},
    {kCooperativeMatrixProperties, Part::kProperty, 0, "VK_KHR_cooperative_matrix"},
    {kCooperativeMatrix2Features, Part::kFeature, 0, "VK_NV_cooperative_matrix2"},
    {kCooperativeMatrix2Properties, Part::kProperty, 0, "VK_NV_cooperative_matrix2"},
    {kDecodeVectorFeatures, Part::kFeature, 0, "VK_NV_cooperative_matrix_decode_vector"},
    {VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_FLOAT16_INT8_FEATURES, Part::kFeature, VK_API_VERSION_1_2,
     "VK_KHR_shader_float16_int8"},
    {kMixedFloatDotProductFeatures, Part::kFeature, 0, "VK_VALVE_shader_mixed_float_dot_product"},
    {kBfloat16Features, Part::kFeature, 0, "VK_KHR_shader_bfloat16"},
    {kMicroscalingFeatures, Part::kFeature, 0, "VK_EXT_shader_ocp_microscaling_types"},
    {kFloat8Features, Part::kFeature, 0, "VK_EXT_shader_float8"},
    {VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_INTEGER_DOT_PRODUCT_FEATURES, Part::kFeature, VK_API_VERSION_1_3,
     "VK_KHR_shader_integer_dot_product"},
    {VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_INTEGER_DOT_PRODUCT_PROPERTIES, Part::kProperty, VK_API_VERSION_1_3,
     "VK_KHR_shader_integer_dot_product"},
    {VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_16BIT_STORAGE_FEATURES, Part::kFeature, VK_API_VERSION_1_1,
     "VK_KHR_16bit_storage"},
    {VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SUBGROUP_SIZE_CONTROL_FEATURES, Part::kFeature, VK_API_VERSION_1_3,
     "VK_EXT_subgroup_size_control"},
    {VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SUBGROUP_SIZE_CONTROL_PROPERTIES, Part::kProperty, VK_API_VERSION_1_3,
     "VK_EXT_subgroup_size_control"},
});

// VkPhysicalDeviceSubgroupProperties is core since 1.1 and was never an extension.
inline constexpr std::uint32_t kSubgroupPropertiesVersion = VK_API_VERSION_1_1;

// Whether a multiplication with a component of this type needs the capability.
constexpr bool is_component_of(Capability capability, std::int32_t type) {
  if (capability == Capability::kBfloat16) return type == kComponentBfloat16;
  if (capability != Capability::kOcpFp4) return false;
  return type == kComponentFloat8E4M3 || type == kComponentFloat8E5M2 ||
         (type >= kFirstMicroscalingComponent && type <= kLastMicroscalingComponent);
}

}  // namespace capbench::shim::vulkan

#endif  // CAPBENCH_SHIM_VULKAN_CAPABILITIES_H_
