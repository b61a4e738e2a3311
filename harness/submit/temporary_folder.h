// A folder that only this user can enter, gone with the object.
#ifndef CAPBENCH_HARNESS_SUBMIT_TEMPORARY_FOLDER_H_
#define CAPBENCH_HARNESS_SUBMIT_TEMPORARY_FOLDER_H_

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <system_error>
#include <utility>

#include "base/file.h"
#include "base/result.h"

namespace capbench::submit {

class TemporaryFolder {
 public:
  static Result<TemporaryFolder> make() {
    std::error_code error;
    const std::filesystem::path parent = std::filesystem::temp_directory_path(error);
    if (error) return file_error("$TMPDIR", error.value());
    std::string path = parent / "capbench-XXXXXX";
    if (::mkdtemp(path.data()) == nullptr) return file_error(parent, errno);
    return TemporaryFolder(path);
  }
  TemporaryFolder(TemporaryFolder&& other) noexcept : path_(std::exchange(other.path_, {})) {}
  TemporaryFolder& operator=(TemporaryFolder&&) = delete;
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  ~TemporaryFolder() {
    std::error_code ignored;
    if (!path_.empty()) std::filesystem::remove_all(path_, ignored);
  }

  std::filesystem::path operator/(const std::string& name) const { return path_ / name; }

 private:
  explicit TemporaryFolder(std::filesystem::path path) : path_(std::move(path)) {}

  std::filesystem::path path_;
};

}  // namespace capbench::submit

#endif  // CAPBENCH_HARNESS_SUBMIT_TEMPORARY_FOLDER_H_
