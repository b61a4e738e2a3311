// A download in progress: NAME.partial beside the file it becomes, locked, with the digest of what it holds.
#ifndef CAPBENCH_MODELS_PARTIAL_FILE_H_
#define CAPBENCH_MODELS_PARTIAL_FILE_H_

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

#include "base/digest.h"
#include "base/fd.h"
#include "base/result.h"

namespace capbench::models {

// One thread at a time. Destroying it leaves the partial file for a later run to go on with.
class PartialFile {
 public:
  // Opens or makes the partial file of `path` and takes its lock, or says that another download has it. What is there
  // is read once, for its digest.
  static Result<PartialFile> open(const std::filesystem::path& path);

  std::uint64_t size() const { return size_; }
  // The version of the remote file that the bytes are of, as the server named it; empty: not known.
  const std::string& entity_tag() const { return entity_tag_; }

  // Room on the disk for that many more bytes; an error otherwise.
  Status check_room(std::uint64_t bytes) const;
  Status append(std::string_view bytes);
  // Forgets what is there and begins anew, with bytes of the version `entity_tag`.
  Status restart(const std::string& entity_tag);
  // SHA-256 of all bytes, which are complete now. No append() afterwards.
  std::string finish_digest() { return hash_.finish(); }
  // Syncs the file and gives it its final name.
  Status commit();
  // Removes it.
  void discard();

 private:
  PartialFile() = default;
  Status read_back();
  Error write_error(int errno_value) const;

  std::filesystem::path final_path_;
  std::filesystem::path path_;
  std::filesystem::path tag_path_;
  Fd fd_;
  std::uint64_t size_ = 0;
  std::string entity_tag_;
  Sha256 hash_;
};

}  // namespace capbench::models

#endif  // CAPBENCH_MODELS_PARTIAL_FILE_H_
