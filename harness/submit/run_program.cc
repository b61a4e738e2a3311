#include "harness/submit/run_program.h"

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <string_view>

#include "base/fd.h"

#if defined(__APPLE__)
extern char** environ;  // no header of macOS declares it
#endif

namespace capbench::submit {
namespace {

using Clock = std::chrono::steady_clock;

struct Pipe {
  Fd reading;
  Fd writing;
};

bool open_pipe(Pipe& pipe) {
  int ends[2] = {-1, -1};
#if defined(__APPLE__)
  if (::pipe(ends) != 0) return false;
#else
  if (::pipe2(ends, O_CLOEXEC) != 0) return false;  // a child of another thread must not hold it open
#endif
  pipe = {Fd(ends[0]), Fd(ends[1])};
  return true;
}

std::vector<std::string> environment_of(const ProgramRun& run) {
  std::vector<std::string> entries;
  const auto name_of = [](std::string_view entry) { return entry.substr(0, entry.find('=')); };
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string_view name = name_of(*entry);
    const bool replaced = std::any_of(run.set_env.begin(), run.set_env.end(),
                                      [&](const std::string& other) { return name_of(other) == name; });
    const bool dropped = std::find(run.drop_env.begin(), run.drop_env.end(), name) != run.drop_env.end();
    if (!replaced && !dropped) entries.emplace_back(*entry);
  }
  entries.insert(entries.end(), run.set_env.begin(), run.set_env.end());
  return entries;
}

std::vector<char*> pointers(std::vector<std::string>& texts) {
  std::vector<char*> result;
  result.reserve(texts.size() + 1);
  for (std::string& text : texts) result.push_back(text.data());
  result.push_back(nullptr);
  return result;
}

class FileActions {
 public:
  FileActions() { ::posix_spawn_file_actions_init(&actions_); }
  FileActions(const FileActions&) = delete;
  FileActions& operator=(const FileActions&) = delete;
  ~FileActions() { ::posix_spawn_file_actions_destroy(&actions_); }
  posix_spawn_file_actions_t* get() { return &actions_; }

 private:
  posix_spawn_file_actions_t actions_ = {};
};

class Attributes {
 public:
  Attributes() { ::posix_spawnattr_init(&attributes_); }
  Attributes(const Attributes&) = delete;
  Attributes& operator=(const Attributes&) = delete;
  ~Attributes() { ::posix_spawnattr_destroy(&attributes_); }
  posix_spawnattr_t* get() { return &attributes_; }

 private:
  posix_spawnattr_t attributes_ = {};
};

// 0, or the errno why not.
int start(const ProgramRun& run, int out, int err, pid_t& child) {
  FileActions actions;
  const std::string input = run.stdin_file.empty() ? "/dev/null" : run.stdin_file.string();
  const bool keeps_input = run.terminal && run.stdin_file.empty();
  if (!keeps_input) ::posix_spawn_file_actions_addopen(actions.get(), STDIN_FILENO, input.c_str(), O_RDONLY, 0);
  ::posix_spawn_file_actions_adddup2(actions.get(), out, STDOUT_FILENO);
  ::posix_spawn_file_actions_adddup2(actions.get(), err, STDERR_FILENO);
  Attributes attributes;
  sigset_t none;
  ::sigemptyset(&none);
  ::posix_spawnattr_setsigmask(attributes.get(), &none);
  sigset_t usual;
  ::sigemptyset(&usual);
  ::sigaddset(&usual, SIGPIPE);
  ::sigaddset(&usual, SIGXFSZ);
  ::posix_spawnattr_setsigdefault(attributes.get(), &usual);
  unsigned flags = POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF;
  if (!run.terminal) flags |= POSIX_SPAWN_SETSID;
#if defined(__APPLE__)
  flags |= POSIX_SPAWN_CLOEXEC_DEFAULT;
#endif
  ::posix_spawnattr_setflags(attributes.get(), static_cast<short>(flags));
  std::vector<std::string> arguments = run.argv;
  std::vector<std::string> entries = environment_of(run);
  return ::posix_spawnp(&child, arguments.front().c_str(), actions.get(), attributes.get(), pointers(arguments).data(),
                        pointers(entries).data());
}

// One read of a stream that is ready. False at its end.
bool read_some(int fd, std::size_t most, std::string& text) {
  std::array<char, 1U << 12U> buffer{};
  const ssize_t n = ::read(fd, buffer.data(), buffer.size());
  if (n < 0 && errno == EINTR) return true;
  if (n <= 0) return false;
  text.append(buffer.data(), std::min(static_cast<std::size_t>(n), most - text.size()));
  return true;
}

// Both streams to their ends. False: the deadline came first.
bool read_both(Pipe& out, Pipe& err, const ProgramRun& run, Clock::time_point deadline, ProgramEnd& end) {
  while (out.reading.valid() || err.reading.valid()) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::now()).count();
    if (left <= 0) return false;
    std::array<pollfd, 2> waiting{{{out.reading.get(), POLLIN, 0}, {err.reading.get(), POLLIN, 0}}};
    if (::poll(waiting.data(), waiting.size(), static_cast<int>(left)) < 0 && errno != EINTR) return true;
    if (waiting[0].revents != 0 && !read_some(out.reading.get(), run.max_output_bytes, end.out)) out.reading.reset();
    if (waiting[1].revents != 0 && !read_some(err.reading.get(), run.max_output_bytes, end.err)) err.reading.reset();
  }
  return true;
}

}  // namespace

Result<ProgramEnd> run_program(const ProgramRun& run) {
  const std::string& name = run.argv.front();
  Pipe out;
  Pipe err;
  if (!open_pipe(out) || !open_pipe(err)) return Error{ErrorKind::kMachine, name, errno_text(errno), ""};
  pid_t child = -1;
  if (const int failed = start(run, out.writing.get(), err.writing.get(), child); failed != 0) {
    return Error{ErrorKind::kMachine, name, failed == ENOENT ? "no such program on the PATH" : errno_text(failed), ""};
  }
  out.writing.reset();
  err.writing.reset();
  ProgramEnd end;
  const auto deadline = Clock::now() + run.time_limit;
  bool in_time = read_both(out, err, run, deadline, end);
  int status = 0;
  pid_t ended = 0;
  while (in_time && (ended = ::waitpid(child, &status, WNOHANG)) == 0) {
    ::poll(nullptr, 0, 1);
    in_time = Clock::now() < deadline;
  }
  // Without a terminal it leads a group, which ends whole.
  if (!run.terminal) ::kill(-child, SIGKILL);
  if (ended == 0) ::kill(child, SIGKILL);
  while (ended == 0 && ::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  if (!in_time) {
    const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(run.time_limit).count();
    return Error{ErrorKind::kMachine, name, "did not end within " + std::to_string(seconds) + " s", ""};
  }
  end.exit_status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  return end;
}

}  // namespace capbench::submit
