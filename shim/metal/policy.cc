#include "shim/metal/policy.h"

namespace capbench::shim::metal {
namespace {

constexpr std::uint64_t kGroupSize = 1000;

}  // namespace

Layer layer_of(const Settings& settings) {
  Layer layer{};
  for (std::size_t i = 0; i < kCapabilityCount; ++i) {
    const Setting* setting = settings.find(kCapabilities[i].toggle);
    if (setting != nullptr) layer[i] = {true, false, static_cast<std::uint64_t>(setting->value)};
  }
  return layer;
}

bool names_any(const Layer& layer) {
  bool any = false;
  for (const Level& level : layer) any = any || level.given;
  return any;
}

bool names(const Policy& policy, Capability capability) {
  return policy.guest[index_of(capability)].given || policy.set[index_of(capability)].given;
}

std::size_t group_of(std::uint64_t family) {
  for (std::size_t i = 0; i < kCapabilityCount; ++i) {
    const CapabilityInfo& info = kCapabilities[i];
    if (info.form != Form::kFamily) continue;
    if (family > info.family_base && family < info.family_base + kGroupSize) return i;
  }
  return kCapabilityCount;
}

bool answer_family(const Layer& layer, std::uint64_t family, bool below) {
  const std::size_t group = group_of(family);
  if (group == kCapabilityCount || !layer[group].given) return below;
  const bool admitted = family <= layer[group].value;
  return admitted || (layer[group].raise_only && below);
}

std::uint64_t answer_value(const Layer& layer, Capability capability, std::uint64_t below) {
  const Level& level = layer[index_of(capability)];
  if (!level.given || (level.raise_only && below > level.value)) return below;
  return level.value;
}

bool answer_family(const Policy& policy, std::uint64_t family, bool device) {
  return answer_family(policy.set, family, answer_family(policy.guest, family, device));
}

std::uint64_t answer_value(const Policy& policy, Capability capability, std::uint64_t device) {
  return answer_value(policy.set, capability, answer_value(policy.guest, capability, device));
}

}  // namespace capbench::shim::metal
