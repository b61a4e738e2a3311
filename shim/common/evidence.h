// The harness's side of the shims: settings to write, banners to read back. Not linked into any shim.
#ifndef CAPBENCH_SHIM_COMMON_EVIDENCE_H_
#define CAPBENCH_SHIM_COMMON_EVIDENCE_H_

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace capbench::shim {

// "a=1,b=2", the value for CAPSHIM_SET or CAPSHIM_GUEST; empty for an empty map, which is written by leaving the
// variable out. Names and values are not checked: check_settings does that.
std::string format_settings(const std::map<std::string, std::string>& settings);

// The shims' own parser over the map: an error names the capability and what was expected. An empty map is fine.
Status check_settings(const std::map<std::string, std::string>& settings);

struct BannerCapability {
  std::string device;
  std::string guest;  // empty: no stand-in guest
  std::string set;    // empty: no level was asked for
  std::string reported;
  std::vector<std::string> executed;  // features shown by running them
};

// One "capshim: {json}" line. Every string is what the process wrote: evidence, not truth.
struct Banner {
  std::string domain;
  std::string version;
  std::int64_t pid = 0;
  std::vector<std::string> roles;  // "guest", "shim"
  std::map<std::string, BannerCapability> capabilities;
  std::string note;
  std::string error;

  bool has_role(std::string_view role) const;
};

// Reads one line; what stands before "capshim: " is skipped. Unknown keys are ignored, so newer shims can be read; a
// missing or wrongly typed key, more than 64 KiB, or anything that is not JSON is an error.
Result<Banner> parse_banner(std::string_view line);

struct BannerScan {
  std::vector<Banner> banners;   // in the order found
  std::vector<Error> malformed;  // lines that say "capshim: {" and cannot be read
};

// Every banner in a process's stderr.
BannerScan scan_banners(std::string_view stderr_text);

}  // namespace capbench::shim

#endif  // CAPBENCH_SHIM_COMMON_EVIDENCE_H_
