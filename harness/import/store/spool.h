// What can be read only once (a pipe, standard input), made a file that can be read again.
#ifndef CAPBENCH_HARNESS_IMPORT_STORE_SPOOL_H_
#define CAPBENCH_HARNESS_IMPORT_STORE_SPOOL_H_

#include <cstdint>
#include <filesystem>
#include <utility>

#include "base/result.h"

namespace capbench::imports {

// A file in the system's temporary folder, gone with the object.
class Spool {
 public:
  explicit Spool(std::filesystem::path path) : path_(std::move(path)) {}
  Spool(Spool&& other) noexcept : path_(std::exchange(other.path_, {})) {}
  Spool& operator=(Spool&&) = delete;
  Spool(const Spool&) = delete;
  Spool& operator=(const Spool&) = delete;
  ~Spool();

  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

inline constexpr std::uint64_t kMostSpooled = 4ULL << 30U;

// Whether `path` is "-", a pipe, a socket or a terminal.
bool is_read_once(const std::filesystem::path& path);

// Everything that comes from it until its end; an error if that is more than `most` bytes.
Result<Spool> spool(const std::filesystem::path& path, std::uint64_t most = kMostSpooled);

}  // namespace capbench::imports

#endif  // CAPBENCH_HARNESS_IMPORT_STORE_SPOOL_H_
