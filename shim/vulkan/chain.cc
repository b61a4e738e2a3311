#include "shim/vulkan/chain.h"

#include <cstring>

namespace capbench::shim::vulkan {
namespace {

constexpr std::size_t kPropertiesOffset = offsetof(VkPhysicalDeviceProperties2, properties);

bool applies(const Run& run, VkStructureType structure, CapabilitySet touched) {
  return run.structure == structure && (touched & bit_of(run.capability)) != 0;
}

}  // namespace

void write_answers(const Answers& answers, CapabilitySet touched, void* head) {
  if (touched == 0) return;
  auto* node = static_cast<VkBaseOutStructure*>(head);
  for (int i = 0; node != nullptr && i < kMaxChainLength; ++i, node = node->pNext) {
    for (const Run& run : kRuns) {
      if (!applies(run, node->sType, touched)) continue;
      std::memcpy(reinterpret_cast<char*>(node) + run.offset, &answers.words[run.slot],
                  run.count * sizeof(std::uint32_t));
    }
  }
}

void write_answers(const Answers& answers, CapabilitySet touched, VkPhysicalDeviceProperties& properties) {
  for (const Run& run : kRuns) {
    if (!applies(run, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2, touched)) continue;
    std::memcpy(reinterpret_cast<char*>(&properties) + (run.offset - kPropertiesOffset), &answers.words[run.slot],
                run.count * sizeof(std::uint32_t));
  }
}

bool asks_for_more(const Answers& answers, CapabilitySet touched, const void* head) {
  if (touched == 0) return false;
  const auto* node = static_cast<const VkBaseInStructure*>(head);
  for (int i = 0; node != nullptr && i < kMaxChainLength; ++i, node = node->pNext) {
    for (const Run& run : kRuns) {
      if (run.part != Part::kFeature || !applies(run, node->sType, touched)) continue;
      for (std::size_t word = 0; word < run.count; ++word) {
        std::uint32_t asked = 0;
        std::memcpy(&asked, reinterpret_cast<const char*>(node) + run.offset + word * sizeof asked, sizeof asked);
        if (asked != VK_FALSE && answers.words[run.slot + word] == VK_FALSE) return true;
      }
    }
  }
  return false;
}

}  // namespace capbench::shim::vulkan
