#include "harness/target/kept_run.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <optional>
#include <set>

#include "base/file.h"
#include "harness/target/keeper.h"
#include "harness/target/mapped_files.h"

namespace capbench::target {
namespace {

using Clock = std::chrono::steady_clock;

// llama-bench writes a handful of lines while it loads; more looks than this would be load of our own.
constexpr int kMaxLooksAtMaps = 16;

// Appends what can be read now. Sets `flooded` when the stream outgrows its limit; resets the descriptor at its end.
void drain(Fd& fd, std::string& into, std::size_t limit, bool& flooded) {
  std::array<char, 1U << 16U> buffer{};
  while (fd.valid()) {
    const ssize_t n = ::read(fd.get(), buffer.data(), buffer.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return;
    if (n <= 0) {
      fd.reset();
      return;
    }
    const std::size_t room = limit - std::min(limit, into.size());
    into.append(buffer.data(), std::min(room, static_cast<std::size_t>(n)));
    if (static_cast<std::size_t>(n) > room) {
      flooded = true;
      return;
    }
  }
}

// One job in flight.
class Running {
 public:
  Running(const KeptRun& run, const JobWatch& watch, KeptJob kept, Fd stdin_pipe)
      : run_(run),
        watch_(watch),
        kept_(std::move(kept)),
        stdin_pipe_(std::move(stdin_pipe)),
        deadline_(Clock::now() + run.time_limit),
        next_beat_(Clock::now() + run.beat) {}

  JobResult finish() {
    // The program may print before the keeper has said which process it is; a look at its maps needs that first.
    while (pid_ == 0 && !ended_) hear_keeper();
    while (!ended_) step();
    // The keeper has ended every process that could still write, so both streams are at their end.
    bool ignored = false;
    drain(kept_.out, result_.out, run_.max_output_bytes, ignored);
    drain(kept_.err, result_.err, run_.max_output_bytes, ignored);
    while (::waitpid(kept_.keeper, nullptr, 0) < 0 && errno == EINTR) {
    }
    result_.mapped_files.assign(mapped_.begin(), mapped_.end());
    return std::move(result_);
  }

 private:
  void step() {
    std::array<pollfd, 4> fds{pollfd{kept_.socket.get(), POLLIN, 0}, pollfd{kept_.out.get(), POLLIN, 0},
                              pollfd{kept_.err.get(), POLLIN, 0}, pollfd{stopping() ? -1 : watch_.stop_fd, POLLIN, 0}};
    const int ready = ::poll(fds.data(), fds.size(), timeout_ms());
    // Before the deadline: a harness that was suspended finds both, an end that was in time and a deadline that passed.
    if (ready > 0 && fds[0].revents != 0) {
      hear_keeper();
      if (ended_) return;
    }
    if (!stopping() && Clock::now() >= deadline_) stop(Ending::kTimedOut);
    beat();
    if (watch_.on_tick && ready == 0) watch_.on_tick();
    if (ready <= 0) return;
    const bool heard_out = fds[1].revents != 0;
    const bool heard_err = fds[2].revents != 0;
    if (run_.look_at_maps && (heard_out || heard_err)) look_at_maps(heard_out);
    bool flooded = false;
    if (heard_out) drain(kept_.out, result_.out, run_.max_output_bytes, flooded);
    if (heard_err) drain(kept_.err, result_.err, run_.max_output_bytes, flooded);
    if (flooded && !stopping()) stop(Ending::kFlooded);
    if (flooded) {
      kept_.out.reset();
      kept_.err.reset();
    }
    if (fds[3].revents != 0) stop(Ending::kInterrupted);
  }

  int timeout_ms() const {
    using std::chrono::milliseconds;
    std::optional<milliseconds> wait;
    if (!stopping()) {
      // Rounded up, so that the deadline has passed when poll returns; and bounded, since poll takes an int.
      const auto left = std::chrono::ceil<milliseconds>(deadline_ - Clock::now());
      wait = std::clamp(left, milliseconds(0), milliseconds(24 * 3600 * 1000));
    }
    if (stdin_pipe_.valid()) {
      const auto left = std::max(std::chrono::ceil<milliseconds>(next_beat_ - Clock::now()), milliseconds(0));
      wait = wait ? std::min(*wait, left) : left;
    }
    if (watch_.on_tick) wait = wait ? std::min(*wait, watch_.tick) : watch_.tick;
    return wait ? static_cast<int>(wait->count()) : -1;
  }

  bool stopping() const { return stop_reason_.has_value(); }

  // A full pipe means that nobody reads there at present; the next line is as good.
  void beat() {
    if (!stdin_pipe_.valid() || Clock::now() < next_beat_) return;
    next_beat_ = Clock::now() + run_.beat;
    if (::write(stdin_pipe_.get(), "\n", 1) < 0 && errno == EPIPE) stdin_pipe_.reset();
  }

  void stop(Ending why) {
    stop_reason_ = why;
    end_kept_job(kept_);
  }

  // When to look, without a timer: when the process says something. What it mapped while it loaded may be gone again
  // (ggml opens each of its CPU libraries to ask for a score, and keeps one), so each look before the first result
  // replaces the one before. By the first result everything is mapped that is measured; what comes later is added, and
  // what goes then goes because the process ends.
  void look_at_maps(bool heard_out) {
    const bool first_result = heard_out && result_.out.empty();
    if (pid_ == 0 || (looks_ >= kMaxLooksAtMaps && !first_result)) return;
    ++looks_;
    const auto maps = read_file("/proc/" + std::to_string(pid_) + "/maps");
    if (!maps) return;
    std::set<std::string> now;
    collect_mapped_files(*maps, now);
    if (now.empty()) return;  // it has just ended
    if (result_.out.empty()) mapped_.clear();
    mapped_.merge(now);
  }

  void hear_keeper() {
    KeeperMessage message;
    const ssize_t n = ::recv(kept_.socket.get(), &message, sizeof message, 0);
    if (n < 0 && errno == EINTR) return;
    if (n != static_cast<ssize_t>(sizeof message)) {
      ended_ = true;  // the keeper was killed; the kernel has killed the program with it
      result_.ending = stop_reason_.value_or(Ending::kSignaled);
      result_.signal = SIGKILL;
      return;
    }
    switch (message.kind) {
      case KeeperMessage::Kind::kStarted:
        pid_ = message.pid;
        return;
      case KeeperMessage::Kind::kNotStarted:
        ended_ = true;
        result_.ending = Ending::kNotStarted;
        result_.reason = errno_text(message.error);
        return;
      case KeeperMessage::Kind::kEnded:
        ended_ = true;
        result_.wall_ns = message.wall_ns;
        result_.user_ns = message.user_ns;
        result_.system_ns = message.system_ns;
        result_.max_rss_bytes = message.max_rss_bytes;
        const int status = message.wait_status;
        if (WIFEXITED(status)) {
          result_.ending = Ending::kExited;
          result_.exit_status = WEXITSTATUS(status);
        } else {
          result_.ending = Ending::kSignaled;
          result_.signal = WTERMSIG(status);
        }
        // A program that ended by itself while it was being stopped still counts as stopped, unless it was in time.
        const bool in_time = WIFEXITED(status) && message.wall_ns <= run_.time_limit.count();
        if (stop_reason_ && !(in_time && *stop_reason_ == Ending::kTimedOut)) result_.ending = *stop_reason_;
        return;
    }
  }

  const KeptRun& run_;
  const JobWatch& watch_;
  KeptJob kept_;
  Fd stdin_pipe_;  // closed: there is nothing to tell
  Clock::time_point deadline_;
  Clock::time_point next_beat_;
  std::optional<Ending> stop_reason_;
  JobResult result_;
  std::set<std::string> mapped_;
  pid_t pid_ = 0;
  int looks_ = 0;
  bool ended_ = false;
};

// A pipe whose write end breaks with EPIPE, not with a signal: a socket pair, written by MSG_NOSIGNAL, would do as
// well, but not every program reads its stdin from a socket.
struct StdinPipe {
  Fd read;
  Fd write;
};

Result<StdinPipe> make_stdin_pipe() {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) {
    return Error{ErrorKind::kMachine, "pipe", errno_text(errno), "close other programs, or raise `ulimit -n`"};
  }
  ::fcntl(ends[1], F_SETFL, O_NONBLOCK);
  return StdinPipe{Fd(ends[0]), Fd(ends[1])};
}

// While this lives, writing to a closed pipe is an error of the calling thread's write, and no signal.
class NoPipeSignal {
 public:
  NoPipeSignal() {
    sigset_t pipe_set;
    sigemptyset(&pipe_set);
    sigaddset(&pipe_set, SIGPIPE);
    pthread_sigmask(SIG_BLOCK, &pipe_set, &before_);
  }
  NoPipeSignal(const NoPipeSignal&) = delete;
  NoPipeSignal& operator=(const NoPipeSignal&) = delete;
  ~NoPipeSignal() {
    if (sigismember(&before_, SIGPIPE) == 0) {
      // One that came meanwhile is taken away before it can be delivered.
      sigset_t pipe_set;
      sigemptyset(&pipe_set);
      sigaddset(&pipe_set, SIGPIPE);
      const timespec now = {};
      while (::sigtimedwait(&pipe_set, nullptr, &now) > 0) {
      }
    }
    pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  }

 private:
  sigset_t before_ = {};
};

}  // namespace

Result<JobResult> run_kept(KeptCommand command, const KeptRun& run, const JobWatch& watch) {
  const NoPipeSignal no_pipe_signal;
  Fd stdin_read;
  Fd stdin_write;
  if (run.beat.count() > 0) {
    auto made = make_stdin_pipe();
    if (!made) return std::move(made).error();
    stdin_read = std::move(made->read);
    stdin_write = std::move(made->write);
    command.stdin_fd = stdin_read.get();
  }
  auto kept = start_kept_job(std::move(command));
  if (!kept) return std::move(kept).error();
  stdin_read.reset();
  return Running(run, watch, std::move(*kept), std::move(stdin_write)).finish();
}

Result<Fd> open_input(const std::string& path, std::uint64_t offset) {
  Fd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd.valid()) return file_error(path, errno);
  if (offset > 0 && ::lseek(fd.get(), static_cast<off_t>(offset), SEEK_SET) < 0) return file_error(path, errno);
  return fd;
}

std::vector<std::string> environment_with(std::span<const std::string> set, std::span<const std::string> unset) {
  std::vector<std::string> environment;
  for (char** entry = environ; *entry != nullptr; ++entry) environment.emplace_back(*entry);
  const auto drop = [&](const std::string& name) {
    std::erase_if(environment, [&](const std::string& entry) {
      return entry.size() > name.size() && entry[name.size()] == '=' && entry.starts_with(name);
    });
  };
  for (const std::string& name : unset) drop(name);
  for (const std::string& entry : set) {
    drop(entry.substr(0, entry.find('=')));
    environment.push_back(entry);
  }
  return environment;
}

}  // namespace capbench::target
