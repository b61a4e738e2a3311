// Writes GGUF version 3 files, atomically and without holding tensor data in memory.
#ifndef CAPBENCH_MODELS_GGUF_WRITER_H_
#define CAPBENCH_MODELS_GGUF_WRITER_H_

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/digest.h"
#include "base/fd.h"
#include "base/result.h"
#include "models/gguf.h"

namespace capbench::models {

// The file before its tensor data, and where each tensor goes.
struct GgufHead {
  std::string bytes;       // padded up to the first tensor's data
  Gguf layout;             // what parse_gguf will say of the finished file
  std::uint64_t size = 0;  // of the finished file, padding after the last tensor included
};

// Lays out a file. From each tensor only name, shape and type are used; offset, elements and bytes are computed. An
// error names the key or tensor that no valid file can hold (twice, nameless, wrong block multiple, too large).
Result<GgufHead> lay_out_gguf(std::vector<GgufKey> metadata, std::vector<GgufTensor> tensors);

// An array value.
GgufArray string_array(const std::vector<std::string>& strings);
GgufArray float_array(const std::vector<float>& numbers);
GgufArray int_array(const std::vector<std::int32_t>& numbers);

struct WrittenFile {
  std::uint64_t size = 0;  // bytes
  std::string sha256;      // of the whole file, computed while writing
};

// Create it, write() all tensors' data in order, finish(). The file appears under its name only in finish(), whole;
// destroyed before that, the writer removes what it wrote. Errors (full disk, size limit, no permission) name the
// path; after one, only destruction is left. Writing under a size limit needs SIGXFSZ ignored, else the kernel ends the
// process. One thread at a time.
class GgufWriter {
 public:
  static Result<GgufWriter> create(const std::filesystem::path& path, GgufHead head);

  GgufWriter(GgufWriter&&) noexcept = default;
  GgufWriter& operator=(GgufWriter&&) = delete;
  ~GgufWriter();

  // The next bytes of tensor data, in pieces of any size; padding between tensors is added here. Bytes beyond the last
  // tensor are an error.
  Status write(std::string_view bytes);

  // Pads, syncs to the disk and renames. An error if data are missing.
  Result<WrittenFile> finish();

 private:
  // Removes the temporary file unless released.
  struct Temporary {
    std::string path;
    Temporary() = default;
    Temporary(Temporary&& other) noexcept : path(std::exchange(other.path, {})) {}
    Temporary& operator=(Temporary&& other) noexcept;
    ~Temporary();
  };

  GgufWriter() = default;
  Status put(std::string_view bytes);
  Status pad();
  Error write_error(int errno_value) const;

  std::filesystem::path path_;
  Temporary temporary_;
  Fd fd_;
  GgufHead head_;
  Sha256 hash_;
  std::size_t tensor_ = 0;       // the one being written
  std::uint64_t in_tensor_ = 0;  // bytes of it written so far
  std::uint64_t written_ = 0;    // bytes of the file written so far
};

}  // namespace capbench::models

#endif  // CAPBENCH_MODELS_GGUF_WRITER_H_
