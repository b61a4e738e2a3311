#include "shim/common/testing/run.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>

#include <atomic>
#include <cstdlib>
#include <filesystem>

#include "base/file.h"

namespace capbench::shim {
namespace {

std::string scratch(const std::string& suffix) {
  static std::atomic<int> serial{0};
  const char* folder = std::getenv("TEST_TMPDIR");
  return std::string(folder == nullptr ? "/tmp" : folder) + "/run" + std::to_string(getpid()) + "_" +
         std::to_string(serial++) + suffix;
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

int status_of(pid_t pid) {
  int status = 0;
  if (waitpid(pid, &status, 0) != pid) return -1;
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

}  // namespace

Outcome run(const std::vector<std::string>& argv, const std::map<std::string, std::string>& environment) {
  std::vector<std::string> arguments = argv;
  std::vector<std::string> variables = {"HOME=/", "PATH=/usr/bin:/bin"};
  for (const auto& [name, value] : environment) variables.push_back(name + "=" + value);
  const std::string out = scratch(".out");
  const std::string err = scratch(".err");
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&actions, 1, out.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
  posix_spawn_file_actions_addopen(&actions, 2, err.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
  pid_t pid = -1;
  Outcome outcome;
  const int failed =
      posix_spawn(&pid, argv[0].c_str(), &actions, nullptr, pointers(arguments).data(), pointers(variables).data());
  posix_spawn_file_actions_destroy(&actions);
  if (failed == 0) outcome.status = status_of(pid);
  outcome.out = take(out);
  outcome.err = take(err);
  return outcome;
}

std::string runfile(const std::string& path) {
  return std::filesystem::absolute(path).string();
}

}  // namespace capbench::shim
