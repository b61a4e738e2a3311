// The methods of a Metal device that the capabilities speak of.
#ifndef CAPBENCH_SHIM_METAL_METHODS_H_
#define CAPBENCH_SHIM_METAL_METHODS_H_

#include <array>
#include <cstddef>

#include "shim/metal/objc.h"
#include "shim/metal/policy.h"

namespace capbench::shim::metal {

struct MethodInfo {
  const char* selector;
  Capability capability;  // of supportsFamily:, the first of its four
};

inline constexpr std::size_t kMethodCount = 7;
inline constexpr std::size_t kFamilyMethod = 0;

// The two about bfloat are not in Metal's headers; classes that lack them are left without.
inline constexpr std::array<MethodInfo, kMethodCount> kMethods = {{
    {"supportsFamily:", Capability::kAppleFamily},
    {"maxThreadgroupMemoryLength", Capability::kThreadgroupMemory},
    {"recommendedMaxWorkingSetSize", Capability::kWorkingSet},
    {"maxBufferLength", Capability::kBufferLength},
    {"hasUnifiedMemory", Capability::kUnifiedMemory},
    {"supportsBfloat16Format", Capability::kBfloat},
    {"supportsBfloat16Buffers", Capability::kBfloat},
}};

inline constexpr std::array<Capability, 4> kFamilyGroups = {Capability::kAppleFamily, Capability::kMacFamily,
                                                            Capability::kCommonFamily, Capability::kMetalFamily};

// Whether the method answers yes or no; otherwise, supportsFamily: aside, a number of 64 bits.
constexpr bool is_switch(std::size_t method) {
  return kCapabilities[index_of(kMethods[method].capability)].form == Form::kSwitch;
}

inline SEL selector_of(std::size_t method) {
  return sel_registerName(kMethods[method].selector);
}

}  // namespace capbench::shim::metal

#endif  // CAPBENCH_SHIM_METAL_METHODS_H_
