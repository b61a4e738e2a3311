// LUME_METAL_*: the variables of the published Metal shim, so that this one can stand in for it. Pure; no allocation.
#ifndef CAPBENCH_SHIM_METAL_LUME_H_
#define CAPBENCH_SHIM_METAL_LUME_H_

#include <string_view>

#include "shim/common/text.h"
#include "shim/metal/policy.h"

namespace capbench::shim::metal {

inline constexpr std::string_view kLumeFamily = "LUME_METAL_APPLE_FAMILY_MAX";
inline constexpr std::string_view kLumeThreadgroupMemory = "LUME_METAL_MAX_THREADGROUP_MEMORY";
inline constexpr std::string_view kLumeWorkingSet = "LUME_METAL_RECOMMENDED_WORKING_SET_SIZE";

// What the published shim reports for threadgroup memory when only the family is given, in bytes.
inline constexpr std::uint64_t kLumeDefaultThreadgroupMemory = 65536;

// The values as getenv gives them; nullptr and "" are unset.
struct LumeVariables {
  const char* family = nullptr;
  const char* threadgroup_memory = nullptr;
  const char* working_set = nullptr;
};

struct LumeRequest {
  bool given = false;
  Layer layer{};  // raises only, as there; empty if there is an error
  ErrorText error;
};

// Numbers are decimal, 0x hexadecimal or 0 octal. Refused: a family outside 1001..1999, a size of more than 2^46
// bytes, anything that is not a number, a size without the family. Reads at most 65 bytes of each.
LumeRequest read_lume(const LumeVariables& variables);

}  // namespace capbench::shim::metal

#endif  // CAPBENCH_SHIM_METAL_LUME_H_
