#include "shim/vulkan/probe.h"

#include <dlfcn.h>
#include <vulkan/vulkan_core.h>

#include <algorithm>

#include "shim/vulkan/answers.h"

namespace capbench::shim::vulkan {
namespace {

Error no_device(const std::string& cause, const std::string& remedy) {
  return {ErrorKind::kMachine, "Vulkan", cause, remedy};
}

constexpr const char* kGetDriver =
    "install the GPU's Vulkan driver, or mesa-vulkan-drivers for a software device; `vulkaninfo --summary` shows what "
    "the loader finds";

class Instance {
 public:
  Instance(PFN_vkGetInstanceProcAddr lookup, VkInstance handle) : lookup_(lookup), handle_(handle) {}
  ~Instance() {
    if (const auto destroy = function<PFN_vkDestroyInstance>("vkDestroyInstance"); destroy != nullptr)
      destroy(handle_, nullptr);
  }
  Instance(const Instance&) = delete;
  Instance& operator=(const Instance&) = delete;

  VkInstance handle() const { return handle_; }
  template <class Function>
  Function function(const char* name) const {
    return reinterpret_cast<Function>(lookup_(handle_, name));
  }

 private:
  PFN_vkGetInstanceProcAddr lookup_;
  VkInstance handle_;
};

std::string version_text(std::uint32_t version) {
  return std::to_string(VK_API_VERSION_MAJOR(version)) + "." + std::to_string(VK_API_VERSION_MINOR(version)) + "." +
         std::to_string(VK_API_VERSION_PATCH(version));
}

std::string type_text(VkPhysicalDeviceType type) {
  switch (type) {
    case VK_PHYSICAL_DEVICE_TYPE_DISCRETE_GPU:
      return "discrete";
    case VK_PHYSICAL_DEVICE_TYPE_INTEGRATED_GPU:
      return "integrated";
    case VK_PHYSICAL_DEVICE_TYPE_VIRTUAL_GPU:
      return "virtual";
    case VK_PHYSICAL_DEVICE_TYPE_CPU:
      return "cpu";
    default:
      return "other";
  }
}

template <std::size_t kSize>
std::string text_of(const char (&bytes)[kSize]) {
  return {bytes, std::find(bytes, bytes + kSize, '\0')};
}

ProbedDevice probe_device(const Queries& queries, VkPhysicalDevice device) {
  ProbedDevice out;
  VkPhysicalDeviceDriverProperties driver{};
  driver.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_DRIVER_PROPERTIES;
  VkPhysicalDeviceProperties2 properties{};
  properties.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2;
  queries.properties(device, &properties.properties);
  if (properties.properties.apiVersion >= VK_API_VERSION_1_2) {
    properties.pNext = &driver;
    queries.properties2(device, &properties);
  }
  out.name = text_of(properties.properties.deviceName);
  out.driver = text_of(driver.driverName);
  out.driver_info = text_of(driver.driverInfo);
  out.type = type_text(properties.properties.deviceType);
  out.api_version = version_text(properties.properties.apiVersion);
  const Answers answers = take_answers(queries, device);
  for (std::size_t i = 0; i < kCapabilityCount; ++i) {
    const auto capability = static_cast<Capability>(i);
    const std::uint32_t value = answers.value(capability);
    const bool is_switch = toggle_of(capability).kind == ValueKind::kSwitch;
    out.capabilities.emplace_back(kCapabilityNames[i], is_switch ? (value != 0 ? "on" : "off") : std::to_string(value));
  }
  return out;
}

}  // namespace

Result<std::vector<ProbedDevice>> probe_devices() {
  void* const library = ::dlopen("libvulkan.so.1", RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) return no_device("no Vulkan loader (libvulkan.so.1) on this machine", "install libvulkan1");
  const auto lookup = reinterpret_cast<PFN_vkGetInstanceProcAddr>(::dlsym(library, "vkGetInstanceProcAddr"));
  if (lookup == nullptr)
    return no_device("libvulkan.so.1 has no vkGetInstanceProcAddr", "reinstall the Vulkan loader, libvulkan1");
  const auto create = reinterpret_cast<PFN_vkCreateInstance>(lookup(VK_NULL_HANDLE, "vkCreateInstance"));
  // Absent from loaders of Vulkan 1.0, which know neither properties2 nor features2.
  if (create == nullptr || lookup(VK_NULL_HANDLE, "vkEnumerateInstanceVersion") == nullptr)
    return no_device("the Vulkan loader is older than 1.1", "install a newer libvulkan1");
  VkApplicationInfo application{};
  application.sType = VK_STRUCTURE_TYPE_APPLICATION_INFO;
  application.pApplicationName = "capbench probe";
  application.apiVersion = VK_API_VERSION_1_3;
  VkInstanceCreateInfo info{};
  info.sType = VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO;
  info.pApplicationInfo = &application;
  VkInstance handle = VK_NULL_HANDLE;
  const VkResult created = create(&info, nullptr, &handle);
  if (created == VK_ERROR_LAYER_NOT_PRESENT)
    return no_device("a layer that VK_INSTANCE_LAYERS names is not in VK_LAYER_PATH", "check both variables");
  if (created != VK_SUCCESS) {
    return no_device("no instance can be made (VkResult " + std::to_string(created) + "): no driver is found",
                     kGetDriver);
  }
  const Instance instance(lookup, handle);
  Queries queries;
  queries.extensions =
      instance.function<PFN_vkEnumerateDeviceExtensionProperties>("vkEnumerateDeviceExtensionProperties");
  queries.properties = instance.function<PFN_vkGetPhysicalDeviceProperties>("vkGetPhysicalDeviceProperties");
  queries.properties2 = instance.function<PFN_vkGetPhysicalDeviceProperties2>("vkGetPhysicalDeviceProperties2");
  queries.features2 = instance.function<PFN_vkGetPhysicalDeviceFeatures2>("vkGetPhysicalDeviceFeatures2");
  const auto enumerate = instance.function<PFN_vkEnumeratePhysicalDevices>("vkEnumeratePhysicalDevices");
  if (queries.extensions == nullptr || queries.properties == nullptr || queries.properties2 == nullptr ||
      queries.features2 == nullptr || enumerate == nullptr)
    return no_device("the Vulkan loader lacks a function of Vulkan 1.1", "install a newer libvulkan1");
  std::uint32_t count = 0;
  std::vector<VkPhysicalDevice> devices;
  VkResult result = enumerate(instance.handle(), &count, nullptr);
  if (result == VK_SUCCESS && count != 0) {
    devices.resize(count);
    result = enumerate(instance.handle(), &count, devices.data());
    devices.resize(count);
  }
  if (result < 0 || devices.empty()) return no_device("there is a driver and no device", kGetDriver);
  std::vector<ProbedDevice> out;
  for (const VkPhysicalDevice device : devices) out.push_back(probe_device(queries, device));
  return out;
}

}  // namespace capbench::shim::vulkan
