// What a physical device answers, word by word, and what a role makes of it. Pure but for take_answers, which asks.
#ifndef CAPBENCH_SHIM_VULKAN_ANSWERS_H_
#define CAPBENCH_SHIM_VULKAN_ANSWERS_H_

#include <vulkan/vulkan_core.h>

#include <array>
#include <cstdint>

#include "shim/common/settings.h"
#include "shim/vulkan/capabilities.h"

namespace capbench::shim::vulkan {

// One physical device's words by slot; 0 for what it does not have.
struct Answers {
  std::array<std::uint32_t, kSlotCount> words{};
  CapabilitySet listed = 0;                                          // capabilities whose structures the device knows
  std::array<char, VK_MAX_PHYSICAL_DEVICE_NAME_SIZE> device_name{};  // ends with 0

  bool on(Capability capability) const;              // a switch: every headline word is set
  std::uint32_t value(Capability capability) const;  // an integer: its word; a switch: 1 or 0
};

// Functions of one level of the chain; all but features2 and properties2 are required.
struct Queries {
  PFN_vkEnumerateDeviceExtensionProperties extensions = nullptr;
  PFN_vkGetPhysicalDeviceProperties properties = nullptr;
  PFN_vkGetPhysicalDeviceProperties2 properties2 = nullptr;
  PFN_vkGetPhysicalDeviceFeatures2 features2 = nullptr;
};

// Asks only for structures that the device knows. Allocates the extension list for as long as it reads it; if that
// fails, extensions count as not listed.
Answers take_answers(const Queries& queries, VkPhysicalDevice device);

// Every vulkan.* capability that the settings name.
CapabilitySet touched_by(const Settings& settings);

// What a stand-in guest answers over `device`: never more than it. Switches off: every word 0; integers: the smaller.
Answers lowered(const Answers& device, const Settings& guest);

// What a shim answers. `below` is what the next layer answers, `device` what the device really answers if a stand-in
// guest is known to stand between, else nullptr.
//   off: every word 0.
//   on: with `device`, its own words; without, the headline words are set, if the device lists what they belong to:
//       this is a claim, and vkCreateDevice is the test for the features in it.
//   integer: with `device`, at most its value; without, the value as it is.
Answers answered(const Answers& below, const Answers* device, const Settings& set);

// The first setting that no device can have (a subgroup size that is no power of two), or nullptr.
const Setting* impossible_setting(const Settings& settings);

}  // namespace capbench::shim::vulkan

#endif  // CAPBENCH_SHIM_VULKAN_ANSWERS_H_
