#include "harness/observe/run_command.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>

#include <cerrno>
#include <chrono>
#include <string_view>

#include "base/fd.h"
#include "harness/observe/variables.h"

#if defined(__APPLE__)
extern char** environ;  // no header of macOS declares it
#endif

namespace capbench::observe {
namespace {

using Clock = std::chrono::steady_clock;

std::vector<std::string> clean_environment() {
  std::vector<std::string> entries;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string_view text(*entry);
    const std::string_view name = text.substr(0, text.find('='));
    if (!is_injection_variable(name) && name != "LC_ALL" && name != "LANG") entries.emplace_back(text);
  }
  entries.emplace_back("LC_ALL=C");
  entries.emplace_back("LANG=C");
  return entries;
}

std::vector<char*> pointers(std::vector<std::string>& texts) {
  std::vector<char*> result;
  result.reserve(texts.size() + 1);
  for (std::string& text : texts) result.push_back(text.data());
  result.push_back(nullptr);
  return result;
}

// -1 if it does not start.
pid_t start(const std::filesystem::path& program, const std::vector<std::string>& argv, int output) {
  std::vector<std::string> arguments = argv;
  std::vector<std::string> entries = clean_environment();
  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attributes;
  if (::posix_spawn_file_actions_init(&actions) != 0) return -1;
  if (::posix_spawnattr_init(&attributes) != 0) {
    ::posix_spawn_file_actions_destroy(&actions);
    return -1;
  }
  ::posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  ::posix_spawn_file_actions_adddup2(&actions, output, STDOUT_FILENO);
  ::posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
  // A group of its own, so that what it starts can be ended with it.
  sigset_t none;
  ::sigemptyset(&none);
  ::posix_spawnattr_setsigmask(&attributes, &none);
  ::posix_spawnattr_setpgroup(&attributes, 0);
  short flags = POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK;
#if defined(__APPLE__)
  flags |= POSIX_SPAWN_CLOEXEC_DEFAULT;  // macOS has no pipe2
#endif
  ::posix_spawnattr_setflags(&attributes, flags);
  pid_t child = -1;
  const int failed = ::posix_spawn(&child, program.c_str(), &actions, &attributes, pointers(arguments).data(),
                                   pointers(entries).data());
  ::posix_spawnattr_destroy(&attributes);
  ::posix_spawn_file_actions_destroy(&actions);
  return failed == 0 ? child : -1;
}

// Reads until the end, the cap or the deadline. False: the deadline.
bool read_until(int fd, std::size_t max_bytes, Clock::time_point deadline, std::string& text) {
  for (;;) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::now()).count();
    if (left <= 0) return false;
    pollfd waiting{fd, POLLIN, 0};
    const int ready = ::poll(&waiting, 1, static_cast<int>(left));
    if (ready < 0 && errno != EINTR) return true;
    if (ready <= 0) continue;
    char buffer[1U << 14U];
    const ssize_t n = ::read(fd, buffer, sizeof buffer);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return true;
    text.append(buffer, std::min(static_cast<std::size_t>(n), max_bytes - text.size()));
    if (text.size() == max_bytes) return true;
  }
}

}  // namespace

SourceText run_command(const std::filesystem::path& program, const std::vector<std::string>& argv,
                       const Source& source) {
  SourceText result;
  // A child of another thread must not hold this one's pipe open.
  int ends[2] = {-1, -1};
#if defined(__APPLE__)
  if (::pipe(ends) != 0) return {"", 127};
#else
  if (::pipe2(ends, O_CLOEXEC) != 0) return {"", 127};
#endif
  Fd reading(ends[0]);
  Fd writing(ends[1]);
  const pid_t child = start(program, argv, writing.get());
  if (child < 0) return {"", 127};
  writing.reset();
  const auto deadline = Clock::now() + std::chrono::seconds(source.limit_s);
  bool in_time = read_until(reading.get(), source.max_bytes, deadline, result.text);
  reading.reset();
  int status = 0;
  pid_t ended = 0;
  // It has closed its output, so it is about to end. What goes on without output is ended too.
  while (in_time && (ended = ::waitpid(child, &status, WNOHANG)) == 0) {
    ::poll(nullptr, 0, 1);
    in_time = Clock::now() < deadline;
  }
  ::kill(-child, SIGKILL);
  while (ended == 0 && ::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  if (!in_time) return {std::move(result.text), 128 + SIGKILL};
  result.status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  return result;
}

}  // namespace capbench::observe
