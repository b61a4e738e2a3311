#include "harness/runner/machine_lock.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>

#include "base/file.h"

namespace capbench::runner {
namespace {

constexpr int kRetryMs = 500;

// O_CREAT on another user's file in a sticky folder is refused by some kernels, so an existing file is opened first.
Fd open_lock_file(const std::filesystem::path& path) {
  Fd fd(::open(path.c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW));
  if (!fd.valid() && errno == ENOENT) {
    fd = Fd(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0666));
    if (fd.valid()) (void)::fchmod(fd.get(), 0666);  // the umask must not lock other users out
  }
  return fd;
}

std::string holder_of(int fd) {
  std::array<char, 64> text{};
  const ssize_t n = ::pread(fd, text.data(), text.size(), 0);
  std::string holder;
  for (ssize_t i = 0; i < n; ++i) {
    const char c = text[static_cast<std::size_t>(i)];
    if (c < '0' || c > '9') break;
    holder += c;
  }
  return holder.empty() ? "another harness" : "process " + holder;
}

}  // namespace

std::filesystem::path machine_lock_path() {
  const char* named = std::getenv("CAPBENCH_LOCK_FILE");
  return named != nullptr && *named != '\0' ? named : "/tmp/capbench.lock";
}

Result<MachineLock> lock_machine(const LockOptions& options) {
  Fd fd = open_lock_file(options.path);
  if (!fd.valid()) return file_error(options.path, errno);
  bool told = false;
  while (::flock(fd.get(), LOCK_EX | LOCK_NB) != 0) {
    if (errno == EINTR) continue;
    if (errno != EWOULDBLOCK) return file_error(options.path, errno);
    const std::string holder = holder_of(fd.get());
    if (!options.wait) {
      return Error{ErrorKind::kMachine, "this machine", "another capbench run is measuring on it (" + holder + ")",
                   "wait for it to end, or leave --no-wait out"};
    }
    if (!told && options.on_wait) options.on_wait(holder);
    told = true;
    pollfd stop{options.stop_fd, POLLIN, 0};
    if (::poll(&stop, 1, kRetryMs) > 0) {
      return Error{ErrorKind::kInterrupted, "run", "stopped while waiting for another capbench run (" + holder + ")",
                   ""};
    }
  }
  const std::string pid = std::to_string(::getpid()) + "\n";
  if (::ftruncate(fd.get(), 0) != 0 || ::pwrite(fd.get(), pid.data(), pid.size(), 0) < 0) {
    // Only the name of the holder is lost; the lock itself is held.
  }
  return MachineLock(std::move(fd));
}

}  // namespace capbench::runner
