// Runs a program in a test and looks at everything it did.
#ifndef CAPBENCH_TESTS_SUPPORT_COMMAND_H_
#define CAPBENCH_TESTS_SUPPORT_COMMAND_H_

#include <sys/types.h>

#include <filesystem>
#include <map>
#include <string>
#include <vector>

namespace capbench::testing {

struct CommandResult {
  int exit_status = -1;  // -1: ended by a signal
  int signal = 0;
  std::string out;
  std::string err;
};

struct Command {
  std::vector<std::string> argv;
  std::map<std::string, std::string> env;  // on top of the test's own
  double timeout_s = 120;                  // then SIGKILL; the result says signal 9
};

CommandResult run_command(const Command& command);

// In the background, both streams to files; for tests that send signals.
pid_t start_command(const Command& command, const std::filesystem::path& out, const std::filesystem::path& err);
// The wait status.
int wait_command(pid_t pid);

// The capbench program under test, and the CPU shim, both built with the test.
std::string capbench_program();
std::string cpu_shim();

// A fresh folder for one test, with an environment that keeps the program out of the user's own folders.
struct Sandbox {
  Sandbox();
  ~Sandbox();
  Sandbox(const Sandbox&) = delete;
  Sandbox& operator=(const Sandbox&) = delete;

  std::filesystem::path dir;
  std::map<std::string, std::string> env() const;
  // Writes a file below `dir`; a script if it starts with "#!".
  std::filesystem::path write(const std::string& name, const std::string& text) const;
  CommandResult capbench(std::vector<std::string> arguments, std::map<std::string, std::string> extra_env = {}) const;
  Command capbench_command(std::vector<std::string> arguments, std::map<std::string, std::string> extra_env = {}) const;
};

// The folder with the real llama-bench, or empty: then the test is skipped with kNoLlama.
std::filesystem::path llama_dir();
inline constexpr const char* kNoLlama = "no llama-bench: scripts/test builds it and sets CAPBENCH_LLAMA_DIR";

}  // namespace capbench::testing

#endif  // CAPBENCH_TESTS_SUPPORT_COMMAND_H_
