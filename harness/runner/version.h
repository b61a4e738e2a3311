#ifndef CAPBENCH_HARNESS_RUNNER_VERSION_H_
#define CAPBENCH_HARNESS_RUNNER_VERSION_H_

#include <string_view>

namespace capbench::runner {

// Stored with every run.
inline constexpr std::string_view kVersion = "0.1.0";

}  // namespace capbench::runner

#endif  // CAPBENCH_HARNESS_RUNNER_VERSION_H_
