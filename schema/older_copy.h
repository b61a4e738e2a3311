// A store that an older capbench wrote, for a program that reads it through several connections and must not change it.
#ifndef CAPBENCH_SCHEMA_OLDER_COPY_H_
#define CAPBENCH_SCHEMA_OLDER_COPY_H_

#include <filesystem>
#include <optional>
#include <utility>

#include "base/result.h"

namespace capbench::schema {

// A copy of it in the system's temporary folder, of this program's format, gone with the object.
class OlderCopy {
 public:
  explicit OlderCopy(std::filesystem::path folder) : folder_(std::move(folder)) {}
  OlderCopy(OlderCopy&& other) noexcept : folder_(std::exchange(other.folder_, {})) {}
  OlderCopy& operator=(OlderCopy&&) = delete;
  OlderCopy(const OlderCopy&) = delete;
  OlderCopy& operator=(const OlderCopy&) = delete;
  ~OlderCopy();

  std::filesystem::path path() const { return folder_ / "results.db"; }

 private:
  std::filesystem::path folder_;  // for this user's eyes only
};

// Nothing if the store is not of an older format, or is not there, or is no file: whoever opens it will say so.
Result<std::optional<OlderCopy>> copy_if_older(const std::filesystem::path& path);

}  // namespace capbench::schema

#endif  // CAPBENCH_SCHEMA_OLDER_COPY_H_
