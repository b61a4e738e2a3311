#include "base/file.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>

#include "base/fd.h"

namespace capbench {

Error file_error(const std::filesystem::path& path, int errno_value) {
  Error error{ErrorKind::kUsage, path.string(), errno_text(errno_value), ""};
  switch (errno_value) {
    case ENOENT:
    case ENOTDIR:
      error.remedy = "check the path";
      break;
    case EACCES:
    case EPERM:
    case EROFS:
      error.remedy = "make it accessible to this user, or name another place";
      break;
    case EISDIR:
      error.remedy = "name a file, not a folder";
      break;
    case ENOSPC:
    case EDQUOT:
      error.kind = ErrorKind::kMachine;
      error.remedy = "free some space on that disk, or name a place on another one";
      break;
    default:
      error.kind = ErrorKind::kMachine;
      error.remedy = "check the disk and its mount";
      break;
  }
  return error;
}

Result<std::string> read_file(const std::filesystem::path& path, std::uint64_t max_bytes) {
  // A pipe that nobody writes to is empty, and nothing to wait for.
  const Fd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!fd.valid() || ::fcntl(fd.get(), F_SETFL, 0) != 0) return file_error(path, errno);
  struct stat info = {};
  if (::fstat(fd.get(), &info) != 0) return file_error(path, errno);
  if (S_ISDIR(info.st_mode)) return file_error(path, EISDIR);
  const Error too_large{ErrorKind::kUsage, path.string(), "larger than " + std::to_string(max_bytes) + " bytes",
                        "check that this is the right file"};
  if (S_ISREG(info.st_mode) && static_cast<std::uint64_t>(info.st_size) > max_bytes) return too_large;
  // /proc and pipes report no size, so the end is where read says it is.
  std::string bytes;
  char buffer[1U << 16U];
  for (;;) {
    const ssize_t n = ::read(fd.get(), buffer, sizeof buffer);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return file_error(path, errno);
    if (n == 0) return bytes;
    if (bytes.size() + static_cast<std::size_t>(n) > max_bytes) return too_large;
    bytes.append(buffer, static_cast<std::size_t>(n));
  }
}

int write_all(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t n = ::write(fd, bytes.data(), bytes.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return errno;
    bytes.remove_prefix(static_cast<std::size_t>(n));
  }
  return 0;
}

Status replace_file(const std::filesystem::path& path, std::string_view bytes) {
  std::string temporary = path.string() + ".XXXXXX";
  const Fd fd(::mkostemp(temporary.data(), O_CLOEXEC));
  if (!fd.valid()) return file_error(path, errno);
  const auto fail = [&](int errno_value) -> Status {
    ::unlink(temporary.c_str());
    return file_error(path, errno_value);
  };
  if (const int error = write_all(fd.get(), bytes); error != 0) return fail(error);
  struct stat former = {};
  const mode_t mode = ::stat(path.c_str(), &former) == 0 ? former.st_mode & 0777U : 0644U;
  if (::fchmod(fd.get(), mode) != 0 || ::fsync(fd.get()) != 0) return fail(errno);
  if (std::rename(temporary.c_str(), path.c_str()) != 0) return fail(errno);
  return {};
}

}  // namespace capbench
