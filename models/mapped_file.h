// A file's bytes in the address space, read-only.
#ifndef CAPBENCH_MODELS_MAPPED_FILE_H_
#define CAPBENCH_MODELS_MAPPED_FILE_H_

#include <cstddef>
#include <filesystem>
#include <string_view>

#include "base/result.h"

namespace capbench::models {

// Pages are read when touched, so mapping a model of many gigabytes costs nothing. The mapping lives as long as the
// object. A regular file that another process shortens meanwhile raises SIGBUS when its lost pages are touched.
class MappedFile {
 public:
  // An error for what is missing, unreadable, or no regular file.
  static Result<MappedFile> open(const std::filesystem::path& path);

  MappedFile(MappedFile&& other) noexcept;
  MappedFile& operator=(MappedFile&& other) noexcept;
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;
  ~MappedFile();

  std::string_view bytes() const;

 private:
  MappedFile() = default;

  void* data_ = nullptr;
  std::size_t size_ = 0;
};

}  // namespace capbench::models

#endif  // CAPBENCH_MODELS_MAPPED_FILE_H_
