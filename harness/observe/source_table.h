// The rows of sources.h's table, a file for each system.
#ifndef CAPBENCH_HARNESS_OBSERVE_SOURCE_TABLE_H_
#define CAPBENCH_HARNESS_OBSERVE_SOURCE_TABLE_H_

#include <array>
#include <string_view>
#include <vector>

#include "harness/observe/sources.h"

namespace capbench::observe {

std::vector<Source> linux_environment();
std::vector<Source> linux_hygiene();
std::vector<Source> macos_environment();
std::vector<Source> macos_hygiene();

// Where programs are looked for before the user's own PATH, so that nothing there stands in for a system tool.
inline constexpr std::array<std::string_view, 11> kToolFolders{"/usr/bin",
                                                               "/bin",
                                                               "/usr/sbin",
                                                               "/sbin",
                                                               "/usr/local/bin",
                                                               "/opt/homebrew/bin",
                                                               "/opt/local/bin",
                                                               "/usr/local/nvidia/bin",
                                                               "/usr/lib/wsl/lib",
                                                               "/opt/podman/bin",
                                                               "/run/current-system/sw/bin"};

}  // namespace capbench::observe

#endif  // CAPBENCH_HARNESS_OBSERVE_SOURCE_TABLE_H_
