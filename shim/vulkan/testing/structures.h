// Every structure that the layer may change, filled or read by the members' names: the tests' own view, independent of
// the layer's table.
#ifndef CAPBENCH_SHIM_VULKAN_TESTING_STRUCTURES_H_
#define CAPBENCH_SHIM_VULKAN_TESTING_STRUCTURES_H_

#include <vulkan/vulkan_core.h>

#include <cstdint>
#include <map>
#include <string>

#include "shim/vulkan/newer_structures.h"

namespace capbench::shim::vulkan {

using Words = std::map<std::string, std::uint32_t>;

namespace detail {

template <class Structure, class Visit>
void visit_integer_dot(Structure& s, Visit visit) {
  visit("integerDotProduct8BitUnsignedAccelerated", s.integerDotProduct8BitUnsignedAccelerated);
  visit("integerDotProduct8BitMixedSignednessAccelerated", s.integerDotProduct8BitMixedSignednessAccelerated);
  visit("integerDotProduct4x8BitPackedUnsignedAccelerated", s.integerDotProduct4x8BitPackedUnsignedAccelerated);
  visit("integerDotProduct4x8BitPackedSignedAccelerated", s.integerDotProduct4x8BitPackedSignedAccelerated);
  visit("integerDotProduct4x8BitPackedMixedSignednessAccelerated",
        s.integerDotProduct4x8BitPackedMixedSignednessAccelerated);
  visit("integerDotProduct16BitUnsignedAccelerated", s.integerDotProduct16BitUnsignedAccelerated);
  visit("integerDotProductAccumulatingSaturating4x8BitPackedSignedAccelerated",
        s.integerDotProductAccumulatingSaturating4x8BitPackedSignedAccelerated);
  visit("integerDotProductAccumulatingSaturating64BitMixedSignednessAccelerated",
        s.integerDotProductAccumulatingSaturating64BitMixedSignednessAccelerated);
}

template <class Structure, class Visit>
void visit_size_control(Structure& s, Visit visit) {
  visit("minSubgroupSize", s.minSubgroupSize);
  visit("maxSubgroupSize", s.maxSubgroupSize);
  visit("requiredSubgroupSizeStages", s.requiredSubgroupSizeStages);
}

}  // namespace detail

// Calls visit(name, word) for each member of one structure that matters here; unknown types are left alone.
template <class Visit>
void visit_structure(VkBaseOutStructure* node, Visit visit) {
  const auto as = [&]<class T>(T*) -> T& { return *reinterpret_cast<T*>(node); };
  const VkStructureType type = node->sType;
  if (type == kCooperativeMatrixFeatures) {
    auto& s = as(static_cast<CooperativeMatrixFeatures*>(nullptr));
    visit("cooperativeMatrix", s.cooperativeMatrix);
    visit("cooperativeMatrixRobustBufferAccess", s.cooperativeMatrixRobustBufferAccess);
  } else if (type == kCooperativeMatrixProperties) {
    auto& s = as(static_cast<CooperativeMatrixProperties*>(nullptr));
    visit("cooperativeMatrixSupportedStages", s.cooperativeMatrixSupportedStages);
  } else if (type == kCooperativeMatrix2Features) {
    auto& s = as(static_cast<CooperativeMatrix2Features*>(nullptr));
    visit("cooperativeMatrixWorkgroupScope", s.cooperativeMatrixWorkgroupScope);
    visit("cooperativeMatrixFlexibleDimensions", s.cooperativeMatrixFlexibleDimensions);
    visit("cooperativeMatrixReductions", s.cooperativeMatrixReductions);
    visit("cooperativeMatrixConversions", s.cooperativeMatrixConversions);
    visit("cooperativeMatrixPerElementOperations", s.cooperativeMatrixPerElementOperations);
    visit("cooperativeMatrixTensorAddressing", s.cooperativeMatrixTensorAddressing);
    visit("cooperativeMatrixBlockLoads", s.cooperativeMatrixBlockLoads);
  } else if (type == kCooperativeMatrix2Properties) {
    auto& s = as(static_cast<CooperativeMatrix2Properties*>(nullptr));
    visit("cooperativeMatrixWorkgroupScopeMaxWorkgroupSize", s.cooperativeMatrixWorkgroupScopeMaxWorkgroupSize);
    visit("cooperativeMatrixFlexibleDimensionsMaxDimension", s.cooperativeMatrixFlexibleDimensionsMaxDimension);
    visit("cooperativeMatrixWorkgroupScopeReservedSharedMemory", s.cooperativeMatrixWorkgroupScopeReservedSharedMemory);
  } else if (type == kDecodeVectorFeatures) {
    visit("cooperativeMatrixDecodeVector",
          as(static_cast<DecodeVectorFeatures*>(nullptr)).cooperativeMatrixDecodeVector);
  } else if (type == kBfloat16Features) {
    auto& s = as(static_cast<Bfloat16Features*>(nullptr));
    visit("shaderBFloat16Type", s.shaderBFloat16Type);
    visit("shaderBFloat16DotProduct", s.shaderBFloat16DotProduct);
    visit("shaderBFloat16CooperativeMatrix", s.shaderBFloat16CooperativeMatrix);
  } else if (type == kMixedFloatDotProductFeatures) {
    auto& s = as(static_cast<MixedFloatDotProductFeatures*>(nullptr));
    visit("shaderMixedFloatDotProductFloat16AccFloat32", s.shaderMixedFloatDotProductFloat16AccFloat32);
    visit("shaderMixedFloatDotProductFloat16AccFloat16", s.shaderMixedFloatDotProductFloat16AccFloat16);
    visit("shaderMixedFloatDotProductBFloat16Acc", s.shaderMixedFloatDotProductBFloat16Acc);
    visit("shaderMixedFloatDotProductFloat8AccFloat32", s.shaderMixedFloatDotProductFloat8AccFloat32);
  } else if (type == kMicroscalingFeatures) {
    auto& s = as(static_cast<MicroscalingFeatures*>(nullptr));
    visit("shaderFloat4", s.shaderFloat4);
    visit("shaderFloat6", s.shaderFloat6);
    visit("shaderFloat8UnsignedE8M0", s.shaderFloat8UnsignedE8M0);
    visit("shaderMXInt8", s.shaderMXInt8);
  } else if (type == kFloat8Features) {
    auto& s = as(static_cast<Float8Features*>(nullptr));
    visit("shaderFloat8", s.shaderFloat8);
    visit("shaderFloat8CooperativeMatrix", s.shaderFloat8CooperativeMatrix);
  } else if (type == VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_FLOAT16_INT8_FEATURES) {
    auto& s = as(static_cast<VkPhysicalDeviceShaderFloat16Int8Features*>(nullptr));
    visit("shaderFloat16", s.shaderFloat16);
    visit("shaderInt8", s.shaderInt8);
  } else if (type == VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_INTEGER_DOT_PRODUCT_FEATURES) {
    visit("shaderIntegerDotProduct",
          as(static_cast<VkPhysicalDeviceShaderIntegerDotProductFeatures*>(nullptr)).shaderIntegerDotProduct);
  } else if (type == VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_INTEGER_DOT_PRODUCT_PROPERTIES) {
    detail::visit_integer_dot(as(static_cast<VkPhysicalDeviceShaderIntegerDotProductProperties*>(nullptr)), visit);
  } else if (type == VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_16BIT_STORAGE_FEATURES) {
    auto& s = as(static_cast<VkPhysicalDevice16BitStorageFeatures*>(nullptr));
    visit("storageBuffer16BitAccess", s.storageBuffer16BitAccess);
    visit("uniformAndStorageBuffer16BitAccess", s.uniformAndStorageBuffer16BitAccess);
    visit("storagePushConstant16", s.storagePushConstant16);
  } else if (type == VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SUBGROUP_SIZE_CONTROL_FEATURES) {
    auto& s = as(static_cast<VkPhysicalDeviceSubgroupSizeControlFeatures*>(nullptr));
    visit("subgroupSizeControl", s.subgroupSizeControl);
    visit("computeFullSubgroups", s.computeFullSubgroups);
  } else if (type == VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SUBGROUP_SIZE_CONTROL_PROPERTIES) {
    detail::visit_size_control(as(static_cast<VkPhysicalDeviceSubgroupSizeControlProperties*>(nullptr)), visit);
  } else if (type == VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SUBGROUP_PROPERTIES) {
    visit("subgroupSize", as(static_cast<VkPhysicalDeviceSubgroupProperties*>(nullptr)).subgroupSize);
  } else if (type == VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_1_FEATURES) {
    auto& s = as(static_cast<VkPhysicalDeviceVulkan11Features*>(nullptr));
    visit("storageBuffer16BitAccess", s.storageBuffer16BitAccess);
    visit("uniformAndStorageBuffer16BitAccess", s.uniformAndStorageBuffer16BitAccess);
    visit("storagePushConstant16", s.storagePushConstant16);
  } else if (type == VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES) {
    auto& s = as(static_cast<VkPhysicalDeviceVulkan12Features*>(nullptr));
    visit("shaderFloat16", s.shaderFloat16);
    visit("shaderInt8", s.shaderInt8);
  } else if (type == VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_3_FEATURES) {
    auto& s = as(static_cast<VkPhysicalDeviceVulkan13Features*>(nullptr));
    visit("shaderIntegerDotProduct", s.shaderIntegerDotProduct);
    visit("subgroupSizeControl", s.subgroupSizeControl);
    visit("computeFullSubgroups", s.computeFullSubgroups);
  } else if (type == VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_1_PROPERTIES) {
    visit("subgroupSize", as(static_cast<VkPhysicalDeviceVulkan11Properties*>(nullptr)).subgroupSize);
  } else if (type == VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_3_PROPERTIES) {
    auto& s = as(static_cast<VkPhysicalDeviceVulkan13Properties*>(nullptr));
    detail::visit_integer_dot(s, visit);
    detail::visit_size_control(s, visit);
  } else if (type == VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2) {
    auto& limits = as(static_cast<VkPhysicalDeviceProperties2*>(nullptr)).properties.limits;
    visit("maxComputeSharedMemorySize", limits.maxComputeSharedMemorySize);
    visit("maxStorageBufferRange", limits.maxStorageBufferRange);
  }
}

}  // namespace capbench::shim::vulkan

#endif  // CAPBENCH_SHIM_VULKAN_TESTING_STRUCTURES_H_
