// Raw output as the store keeps it: one Zstandard frame. Pure; safe to call from several threads.
#ifndef CAPBENCH_SCHEMA_BLOB_H_
#define CAPBENCH_SCHEMA_BLOB_H_

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"

namespace capbench::schema {

// Nothing that a benchmark prints is larger; more is a runaway program, or a hostile file that wants memory.
inline constexpr std::uint64_t kMaxRawBytes = 256U << 20U;

// Errors: more than kMaxRawBytes, no memory.
Result<std::string> compress(std::string_view raw);

// The raw bytes. At most `raw_size` bytes are allocated and written, whatever the frame says of itself. The error's
// `cause` says what is wrong; `what` is left to the caller.
Result<std::string> decompress(std::string_view frame, std::uint64_t raw_size);

}  // namespace capbench::schema

#endif  // CAPBENCH_SCHEMA_BLOB_H_
