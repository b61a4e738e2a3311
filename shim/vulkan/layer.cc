// libcapshim_vulkan.so: an explicit Vulkan layer in two roles. The manifest decides which, by the function that it
// names for the loader's negotiation; both roles may be in one process, one above the other.
//
// Only questions about a physical device are answered here, and vkCreateDevice is checked against the answers. Every
// other function resolves past the layer, so nothing is added per command, per token or per frame.
#include <vulkan/vk_layer.h>
#include <vulkan/vulkan_core.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>

#include "shim/common/settings.h"
#include "shim/common/text.h"
#include "shim/vulkan/answers.h"
#include "shim/vulkan/chain.h"
#include "shim/vulkan/guest_link.h"
#include "shim/vulkan/line.h"
#include "shim/vulkan/memory.h"
#include "shim/vulkan/registry.h"

namespace capbench::shim::vulkan {
namespace {

// --- What the process is told -------------------------------------------------------------------------------------

// Settings for one role, or the reason why there are none.
void read_settings(Instance& instance) {
  instance.settings = read_roles(std::getenv(kGuestVariable.data()), std::getenv(kSetVariable.data()));
  Roles& roles = instance.settings;
  instance.error = roles.error;
  for (const Settings* settings : {&roles.guest, &roles.set}) {
    const Setting* const impossible = impossible_setting(*settings);
    if (impossible == nullptr || !instance.error.empty()) continue;
    TextBuilder out(instance.error.bytes.data(), instance.error.bytes.size());
    out.append(settings == &roles.guest ? kGuestVariable : kSetVariable);
    out.append(": ");
    out.append(kToggles[impossible->toggle].name);
    out.append("=");
    out.append_number(impossible->value);
    out.append(": a subgroup size is a power of two; nothing is changed");
    instance.error.size = out.view().size();
  }
  if (!instance.error.empty()) {
    roles.guest = {};
    roles.set = {};
  }
}

void refuse(Instance& instance, std::string_view why) {
  instance.touched = 0;
  instance.settings.guest = {};
  instance.settings.set = {};
  TextBuilder out(instance.error.bytes.data(), instance.error.bytes.size());
  out.append(why);
  instance.error.size = out.view().size();
}

void attach(Instance& instance) {
  const Roles& roles = instance.settings;
  GuestLink link;
  for (std::size_t i = 0; i < roles.set.count; ++i) {
    const Setting& setting = roles.set.items[i];
    Settings one;
    one.items[0] = setting;
    one.count = 1;
    if (setting.value != 0) link.permitted |= touched_by(one);
  }
  const auto attach_to = resolve<AttachToGuest>(instance.below, instance.handle, kGuestLinkName);
  const bool found = attach_to != nullptr && attach_to(instance.handle, &link) == VK_TRUE;
  if (roles.guest.touches(Domain::kVulkan) && !found) {
    refuse(instance,
           "CAPSHIM_GUEST has vulkan settings, but no stand-in guest answers below the shim; nothing is changed; try: "
           "name both manifests in VK_LAYER_PATH and both layers in VK_INSTANCE_LAYERS, the shim first");
    return;
  }
  if (!found || link.acts == VK_FALSE) return;
  instance.device = make_level(instance.handle, link.next, link.next_physical_device);
  instance.guest_below = is_complete(instance.device);
  if (!instance.guest_below) refuse(instance, "the stand-in guest gives no way to the device; nothing is changed");
}

template <Role kRole>
void compute(const Instance& instance, DeviceView& view) {
  view.below_answers = take_answers(instance.below.queries, view.device);
  if (kRole == Role::kGuest) {
    view.device_answers = view.below_answers;
    view.answers = lowered(view.below_answers, instance.settings.guest);
    return;
  }
  view.device_answers = instance.guest_below ? take_answers(instance.device.queries, view.device) : view.below_answers;
  view.answers =
      answered(view.below_answers, instance.guest_below ? &view.device_answers : nullptr, instance.settings.set);
}

// nullptr only if there is no memory; then nothing is changed.
template <Role kRole>
DeviceView* view_of(Instance& instance, VkPhysicalDevice device) {
  const auto find_view = [&] {
    DeviceView* view = instance.views;
    while (view != nullptr && view->device != device) view = view->next;
    return view;
  };
  Registry& known = registry<kRole>();
  {
    const ReadLock lock(known);
    if (DeviceView* const view = find_view(); view != nullptr) return view;
  }
  auto* const made = allocate<DeviceView>();
  if (made == nullptr) return nullptr;
  made->device = device;
  compute<kRole>(instance, *made);
  const WriteLock lock(known);
  if (DeviceView* const other = find_view(); other != nullptr) {
    release(made);
    return other;
  }
  made->next = instance.views;
  instance.views = made;
  return made;
}

// --- The line -----------------------------------------------------------------------------------------------------

// `view` is nullptr for a process that has no device to speak of.
template <Role kRole>
void print(const Instance& instance, const DeviceView* view, std::string_view note) {
  Line line;
  line.guest = kRole == Role::kGuest ? instance.touched != 0 : instance.guest_below;
  line.shim = kRole == Role::kShim && instance.touched != 0;
  line.touched = instance.touched;
  if (kRole == Role::kShim && instance.guest_below) line.touched |= touched_by(instance.settings.guest);
  if (kRole == Role::kShim) line.set = &instance.settings.set;
  if (view != nullptr) {
    line.device = &view->device_answers;
    line.of_guest = kRole == Role::kGuest ? &view->answers : &view->below_answers;
    line.told = &view->answers;
  }
  line.note = note;
  line.error = instance.error.view();
  print_line(line);
}

// Once per instance, where there is no device to report on. The stand-in leaves the line to a shim above it.
template <Role kRole>
void announce(Instance& instance, std::string_view note) {
  if (instance.shim_above.load() || instance.announced.exchange(true)) return;
  print<kRole>(instance, nullptr, note);
}

// Once per physical device whose features the application wants to know.
template <Role kRole>
void announce(Instance& instance, DeviceView& view) {
  if (instance.shim_above.load() || view.announced.exchange(true)) return;
  const bool first = !instance.announced.exchange(true);
  if (!first && !instance.error.empty()) return;
  std::array<char, VK_MAX_PHYSICAL_DEVICE_NAME_SIZE + 16> bytes{};
  TextBuilder note(bytes.data(), bytes.size());
  if (instance.device_count.load() > 1) {
    note.append("of the device ");
    note.append(view.answers.device_name.data());
  }
  print<kRole>(instance, &view, note.view());
}

// --- Entry points -------------------------------------------------------------------------------------------------

// The loader's own structure in the chain, by which layers are told who is next; nullptr if it is not there. Each layer
// must move its pointer on, which is why it is not const.
template <class Link>
Link* find_link(const void* head, VkStructureType type) {
  const auto* node = static_cast<const Link*>(head);
  for (int i = 0; node != nullptr && i < kMaxChainLength; ++i, node = static_cast<const Link*>(node->pNext)) {
    if (node->sType != type || node->function != VK_LAYER_LINK_INFO) continue;
    return node->u.pLayerInfo == nullptr ? nullptr
                                         : const_cast<Link*>(node);  // NOLINT(cppcoreguidelines-pro-type-const-cast)
  }
  return nullptr;
}

template <Role kRole>
VKAPI_ATTR VkResult VKAPI_CALL create_instance(const VkInstanceCreateInfo* info, const VkAllocationCallbacks* allocator,
                                               VkInstance* handle) {
  auto* const link = find_link<VkLayerInstanceCreateInfo>(info->pNext, VK_STRUCTURE_TYPE_LOADER_INSTANCE_CREATE_INFO);
  if (link == nullptr) return VK_ERROR_INITIALIZATION_FAILED;
  const PFN_vkGetInstanceProcAddr next = link->u.pLayerInfo->pfnNextGetInstanceProcAddr;
  const PFN_GetPhysicalDeviceProcAddr next_physical = link->u.pLayerInfo->pfnNextGetPhysicalDeviceProcAddr;
  const auto create = reinterpret_cast<PFN_vkCreateInstance>(next(VK_NULL_HANDLE, "vkCreateInstance"));
  if (create == nullptr) return VK_ERROR_INITIALIZATION_FAILED;
  link->u.pLayerInfo = link->u.pLayerInfo->pNext;
  const VkResult result = create(info, allocator, handle);
  if (result != VK_SUCCESS) return result;

  const auto destroy = reinterpret_cast<PFN_vkDestroyInstance>(next(*handle, "vkDestroyInstance"));
  auto* const instance = allocate<Instance>();
  if (instance != nullptr) {
    instance->key = key_of(*handle);
    instance->handle = *handle;
    instance->destroy = destroy;
    instance->below = make_level(*handle, next, next_physical);
    instance->enumerate =
        resolve<PFN_vkEnumeratePhysicalDevices>(instance->below, *handle, "vkEnumeratePhysicalDevices");
  }
  if (instance == nullptr || destroy == nullptr || instance->enumerate == nullptr || !is_complete(instance->below)) {
    release(instance);
    if (destroy != nullptr) destroy(*handle, allocator);
    *handle = VK_NULL_HANDLE;
    return instance == nullptr ? VK_ERROR_OUT_OF_HOST_MEMORY : VK_ERROR_INITIALIZATION_FAILED;
  }
  read_settings(*instance);
  instance->touched = touched_by(kRole == Role::kGuest ? instance->settings.guest : instance->settings.set);
  if (kRole == Role::kShim) attach(*instance);
  Registry& known = registry<kRole>();
  const WriteLock lock(known);
  instance->next = known.instances;
  known.instances = instance;
  return VK_SUCCESS;
}

template <Role kRole>
VKAPI_ATTR void VKAPI_CALL destroy_instance(VkInstance handle, const VkAllocationCallbacks* allocator) {
  if (handle == VK_NULL_HANDLE) return;
  Registry& known = registry<kRole>();
  Instance* instance = nullptr;
  {
    const WriteLock lock(known);
    instance = unlink(&known.instances, key_of(handle));
  }
  if (instance == nullptr) return;
  announce<kRole>(*instance, "no physical device was asked for its features");
  instance->destroy(handle, allocator);
  while (instance->views != nullptr) {
    DeviceView* const view = instance->views;
    instance->views = view->next;
    release(view);
  }
  release(instance);
}

template <Role kRole>
VKAPI_ATTR VkResult VKAPI_CALL enumerate_physical_devices(VkInstance handle, std::uint32_t* count,
                                                          VkPhysicalDevice* devices) {
  Instance* const instance = instance_of<kRole>(handle);
  if (instance == nullptr) return VK_ERROR_INITIALIZATION_FAILED;
  const VkResult result = instance->enumerate(handle, count, devices);
  if (result == VK_SUCCESS) {
    instance->device_count.store(*count);
    if (*count == 0) announce<kRole>(*instance, "there is no physical device");
  }
  return result;
}

template <Role kRole>
VKAPI_ATTR void VKAPI_CALL get_properties(VkPhysicalDevice device, VkPhysicalDeviceProperties* properties) {
  Instance* const instance = instance_of<kRole>(device);
  if (instance == nullptr) return;
  instance->below.queries.properties(device, properties);
  if (instance->touched == 0) return;
  if (const DeviceView* const view = view_of<kRole>(*instance, device); view != nullptr)
    write_answers(view->answers, instance->touched, *properties);
}

template <Role kRole>
VKAPI_ATTR void VKAPI_CALL get_properties2(VkPhysicalDevice device, VkPhysicalDeviceProperties2* properties) {
  Instance* const instance = instance_of<kRole>(device);
  if (instance == nullptr || instance->below.queries.properties2 == nullptr) return;
  instance->below.queries.properties2(device, properties);
  if (instance->touched == 0) return;
  if (const DeviceView* const view = view_of<kRole>(*instance, device); view != nullptr)
    write_answers(view->answers, instance->touched, properties);
}

template <Role kRole>
VKAPI_ATTR void VKAPI_CALL get_features2(VkPhysicalDevice device, VkPhysicalDeviceFeatures2* features) {
  Instance* const instance = instance_of<kRole>(device);
  if (instance == nullptr || instance->below.queries.features2 == nullptr) return;
  instance->below.queries.features2(device, features);
  DeviceView* const view = view_of<kRole>(*instance, device);
  if (view == nullptr) return;
  write_answers(view->answers, instance->touched, features);
  announce<kRole>(*instance, *view);
}

// The multiplications that the device offers, less those that need something hidden.
template <class Shape>
VkResult list_shapes(const Instance& instance, const DeviceView* view, Capability capability,
                     EnumerateShapes<Shape> below, EnumerateShapes<Shape> of_device, VkStructureType type,
                     VkPhysicalDevice device, std::uint32_t* count, Shape* shapes) {
  const auto nothing = [&] {
    *count = 0;
    return VK_SUCCESS;
  };
  EnumerateShapes<Shape> source = below;
  CapabilitySet hidden = 0;
  if (view != nullptr) {
    // Newer loaders give a function for every name; it ends the process if the driver lacks the extension.
    if ((view->device_answers.listed & bit_of(capability)) == 0) return nothing();
    if (instance.touched != 0) {
      if (instance.guest_below) source = of_device;
      const Answers& had = view->device_answers;
      const Answers& told = view->answers;
      for (std::size_t i = 0; i < kCapabilityCount; ++i) {
        const auto each = static_cast<Capability>(i);
        if (had.on(each) && !told.on(each)) hidden |= bit_of(each);
      }
      if ((hidden & bit_of(capability)) != 0) return nothing();
    }
  }
  if (source == nullptr) return nothing();
  if ((hidden & (bit_of(Capability::kBfloat16) | bit_of(Capability::kOcpFp4))) == 0)
    return source(device, count, shapes);

  std::uint32_t total = 0;
  VkResult result = source(device, &total, nullptr);
  if (result != VK_SUCCESS || total == 0) {
    *count = 0;
    return result;
  }
  const Array<Shape> all = allocate_array<Shape>(total);
  if (all == nullptr) return VK_ERROR_OUT_OF_HOST_MEMORY;
  for (std::uint32_t i = 0; i < total; ++i) all[i].sType = type;
  result = source(device, &total, all.get());
  if (result < 0) return result;
  const std::uint32_t kept = keep_shapes(hidden, all.get(), total);
  if (shapes == nullptr) {
    *count = kept;
    return VK_SUCCESS;
  }
  const bool too_small = *count < kept;
  *count = std::min(*count, kept);
  for (std::uint32_t i = 0; i < *count; ++i) {
    all[i].sType = shapes[i].sType;
    all[i].pNext = shapes[i].pNext;
    shapes[i] = all[i];
  }
  return too_small ? VK_INCOMPLETE : VK_SUCCESS;
}

template <Role kRole>
VKAPI_ATTR VkResult VKAPI_CALL get_shapes(VkPhysicalDevice device, std::uint32_t* count,
                                          CooperativeMatrixShape* shapes) {
  Instance* const instance = instance_of<kRole>(device);
  if (instance == nullptr) return VK_ERROR_INITIALIZATION_FAILED;
  return list_shapes(*instance, view_of<kRole>(*instance, device), Capability::kCooperativeMatrix,
                     instance->below.shapes, instance->device.shapes, kCooperativeMatrixShape, device, count, shapes);
}

template <Role kRole>
VKAPI_ATTR VkResult VKAPI_CALL get_flexible(VkPhysicalDevice device, std::uint32_t* count, FlexibleDimensions* shapes) {
  Instance* const instance = instance_of<kRole>(device);
  if (instance == nullptr) return VK_ERROR_INITIALIZATION_FAILED;
  return list_shapes(*instance, view_of<kRole>(*instance, device), Capability::kCooperativeMatrix2,
                     instance->below.flexible, instance->device.flexible, kFlexibleDimensions, device, count, shapes);
}

template <Role kRole>
VKAPI_ATTR VkResult VKAPI_CALL create_device(VkPhysicalDevice physical, const VkDeviceCreateInfo* info,
                                             const VkAllocationCallbacks* allocator, VkDevice* handle) {
  Instance* const instance = instance_of<kRole>(physical);
  if (instance == nullptr) return VK_ERROR_INITIALIZATION_FAILED;
  auto* const link = find_link<VkLayerDeviceCreateInfo>(info->pNext, VK_STRUCTURE_TYPE_LOADER_DEVICE_CREATE_INFO);
  if (link == nullptr) return VK_ERROR_INITIALIZATION_FAILED;

  if (DeviceView* const view = view_of<kRole>(*instance, physical); view != nullptr) {
    announce<kRole>(*instance, *view);
    const CapabilitySet checked = instance->touched & ~instance->permitted.load();
    if (asks_for_more(view->answers, checked, info->pNext)) return VK_ERROR_FEATURE_NOT_PRESENT;
  }

  const PFN_vkGetInstanceProcAddr next_instance = link->u.pLayerInfo->pfnNextGetInstanceProcAddr;
  const PFN_vkGetDeviceProcAddr next_device = link->u.pLayerInfo->pfnNextGetDeviceProcAddr;
  const auto create = reinterpret_cast<PFN_vkCreateDevice>(next_instance(instance->handle, "vkCreateDevice"));
  if (create == nullptr) return VK_ERROR_INITIALIZATION_FAILED;
  auto* const device = allocate<Device>();
  if (device == nullptr) return VK_ERROR_OUT_OF_HOST_MEMORY;
  link->u.pLayerInfo = link->u.pLayerInfo->pNext;
  const VkResult result = create(physical, info, allocator, handle);
  if (result != VK_SUCCESS) {
    release(device);
    return result;
  }
  device->key = key_of(*handle);
  device->function = next_device;
  device->destroy = reinterpret_cast<PFN_vkDestroyDevice>(next_device(*handle, "vkDestroyDevice"));
  Registry& known = registry<kRole>();
  const WriteLock lock(known);
  device->next = known.devices;
  known.devices = device;
  return VK_SUCCESS;
}

template <Role kRole>
VKAPI_ATTR void VKAPI_CALL destroy_device(VkDevice handle, const VkAllocationCallbacks* allocator) {
  if (handle == VK_NULL_HANDLE) return;
  Registry& known = registry<kRole>();
  Device* device = nullptr;
  {
    const WriteLock lock(known);
    device = unlink(&known.devices, key_of(handle));
  }
  if (device == nullptr) return;
  if (device->destroy != nullptr) device->destroy(handle, allocator);
  release(device);
}

VKAPI_ATTR VkBool32 VKAPI_CALL attach_to_guest(VkInstance handle, GuestLink* link) {
  Instance* const instance = instance_of<Role::kGuest>(handle);
  if (instance == nullptr || link == nullptr) return VK_FALSE;
  instance->permitted.store(link->permitted);
  instance->shim_above.store(true);
  link->acts = instance->touched != 0 ? VK_TRUE : VK_FALSE;
  link->next = instance->below.instance_function;
  link->next_physical_device = instance->below.physical_device_function;
  return VK_TRUE;
}

template <Role kRole>
VKAPI_ATTR PFN_vkVoidFunction VKAPI_CALL get_device_function(VkDevice handle, const char* name);
template <Role kRole>
VKAPI_ATTR PFN_vkVoidFunction VKAPI_CALL get_instance_function(VkInstance handle, const char* name);
template <Role kRole>
VKAPI_ATTR PFN_vkVoidFunction VKAPI_CALL get_physical_device_function(VkInstance handle, const char* name);

struct Entry {
  std::string_view name;
  PFN_vkVoidFunction function;
};

template <class Function>
PFN_vkVoidFunction untyped(Function function) {
  return reinterpret_cast<PFN_vkVoidFunction>(function);
}

template <std::size_t kCount>
PFN_vkVoidFunction lookup(const std::array<Entry, kCount>& entries, std::string_view name) {
  for (const Entry& each : entries) {
    if (each.name == name) return each.function;
  }
  return nullptr;
}

// Functions that exist in every instance.
template <Role kRole>
PFN_vkVoidFunction instance_entry(std::string_view name) {
  const std::array<Entry, 8> entries = {{
      {"vkGetInstanceProcAddr", untyped(get_instance_function<kRole>)},
      {"vkGetDeviceProcAddr", untyped(get_device_function<kRole>)},
      {"vkCreateInstance", untyped(create_instance<kRole>)},
      {"vkDestroyInstance", untyped(destroy_instance<kRole>)},
      {"vkEnumeratePhysicalDevices", untyped(enumerate_physical_devices<kRole>)},
      {"vkGetPhysicalDeviceProperties", untyped(get_properties<kRole>)},
      {"vkCreateDevice", untyped(create_device<kRole>)},
      {"vkDestroyDevice", untyped(destroy_device<kRole>)},
  }};
  return lookup(entries, name);
}

// Functions that an instance may have: answered only where the next layer has them too.
template <Role kRole>
PFN_vkVoidFunction optional_entry(std::string_view name) {
  const std::array<Entry, 4> entries = {{
      {"vkGetPhysicalDeviceProperties2", untyped(get_properties2<kRole>)},
      {"vkGetPhysicalDeviceProperties2KHR", untyped(get_properties2<kRole>)},
      {"vkGetPhysicalDeviceFeatures2", untyped(get_features2<kRole>)},
      {"vkGetPhysicalDeviceFeatures2KHR", untyped(get_features2<kRole>)},
  }};
  return lookup(entries, name);
}

// Functions that older loaders do not know.
template <Role kRole>
PFN_vkVoidFunction extension_entry(const Instance& instance, std::string_view name) {
  if (name == kShapesName && instance.below.shapes != nullptr) return untyped(get_shapes<kRole>);
  if (name == kFlexibleName && instance.below.flexible != nullptr) return untyped(get_flexible<kRole>);
  return nullptr;
}

template <Role kRole>
PFN_vkVoidFunction get_instance_function(VkInstance handle, const char* name) {
  if (name == nullptr) return nullptr;
  if (const PFN_vkVoidFunction own = instance_entry<kRole>(name); own != nullptr) return own;
  const Instance* const instance = instance_of<kRole>(handle);
  if (instance == nullptr) return nullptr;
  if (kRole == Role::kGuest && std::strcmp(name, kGuestLinkName) == 0) return untyped(attach_to_guest);
  if (const PFN_vkVoidFunction own = extension_entry<kRole>(*instance, name); own != nullptr) return own;
  const PFN_vkVoidFunction next = instance->below.instance_function(handle, name);
  if (next == nullptr) return nullptr;
  const PFN_vkVoidFunction own = optional_entry<kRole>(name);
  return own != nullptr ? own : next;
}

template <Role kRole>
PFN_vkVoidFunction get_physical_device_function(VkInstance handle, const char* name) {
  if (name == nullptr) return nullptr;
  const Instance* const instance = instance_of<kRole>(handle);
  if (instance == nullptr) return nullptr;
  if (const PFN_vkVoidFunction own = extension_entry<kRole>(*instance, name); own != nullptr) return own;
  if (instance->below.physical_device_function == nullptr) return nullptr;
  const PFN_vkVoidFunction next = instance->below.physical_device_function(handle, name);
  if (next == nullptr) return nullptr;
  if (std::strcmp(name, "vkGetPhysicalDeviceProperties") == 0) return untyped(get_properties<kRole>);
  const PFN_vkVoidFunction own = optional_entry<kRole>(name);
  return own != nullptr ? own : next;
}

template <Role kRole>
PFN_vkVoidFunction get_device_function(VkDevice handle, const char* name) {
  if (name == nullptr) return nullptr;
  if (std::strcmp(name, "vkGetDeviceProcAddr") == 0) return untyped(get_device_function<kRole>);
  if (std::strcmp(name, "vkDestroyDevice") == 0) return untyped(destroy_device<kRole>);
  const Device* const device = device_of<kRole>(handle);
  return device == nullptr ? nullptr : device->function(handle, name);
}

template <Role kRole>
VkResult negotiate(VkNegotiateLayerInterface* with) {
  if (with == nullptr || with->sType != LAYER_NEGOTIATE_INTERFACE_STRUCT || with->loaderLayerInterfaceVersion < 2)
    return VK_ERROR_INITIALIZATION_FAILED;
  with->loaderLayerInterfaceVersion = 2;
  with->pfnGetInstanceProcAddr = get_instance_function<kRole>;
  with->pfnGetDeviceProcAddr = get_device_function<kRole>;
  with->pfnGetPhysicalDeviceProcAddr = get_physical_device_function<kRole>;
  return VK_SUCCESS;
}

}  // namespace

// The functions that the manifests name.
extern "C" VK_LAYER_EXPORT VkResult capshimNegotiateGuest(VkNegotiateLayerInterface* with) {
  return negotiate<Role::kGuest>(with);
}

extern "C" VK_LAYER_EXPORT VkResult capshimNegotiateShim(VkNegotiateLayerInterface* with) {
  return negotiate<Role::kShim>(with);
}

}  // namespace capbench::shim::vulkan
