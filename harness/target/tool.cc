#include "harness/target/tool.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <string_view>
#include <utility>

#include "base/file.h"
#include "harness/target/kept_run.h"

namespace capbench::target {
namespace {

// The program that a name stands for, as execvp would find it.
Result<std::string> find_program(const std::string& name) {
  if (name.find('/') != std::string::npos) return name;
  const char* value = std::getenv("PATH");
  std::string_view path = value != nullptr ? std::string_view(value) : std::string_view("/usr/bin:/bin");
  while (!name.empty() && !path.empty()) {
    const std::size_t end = path.find(':');
    const std::string_view folder = path.substr(0, end);
    path.remove_prefix(end == std::string_view::npos ? path.size() : end + 1);
    if (folder.empty()) continue;
    std::string candidate = std::string(folder) + "/" + name;
    if (::access(candidate.c_str(), X_OK) == 0) return candidate;
  }
  return Error{ErrorKind::kMachine, "`" + name + "`", "not found on the PATH",
               "install it, or add the folder that holds it to the PATH"};
}

// A tool that should not have ended like this.
Error unended(const ToolCommand& command, const JobResult& result, const ToolLimits& limits) {
  Error error{ErrorKind::kMachine, "`" + command.argv.front() + "`", "", ""};
  switch (result.ending) {
    case Ending::kTimedOut:
      error.cause = "did not end within " +
                    std::to_string(std::chrono::duration_cast<std::chrono::seconds>(limits.time_limit).count()) + " s";
      error.remedy = "run it by hand to see what it waits for";
      break;
    case Ending::kInterrupted:
      error.kind = ErrorKind::kInterrupted;
      error.cause = "stopped";
      break;
    case Ending::kFlooded:
      error.cause = "printed more than " + std::to_string(limits.max_output_bytes) + " bytes";
      error.remedy = "run it by hand to see what it prints";
      break;
    case Ending::kNotStarted:
      error.cause = "cannot be executed: " + result.reason;
      error.remedy = "install it again";
      break;
    default:
      error.cause = "was killed by signal " + std::to_string(result.signal);
      error.remedy = "see what kills it (the kernel's log, `dmesg`)";
  }
  return error;
}

class LocalTools : public ToolRunner {
 public:
  Result<ToolOutput> run(const ToolCommand& command, const ToolLimits& limits) override {
    KeptRun run;
    run.time_limit = limits.time_limit;
    run.max_output_bytes = limits.max_output_bytes;
    JobWatch watch;
    watch.stop_fd = limits.stop_fd;
    auto result = start(command, {}, {}, run, watch);
    if (!result) return std::move(result).error();
    if (result->ending != Ending::kExited) return unended(command, *result, limits);
    return ToolOutput{result->exit_status, std::move(result->out), std::move(result->err)};
  }

  Result<JobResult> run_session(const ToolSession& session, const JobWatch& watch) override {
    KeptRun run;
    run.time_limit = session.time_limit;
    run.max_output_bytes = 1U << 20U;
    run.beat = session.beat;
    return start(session.command, session.if_abandoned, session.keep_fds, run, watch);
  }

  bool shares_files() const override { return true; }

 private:
  static Result<JobResult> start(const ToolCommand& command, const ToolCommand& if_abandoned,
                                 const std::vector<int>& keep_fds, const KeptRun& run, const JobWatch& watch) {
    KeptCommand kept;
    kept.argv = command.argv;
    auto program = find_program(command.argv.front());
    if (!program) return std::move(program).error();
    kept.argv.front() = std::move(*program);
    kept.environment = environment_with(command.set_env, {});
    kept.keep_fds = keep_fds;
    if (!if_abandoned.argv.empty()) {
      auto farewell = find_program(if_abandoned.argv.front());
      if (!farewell) return std::move(farewell).error();
      kept.if_abandoned = if_abandoned.argv;
      kept.if_abandoned.front() = std::move(*farewell);
    }
    Fd input;
    if (!command.stdin_file.empty()) {
      auto opened = open_input(command.stdin_file, command.stdin_offset);
      if (!opened) return std::move(opened).error();
      input = std::move(*opened);
      kept.stdin_fd = input.get();
    }
    Fd output;
    if (!command.stdout_file.empty()) {
      output = Fd(::open(command.stdout_file.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
      if (!output.valid()) return file_error(command.stdout_file, errno);
      kept.stdout_fd = output.get();
    }
    return run_kept(std::move(kept), run, watch);
  }
};

}  // namespace

std::unique_ptr<ToolRunner> make_local_tools() {
  return std::make_unique<LocalTools>();
}

}  // namespace capbench::target
