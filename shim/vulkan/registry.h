// What the layer keeps per role: instances, their devices, and the next level of the chain. Only for layer.cc.
#ifndef CAPBENCH_SHIM_VULKAN_REGISTRY_H_
#define CAPBENCH_SHIM_VULKAN_REGISTRY_H_

#include <pthread.h>
#include <vulkan/vk_layer.h>
#include <vulkan/vulkan_core.h>

#include <atomic>
#include <cstdint>
#include <cstring>

#include "shim/common/settings.h"
#include "shim/common/text.h"
#include "shim/vulkan/answers.h"

namespace capbench::shim::vulkan {

enum class Role : std::uint8_t { kGuest, kShim };

// One physical device of one instance, as one role sees it.
struct DeviceView {
  VkPhysicalDevice device = VK_NULL_HANDLE;
  Answers device_answers;  // of the device itself, as far as it can be known
  Answers below_answers;   // of the next layer
  Answers answers;         // of this role
  std::atomic<bool> announced{false};
  DeviceView* next = nullptr;
};

// One level of the chain below an instance.
struct Level {
  PFN_vkGetInstanceProcAddr instance_function = nullptr;
  PFN_GetPhysicalDeviceProcAddr physical_device_function = nullptr;  // may be nullptr
  Queries queries;
  EnumerateShapes<CooperativeMatrixShape> shapes = nullptr;
  EnumerateShapes<FlexibleDimensions> flexible = nullptr;
};

struct Instance {
  void* key = nullptr;
  VkInstance handle = VK_NULL_HANDLE;
  Level below;
  PFN_vkDestroyInstance destroy = nullptr;
  PFN_vkEnumeratePhysicalDevices enumerate = nullptr;

  Roles settings;
  CapabilitySet touched = 0;                // by this role; 0: it changes nothing
  ErrorText error;                          // why it changes nothing although it was asked to
  bool guest_below = false;                 // the shim's role: a stand-in guest answers below, and acts
  Level device;                             // then: what is below the stand-in
  std::atomic<CapabilitySet> permitted{0};  // the stand-in's role: what the shim above raises
  std::atomic<bool> shim_above{false};

  std::atomic<bool> announced{false};
  std::atomic<std::uint32_t> device_count{0};
  DeviceView* views = nullptr;
  Instance* next = nullptr;
};

struct Device {
  void* key = nullptr;
  PFN_vkGetDeviceProcAddr function = nullptr;
  PFN_vkDestroyDevice destroy = nullptr;
  Device* next = nullptr;
};

// What one role knows. Vulkan hands a layer no pointer of its own, so this must be found by a handle.
struct Registry {
  pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
  Instance* instances = nullptr;
  Device* devices = nullptr;
};

inline Registry g_guest;
inline Registry g_shim;

template <Role kRole>
Registry& registry() {
  return kRole == Role::kGuest ? g_guest : g_shim;
}

class ReadLock {
 public:
  explicit ReadLock(Registry& registry) : lock_(registry.lock) { pthread_rwlock_rdlock(&lock_); }
  ~ReadLock() { pthread_rwlock_unlock(&lock_); }
  ReadLock(const ReadLock&) = delete;
  ReadLock& operator=(const ReadLock&) = delete;

 private:
  pthread_rwlock_t& lock_;
};

class WriteLock {
 public:
  explicit WriteLock(Registry& registry) : lock_(registry.lock) { pthread_rwlock_wrlock(&lock_); }
  ~WriteLock() { pthread_rwlock_unlock(&lock_); }
  WriteLock(const WriteLock&) = delete;
  WriteLock& operator=(const WriteLock&) = delete;

 private:
  pthread_rwlock_t& lock_;
};

// The loader's dispatch table, which an instance shares with its physical devices, and a device with its queues.
inline void* key_of(const void* handle) {
  void* key = nullptr;
  std::memcpy(&key, handle, sizeof key);
  return key;
}

template <class Node>
Node* find(Node* list, void* key) {
  while (list != nullptr && list->key != key) list = list->next;
  return list;
}

template <class Node>
Node* unlink(Node** list, void* key) {
  for (Node** at = list; *at != nullptr; at = &(*at)->next) {
    if ((*at)->key != key) continue;
    Node* const node = *at;
    *at = node->next;
    return node;
  }
  return nullptr;
}

// Stays valid until the instance is destroyed, which its users must not do meanwhile (Vulkan's rule, not ours).
template <Role kRole>
Instance* instance_of(const void* handle) {
  if (handle == nullptr) return nullptr;
  Registry& known = registry<kRole>();
  const ReadLock lock(known);
  return find(known.instances, key_of(handle));
}

template <Role kRole>
Device* device_of(VkDevice handle) {
  if (handle == VK_NULL_HANDLE) return nullptr;
  Registry& known = registry<kRole>();
  const ReadLock lock(known);
  return find(known.devices, key_of(handle));
}

template <class Function>
Function resolve(const Level& level, VkInstance instance, const char* name) {
  return reinterpret_cast<Function>(level.instance_function(instance, name));
}

// Functions of physical devices that the loader may not know: it hands them down on a way of their own.
template <class Function>
Function resolve_extension(const Level& level, VkInstance instance, const char* name) {
  if (level.physical_device_function != nullptr) {
    if (const PFN_vkVoidFunction found = level.physical_device_function(instance, name); found != nullptr)
      return reinterpret_cast<Function>(found);
  }
  return resolve<Function>(level, instance, name);
}

inline constexpr const char* kShapesName = "vkGetPhysicalDeviceCooperativeMatrixPropertiesKHR";
inline constexpr const char* kFlexibleName = "vkGetPhysicalDeviceCooperativeMatrixFlexibleDimensionsPropertiesNV";

inline Level make_level(VkInstance instance, PFN_vkGetInstanceProcAddr next,
                        PFN_GetPhysicalDeviceProcAddr next_physical) {
  Level level;
  level.instance_function = next;
  level.physical_device_function = next_physical;
  Queries& queries = level.queries;
  queries.extensions =
      resolve<PFN_vkEnumerateDeviceExtensionProperties>(level, instance, "vkEnumerateDeviceExtensionProperties");
  queries.properties = resolve<PFN_vkGetPhysicalDeviceProperties>(level, instance, "vkGetPhysicalDeviceProperties");
  queries.properties2 = resolve<PFN_vkGetPhysicalDeviceProperties2>(level, instance, "vkGetPhysicalDeviceProperties2");
  if (queries.properties2 == nullptr) {
    queries.properties2 =
        resolve<PFN_vkGetPhysicalDeviceProperties2>(level, instance, "vkGetPhysicalDeviceProperties2KHR");
  }
  queries.features2 = resolve<PFN_vkGetPhysicalDeviceFeatures2>(level, instance, "vkGetPhysicalDeviceFeatures2");
  if (queries.features2 == nullptr) {
    queries.features2 = resolve<PFN_vkGetPhysicalDeviceFeatures2>(level, instance, "vkGetPhysicalDeviceFeatures2KHR");
  }
  level.shapes = resolve_extension<EnumerateShapes<CooperativeMatrixShape>>(level, instance, kShapesName);
  level.flexible = resolve_extension<EnumerateShapes<FlexibleDimensions>>(level, instance, kFlexibleName);
  return level;
}

inline bool is_complete(const Level& level) {
  return level.queries.extensions != nullptr && level.queries.properties != nullptr;
}

}  // namespace capbench::shim::vulkan

#endif  // CAPBENCH_SHIM_VULKAN_REGISTRY_H_
