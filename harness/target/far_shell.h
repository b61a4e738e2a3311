// Runs scripts behind a tool and brings their answers back: framing, second attempts, what to say about failures.
#ifndef CAPBENCH_HARNESS_TARGET_FAR_SHELL_H_
#define CAPBENCH_HARNESS_TARGET_FAR_SHELL_H_

#include <string>

#include "base/result.h"
#include "harness/target/frame.h"
#include "harness/target/tool.h"
#include "harness/target/transport.h"

namespace capbench::target {

class FarShell {
 public:
  // `who`: for messages, `target "mac" (ssh)`. All must outlive it.
  FarShell(std::string who, const Transport& transport, ToolRunner& tools)
      : who_(std::move(who)), transport_(transport), tools_(tools) {}

  // Runs the script; twice when the first attempt brings no whole answer (not when it was stopped, or a second one is
  // pointless). So it must be safe to repeat.
  Result<Framed> run(const std::string& script, const ToolLimits& limits) const { return attempt(script, limits, 2); }
  // Once. With `input`, its stdin is that file from the offset on.
  Result<Framed> run_once(const std::string& script, const ToolLimits& limits, const std::string& input = {},
                          std::uint64_t offset = 0) const;

  // What a tool that brought no answer said, as an error.
  Error failure(const std::string& program, const ToolOutput& output) const;
  Error failure(const ToolOutput& output) const;
  const std::string& who() const { return who_; }
  const Transport& transport() const { return transport_; }
  ToolRunner& tools() const { return tools_; }

 private:
  Result<Framed> attempt(const std::string& script, const ToolLimits& limits, int attempts) const;

  std::string who_;
  const Transport& transport_;
  ToolRunner& tools_;
};

// Sleeps, or returns false as soon as `stop_fd` is readable.
bool pause_unless_stopped(std::chrono::milliseconds time, int stop_fd);

}  // namespace capbench::target

#endif  // CAPBENCH_HARNESS_TARGET_FAR_SHELL_H_
