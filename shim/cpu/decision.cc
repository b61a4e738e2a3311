#include "shim/cpu/decision.h"

namespace capbench::shim::cpu {
namespace {

std::optional<std::size_t> level_in(const Settings& settings) {
  const Setting* setting = settings.find("cpu.isa");
  if (setting == nullptr) return std::nullopt;
  return static_cast<std::size_t>(setting->value);
}

}  // namespace

Request request_of(const Roles& roles) {
  return {level_in(roles.guest), level_in(roles.set)};
}

FeatureSet features_to_try(const Request& request, FeatureSet usable, FeatureSet enabled) {
  if (!request.set.has_value()) return 0;
  return features_at(*request.set, kAllFeatures) & enabled & ~usable;
}

Policy make_policy(const Request& request, const Machine& machine) {
  Policy policy;
  policy.active = request.any();
  policy.device = machine.usable;
  policy.guest = request.guest.has_value() ? features_at(*request.guest, machine.usable) : machine.usable;
  policy.reported =
      request.set.has_value() ? features_at(*request.set, machine.usable | machine.executed) : policy.guest;
  policy.unrestricted = request.any() && request.set.value_or(request.guest.value_or(kBestLevel)) == kBestLevel;
  return policy;
}

Answer answer_for(const Policy& policy, std::size_t variant) {
  if (!policy.active) return Answer::kOwn;
  if (variant >= kVariantCount) return policy.unrestricted ? Answer::kOwn : Answer::kHidden;
  const FeatureSet needs = kVariants[variant].features;
  if (!is_subset(needs, policy.reported)) return Answer::kHidden;
  return is_subset(needs, policy.device) ? Answer::kOwn : Answer::kRaised;
}

}  // namespace capbench::shim::cpu
