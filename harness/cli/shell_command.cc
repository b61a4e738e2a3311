#include "harness/cli/shell_command.h"

#include <fmt/format.h>

#include <chrono>
#include <utility>

#include "harness/submit/run_program.h"

namespace capbench::cli {

Result<std::string> output_of(const std::string& command) {
  submit::ProgramRun run;
  run.argv = {"/bin/sh", "-c", command};
  run.time_limit = std::chrono::hours(6);
  run.max_output_bytes = 4U << 20U;
  auto end = submit::run_program(run);
  if (!end) return std::move(end).error();
  if (end->exit_status == 0) return std::move(end->out);
  constexpr std::size_t kTail = 500;
  const std::string tail = end->err.size() > kTail ? end->err.substr(end->err.size() - kTail) : end->err;
  return Error{ErrorKind::kMachine, command, fmt::format("exited {}: {}", end->exit_status, tail),
               "run it by hand; capbench goes on with what it has when it is started again"};
}

}  // namespace capbench::cli
