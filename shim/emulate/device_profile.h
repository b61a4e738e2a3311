// Metal devices as data: what one answers when asked.
#ifndef CAPBENCH_SHIM_EMULATE_DEVICE_PROFILE_H_
#define CAPBENCH_SHIM_EMULATE_DEVICE_PROFILE_H_

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "base/result.h"

namespace capbench::emulate {

struct DeviceProfile {
  std::string name;    // what --guest takes: "stock"
  std::string device;  // what the device calls itself
  std::string source;  // where the answers are from
  // The highest family of each group that supportsFamily: admits; 0 for none.
  std::int64_t apple_family = 0;
  std::int64_t mac_family = 0;
  std::int64_t common_family = 0;
  std::int64_t metal_family = 0;
  std::int64_t max_threadgroup_memory = 0;   // bytes
  std::int64_t recommended_working_set = 0;  // bytes
  std::int64_t max_buffer_length = 0;        // bytes
  bool unified_memory = true;
  bool bfloat = false;           // the methods of the supportsBfloat16 kind
  bool tensor_compiler = false;  // shaders that include <metal_tensor> compile
  std::uint32_t os_version = 0;  // of macOS: xxxx.yy.zz in one number

  bool supports_family(std::int64_t family) const;
  bool operator==(const DeviceProfile&) const = default;
};

// The profiles that --guest takes by name; the first is the seeds' stock guest.
std::span<const DeviceProfile> device_profiles();

// A name, or settings as CAPSHIM_GUEST has them ("metal.apple_family=1006,..."), which change the stock guest. An
// error lists the names.
Result<DeviceProfile> parse_guest(std::string_view text);

// The value of a metal capability as the settings have it: the highest family, bytes, 1 or 0. Names are those of
// shim/common/toggles.h; an unknown one gives 0.
std::int64_t capability_of(const DeviceProfile& profile, std::string_view capability);
// Changes it; false if the name is unknown.
bool set_capability(DeviceProfile& profile, std::string_view capability, std::int64_t value);

}  // namespace capbench::emulate

#endif  // CAPBENCH_SHIM_EMULATE_DEVICE_PROFILE_H_
