#include "shim/emulate/device_profile.h"

#include <vector>

#include "shim/common/settings.h"

namespace capbench::emulate {
namespace {

constexpr std::int64_t kKib = 1024;
constexpr std::int64_t kGib = kKib * kKib * kKib;
// What Metal recommends on machines of 16 GiB: two thirds, in pages of 16 KiB.
constexpr std::int64_t kWorkingSet16 = 11'453'251'584;
constexpr std::uint32_t kMacOs26 = 26U << 16U;

DeviceProfile apple_chip(std::string name, std::string device, std::int64_t apple_family, bool tensor_compiler) {
  DeviceProfile profile;
  profile.name = std::move(name);
  profile.device = std::move(device);
  profile.source = "Apple's table of Metal features; a machine of 16 GiB";
  profile.apple_family = apple_family;
  profile.mac_family = 2002;
  profile.common_family = 3003;
  profile.metal_family = 5002;
  profile.max_threadgroup_memory = 32 * kKib;
  profile.recommended_working_set = kWorkingSet16;
  profile.max_buffer_length = 8 * kGib;
  profile.bfloat = true;
  profile.tensor_compiler = tensor_compiler;
  profile.os_version = kMacOs26;
  return profile;
}

std::vector<DeviceProfile> make_profiles() {
  DeviceProfile stock;
  stock.name = "stock";
  stock.device = "Apple Paravirtual device";
  stock.source = "the published stock runs of a macOS guest on an M1 Ultra";
  stock.apple_family = 1005;
  stock.common_family = 3003;
  stock.max_threadgroup_memory = 32 * kKib;
  stock.recommended_working_set = kWorkingSet16;
  stock.max_buffer_length = 8 * kGib;
  stock.os_version = kMacOs26;
  return {stock,
          apple_chip("m1", "Apple M1", 1007, false),
          apple_chip("m2", "Apple M2", 1008, false),
          apple_chip("m3", "Apple M3", 1009, false),
          apple_chip("m4", "Apple M4", 1009, false),
          apple_chip("m5", "Apple M5", 1010, true)};
}

std::int64_t DeviceProfile::*number_of(std::string_view capability) {
  if (capability == "metal.apple_family") return &DeviceProfile::apple_family;
  if (capability == "metal.mac_family") return &DeviceProfile::mac_family;
  if (capability == "metal.common_family") return &DeviceProfile::common_family;
  if (capability == "metal.metal_family") return &DeviceProfile::metal_family;
  if (capability == "metal.max_threadgroup_memory") return &DeviceProfile::max_threadgroup_memory;
  if (capability == "metal.recommended_working_set") return &DeviceProfile::recommended_working_set;
  if (capability == "metal.max_buffer_length") return &DeviceProfile::max_buffer_length;
  return nullptr;
}

bool DeviceProfile::*switch_of(std::string_view capability) {
  if (capability == "metal.unified_memory") return &DeviceProfile::unified_memory;
  if (capability == "metal.bfloat") return &DeviceProfile::bfloat;
  return nullptr;
}

}  // namespace

bool DeviceProfile::supports_family(std::int64_t family) const {
  switch (family / 1000) {
    case 1:
      return family <= apple_family;
    case 2:
      return family <= mac_family;
    case 3:
      return family <= common_family;
    case 5:
      return family <= metal_family;
    default:
      return false;
  }
}

std::span<const DeviceProfile> device_profiles() {
  static const std::vector<DeviceProfile> profiles = make_profiles();
  return profiles;
}

std::int64_t capability_of(const DeviceProfile& profile, std::string_view capability) {
  if (const auto number = number_of(capability); number != nullptr) return profile.*number;
  if (const auto on = switch_of(capability); on != nullptr) return profile.*on ? 1 : 0;
  return 0;
}

bool set_capability(DeviceProfile& profile, std::string_view capability, std::int64_t value) {
  if (const auto number = number_of(capability); number != nullptr) {
    profile.*number = value;
    return true;
  }
  if (const auto on = switch_of(capability); on != nullptr) {
    profile.*on = value != 0;
    return true;
  }
  return false;
}

Result<DeviceProfile> parse_guest(std::string_view text) {
  std::string names;
  for (const DeviceProfile& profile : device_profiles()) {
    if (profile.name == text) return profile;
    names += (names.empty() ? "" : ", ") + profile.name;
  }
  if (text.find('=') == std::string_view::npos) {
    return Error{ErrorKind::kUsage, "--guest " + std::string(text), "no profile of that name",
                 names + ", or settings as metal.apple_family=1007"};
  }
  const shim::ParsedSettings parsed = shim::parse_settings("--guest", text);
  if (!parsed.error.empty()) {
    return Error{ErrorKind::kUsage, "--guest", std::string(parsed.error.view()), "settings as metal.apple_family=1007"};
  }
  DeviceProfile profile = device_profiles().front();
  profile.name = text;
  profile.source = "the stock guest with these settings";
  for (std::size_t i = 0; i < parsed.settings.count; ++i) {
    const shim::Setting& setting = parsed.settings.items[i];
    if (!set_capability(profile, shim::kToggles[setting.toggle].name, setting.value)) {
      return Error{ErrorKind::kUsage, "--guest " + std::string(shim::kToggles[setting.toggle].name),
                   "a Metal device does not answer it", "a capability that starts with metal."};
    }
  }
  return profile;
}

}  // namespace capbench::emulate
