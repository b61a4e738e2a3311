#include "shim/vulkan/testing/mock_icd.h"

#include <vulkan/vk_icd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <mutex>
#include <string_view>

#include "shim/vulkan/newer_structures.h"
#include "shim/vulkan/testing/structures.h"

namespace capbench::shim::vulkan {
namespace {

// The loader writes its dispatch table over the first word of every handle.
struct Handle {
  VK_LOADER_DATA loader;
  const struct Personality* personality;
};

struct Personality {
  std::string name;
  std::uint32_t version = VK_API_VERSION_1_3;
  std::vector<std::string> extensions;
  Words words;  // features and properties by name
  std::vector<CooperativeMatrixShape> shapes;
  std::vector<FlexibleDimensions> flexible;
};

struct Instance {
  Handle handle{};
  std::vector<std::unique_ptr<Personality>> personalities;
  std::vector<std::unique_ptr<Handle>> devices;
};

std::mutex g_mutex;
DeviceRequest g_request;

CooperativeMatrixShape shape(std::int32_t inputs, std::int32_t results) {
  CooperativeMatrixShape out{};
  out.MSize = 16;
  out.NSize = 16;
  out.KSize = 16;
  out.AType = inputs;
  out.BType = inputs;
  out.CType = results;
  out.ResultType = results;
  out.scope = kScopeSubgroup;
  return out;
}

FlexibleDimensions flexible(std::int32_t inputs, std::int32_t results, std::uint32_t invocations) {
  FlexibleDimensions out{};
  out.MGranularity = 32;
  out.NGranularity = invocations == 128 ? 16 : 32;
  out.KGranularity = 16;
  out.AType = inputs;
  out.BType = inputs;
  out.CType = results;
  out.ResultType = results;
  out.scope = kScopeWorkgroup;
  out.workgroupInvocations = invocations;
  return out;
}

Personality rich() {
  Personality p;
  p.name = "Mock GPU 9000";
  p.extensions = {"VK_KHR_16bit_storage",         "VK_KHR_cooperative_matrix",
                  "VK_NV_cooperative_matrix2",    "VK_NV_cooperative_matrix_decode_vector",
                  "VK_KHR_shader_float16_int8",   "VK_VALVE_shader_mixed_float_dot_product",
                  "VK_KHR_shader_bfloat16",       "VK_EXT_shader_ocp_microscaling_types",
                  "VK_EXT_shader_float8",         "VK_KHR_shader_integer_dot_product",
                  "VK_EXT_subgroup_size_control", "VK_KHR_maintenance4"};
  for (const char* name : {"cooperativeMatrix",
                           "cooperativeMatrixRobustBufferAccess",
                           "cooperativeMatrixWorkgroupScope",
                           "cooperativeMatrixFlexibleDimensions",
                           "cooperativeMatrixReductions",
                           "cooperativeMatrixConversions",
                           "cooperativeMatrixPerElementOperations",
                           "cooperativeMatrixTensorAddressing",
                           "cooperativeMatrixBlockLoads",
                           "cooperativeMatrixDecodeVector",
                           "shaderFloat16",
                           "shaderInt8",
                           "shaderMixedFloatDotProductFloat16AccFloat32",
                           "shaderMixedFloatDotProductBFloat16Acc",
                           "shaderBFloat16Type",
                           "shaderBFloat16CooperativeMatrix",
                           "shaderFloat4",
                           "shaderFloat8UnsignedE8M0",
                           "shaderFloat8",
                           "shaderFloat8CooperativeMatrix",
                           "shaderIntegerDotProduct",
                           "storageBuffer16BitAccess",
                           "uniformAndStorageBuffer16BitAccess",
                           "storagePushConstant16",
                           "subgroupSizeControl",
                           "computeFullSubgroups"})
    p.words[name] = VK_TRUE;
  for (const char* name :
       {"integerDotProduct8BitUnsignedAccelerated", "integerDotProduct4x8BitPackedUnsignedAccelerated",
        "integerDotProduct4x8BitPackedSignedAccelerated", "integerDotProduct4x8BitPackedMixedSignednessAccelerated",
        "integerDotProductAccumulatingSaturating4x8BitPackedSignedAccelerated",
        "integerDotProductAccumulatingSaturating64BitMixedSignednessAccelerated"})
    p.words[name] = VK_TRUE;
  p.words["cooperativeMatrixSupportedStages"] = VK_SHADER_STAGE_COMPUTE_BIT;
  p.words["cooperativeMatrixWorkgroupScopeMaxWorkgroupSize"] = 1024;
  p.words["cooperativeMatrixFlexibleDimensionsMaxDimension"] = 4096;
  p.words["cooperativeMatrixWorkgroupScopeReservedSharedMemory"] = 512;
  p.words["requiredSubgroupSizeStages"] = VK_SHADER_STAGE_COMPUTE_BIT;
  p.words["minSubgroupSize"] = 32;
  p.words["maxSubgroupSize"] = 32;
  p.words["subgroupSize"] = 32;
  p.words["maxComputeSharedMemorySize"] = 49152;
  p.words["maxStorageBufferRange"] = 0xFFFFFFFFU;
  p.shapes = {shape(kComponentFloat16, kComponentFloat32), shape(kComponentBfloat16, kComponentFloat32),
              shape(kComponentFloat8E4M3, kComponentFloat32), shape(kFirstMicroscalingComponent, kComponentFloat32),
              shape(kComponentFloat16, kComponentFloat16)};
  p.flexible = {
      flexible(kComponentFloat16, kComponentFloat32, 128), flexible(kComponentFloat16, kComponentFloat32, 256),
      flexible(kComponentBfloat16, kComponentFloat32, 128), flexible(kComponentFloat8E5M2, kComponentFloat32, 256)};
  return p;
}

Personality second() {
  Personality p = rich();
  p.name = "Mock GPU 100";
  p.extensions = {"VK_KHR_16bit_storage", "VK_KHR_shader_float16_int8", "VK_KHR_shader_integer_dot_product",
                  "VK_EXT_subgroup_size_control"};
  for (auto& [name, word] : p.words) {
    if (name.rfind("cooperative", 0) == 0 || name.find("BFloat16") != std::string::npos ||
        name.find("Float8") != std::string::npos || name.find("Float4") != std::string::npos ||
        name.find("Accelerated") != std::string::npos || name.find("MixedFloat") != std::string::npos)
      word = 0;
  }
  p.words["subgroupSize"] = 64;
  p.words["maxSubgroupSize"] = 64;
  p.words["maxComputeSharedMemorySize"] = 32768;
  p.shapes.clear();
  p.flexible.clear();
  return p;
}

bool is_set(const char* name) {
  return std::getenv(name) != nullptr;
}

const Personality& of(VkPhysicalDevice device) {
  return *reinterpret_cast<const Handle*>(device)->personality;
}

// Extensions that a structure belongs to; "" for core.
std::string_view extension_of(VkStructureType type) {
  if (type == kCooperativeMatrixFeatures || type == kCooperativeMatrixProperties) return "VK_KHR_cooperative_matrix";
  if (type == kCooperativeMatrix2Features || type == kCooperativeMatrix2Properties) return "VK_NV_cooperative_matrix2";
  if (type == kDecodeVectorFeatures) return "VK_NV_cooperative_matrix_decode_vector";
  if (type == kBfloat16Features) return "VK_KHR_shader_bfloat16";
  if (type == kMixedFloatDotProductFeatures) return "VK_VALVE_shader_mixed_float_dot_product";
  if (type == kMicroscalingFeatures) return "VK_EXT_shader_ocp_microscaling_types";
  if (type == kFloat8Features) return "VK_EXT_shader_float8";
  return "";
}

// As drivers do: structures that they do not know stay as they are.
bool knows(const Personality& p, VkStructureType type) {
  const std::string_view extension = extension_of(type);
  return extension.empty() || std::find(p.extensions.begin(), p.extensions.end(), extension) != p.extensions.end();
}

void fill_chain(const Personality& p, void* head) {
  for (auto* node = static_cast<VkBaseOutStructure*>(head); node != nullptr; node = node->pNext) {
    if (!knows(p, node->sType)) continue;
    visit_structure(node, [&](const char* name, std::uint32_t& word) {
      const auto found = p.words.find(name);
      word = found == p.words.end() ? 0 : found->second;
    });
  }
}

VKAPI_ATTR void VKAPI_CALL get_properties(VkPhysicalDevice device, VkPhysicalDeviceProperties* out) {
  const Personality& p = of(device);
  *out = {};
  out->apiVersion = p.version;
  out->vendorID = 0x10DE;
  out->deviceType = VK_PHYSICAL_DEVICE_TYPE_DISCRETE_GPU;
  std::strncpy(out->deviceName, p.name.c_str(), sizeof out->deviceName - 1);
  out->limits.maxComputeSharedMemorySize = p.words.at("maxComputeSharedMemorySize");
  out->limits.maxStorageBufferRange = p.words.at("maxStorageBufferRange");
}

VKAPI_ATTR void VKAPI_CALL get_properties2(VkPhysicalDevice device, VkPhysicalDeviceProperties2* out) {
  get_properties(device, &out->properties);
  fill_chain(of(device), out->pNext);
}

VKAPI_ATTR void VKAPI_CALL get_features(VkPhysicalDevice, VkPhysicalDeviceFeatures* out) {
  *out = {};
  out->shaderInt64 = VK_TRUE;
}

VKAPI_ATTR void VKAPI_CALL get_features2(VkPhysicalDevice device, VkPhysicalDeviceFeatures2* out) {
  get_features(device, &out->features);
  fill_chain(of(device), out->pNext);
}

template <class T>
VkResult copy_out(const std::vector<T>& all, std::uint32_t* count, T* out) {
  const auto total = static_cast<std::uint32_t>(all.size());
  if (out == nullptr) {
    *count = total;
    return VK_SUCCESS;
  }
  const bool short_of = *count < total;
  *count = std::min(*count, total);
  for (std::uint32_t i = 0; i < *count; ++i) {
    T copy = all[i];
    if constexpr (requires { copy.sType; }) {
      copy.sType = out[i].sType;
      copy.pNext = out[i].pNext;
    }
    out[i] = copy;
  }
  return short_of ? VK_INCOMPLETE : VK_SUCCESS;
}

VKAPI_ATTR VkResult VKAPI_CALL list_extensions(VkPhysicalDevice device, const char*, std::uint32_t* count,
                                               VkExtensionProperties* out) {
  std::vector<VkExtensionProperties> all;
  for (const std::string& name : of(device).extensions) {
    VkExtensionProperties each{};
    std::strncpy(each.extensionName, name.c_str(), sizeof each.extensionName - 1);
    each.specVersion = 1;
    all.push_back(each);
  }
  return copy_out(all, count, out);
}

VKAPI_ATTR VkResult VKAPI_CALL list_shapes(VkPhysicalDevice device, std::uint32_t* count, CooperativeMatrixShape* out) {
  if (!knows(of(device), kCooperativeMatrixFeatures)) std::abort();  // as newer loaders do
  return copy_out(of(device).shapes, count, out);
}

VKAPI_ATTR VkResult VKAPI_CALL list_flexible(VkPhysicalDevice device, std::uint32_t* count, FlexibleDimensions* out) {
  if (!knows(of(device), kCooperativeMatrix2Features)) std::abort();
  return copy_out(of(device).flexible, count, out);
}

VKAPI_ATTR VkResult VKAPI_CALL list_devices(VkInstance handle, std::uint32_t* count, VkPhysicalDevice* out) {
  std::vector<VkPhysicalDevice> all;
  for (const auto& device : reinterpret_cast<Instance*>(handle)->devices)
    all.push_back(reinterpret_cast<VkPhysicalDevice>(device.get()));
  return copy_out(all, count, out);
}

VKAPI_ATTR void VKAPI_CALL get_queue_families(VkPhysicalDevice, std::uint32_t* count, VkQueueFamilyProperties* out) {
  VkQueueFamilyProperties family{};
  family.queueFlags = VK_QUEUE_COMPUTE_BIT | VK_QUEUE_TRANSFER_BIT;
  family.queueCount = 1;
  copy_out(std::vector<VkQueueFamilyProperties>{family}, count, out);
}

VKAPI_ATTR void VKAPI_CALL get_memory(VkPhysicalDevice, VkPhysicalDeviceMemoryProperties* out) {
  *out = {};
}

VKAPI_ATTR void VKAPI_CALL get_format(VkPhysicalDevice, VkFormat, VkFormatProperties* out) {
  *out = {};
}

VKAPI_ATTR VkResult VKAPI_CALL get_image_format(VkPhysicalDevice, VkFormat, VkImageType, VkImageTiling,
                                                VkImageUsageFlags, VkImageCreateFlags, VkImageFormatProperties*) {
  return VK_ERROR_FORMAT_NOT_SUPPORTED;
}

VKAPI_ATTR void VKAPI_CALL get_sparse_format(VkPhysicalDevice, VkFormat, VkImageType, VkSampleCountFlagBits,
                                             VkImageUsageFlags, VkImageTiling, std::uint32_t* count,
                                             VkSparseImageFormatProperties*) {
  *count = 0;
}

VKAPI_ATTR VkResult VKAPI_CALL create_device(VkPhysicalDevice physical, const VkDeviceCreateInfo* info,
                                             const VkAllocationCallbacks*, VkDevice* out) {
  const Personality& p = of(physical);
  bool missing = false;
  {
    const std::lock_guard<std::mutex> lock(g_mutex);
    g_request.extensions.clear();
    g_request.features.clear();
    ++g_request.calls;
    for (std::uint32_t i = 0; i < info->enabledExtensionCount; ++i)
      g_request.extensions.emplace_back(info->ppEnabledExtensionNames[i]);
    // The chain is only read; what visits it is made for chains that are filled in.
    // NOLINTNEXTLINE(cppcoreguidelines-pro-type-const-cast)
    auto* node = static_cast<VkBaseOutStructure*>(const_cast<void*>(info->pNext));
    for (; node != nullptr; node = node->pNext) {
      if (!knows(p, node->sType)) continue;
      visit_structure(node, [&](const char* name, const std::uint32_t& word) {
        g_request.features[name] = word;
        const auto found = p.words.find(name);
        if (word != 0 && (found == p.words.end() || found->second == 0)) missing = true;
      });
    }
  }
  if (missing) return VK_ERROR_FEATURE_NOT_PRESENT;
  auto* const device = new Handle();
  set_loader_magic_value(device);
  device->personality = &p;
  *out = reinterpret_cast<VkDevice>(device);
  return VK_SUCCESS;
}

VKAPI_ATTR void VKAPI_CALL destroy_device(VkDevice device, const VkAllocationCallbacks*) {
  delete reinterpret_cast<Handle*>(device);
}

VKAPI_ATTR VkResult VKAPI_CALL wait_idle(VkDevice) {
  return VK_SUCCESS;
}

VKAPI_ATTR VkResult VKAPI_CALL create_instance(const VkInstanceCreateInfo*, const VkAllocationCallbacks*,
                                               VkInstance* out) {
  auto* const instance = new Instance();
  set_loader_magic_value(&instance->handle);
  Personality first = rich();
  if (is_set("MOCK_POOR")) {
    Words kept;
    for (const char* name : {"minSubgroupSize", "maxSubgroupSize", "subgroupSize", "maxComputeSharedMemorySize",
                             "maxStorageBufferRange", "storageBuffer16BitAccess", "shaderIntegerDotProduct"})
      kept[name] = first.words.at(name);
    first.words = kept;
  }
  if (is_set("MOCK_OLD")) {
    first.version = VK_API_VERSION_1_1;
    first.extensions.clear();
  }
  instance->personalities.push_back(std::make_unique<Personality>(first));
  if (is_set("MOCK_DEVICES")) instance->personalities.push_back(std::make_unique<Personality>(second()));
  for (const auto& personality : instance->personalities) {
    auto device = std::make_unique<Handle>();
    set_loader_magic_value(device.get());
    device->personality = personality.get();
    instance->devices.push_back(std::move(device));
  }
  *out = reinterpret_cast<VkInstance>(instance);
  return VK_SUCCESS;
}

VKAPI_ATTR void VKAPI_CALL destroy_instance(VkInstance instance, const VkAllocationCallbacks*) {
  delete reinterpret_cast<Instance*>(instance);
}

VKAPI_ATTR VkResult VKAPI_CALL get_version(std::uint32_t* version) {
  *version = VK_API_VERSION_1_3;
  return VK_SUCCESS;
}

VKAPI_ATTR VkResult VKAPI_CALL list_instance_extensions(const char*, std::uint32_t* count, VkExtensionProperties* out) {
  VkExtensionProperties each{};
  std::strncpy(each.extensionName, VK_KHR_GET_PHYSICAL_DEVICE_PROPERTIES_2_EXTENSION_NAME,
               sizeof each.extensionName - 1);
  each.specVersion = 2;
  return copy_out(std::vector<VkExtensionProperties>{each}, count, out);
}

template <class Function>
PFN_vkVoidFunction untyped(Function function) {
  return reinterpret_cast<PFN_vkVoidFunction>(function);
}

PFN_vkVoidFunction device_function(VkDevice, const char* name) {
  const std::string_view wanted = name;
  if (wanted == "vkDestroyDevice") return untyped(destroy_device);
  if (wanted == "vkDeviceWaitIdle") return untyped(wait_idle);
  if (wanted == "vkGetDeviceProcAddr") return untyped(device_function);
  return nullptr;
}

PFN_vkVoidFunction physical_device_function(const char* name) {
  static const std::map<std::string_view, PFN_vkVoidFunction> functions = {
      {"vkGetPhysicalDeviceProperties", untyped(get_properties)},
      {"vkGetPhysicalDeviceProperties2", untyped(get_properties2)},
      {"vkGetPhysicalDeviceProperties2KHR", untyped(get_properties2)},
      {"vkGetPhysicalDeviceFeatures", untyped(get_features)},
      {"vkGetPhysicalDeviceFeatures2", untyped(get_features2)},
      {"vkGetPhysicalDeviceFeatures2KHR", untyped(get_features2)},
      {"vkGetPhysicalDeviceQueueFamilyProperties", untyped(get_queue_families)},
      {"vkGetPhysicalDeviceMemoryProperties", untyped(get_memory)},
      {"vkGetPhysicalDeviceFormatProperties", untyped(get_format)},
      {"vkGetPhysicalDeviceImageFormatProperties", untyped(get_image_format)},
      {"vkGetPhysicalDeviceSparseImageFormatProperties", untyped(get_sparse_format)},
      {"vkGetPhysicalDeviceCooperativeMatrixPropertiesKHR", untyped(list_shapes)},
      {"vkGetPhysicalDeviceCooperativeMatrixFlexibleDimensionsPropertiesNV", untyped(list_flexible)},
      {"vkEnumerateDeviceExtensionProperties", untyped(list_extensions)},
      {"vkCreateDevice", untyped(create_device)},
  };
  const auto found = functions.find(name);
  return found == functions.end() ? nullptr : found->second;
}

PFN_vkVoidFunction instance_function(const char* name) {
  const std::string_view wanted = name;
  if (wanted == "vkCreateInstance") return untyped(create_instance);
  if (wanted == "vkDestroyInstance") return untyped(destroy_instance);
  if (wanted == "vkEnumerateInstanceVersion") return untyped(get_version);
  if (wanted == "vkEnumerateInstanceExtensionProperties") return untyped(list_instance_extensions);
  if (wanted == "vkEnumeratePhysicalDevices") return untyped(list_devices);
  if (const PFN_vkVoidFunction found = physical_device_function(name); found != nullptr) return found;
  return device_function(VK_NULL_HANDLE, name);
}

}  // namespace

extern "C" [[gnu::visibility("default")]] void mock_last_request(DeviceRequest* out) {
  const std::lock_guard<std::mutex> lock(g_mutex);
  *out = g_request;
}

extern "C" [[gnu::visibility("default")]] VkResult vk_icdNegotiateLoaderICDInterfaceVersion(std::uint32_t* version) {
  *version = std::min(*version, 5U);
  return VK_SUCCESS;
}

extern "C" [[gnu::visibility("default")]] PFN_vkVoidFunction vk_icdGetInstanceProcAddr(VkInstance, const char* name) {
  return instance_function(name);
}

extern "C" [[gnu::visibility("default")]] PFN_vkVoidFunction vk_icdGetPhysicalDeviceProcAddr(VkInstance,
                                                                                             const char* name) {
  return physical_device_function(name);
}

}  // namespace capbench::shim::vulkan
