// Structures of extensions that older Vulkan headers lack, under names of our own, so that they do not clash with newer
// headers. Layouts and numbers are those of the Vulkan registry (vk.xml); each extension's numbers begin at
// 1000000000 + 1000 * (its registry number - 1).
#ifndef CAPBENCH_SHIM_VULKAN_NEWER_STRUCTURES_H_
#define CAPBENCH_SHIM_VULKAN_NEWER_STRUCTURES_H_

#include <vulkan/vulkan_core.h>

#include <cstdint>

namespace capbench::shim::vulkan {

constexpr VkStructureType structure_type(std::int32_t number) {
  return static_cast<VkStructureType>(number);
}

// VK_KHR_cooperative_matrix
inline constexpr VkStructureType kCooperativeMatrixFeatures = structure_type(1000506000);
inline constexpr VkStructureType kCooperativeMatrixShape = structure_type(1000506001);
inline constexpr VkStructureType kCooperativeMatrixProperties = structure_type(1000506002);

struct CooperativeMatrixFeatures {
  VkStructureType sType;
  void* pNext;
  VkBool32 cooperativeMatrix;
  VkBool32 cooperativeMatrixRobustBufferAccess;
};

struct CooperativeMatrixProperties {
  VkStructureType sType;
  void* pNext;
  VkShaderStageFlags cooperativeMatrixSupportedStages;
};

// VkCooperativeMatrixPropertiesKHR: one supported multiplication.
struct CooperativeMatrixShape {
  VkStructureType sType;
  void* pNext;
  std::uint32_t MSize;
  std::uint32_t NSize;
  std::uint32_t KSize;
  std::int32_t AType;
  std::int32_t BType;
  std::int32_t CType;
  std::int32_t ResultType;
  VkBool32 saturatingAccumulation;
  std::int32_t scope;
};

// VK_NV_cooperative_matrix2
inline constexpr VkStructureType kCooperativeMatrix2Features = structure_type(1000593000);
inline constexpr VkStructureType kFlexibleDimensions = structure_type(1000593001);
inline constexpr VkStructureType kCooperativeMatrix2Properties = structure_type(1000593002);

struct CooperativeMatrix2Features {
  VkStructureType sType;
  void* pNext;
  VkBool32 cooperativeMatrixWorkgroupScope;
  VkBool32 cooperativeMatrixFlexibleDimensions;
  VkBool32 cooperativeMatrixReductions;
  VkBool32 cooperativeMatrixConversions;
  VkBool32 cooperativeMatrixPerElementOperations;
  VkBool32 cooperativeMatrixTensorAddressing;
  VkBool32 cooperativeMatrixBlockLoads;
};

struct CooperativeMatrix2Properties {
  VkStructureType sType;
  void* pNext;
  std::uint32_t cooperativeMatrixWorkgroupScopeMaxWorkgroupSize;
  std::uint32_t cooperativeMatrixFlexibleDimensionsMaxDimension;
  std::uint32_t cooperativeMatrixWorkgroupScopeReservedSharedMemory;
};

// VkCooperativeMatrixFlexibleDimensionsPropertiesNV
struct FlexibleDimensions {
  VkStructureType sType;
  void* pNext;
  std::uint32_t MGranularity;
  std::uint32_t NGranularity;
  std::uint32_t KGranularity;
  std::int32_t AType;
  std::int32_t BType;
  std::int32_t CType;
  std::int32_t ResultType;
  VkBool32 saturatingAccumulation;
  std::int32_t scope;
  std::uint32_t workgroupInvocations;
};

// VK_NV_cooperative_matrix_decode_vector
inline constexpr VkStructureType kDecodeVectorFeatures = structure_type(1000689000);

struct DecodeVectorFeatures {
  VkStructureType sType;
  void* pNext;
  VkBool32 cooperativeMatrixDecodeVector;
};

// VK_KHR_shader_bfloat16
inline constexpr VkStructureType kBfloat16Features = structure_type(1000141000);

struct Bfloat16Features {
  VkStructureType sType;
  void* pNext;
  VkBool32 shaderBFloat16Type;
  VkBool32 shaderBFloat16DotProduct;
  VkBool32 shaderBFloat16CooperativeMatrix;
};

// VK_VALVE_shader_mixed_float_dot_product
inline constexpr VkStructureType kMixedFloatDotProductFeatures = structure_type(1000673000);

struct MixedFloatDotProductFeatures {
  VkStructureType sType;
  void* pNext;
  VkBool32 shaderMixedFloatDotProductFloat16AccFloat32;
  VkBool32 shaderMixedFloatDotProductFloat16AccFloat16;
  VkBool32 shaderMixedFloatDotProductBFloat16Acc;
  VkBool32 shaderMixedFloatDotProductFloat8AccFloat32;
};

// VK_EXT_shader_ocp_microscaling_types
inline constexpr VkStructureType kMicroscalingFeatures = structure_type(1000672000);

struct MicroscalingFeatures {
  VkStructureType sType;
  void* pNext;
  VkBool32 shaderFloat4;
  VkBool32 shaderFloat6;
  VkBool32 shaderFloat8UnsignedE8M0;
  VkBool32 shaderMXInt8;
};

// VK_EXT_shader_float8
inline constexpr VkStructureType kFloat8Features = structure_type(1000567000);

struct Float8Features {
  VkStructureType sType;
  void* pNext;
  VkBool32 shaderFloat8;
  VkBool32 shaderFloat8CooperativeMatrix;
};

// VkComponentTypeKHR. The microscaling types are all those that VK_EXT_shader_ocp_microscaling_types may number.
inline constexpr std::int32_t kComponentFloat16 = 0;
inline constexpr std::int32_t kComponentFloat32 = 1;
inline constexpr std::int32_t kComponentBfloat16 = 1000141000;
inline constexpr std::int32_t kComponentFloat8E4M3 = 1000491002;
inline constexpr std::int32_t kComponentFloat8E5M2 = 1000491003;
inline constexpr std::int32_t kFirstMicroscalingComponent = 1000672000;
inline constexpr std::int32_t kLastMicroscalingComponent = 1000672999;

// VkScopeKHR
inline constexpr std::int32_t kScopeWorkgroup = 2;
inline constexpr std::int32_t kScopeSubgroup = 3;

// vkGetPhysicalDeviceCooperativeMatrixPropertiesKHR, vkGetPhysicalDeviceCooperativeMatrixFlexibleDimensionsPropertiesNV
template <class Shape>
using EnumerateShapes = VkResult(VKAPI_PTR*)(VkPhysicalDevice, std::uint32_t*, Shape*);

}  // namespace capbench::shim::vulkan

#endif  // CAPBENCH_SHIM_VULKAN_NEWER_STRUCTURES_H_
