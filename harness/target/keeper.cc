#include "harness/target/keeper.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <string_view>

namespace capbench::target {
namespace {

constexpr int kGraceMs = 1000;  // between SIGTERM and SIGKILL

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

struct Pipe {
  Fd read;
  Fd write;
};

Result<Pipe> make_pipe() {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) {
    return Error{ErrorKind::kMachine, "pipe", errno_text(errno), "close other programs, or raise `ulimit -n`"};
  }
  return Pipe{Fd(ends[0]), Fd(ends[1])};
}

// In the program-to-be, after fork. Returns only if exec failed: its errno.
int become_program(pid_t keeper, int out, int err, char* const* argv, char* const* environment) {
  ::setpgid(0, 0);
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != keeper) ::_exit(127);  // the keeper died before the line above took effect
  const int null = ::open("/dev/null", O_RDONLY);
  if (null < 0 || ::dup2(null, STDIN_FILENO) < 0 || ::dup2(out, STDOUT_FILENO) < 0 || ::dup2(err, STDERR_FILENO) < 0) {
    return errno;
  }
  if (null > STDERR_FILENO) ::close(null);
  // The harness's own dispositions must not leak into what is measured.
  for (int signal = 1; signal < NSIG; ++signal) {
    if (signal != SIGKILL && signal != SIGSTOP) std::signal(signal, SIG_DFL);
  }
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  ::execve(argv[0], argv, environment);
  return errno;
}

// Ends whatever is left of the job: its process group, and descendants that left the group. Orphans have become the
// keeper's own children, since it is a subreaper.
void end_descendants(pid_t group) {
  for (;;) {
    ::kill(-group, SIGKILL);
    std::array<char, 64> path{};
    std::snprintf(path.data(), path.size(), "/proc/self/task/%d/children", ::getpid());
    if (FILE* children = std::fopen(path.data(), "re"); children != nullptr) {
      int pid = 0;
      while (std::fscanf(children, "%d", &pid) == 1) ::kill(pid, SIGKILL);
      std::fclose(children);
    }
    int status = 0;
    const pid_t reaped = ::waitpid(-1, &status, 0);
    if (reaped < 0 && errno == ECHILD) return;
  }
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

[[noreturn]] void keep(int socket, int out, int err, char* const* argv, char* const* environment) {
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
    const int error = become_program(self, out, err, argv, environment);
    (void)!::write(exec_pipe[1], &error, sizeof error);
    ::_exit(127);
  }
  ::close(exec_pipe[1]);
  ::close(out);
  ::close(err);
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
  for (;;) {
    std::array<pollfd, 2> fds{pollfd{socket, POLLIN, 0}, pollfd{child_fd, POLLIN, 0}};
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
        signal_program(program, SIGKILL);  // the harness is gone
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
      ::_exit(0);
    }
  }
}

}  // namespace

Result<KeptJob> start_kept_job(std::vector<std::string> argv, std::vector<std::string> environment) {
  auto out = make_pipe();
  if (!out) return std::move(out).error();
  auto err = make_pipe();
  if (!err) return std::move(err).error();
  std::array<int, 2> ends{};
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends.data()) != 0) {
    return Error{ErrorKind::kMachine, "socketpair", errno_text(errno), "close other programs, or raise `ulimit -n`"};
  }
  Fd ours(ends[0]);
  const Fd theirs(ends[1]);
  // Built before the fork: nothing is allocated in the keeper.
  const std::vector<char*> arguments = pointers(argv);
  const std::vector<char*> variables = pointers(environment);
  const pid_t keeper = ::fork();
  if (keeper < 0) {
    return Error{ErrorKind::kMachine, "fork", errno_text(errno), "close other programs, or raise `ulimit -u`"};
  }
  if (keeper == 0) {
    // The keeper must see the harness's end close, so it may not hold that end itself.
    ours.reset();
    keep(theirs.get(), out->write.get(), err->write.get(), arguments.data(), variables.data());
  }
  ::fcntl(out->read.get(), F_SETFL, O_NONBLOCK);
  ::fcntl(err->read.get(), F_SETFL, O_NONBLOCK);
  return KeptJob{keeper, std::move(ours), std::move(out->read), std::move(err->read)};
}

void end_kept_job(const KeptJob& job) {
  const char command = 'e';
  (void)::send(job.socket.get(), &command, 1, MSG_NOSIGNAL);
}

}  // namespace capbench::target
