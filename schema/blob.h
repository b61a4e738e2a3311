// Raw output as the store keeps it: one Zstandard frame. Pure; safe to call from several threads.
#ifndef CAPBENCH_SCHEMA_BLOB_H_
#define CAPBENCH_SCHEMA_BLOB_H_

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"

namespace capbench::schema {

// Nothing that a benchmark prints is larger; more is a runaway program, or a hostile file that wants memory.
inline constexpr std::uint64_t kMaxRawBytes = 256U << 20U;

// Zstandard's levels: its default, at which text shrinks by an order of magnitude; and one that takes half the time for
// a tenth more bytes.
inline constexpr int kUsualLevel = 3;
inline constexpr int kFastLevel = 1;

// Errors: more than kMaxRawBytes, no memory.
Result<std::string> compress(std::string_view raw);

// Raw bytes with their name, ready to be stored.
struct PackedRaw {
  std::string sha256;
  std::string frame;       // one Zstandard frame
  std::uint64_t size = 0;  // of the raw bytes
};

// The same as compress(), many times over: what the compressor needs is allocated once. One thread at a time.
class Compressor {
 public:
  explicit Compressor(int level = kUsualLevel);
  Compressor(const Compressor&) = delete;
  Compressor& operator=(const Compressor&) = delete;
  ~Compressor();
  Result<std::string> compress(std::string_view raw);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// The raw bytes. At most `raw_size` bytes are allocated and written, whatever the frame says of itself. The error's
// `cause` says what is wrong; `what` is left to the caller.
Result<std::string> decompress(std::string_view frame, std::uint64_t raw_size);

}  // namespace capbench::schema

#endif  // CAPBENCH_SCHEMA_BLOB_H_
