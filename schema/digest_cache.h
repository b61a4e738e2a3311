// SHA-256 of files, remembered: a model of many gigabytes is read once, not before every run.
//
// A remembered digest is used only while path, size, modification time, change time (ns), inode and device are all as
// they were, and nothing is remembered of a file that changed within the two seconds before it was read (its time
// stamps could not tell a further change). The one change that this cannot see is a write through a shared memory
// mapping that was opened before the file was hashed: the system may stamp such a write late. The cache is a
// convenience: whatever is wrong with it, digests are computed.
#ifndef CAPBENCH_SCHEMA_DIGEST_CACHE_H_
#define CAPBENCH_SCHEMA_DIGEST_CACHE_H_

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>

#include "base/result.h"
#include "schema/records.h"

namespace capbench::schema {

// One thread at a time; several programs may share the file.
class DigestCache {
 public:
  // `file` is made if need be, with its folder. A damaged cache is replaced; a file that is not a digest cache is left
  // alone and not used. `now_ns` is the clock (nanoseconds since 1970), for tests.
  explicit DigestCache(const std::filesystem::path& file, std::function<std::int64_t()> now_ns = nullptr);
  DigestCache(DigestCache&&) noexcept;
  DigestCache& operator=(DigestCache&&) noexcept;
  ~DigestCache();

  // The file's digest, size and name without its folder. Errors: unreadable, not a regular file, written to all the
  // while.
  Result<ArtifactRecord> digest(const std::filesystem::path& path);

  // Why nothing is remembered; none if all is well.
  const std::optional<Error>& trouble() const;
  // How many digests were remembered and how many computed so far.
  std::uint64_t hits() const;
  std::uint64_t misses() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// $XDG_CACHE_HOME/capbench/digests.db, else ~/.cache/capbench/digests.db; empty (no cache) if neither is known.
std::filesystem::path default_digest_cache_path(const char* xdg_cache_home, const char* home);

}  // namespace capbench::schema

#endif  // CAPBENCH_SCHEMA_DIGEST_CACHE_H_
