// The words of a role's answers in an application's own structures. Pure; nothing is allocated.
#ifndef CAPBENCH_SHIM_VULKAN_CHAIN_H_
#define CAPBENCH_SHIM_VULKAN_CHAIN_H_

#include <vulkan/vulkan_core.h>

#include <cstdint>

#include "shim/vulkan/answers.h"

namespace capbench::shim::vulkan {

// A chain is followed for so many structures and no further: one that runs in a circle must not hang its process.
inline constexpr int kMaxChainLength = 4096;

// Writes the words of the touched capabilities into every structure of the chain that carries them. `head` may be
// nullptr; structures of unknown types are stepped over.
void write_answers(const Answers& answers, CapabilitySet touched, void* head);

// The same for the limits of the first version of Vulkan, which stand in no chain.
void write_answers(const Answers& answers, CapabilitySet touched, VkPhysicalDeviceProperties& properties);

// Whether the chain (of a VkDeviceCreateInfo) asks for a feature of the touched capabilities that is not offered.
bool asks_for_more(const Answers& answers, CapabilitySet touched, const void* head);

// Keeps what `hidden` (what the device has and the answers do not) leaves of `count` multiplications, in order, and
// gives their number.
template <class Shape>
std::uint32_t keep_shapes(CapabilitySet hidden, Shape* shapes, std::uint32_t count) {
  const auto needs_hidden = [&](std::int32_t type) {
    const auto is_hidden = [&](Capability capability) {
      return (hidden & bit_of(capability)) != 0 && is_component_of(capability, type);
    };
    return is_hidden(Capability::kBfloat16) || is_hidden(Capability::kOcpFp4);
  };
  std::uint32_t kept = 0;
  for (std::uint32_t i = 0; i < count; ++i) {
    const Shape& shape = shapes[i];
    if (needs_hidden(shape.AType) || needs_hidden(shape.BType) || needs_hidden(shape.CType) ||
        needs_hidden(shape.ResultType))
      continue;
    shapes[kept++] = shape;
  }
  return kept;
}

}  // namespace capbench::shim::vulkan

#endif  // CAPBENCH_SHIM_VULKAN_CHAIN_H_
