#include "harness/target/hooks.h"

#include <algorithm>
#include <charconv>
#include <string>

#include "base/digest.h"
#include "harness/target/frame.h"

namespace capbench::target {

ImageIdentity stated_image(const TargetSpec& spec) {
  ImageIdentity image;
  const std::string stated = option(spec, "image");
  if (stated.empty()) return image;
  constexpr std::string_view kPrefix = "sha256:";
  const std::size_t at = stated.rfind(kPrefix);
  const std::string_view hex = at == std::string::npos ? std::string_view() : std::string_view(stated).substr(at + 7);
  image.source = "stated";
  image.name = stated;
  if (is_sha256(hex)) image.digest = stated.substr(at);
  return image;
}

int wait_seconds(const TargetSpec& spec) {
  constexpr int kStandard = 120;
  const std::string text = option(spec, "wait_s");
  int seconds = kStandard;
  std::from_chars(text.data(), text.data() + text.size(), seconds);
  return seconds;
}

Status run_hook(const TargetSpec& spec, std::string_view key, std::string_view target, ToolRunner& tools, int stop_fd) {
  const auto hook = spec.lists.find(std::string(key));
  if (hook == spec.lists.end() || hook->second.empty()) return {};
  ToolCommand command;
  command.argv = hook->second;
  ToolLimits limits;
  limits.time_limit = std::chrono::seconds(std::max(wait_seconds(spec), 1));
  limits.stop_fd = stop_fd;
  auto output = tools.run(command, limits);
  const std::string what = "target \"" + std::string(target) + "\": its `" + std::string(key) + "` command";
  if (!output) {
    Error error = std::move(output).error();
    error.what = what + ": " + error.what;
    return error;
  }
  if (output->exit_status == 0) return {};
  std::string cause = hook->second.front() + " exited " + std::to_string(output->exit_status);
  const std::string said = last_line(output->err.empty() ? output->out : output->err);
  if (!said.empty()) cause += ": " + said;
  return Error{ErrorKind::kMachine, what, cause, "run it by hand and mend it"};
}

}  // namespace capbench::target
