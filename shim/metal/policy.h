// What the settings make of a Metal device's answers. Pure; no allocation, no exception.
#ifndef CAPBENCH_SHIM_METAL_POLICY_H_
#define CAPBENCH_SHIM_METAL_POLICY_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "shim/common/settings.h"

namespace capbench::shim::metal {

// The order of kCapabilities.
enum class Capability : std::uint8_t {
  kAppleFamily,
  kMacFamily,
  kCommonFamily,
  kMetalFamily,
  kThreadgroupMemory,
  kWorkingSet,
  kBufferLength,
  kUnifiedMemory,
  kBfloat,
};

inline constexpr std::size_t kCapabilityCount = 9;

enum class Form : std::uint8_t { kFamily, kNumber, kSwitch };

struct CapabilityInfo {
  std::string_view toggle;  // its name in shim/common/toggles.h
  Form form;
  std::uint64_t family_base;  // MTLGPUFamily numbers of the group lie above it and below family_base + 1000
};

inline constexpr std::array<CapabilityInfo, kCapabilityCount> kCapabilities = {{
    {"metal.apple_family", Form::kFamily, 1000},
    {"metal.mac_family", Form::kFamily, 2000},
    {"metal.common_family", Form::kFamily, 3000},
    {"metal.metal_family", Form::kFamily, 5000},
    {"metal.max_threadgroup_memory", Form::kNumber, 0},
    {"metal.recommended_working_set", Form::kNumber, 0},
    {"metal.max_buffer_length", Form::kNumber, 0},
    {"metal.unified_memory", Form::kSwitch, 0},
    {"metal.bfloat", Form::kSwitch, 0},
}};

constexpr std::size_t index_of(Capability capability) {
  return static_cast<std::size_t>(capability);
}

// The toggle's entry; every capability has one, which the tests check.
constexpr const Toggle& toggle_of(Capability capability) {
  return kToggles[find_toggle(kCapabilities[index_of(capability)].toggle)];
}

// What one layer says about one capability.
struct Level {
  bool given = false;
  bool raise_only = false;  // a lower bound: what is below answers too, and the greater answer counts
  std::uint64_t value = 0;  // the highest family, the number, or 1 for on and 0 for off
};

// A role of the shim: the stand-in guest, or what the process is told.
using Layer = std::array<Level, kCapabilityCount>;

struct Policy {
  Layer guest{};  // asked first, above the device
  Layer set{};    // asks the guest
};

// The layer that these settings ask for; settings of other domains are left out.
Layer layer_of(const Settings& settings);

bool names_any(const Layer& layer);
bool names(const Policy& policy, Capability capability);

// The group that a family number belongs to; kCapabilityCount for numbers of no group (Catalyst's 4001, say).
std::size_t group_of(std::uint64_t family);

// supportsFamily: of one layer, above something that answers `below`. A level V admits its group up to V and no more;
// groups without a level answer as before.
bool answer_family(const Layer& layer, std::uint64_t family, bool below);

// A limit, the highest family of a group, or a switch (1 and 0) of one layer.
std::uint64_t answer_value(const Layer& layer, Capability capability, std::uint64_t below);

// The same through both layers.
bool answer_family(const Policy& policy, std::uint64_t family, bool device);
std::uint64_t answer_value(const Policy& policy, Capability capability, std::uint64_t device);

}  // namespace capbench::shim::metal

#endif  // CAPBENCH_SHIM_METAL_POLICY_H_
