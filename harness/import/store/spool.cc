#include "harness/import/store/spool.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include "base/fd.h"
#include "base/file.h"

namespace capbench::imports {
namespace {

namespace fs = std::filesystem;

bool is_standard_input(const fs::path& path) {
  return path.native() == "-";
}

}  // namespace

Spool::~Spool() {
  std::error_code ignored;
  if (!path_.empty()) fs::remove(path_, ignored);
}

bool is_read_once(const fs::path& path) {
  struct stat info = {};
  if (is_standard_input(path)) return true;
  if (::stat(path.c_str(), &info) != 0) return false;
  return S_ISFIFO(info.st_mode) || S_ISSOCK(info.st_mode) || S_ISCHR(info.st_mode);
}

Result<Spool> spool(const fs::path& path, std::uint64_t most) {
  const Fd from(is_standard_input(path) ? ::fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 0)
                                        : ::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!from.valid()) return file_error(path, errno);
  std::error_code error;
  const fs::path folder = fs::temp_directory_path(error);
  if (error) return file_error("$TMPDIR", error.value());
  std::string name = folder / "capbench-XXXXXX";
  const Fd to(::mkstemp(name.data()));
  if (!to.valid()) return file_error(folder, errno);
  Spool file{fs::path(name)};
  constexpr std::size_t kChunk = 1U << 20U;
  std::vector<char> buffer(kChunk);
  for (std::uint64_t size = 0;;) {
    const ssize_t got = ::read(from.get(), buffer.data(), buffer.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return file_error(path, errno);
    if (got == 0) return file;
    size += static_cast<std::uint64_t>(got);
    if (size > most) {
      return Error{ErrorKind::kUsage, path.string(), "more than " + std::to_string(most) + " bytes came from it",
                   "write them to a file, and give that"};
    }
    const std::string_view bytes(buffer.data(), static_cast<std::size_t>(got));
    if (const int failed = write_all(to.get(), bytes); failed != 0) return file_error(name, failed);
  }
}

}  // namespace capbench::imports
