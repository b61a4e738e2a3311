#include "shim/metal/testing/run_host.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>

#include <cstdlib>
#include <filesystem>

#include "base/file.h"

namespace capbench::shim::metal {
namespace {

std::string scratch(const char* suffix) {
  const char* folder = std::getenv("TEST_TMPDIR");
  return std::string(folder == nullptr ? "/tmp" : folder) + "/metal" + std::to_string(getpid()) + suffix;
}

std::vector<char*> pointers(std::vector<std::string>& texts) {
  std::vector<char*> result;
  for (std::string& text : texts) result.push_back(text.data());
  result.push_back(nullptr);
  return result;
}

std::string take(const std::string& path) {
  const Result<std::string> bytes = read_file(path);
  std::filesystem::remove(path);
  return bytes.ok() ? *bytes : std::string();
}

}  // namespace

Outcome run(const std::vector<std::string>& argv, const Environment& environment) {
  std::vector<std::string> arguments = argv;
  std::vector<std::string> variables;
  for (const auto& [name, value] : environment) variables.push_back(name + "=" + value);
  const std::string out = scratch(".out");
  const std::string err = scratch(".err");
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, 1, out.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
  posix_spawn_file_actions_addopen(&actions, 2, err.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
  pid_t pid = -1;
  const int failed =
      posix_spawn(&pid, argv[0].c_str(), &actions, nullptr, pointers(arguments).data(), pointers(variables).data());
  posix_spawn_file_actions_destroy(&actions);
  Outcome outcome;
  int status = 0;
  if (failed == 0 && waitpid(pid, &status, 0) == pid) {
    outcome.status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  }
  outcome.out = take(out);
  outcome.err = take(err);
  return outcome;
}

std::string testing_file(const std::string& name) {
  return std::filesystem::absolute("shim/metal/testing/" + name).string();
}

}  // namespace capbench::shim::metal
