#include "shim/vulkan/testing/session.h"

#include <dlfcn.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>

namespace capbench::shim::vulkan {
namespace {

constexpr std::size_t kBlockBytes = 1024;

void assign(const std::string& name, const std::optional<std::string>& value) {
  if (value.has_value()) {
    ::setenv(name.c_str(), value->c_str(), 1);
  } else {
    ::unsetenv(name.c_str());
  }
}

// The variables that decide what a Vulkan process loads; those not named are unset.
std::map<std::string, std::string> variables_of(const SessionOptions& options) {
  std::map<std::string, std::string> out = *layer_environment(layer_folder(), options.roles);
  out["VK_ICD_FILENAMES"] = options.driver_manifest;
  if (!options.guest.empty()) out["CAPSHIM_GUEST"] = options.guest;
  if (!options.set.empty()) out["CAPSHIM_SET"] = options.set;
  for (const auto& [name, value] : options.variables) out[name] = value;
  return out;
}

}  // namespace

std::filesystem::path workspace_file(const std::string& path) {
  const char* const root = std::getenv("TEST_SRCDIR");
  const char* const workspace = std::getenv("TEST_WORKSPACE");
  const std::filesystem::path base = root == nullptr ? "." : std::filesystem::path(root) / workspace;
  return std::filesystem::canonical(base / path);
}

std::filesystem::path layer_folder() {
  return workspace_file("shim/vulkan/libcapshim_vulkan.so").parent_path();
}

Environment::Environment(const std::map<std::string, std::string>& variables) {
  for (const auto& [name, value] : variables) {
    const char* const now = std::getenv(name.c_str());
    before_[name] = now == nullptr ? std::nullopt : std::optional<std::string>(now);
    assign(name, value);
  }
}

Environment::~Environment() {
  for (const auto& [name, value] : before_) assign(name, value);
}

CapturedStderr::CapturedStderr() : saved_(::dup(STDERR_FILENO)), file_(::memfd_create("stderr", 0)) {
  ::dup2(file_, STDERR_FILENO);
}

CapturedStderr::~CapturedStderr() {
  ::dup2(saved_, STDERR_FILENO);
  ::close(saved_);
  ::close(file_);
}

std::string CapturedStderr::text() const {
  std::string out(static_cast<std::size_t>(::lseek(file_, 0, SEEK_END)), '\0');
  const ssize_t got = ::pread(file_, out.data(), out.size(), 0);
  out.resize(got < 0 ? 0 : static_cast<std::size_t>(got));
  return out;
}

void Chain::add(VkStructureType type) {
  auto block = std::make_unique<std::byte[]>(kBlockBytes);
  auto* const node = reinterpret_cast<VkBaseOutStructure*>(block.get());
  node->sType = type;
  if (!blocks_.empty()) reinterpret_cast<VkBaseOutStructure*>(blocks_.back().get())->pNext = node;
  blocks_.push_back(std::move(block));
}

Chain Chain::features(Style style, bool newer_extensions) {
  Chain chain;
  chain.add(VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2);
  if (style == Style::kAggregate) {
    chain.add(VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_1_FEATURES);
    chain.add(VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES);
    chain.add(VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_3_FEATURES);
  } else {
    chain.add(VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_16BIT_STORAGE_FEATURES);
    chain.add(VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_FLOAT16_INT8_FEATURES);
    chain.add(VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_INTEGER_DOT_PRODUCT_FEATURES);
    chain.add(VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SUBGROUP_SIZE_CONTROL_FEATURES);
  }
  if (!newer_extensions) return chain;
  chain.add(structure_type(0x7FFF0001));  // a structure that nobody knows
  chain.add(kCooperativeMatrixFeatures);
  chain.add(kCooperativeMatrix2Features);
  chain.add(kDecodeVectorFeatures);
  chain.add(kBfloat16Features);
  chain.add(kMixedFloatDotProductFeatures);
  chain.add(kMicroscalingFeatures);
  chain.add(kFloat8Features);
  return chain;
}

Chain Chain::properties(Style style, bool newer_extensions) {
  Chain chain;
  chain.add(VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2);
  if (style == Style::kAggregate) {
    chain.add(VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_1_PROPERTIES);
    chain.add(VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_3_PROPERTIES);
  } else {
    chain.add(VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SUBGROUP_PROPERTIES);
    chain.add(VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_INTEGER_DOT_PRODUCT_PROPERTIES);
    chain.add(VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SUBGROUP_SIZE_CONTROL_PROPERTIES);
  }
  if (!newer_extensions) return chain;
  chain.add(structure_type(0x7FFF0002));
  chain.add(kCooperativeMatrixProperties);
  chain.add(kCooperativeMatrix2Properties);
  return chain;
}

Words Chain::read() const {
  Words out;
  for (const auto& block : blocks_) {
    visit_structure(reinterpret_cast<VkBaseOutStructure*>(block.get()),
                    [&](const char* name, const std::uint32_t& word) { out[name] = word; });
  }
  return out;
}

PFN_vkGetInstanceProcAddr loader() {
  static const PFN_vkGetInstanceProcAddr found = [] {
    void* const library = ::dlopen("libvulkan.so.1", RTLD_NOW | RTLD_LOCAL);
    return library == nullptr ? nullptr
                              : reinterpret_cast<PFN_vkGetInstanceProcAddr>(::dlsym(library, "vkGetInstanceProcAddr"));
  }();
  return found;
}

Session::Session(const SessionOptions& options) : options_(options) {
  for (const char* name : {"CAPSHIM_GUEST", "CAPSHIM_SET", "VK_LAYER_PATH", "VK_INSTANCE_LAYERS"}) ::unsetenv(name);
  const Environment environment(variables_of(options));
  VkApplicationInfo application{};
  application.sType = VK_STRUCTURE_TYPE_APPLICATION_INFO;
  application.apiVersion = options.version;
  VkInstanceCreateInfo info{};
  info.sType = VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO;
  info.pNext = options.instance_chain;
  info.pApplicationInfo = &application;
  info.enabledExtensionCount = static_cast<std::uint32_t>(options.instance_extensions.size());
  info.ppEnabledExtensionNames = options.instance_extensions.data();
  created_ = function<PFN_vkCreateInstance>("vkCreateInstance")(&info, nullptr, &instance_);
  if (created_ != VK_SUCCESS) return;
  const auto enumerate = function<PFN_vkEnumeratePhysicalDevices>("vkEnumeratePhysicalDevices");
  std::uint32_t count = 0;
  enumerate(instance_, &count, nullptr);
  devices_.resize(count);
  enumerate(instance_, &count, devices_.data());
}

Session::~Session() {
  if (created_ == VK_SUCCESS) function<PFN_vkDestroyInstance>("vkDestroyInstance")(instance_, nullptr);
}

PFN_vkVoidFunction Session::lookup(const char* name) const {
  return loader()(instance_, name);
}

Words Session::words(Style style, const std::string& suffix, std::size_t device) const {
  Chain features = Chain::features(style, options_.newer_extensions);
  function<PFN_vkGetPhysicalDeviceFeatures2>(("vkGetPhysicalDeviceFeatures2" + suffix).c_str())(
      devices_[device], features.head<VkPhysicalDeviceFeatures2>());
  Chain properties = Chain::properties(style, options_.newer_extensions);
  function<PFN_vkGetPhysicalDeviceProperties2>(("vkGetPhysicalDeviceProperties2" + suffix).c_str())(
      devices_[device], properties.head<VkPhysicalDeviceProperties2>());
  Words out = features.read();
  out.merge(properties.read());
  return out;
}

Words Session::plain_limits(std::size_t device) const {
  VkPhysicalDeviceProperties properties{};
  function<PFN_vkGetPhysicalDeviceProperties>("vkGetPhysicalDeviceProperties")(devices_[device], &properties);
  return {{"maxComputeSharedMemorySize", properties.limits.maxComputeSharedMemorySize},
          {"maxStorageBufferRange", properties.limits.maxStorageBufferRange}};
}

std::vector<std::string> Session::extensions(std::size_t device) const {
  const auto list = function<PFN_vkEnumerateDeviceExtensionProperties>("vkEnumerateDeviceExtensionProperties");
  std::uint32_t count = 0;
  list(devices_[device], nullptr, &count, nullptr);
  std::vector<VkExtensionProperties> all(count);
  list(devices_[device], nullptr, &count, all.data());
  std::vector<std::string> names;
  for (const VkExtensionProperties& each : all) names.emplace_back(each.extensionName);
  return names;
}

namespace {

template <class Shape>
std::vector<Shape> all_shapes(EnumerateShapes<Shape> list, VkStructureType type, VkPhysicalDevice device) {
  if (list == nullptr) return {};
  std::uint32_t count = 0;
  list(device, &count, nullptr);
  Shape blank{};
  blank.sType = type;
  std::vector<Shape> all(count, blank);
  list(device, &count, all.data());
  all.resize(count);
  return all;
}

}  // namespace

std::vector<CooperativeMatrixShape> Session::shapes(std::size_t device) const {
  return all_shapes(
      function<EnumerateShapes<CooperativeMatrixShape>>("vkGetPhysicalDeviceCooperativeMatrixPropertiesKHR"),
      kCooperativeMatrixShape, devices_[device]);
}

std::vector<FlexibleDimensions> Session::flexible(std::size_t device) const {
  return all_shapes(function<EnumerateShapes<FlexibleDimensions>>(
                        "vkGetPhysicalDeviceCooperativeMatrixFlexibleDimensionsPropertiesNV"),
                    kFlexibleDimensions, devices_[device]);
}

VkResult Session::create_device(Chain& features, const std::vector<const char*>& extensions, std::size_t device,
                                const std::function<void(VkDevice)>& use) const {
  const float priority = 1.0F;
  VkDeviceQueueCreateInfo queue{};
  queue.sType = VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO;
  queue.queueCount = 1;
  queue.pQueuePriorities = &priority;
  VkDeviceCreateInfo info{};
  info.sType = VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO;
  info.pNext = features.head<void>();
  info.queueCreateInfoCount = 1;
  info.pQueueCreateInfos = &queue;
  info.enabledExtensionCount = static_cast<std::uint32_t>(extensions.size());
  info.ppEnabledExtensionNames = extensions.data();
  VkDevice handle = VK_NULL_HANDLE;
  const VkResult result = function<PFN_vkCreateDevice>("vkCreateDevice")(devices_[device], &info, nullptr, &handle);
  if (result != VK_SUCCESS) return result;
  if (use) use(handle);
  function<PFN_vkDestroyDevice>("vkDestroyDevice")(handle, nullptr);
  return result;
}

VkResult Session::create_device_with_all(Style style, std::size_t device) const {
  Chain features = Chain::features(style, options_.newer_extensions);
  function<PFN_vkGetPhysicalDeviceFeatures2>("vkGetPhysicalDeviceFeatures2")(
      devices_[device], features.head<VkPhysicalDeviceFeatures2>());
  return create_device(features, {}, device);
}

}  // namespace capbench::shim::vulkan
