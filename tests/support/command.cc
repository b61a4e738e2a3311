#include "tests/support/command.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <thread>

namespace capbench::testing {
namespace {

namespace fs = std::filesystem;

std::string slurp(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

std::string runfile(const std::string& name) {
  // Bazel starts a test in the root of its runfiles.
  return fs::absolute(name).string();
}

fs::path temporary(const std::string& prefix) {
  static std::atomic<int> counter{0};
  const char* base = std::getenv("TEST_TMPDIR");
  return fs::path(base != nullptr ? base : "/tmp") /
         (prefix + std::to_string(::getpid()) + "-" + std::to_string(counter++));
}

}  // namespace

pid_t start_command(const Command& command, const fs::path& out, const fs::path& err) {
  std::map<std::string, std::string> merged;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string text(*entry);
    const std::size_t at = text.find('=');
    if (at != std::string::npos) merged[text.substr(0, at)] = text.substr(at + 1);
  }
  for (const auto& [name, value] : command.env) merged[name] = value;
  std::vector<std::string> variables;
  for (const auto& [name, value] : merged) variables.push_back(name + "=" + value);
  std::vector<char*> envp;
  for (std::string& v : variables) envp.push_back(v.data());
  envp.push_back(nullptr);
  std::vector<std::string> arguments = command.argv;
  std::vector<char*> argv;
  for (std::string& a : arguments) argv.push_back(a.data());
  argv.push_back(nullptr);

  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&actions, 1, out.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0644);
  posix_spawn_file_actions_addopen(&actions, 2, err.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0644);
  pid_t pid = -1;
  const int error = ::posix_spawn(&pid, argv[0], &actions, nullptr, argv.data(), envp.data());
  posix_spawn_file_actions_destroy(&actions);
  if (error != 0) throw std::runtime_error("cannot start " + command.argv[0]);
  return pid;
}

int wait_command(pid_t pid) {
  int status = 0;
  while (::waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  return status;
}

CommandResult run_command(const Command& command) {
  const fs::path out = temporary("out-");
  const fs::path err = temporary("err-");
  const pid_t pid = start_command(command, out, err);
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::duration<double>(command.timeout_s);
  int status = 0;
  while (::waitpid(pid, &status, WNOHANG) == 0) {
    if (std::chrono::steady_clock::now() > deadline) ::kill(pid, SIGKILL);
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  CommandResult result;
  if (WIFEXITED(status)) result.exit_status = WEXITSTATUS(status);
  if (WIFSIGNALED(status)) result.signal = WTERMSIG(status);
  result.out = slurp(out);
  result.err = slurp(err);
  fs::remove(out);
  fs::remove(err);
  return result;
}

std::string capbench_program() {
  return runfile("harness/cli/capbench");
}
std::string cpu_shim() {
  return runfile("shim/cpu/libcapshim_cpu.so");
}

Sandbox::Sandbox() : dir(temporary("sandbox-")) {
  fs::create_directories(dir);
}

Sandbox::~Sandbox() {
  std::error_code ignored;
  fs::remove_all(dir, ignored);
}

std::map<std::string, std::string> Sandbox::env() const {
  return {{"HOME", (dir / "home").string()},
          {"XDG_CACHE_HOME", (dir / "cache").string()},
          {"XDG_DATA_HOME", (dir / "data").string()},
          {"CAPBENCH_LOCK_FILE", (dir / "lock").string()},
          {"CAPBENCH_SHIM_DIR", fs::path(cpu_shim()).parent_path().string()}};
}

fs::path Sandbox::write(const std::string& name, const std::string& text) const {
  const fs::path path = dir / name;
  fs::create_directories(path.parent_path());
  std::ofstream(path, std::ios::binary) << text;
  if (text.starts_with("#!")) ::chmod(path.c_str(), 0755);
  return path;
}

Command Sandbox::capbench_command(std::vector<std::string> arguments,
                                  std::map<std::string, std::string> extra_env) const {
  Command command;
  command.argv = std::move(arguments);
  command.argv.insert(command.argv.begin(), capbench_program());
  command.env = env();
  for (auto& [name, value] : extra_env) command.env[name] = value;
  return command;
}

CommandResult Sandbox::capbench(std::vector<std::string> arguments,
                                std::map<std::string, std::string> extra_env) const {
  return run_command(capbench_command(std::move(arguments), std::move(extra_env)));
}

fs::path llama_dir() {
  const char* dir = std::getenv("CAPBENCH_LLAMA_DIR");
  if (dir == nullptr || !fs::exists(fs::path(dir) / "llama-bench")) return {};
  return dir;
}

}  // namespace capbench::testing
