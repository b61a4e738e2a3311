#include "models/mapped_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <cerrno>
#include <utility>

#include "base/fd.h"
#include "base/file.h"

namespace capbench::models {

Result<MappedFile> MappedFile::open(const std::filesystem::path& path) {
  // Opening a named pipe would wait for a writer.
  const Fd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!fd.valid()) return file_error(path, errno);
  struct stat info = {};
  if (::fstat(fd.get(), &info) != 0) return file_error(path, errno);
  if (S_ISDIR(info.st_mode)) return file_error(path, EISDIR);
  if (!S_ISREG(info.st_mode)) {
    return Error{ErrorKind::kUsage, path.string(), "not a regular file", "name a model file on a disk"};
  }
  MappedFile file;
  file.size_ = static_cast<std::size_t>(info.st_size);
  if (file.size_ > 0) {
    void* data = ::mmap(nullptr, file.size_, PROT_READ, MAP_PRIVATE, fd.get(), 0);
    if (data == MAP_FAILED) return file_error(path, errno);
    file.data_ = data;
  }
  return file;
}

MappedFile::MappedFile(MappedFile&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}

MappedFile& MappedFile::operator=(MappedFile&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(size_, other.size_);
  return *this;
}

MappedFile::~MappedFile() {
  if (data_ != nullptr) ::munmap(data_, size_);
}

std::string_view MappedFile::bytes() const {
  return {static_cast<const char*>(data_), size_};
}

}  // namespace capbench::models
