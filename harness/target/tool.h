// One invocation of a target's tool (ssh, tart, limactl, ...) on the machine that has it, and who runs it.
#ifndef CAPBENCH_HARNESS_TARGET_TOOL_H_
#define CAPBENCH_HARNESS_TARGET_TOOL_H_

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "harness/target/job.h"

namespace capbench::target {

struct ToolCommand {
  std::vector<std::string> argv;  // argv[0]: an absolute path, or a name that is looked for on the PATH
  std::string stdin_file;         // its stdin, from `stdin_offset` on; empty: nothing to read
  std::uint64_t stdin_offset = 0;
  std::string stdout_file;           // where its stdout goes, replaced; empty: into ToolOutput::out
  std::vector<std::string> set_env;  // NAME=VALUE
};

struct ToolOutput {
  int exit_status = 0;
  std::string out;
  std::string err;
};

// How long, and how it is ended before its time.
struct ToolLimits {
  std::chrono::nanoseconds time_limit = std::chrono::minutes(1);
  int stop_fd = -1;  // readable: end it now
  std::size_t max_output_bytes = 8U << 20U;
};

// A tool that runs as long as a job does.
struct ToolSession {
  ToolCommand command;
  // Its stdin stays open while it runs and gets an empty line this often, so that the far side knows that the harness
  // lives; 0: nothing to read.
  std::chrono::milliseconds beat{0};
  ToolCommand if_abandoned;   // run once by the keeper should the harness vanish; no argv: nothing
  std::vector<int> keep_fds;  // as Job::keep_fds
  std::chrono::nanoseconds time_limit = std::chrono::minutes(10);
};

// What a running job reports back, called on the thread that runs it.
struct JobWatch {
  // A file descriptor that becomes readable when the job must be ended early (a stop signal); -1: never.
  int stop_fd = -1;
  // Called about once per `tick`; without it the harness sleeps until something happens.
  std::function<void()> on_tick;
  std::chrono::milliseconds tick{1000};
};

// May be used from several threads at once.
class ToolRunner {
 public:
  virtual ~ToolRunner() = default;
  // Runs it to its end, whatever its exit status. An Error: it is not there, did not end in time, was stopped
  // (kInterrupted), or was killed.
  virtual Result<ToolOutput> run(const ToolCommand& command, const ToolLimits& limits) = 0;
  // The same for a session; how it ended is in the result.
  virtual Result<JobResult> run_session(const ToolSession& session, const JobWatch& watch) = 0;
  // Whether the tool's file arguments are files of this machine.
  virtual bool shares_files() const = 0;
};

// Tools of this machine, each under a keeper: they end with the harness.
std::unique_ptr<ToolRunner> make_local_tools();

}  // namespace capbench::target

#endif  // CAPBENCH_HARNESS_TARGET_TOOL_H_
