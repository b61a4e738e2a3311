// Runs one process of this machine to its end, under a keeper, and listens to it meanwhile.
#ifndef CAPBENCH_HARNESS_TARGET_KEPT_RUN_H_
#define CAPBENCH_HARNESS_TARGET_KEPT_RUN_H_

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/fd.h"
#include "base/result.h"
#include "harness/target/job.h"
#include "harness/target/keeper.h"
#include "harness/target/tool.h"

namespace capbench::target {

struct KeptRun {
  std::chrono::nanoseconds time_limit = std::chrono::minutes(10);
  std::size_t max_output_bytes = 64U << 20U;  // of each stream
  std::chrono::milliseconds beat{0};          // as ToolSession::beat; takes the place of KeptCommand::stdin_fd
  bool look_at_maps = false;
};

// While the process runs the calling thread sleeps in poll(2). From several threads at once.
Result<JobResult> run_kept(KeptCommand command, const KeptRun& run, const JobWatch& watch);

// A file to read from, at the offset.
Result<Fd> open_input(const std::string& path, std::uint64_t offset);

// The harness's own environment with these changes. Not while another thread changes it.
std::vector<std::string> environment_with(std::span<const std::string> set, std::span<const std::string> unset);

}  // namespace capbench::target

#endif  // CAPBENCH_HARNESS_TARGET_KEPT_RUN_H_
