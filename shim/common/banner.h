// The one line a shim prints: "capshim: {json}", with what the device answers and what this process is told.
#ifndef CAPBENCH_SHIM_COMMON_BANNER_H_
#define CAPBENCH_SHIM_COMMON_BANNER_H_

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "shim/common/toggles.h"

namespace capbench::shim {

inline constexpr std::string_view kBannerPrefix = "capshim: ";
inline constexpr std::string_view kShimVersion = "0.1.0";

// A line is never longer, newline included: a pipe takes that much in one piece or not at all (POSIX PIPE_BUF on
// Linux).
inline constexpr std::size_t kMaxBannerBytes = 4096;

// One capability. An empty field is left out of the line.
struct CapabilityReport {
  std::string_view name;
  std::string_view device;    // what the device answers when nobody stands between
  std::string_view guest;     // what the stand-in guest answers; empty without one
  std::string_view set;       // the level asked for; empty without one
  std::string_view reported;  // what this process is told
  std::string_view executed;  // features shown by running them, separated by spaces
};

struct BannerReport {
  Domain domain = Domain::kCpu;
  std::int64_t pid = 0;
  bool guest = false;  // acts as the stand-in guest
  bool shim = false;   // acts as the shim
  const CapabilityReport* capabilities = nullptr;
  std::size_t n_capabilities = 0;
  std::string_view note;   // why nothing can be changed here; empty: none
  std::string_view error;  // why the settings were refused; empty: none
};

// Writes the line to `out` (kMaxBannerBytes of room) and gives its length. A report that does not fit becomes a line
// with the domain and an error instead: never a cut line.
std::size_t format_banner(const BannerReport& report, char* out);

// One write(2) to the descriptor, if it can take the line now. Never blocks, never raises SIGPIPE, keeps errno; a line
// that cannot be written is lost.
void write_line(int fd, std::string_view line);

}  // namespace capbench::shim

#endif  // CAPBENCH_SHIM_COMMON_BANNER_H_
