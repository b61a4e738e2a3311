#include "schema/blob.h"

#include <zstd.h>

#include <memory>

namespace capbench::schema {

struct Compressor::State {
  struct Free {
    void operator()(ZSTD_CCtx* context) const { ZSTD_freeCCtx(context); }
  };
  std::unique_ptr<ZSTD_CCtx, Free> context{ZSTD_createCCtx()};
  int level = kUsualLevel;
  // Where a frame is written, with room for the largest so far: a frame is mostly a tenth of what it might become.
  std::unique_ptr<char[]> scratch;
  std::size_t capacity = 0;
};

Compressor::Compressor(int level) : state_(std::make_unique<State>()) {
  state_->level = level;
}
Compressor::~Compressor() = default;

Result<std::string> Compressor::compress(std::string_view raw) {
  if (raw.size() > kMaxRawBytes) {
    return Error{ErrorKind::kUsage, "raw output", "larger than " + std::to_string(kMaxRawBytes) + " bytes",
                 "keep only its beginning and its end"};
  }
  const Error no_memory{ErrorKind::kMachine, "raw output", "not enough memory to compress it", "free some memory"};
  if (!state_->context) return no_memory;
  const std::size_t bound = ZSTD_compressBound(raw.size());
  if (state_->capacity < bound) {
    state_->scratch = std::make_unique_for_overwrite<char[]>(bound);
    state_->capacity = bound;
  }
  const std::size_t size = ZSTD_compressCCtx(state_->context.get(), state_->scratch.get(), state_->capacity, raw.data(),
                                             raw.size(), state_->level);
  if (ZSTD_isError(size) != 0) return no_memory;
  return std::string(state_->scratch.get(), size);
}

Result<std::string> compress(std::string_view raw) {
  return Compressor().compress(raw);
}

Result<std::string> decompress(std::string_view frame, std::uint64_t raw_size) {
  const auto damaged = [](const std::string& cause) {
    return Error{ErrorKind::kUsage, "", cause, "restore the store from a copy, or measure again"};
  };
  if (raw_size > kMaxRawBytes)
    return damaged("claims " + std::to_string(raw_size) + " bytes, more than any output has");
  // The frame's own claim first: memory is taken only where both agree.
  const unsigned long long claimed = ZSTD_getFrameContentSize(frame.data(), frame.size());
  if (claimed != raw_size) return damaged("its compressed form is damaged");
  std::string raw(static_cast<std::size_t>(raw_size), '\0');
  const std::size_t size = ZSTD_decompress(raw.data(), raw.size(), frame.data(), frame.size());
  if (ZSTD_isError(size) != 0)
    return damaged(std::string("its compressed form is damaged (") + ZSTD_getErrorName(size) + ")");
  if (size != raw.size()) return damaged("its compressed form is damaged (too short)");
  return raw;
}

}  // namespace capbench::schema
