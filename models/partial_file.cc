#include "models/partial_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statvfs.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <utility>
#include <vector>

#include "base/file.h"
#include "models/format.h"

namespace capbench::models {
namespace {

constexpr std::size_t kMaxTagBytes = 1024;

// The lock must be on the file that has the name now: whoever held it before may have renamed or removed it.
bool is_still_named(int fd, const std::filesystem::path& path) {
  struct stat ours = {};
  struct stat named = {};
  return ::fstat(fd, &ours) == 0 && ::lstat(path.c_str(), &named) == 0 && ours.st_dev == named.st_dev &&
         ours.st_ino == named.st_ino;
}

}  // namespace

Error PartialFile::write_error(int errno_value) const {
  Error error = file_error(path_, errno_value);
  if (errno_value == ENOSPC || errno_value == EDQUOT || errno_value == EFBIG) {
    error.kind = ErrorKind::kMachine;
    error.remedy = "make room, or name a place on another disk; what has come so far is kept";
  }
  return error;
}

Result<PartialFile> PartialFile::open(const std::filesystem::path& path) {
  PartialFile file;
  file.final_path_ = path;
  file.path_ = path.string() + ".partial";
  file.tag_path_ = path.string() + ".partial.version";
  constexpr int kAttempts = 100;
  for (int i = 0; i < kAttempts; ++i) {
    file.fd_ = Fd(::open(file.path_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0644));
    if (!file.fd_.valid()) return file.write_error(errno);
    if (::flock(file.fd_.get(), LOCK_EX | LOCK_NB) != 0) {
      if (errno == EINTR) continue;
      return Error{ErrorKind::kMachine, file.path_.string(), "another download is writing it",
                   "wait for it to end, or name another place"};
    }
    if (!is_still_named(file.fd_.get(), file.path_)) continue;
    if (Status status = file.read_back(); !status) return status.error();
    return file;
  }
  return file.write_error(EAGAIN);
}

Status PartialFile::read_back() {
  struct stat info = {};
  if (::fstat(fd_.get(), &info) != 0) return file_error(path_, errno);
  if (!S_ISREG(info.st_mode)) return file_error(path_, EINVAL);
  std::vector<char> buffer(1U << 20U);
  for (;;) {
    const ssize_t count = ::read(fd_.get(), buffer.data(), buffer.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return file_error(path_, errno);
    if (count == 0) break;
    hash_.update({buffer.data(), static_cast<std::size_t>(count)});
    size_ += static_cast<std::uint64_t>(count);
  }
  if (size_ > 0) {
    if (auto tag = read_file(tag_path_, kMaxTagBytes)) entity_tag_ = std::move(*tag);
  }
  return {};
}

Status PartialFile::check_room(std::uint64_t bytes) const {
  struct statvfs info = {};
  if (::fstatvfs(fd_.get(), &info) != 0) return {};  // writing will tell
  const std::uint64_t room = static_cast<std::uint64_t>(info.f_bavail) * info.f_frsize;
  if (bytes <= room) return {};
  Error error = write_error(ENOSPC);
  error.cause = fmt::format("{} more are needed, the disk has room for {}", size_text(bytes), size_text(room));
  return error;
}

Status PartialFile::append(std::string_view bytes) {
  const int error = write_all(fd_.get(), bytes);
  if (error != 0) {
    // The digest and the size follow what was written before it failed.
    const off_t end = ::lseek(fd_.get(), 0, SEEK_CUR);
    const auto written = end < 0 ? 0 : static_cast<std::uint64_t>(end) - size_;
    bytes = bytes.substr(0, static_cast<std::size_t>(std::min<std::uint64_t>(written, bytes.size())));
  }
  hash_.update(bytes);
  size_ += bytes.size();
  return error == 0 ? Status() : write_error(error);
}

Status PartialFile::restart(const std::string& entity_tag) {
  if (::ftruncate(fd_.get(), 0) != 0 || ::lseek(fd_.get(), 0, SEEK_SET) != 0) return write_error(errno);
  hash_ = Sha256();
  size_ = 0;
  entity_tag_ = entity_tag.size() <= kMaxTagBytes ? entity_tag : "";
  ::unlink(tag_path_.c_str());
  if (entity_tag_.empty()) return {};
  return replace_file(tag_path_, entity_tag_);
}

Status PartialFile::commit() {
  if (::fchmod(fd_.get(), 0644) != 0 || ::fsync(fd_.get()) != 0) return write_error(errno);
  if (std::rename(path_.c_str(), final_path_.c_str()) != 0) return file_error(final_path_, errno);
  ::unlink(tag_path_.c_str());
  std::filesystem::path folder = final_path_.parent_path();
  if (folder.empty()) folder = ".";
  const Fd directory(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (directory.valid()) ::fsync(directory.get());
  return {};
}

void PartialFile::discard() {
  ::unlink(path_.c_str());
  ::unlink(tag_path_.c_str());
  fd_.reset();
}

}  // namespace capbench::models
