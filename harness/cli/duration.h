// Durations as people type them. Pure.
#ifndef CAPBENCH_HARNESS_CLI_DURATION_H_
#define CAPBENCH_HARNESS_CLI_DURATION_H_

#include <optional>
#include <string_view>

namespace capbench::cli {

// Seconds of "90", "90s", "5m", "1.5h" or "1h30m"; nothing for anything else, for zero, and beyond 100 days.
std::optional<double> parse_duration_s(std::string_view text);

}  // namespace capbench::cli

#endif  // CAPBENCH_HARNESS_CLI_DURATION_H_
