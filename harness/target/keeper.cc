#include "harness/target/keeper.h"

#include <fcntl.h>
#include <linux/close_range.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <csignal>
#include <ctime>
#include <span>

namespace capbench::target {
namespace {

constexpr int kGraceMs = 1000;       // between SIGTERM and SIGKILL
constexpr int kAbandonedMs = 30000;  // for KeptCommand::if_abandoned

std::int64_t now_ns() {
  timespec time = {};
  clock_gettime(CLOCK_MONOTONIC, &time);
  return std::int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
}

std::int64_t to_ns(const timeval& time) {
  return std::int64_t{time.tv_sec} * 1'000'000'000 + std::int64_t{time.tv_usec} * 1000;
}

// As exec takes them. Valid as long as the strings are.
std::vector<char*> pointers(std::vector<std::string>& strings) {
  std::vector<char*> result;
  result.reserve(strings.size() + 1);
  for (std::string& s : strings) result.push_back(s.data());
  result.push_back(nullptr);
  return result;
}

Error no_descriptor(const char* call) {
  return Error{ErrorKind::kMachine, call, errno_text(errno), "close other programs, or raise `ulimit -n`"};
}

// The same file under a number that cannot be confused with the program's own stdin, stdout or stderr.
Result<Fd> above_standard(int fd) {
  if (fd > STDERR_FILENO) return Fd(fd);
  const Fd low(fd);
  Fd high(::fcntl(fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1));
  if (!high.valid()) return no_descriptor("dup");
  return high;
}

struct Pipe {
  Fd read;
  Fd write;
};

Result<Pipe> make_pair(const std::array<int, 2>& ends) {
  auto read = above_standard(ends[0]);
  auto write = above_standard(ends[1]);
  if (!read) return std::move(read).error();
  if (!write) return std::move(write).error();
  return Pipe{std::move(*read), std::move(*write)};
}

Result<Pipe> make_pipe() {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) return no_descriptor("pipe");
  return make_pair(ends);
}

Result<Pipe> make_sockets() {
  std::array<int, 2> ends{};
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends.data()) != 0) return no_descriptor("socketpair");
  return make_pair(ends);
}

// All that the keeper needs, laid out before the fork: a process forked from one thread of several may not allocate.
struct Plan {
  int socket = -1;
  int in = -1;  // -1: /dev/null
  int out = -1;
  int err = -1;
  char* const* argv = nullptr;
  char* const* environment = nullptr;
  const char* working_dir = nullptr;
  char* const* if_abandoned = nullptr;  // null: nothing
  std::span<const int> keep;            // sorted: every descriptor that the keeper goes on holding
};

// ---- From here to start_kept_job: async-signal-safe functions only.

void close_range_of(unsigned first, unsigned last) {
  if (first > last || ::syscall(SYS_close_range, first, last, 0U) == 0) return;
  // A kernel before 5.9: one by one, as far as descriptors can go.
  rlimit limit = {};
  const unsigned end = ::getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < 1U << 20U
                           ? static_cast<unsigned>(limit.rlim_cur)
                           : 1U << 20U;
  for (unsigned fd = first; fd <= last && fd < end; ++fd) ::close(static_cast<int>(fd));
}

// Every descriptor above stderr but those in `keep`, which is sorted.
void close_all_but(std::span<const int> keep) {
  unsigned next = STDERR_FILENO + 1;
  for (const int fd : keep) {
    if (fd <= STDERR_FILENO) continue;
    if (static_cast<unsigned>(fd) > next) close_range_of(next, static_cast<unsigned>(fd) - 1);
    next = static_cast<unsigned>(fd) + 1;
  }
  close_range_of(next, UINT_MAX);
}

// The harness's own dispositions must not leak into what is measured.
void reset_signals() {
  struct sigaction standard = {};
  standard.sa_handler = SIG_DFL;
  for (int signal = 1; signal < NSIG; ++signal) {
    if (signal != SIGKILL && signal != SIGSTOP) ::sigaction(signal, &standard, nullptr);
  }
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
}

// In the program-to-be, after fork. Returns only if exec failed: its errno.
int become_program(pid_t keeper, const Plan& plan, int exec_pipe) {
  ::setpgid(0, 0);
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != keeper) ::_exit(127);  // the keeper died before the line above took effect
  const int in = plan.in >= 0 ? plan.in : ::open("/dev/null", O_RDONLY | O_CLOEXEC);
  if (in < 0 || ::dup2(in, STDIN_FILENO) < 0 || ::dup2(plan.out, STDOUT_FILENO) < 0 ||
      ::dup2(plan.err, STDERR_FILENO) < 0) {
    return errno;
  }
  const std::array<int, 1> last{exec_pipe};  // closes itself when exec succeeds
  close_all_but(last);
  if (plan.working_dir != nullptr && ::chdir(plan.working_dir) != 0) return errno;
  reset_signals();
  ::execve(plan.argv[0], plan.argv, plan.environment);
  return errno;
}

// "/proc/self/task/PID/children"; `path` holds at least 64 bytes.
void children_path(pid_t pid, char* path) {
  constexpr std::array<char, 16> kBefore{"/proc/self/task"};
  constexpr std::array<char, 10> kAfter{"/children"};
  std::array<char, 16> digits{};
  std::size_t count = 0;
  for (auto rest = static_cast<unsigned>(pid); rest != 0 || count == 0; rest /= 10) {
    digits[count++] = static_cast<char>('0' + rest % 10);
  }
  path = std::copy(kBefore.begin(), kBefore.end() - 1, path);
  *path++ = '/';
  while (count > 0) *path++ = digits[--count];
  std::copy(kAfter.begin(), kAfter.end(), path);
}

// SIGKILL to every child of this process.
void kill_children() {
  std::array<char, 64> path{};
  children_path(::getpid(), path.data());
  const int fd = ::open(path.data(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return;
  std::array<char, 512> buffer{};
  pid_t pid = 0;  // of digits read so far; a number may continue in the next piece
  for (ssize_t n = 0; (n = ::read(fd, buffer.data(), buffer.size())) > 0 || (n < 0 && errno == EINTR);) {
    for (ssize_t i = 0; i < n; ++i) {
      const char c = buffer[static_cast<std::size_t>(i)];
      if (c >= '0' && c <= '9') {
        pid = pid * 10 + (c - '0');
      } else {
        if (pid > 1) ::kill(pid, SIGKILL);
        pid = 0;
      }
    }
  }
  if (pid > 1) ::kill(pid, SIGKILL);
  ::close(fd);
}

// Ends whatever is left of the job: its process group, and descendants that left the group. Orphans have become the
// keeper's own children, since it is a subreaper.
void end_descendants(pid_t group) {
  for (;;) {
    ::kill(-group, SIGKILL);
    kill_children();
    int status = 0;
    const pid_t reaped = ::waitpid(-1, &status, 0);
    if (reaped < 0 && errno == ECHILD) return;
  }
}

// Runs KeptCommand::if_abandoned. `child_fd` tells of children that ended.
void run_if_abandoned(const Plan& plan, int child_fd) {
  const pid_t pid = ::fork();
  if (pid < 0) return;
  if (pid == 0) {
    ::setpgid(0, 0);
    close_all_but({});
    reset_signals();
    ::execve(plan.if_abandoned[0], plan.if_abandoned, plan.environment);
    ::_exit(127);
  }
  ::setpgid(pid, pid);
  const std::int64_t until = now_ns() + std::int64_t{kAbandonedMs} * 1'000'000;
  for (;;) {
    const std::int64_t left = (until - now_ns()) / 1'000'000;
    if (left <= 0 || ::waitpid(pid, nullptr, WNOHANG) != 0) break;
    pollfd ended{child_fd, POLLIN, 0};
    if (::poll(&ended, 1, static_cast<int>(left)) > 0) {
      signalfd_siginfo info = {};
      (void)!::read(child_fd, &info, sizeof info);
    }
  }
  end_descendants(pid);
}

void send_message(int socket, const KeeperMessage& message) {
  // If the harness is gone nobody needs the message.
  (void)::send(socket, &message, sizeof message, MSG_NOSIGNAL);
}

// The group, and the program itself should it have left the group. It is not reaped yet, so the number is still its
// own.
void signal_program(pid_t program, int signal) {
  ::kill(-program, signal);
  ::kill(program, signal);
}

[[noreturn]] void keep(const Plan& plan) {
  const int socket = plan.socket;
  close_all_but(plan.keep);
  // What reads the harness's output must not wait for the keeper.
  const int null = ::open("/dev/null", O_RDWR | O_CLOEXEC);
  for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; ++fd) {
    if (null >= 0 && fd != null) ::dup2(null, fd);
  }
  ::prctl(PR_SET_CHILD_SUBREAPER, 1);
  ::prctl(PR_SET_NAME, "capbench-keeper");
  // A Ctrl-C reaches the terminal's whole process group; only the harness decides what it means.
  sigset_t all;
  sigfillset(&all);
  sigprocmask(SIG_SETMASK, &all, nullptr);
  sigset_t child_set;
  sigemptyset(&child_set);
  sigaddset(&child_set, SIGCHLD);
  const int child_fd = ::signalfd(-1, &child_set, SFD_CLOEXEC | SFD_NONBLOCK);
  std::array<int, 2> exec_pipe{};
  const pid_t self = ::getpid();
  KeeperMessage message;
  if (child_fd < 0 || ::pipe2(exec_pipe.data(), O_CLOEXEC) != 0) {
    message.kind = KeeperMessage::Kind::kNotStarted;
    message.error = errno;
    send_message(socket, message);
    ::_exit(1);
  }
  const std::int64_t start = now_ns();
  const pid_t program = ::fork();
  if (program == 0) {
    const int error = become_program(self, plan, exec_pipe[1]);
    (void)!::write(exec_pipe[1], &error, sizeof error);
    ::_exit(127);
  }
  ::close(exec_pipe[1]);
  ::close(plan.out);
  ::close(plan.err);
  if (plan.in >= 0) ::close(plan.in);
  int error = program < 0 ? errno : 0;
  if (program > 0) {
    ::setpgid(program, program);  // whoever comes first, so that the group exists before anyone signals it
    while (::read(exec_pipe[0], &error, sizeof error) < 0 && errno == EINTR) {
    }
  }
  ::close(exec_pipe[0]);
  if (error != 0) {
    if (program > 0) ::waitpid(program, nullptr, 0);
    message.kind = KeeperMessage::Kind::kNotStarted;
    message.error = error;
    send_message(socket, message);
    ::_exit(1);
  }
  message.pid = program;
  send_message(socket, message);

  std::int64_t kill_at = -1;  // when SIGTERM was not enough
  bool is_abandoned = false;
  int heard_from = socket;  // -1 once the harness is gone
  for (;;) {
    std::array<pollfd, 2> fds{pollfd{heard_from, POLLIN, 0}, pollfd{child_fd, POLLIN, 0}};
    int timeout = -1;
    if (kill_at >= 0) {
      const std::int64_t left = (kill_at - now_ns()) / 1'000'000;
      timeout = left > 0 ? static_cast<int>(left) : 0;
    }
    const int ready = ::poll(fds.data(), fds.size(), timeout);
    if (ready == 0) {
      signal_program(program, SIGKILL);
      kill_at = -1;
    }
    if ((fds[0].revents & (POLLIN | POLLHUP | POLLERR)) != 0) {
      char command = 0;
      if (::recv(socket, &command, 1, MSG_DONTWAIT) == 1) {
        signal_program(program, SIGTERM);
        if (kill_at < 0) kill_at = now_ns() + std::int64_t{kGraceMs} * 1'000'000;
      } else {
        is_abandoned = true;
        heard_from = -1;
        signal_program(program, SIGKILL);
      }
    }
    if ((fds[1].revents & POLLIN) != 0) {
      signalfd_siginfo info = {};
      (void)!::read(child_fd, &info, sizeof info);
    }
    rusage usage = {};
    int status = 0;
    // Orphans that end early are reaped here too; only the program's own end counts.
    for (pid_t reaped = 0; (reaped = ::wait4(-1, &status, WNOHANG, &usage)) > 0;) {
      if (reaped != program) continue;
      message.kind = KeeperMessage::Kind::kEnded;
      message.wall_ns = now_ns() - start;
      message.wait_status = status;
      message.user_ns = to_ns(usage.ru_utime);
      message.system_ns = to_ns(usage.ru_stime);
      message.max_rss_bytes = std::int64_t{usage.ru_maxrss} * 1024;
      end_descendants(program);
      send_message(socket, message);
      if (is_abandoned && plan.if_abandoned != nullptr) run_if_abandoned(plan, child_fd);
      ::_exit(0);
    }
  }
}

}  // namespace

Result<KeptJob> start_kept_job(KeptCommand command) {
  auto err = make_pipe();
  if (!err) return std::move(err).error();
  auto sockets = make_sockets();  // `read` is the harness's end
  if (!sockets) return std::move(sockets).error();
  Result<Pipe> out = Pipe{};
  if (command.stdout_fd < 0) out = make_pipe();
  if (!out) return std::move(out).error();
  // Copies above stderr, wherever the caller's are.
  const auto copy = [](int fd) { return Fd(fd < 0 ? -1 : ::fcntl(fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1)); };
  const Fd given_in = copy(command.stdin_fd);
  const Fd given_out = copy(command.stdout_fd);
  if (given_in.valid() != (command.stdin_fd >= 0) || given_out.valid() != (command.stdout_fd >= 0)) {
    return no_descriptor("dup");
  }

  const std::vector<char*> arguments = pointers(command.argv);
  const std::vector<char*> variables = pointers(command.environment);
  const std::vector<char*> farewell = pointers(command.if_abandoned);
  Plan plan;
  plan.socket = sockets->write.get();
  plan.in = given_in.get();
  plan.out = given_out.valid() ? given_out.get() : out->write.get();
  plan.err = err->write.get();
  plan.argv = arguments.data();
  plan.environment = variables.data();
  if (!command.working_dir.empty()) plan.working_dir = command.working_dir.c_str();
  if (!command.if_abandoned.empty()) plan.if_abandoned = farewell.data();
  std::vector<int> keep_open = command.keep_fds;
  keep_open.insert(keep_open.end(), {plan.socket, plan.in, plan.out, plan.err});
  std::sort(keep_open.begin(), keep_open.end());
  plan.keep = keep_open;

  const pid_t keeper = ::fork();
  if (keeper < 0) {
    return Error{ErrorKind::kMachine, "fork", errno_text(errno), "close other programs, or raise `ulimit -u`"};
  }
  if (keeper == 0) keep(plan);
  if (out->read.valid()) ::fcntl(out->read.get(), F_SETFL, O_NONBLOCK);
  ::fcntl(err->read.get(), F_SETFL, O_NONBLOCK);
  return KeptJob{keeper, std::move(sockets->read), std::move(out->read), std::move(err->read)};
}

void end_kept_job(const KeptJob& job) {
  const char command = 'e';
  (void)::send(job.socket.get(), &command, 1, MSG_NOSIGNAL);
}

}  // namespace capbench::target
