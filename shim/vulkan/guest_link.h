// How a shim finds the stand-in guest below it, through layers that know nothing of either.
//
// When an instance is made, the shim asks the next vkGetInstanceProcAddr for kGuestLinkName. Layers between hand the
// unknown name down; drivers and the loader answer nullptr; the stand-in answers a function of this type. The two may
// be different copies of the library, so nothing else is shared.
#ifndef CAPBENCH_SHIM_VULKAN_GUEST_LINK_H_
#define CAPBENCH_SHIM_VULKAN_GUEST_LINK_H_

#include <vulkan/vk_layer.h>
#include <vulkan/vulkan_core.h>

#include <cstdint>

#include "shim/vulkan/capabilities.h"

namespace capbench::shim::vulkan {

// Not a name of Vulkan's (those begin with "vk"). The number changes with GuestLink and with Capability.
inline constexpr const char* kGuestLinkName = "capshim_guest_link_1";

struct GuestLink {
  // The shim fills in.
  CapabilitySet permitted = 0;  // what it raises: no longer refused by the stand-in's vkCreateDevice
  // The stand-in fills in: the level below it.
  VkBool32 acts = VK_FALSE;  // it has settings of its own
  PFN_vkGetInstanceProcAddr next = nullptr;
  PFN_GetPhysicalDeviceProcAddr next_physical_device = nullptr;  // may be nullptr
};

// VK_FALSE: the stand-in does not know this instance. From then on the shim prints the line for both.
using AttachToGuest = VkBool32(VKAPI_PTR*)(VkInstance, GuestLink*);

}  // namespace capbench::shim::vulkan

#endif  // CAPBENCH_SHIM_VULKAN_GUEST_LINK_H_
