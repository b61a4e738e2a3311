#include "harness/target/far_shell.h"

#include <poll.h>

#include <cerrno>
#include <utility>

namespace capbench::target {

bool pause_unless_stopped(std::chrono::milliseconds time, int stop_fd) {
  const auto until = std::chrono::steady_clock::now() + time;
  for (;;) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(until - std::chrono::steady_clock::now());
    if (left.count() <= 0) return true;
    pollfd stop{stop_fd, POLLIN, 0};
    const int ready = ::poll(&stop, 1, static_cast<int>(left.count()));
    if (ready > 0) return false;
    if (ready < 0 && errno != EINTR) return true;
  }
}

Error FarShell::failure(const std::string& program, const ToolOutput& output) const {
  Error error{ErrorKind::kMachine, who_, "", transport_.advise(output).remedy};
  std::string said = last_line(output.err);
  if (said.empty()) said = last_line(output.out);
  error.cause = "`" + program + "` exited " + std::to_string(output.exit_status) +
                (output.exit_status == 0 ? " but the command did not run to its end there" : "");
  if (!said.empty()) error.cause += ": " + said;
  if (error.remedy.empty()) error.remedy = "check that it is up, and that `" + program + "` works by hand";
  return error;
}

Error FarShell::failure(const ToolOutput& output) const {
  return failure(transport_.execute("true", false).argv.front(), output);
}

Result<Framed> FarShell::run_once(const std::string& script, const ToolLimits& limits, const std::string& input,
                                  std::uint64_t offset) const {
  const std::string nonce = make_nonce();
  ToolCommand command = transport_.execute(framed_script(script, nonce), !input.empty());
  command.stdin_file = input;
  command.stdin_offset = offset;
  auto output = tools_.run(command, limits);
  if (!output) {
    Error error = std::move(output).error();
    error.what = who_ + ": " + error.what;
    return error;
  }
  if (auto framed = read_frame(output->out, nonce)) return std::move(*framed);
  return failure(command.argv.front(), *output);
}

Result<Framed> FarShell::attempt(const std::string& script, const ToolLimits& limits, int attempts) const {
  for (;;) {
    const std::string nonce = make_nonce();
    const ToolCommand command = transport_.execute(framed_script(script, nonce), false);
    auto output = tools_.run(command, limits);
    if (!output) {
      Error error = std::move(output).error();
      error.what = who_ + ": " + error.what;
      return error;
    }
    if (auto framed = read_frame(output->out, nonce)) return std::move(*framed);
    constexpr std::chrono::milliseconds kPause(300);
    const bool is_last = --attempts <= 0 || transport_.advise(*output).is_final;
    if (is_last || !pause_unless_stopped(kPause, limits.stop_fd)) return failure(command.argv.front(), *output);
  }
}

}  // namespace capbench::target
