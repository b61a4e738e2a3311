// The shim's line about a device.
#ifndef CAPBENCH_SHIM_METAL_REPORT_H_
#define CAPBENCH_SHIM_METAL_REPORT_H_

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "shim/metal/facts.h"
#include "shim/metal/policy.h"

namespace capbench::shim::metal {

struct Report {
  std::int64_t pid = 0;
  const Policy* policy = nullptr;
  const Facts* device = nullptr;    // nullptr: no device was seen yet
  const Facts* reported = nullptr;  // likewise
  bool from_lume = false;           // the settings are LUME_METAL_*
  std::string_view error;           // why settings were refused; empty: none
};

// Writes the line to `out` (kMaxBannerBytes of room) and gives its length.
std::size_t format_report(const Report& report, char* out);

}  // namespace capbench::shim::metal

#endif  // CAPBENCH_SHIM_METAL_REPORT_H_
