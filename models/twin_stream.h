// A twin's tensor data, made on several threads and handed over in the file's order.
#ifndef CAPBENCH_MODELS_TWIN_STREAM_H_
#define CAPBENCH_MODELS_TWIN_STREAM_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string_view>

#include "base/result.h"
#include "models/twin_plan.h"

namespace capbench::models {

// Consecutive bytes of one tensor.
struct TwinPiece {
  std::size_t tensor = 0;    // index in the layout
  std::uint64_t offset = 0;  // of the first byte in the tensor's data
  std::string_view bytes;
};

// Calls `take` on this thread with every piece, in order, until one fails; returns that failure. The bytes do not
// depend on `threads` (0: one per processor, at most 8). At most threads + 2 pieces of about 1 MiB are held at a time.
Status stream_twin(const TwinPlan& plan, unsigned threads, const std::function<Status(const TwinPiece&)>& take);

}  // namespace capbench::models

#endif  // CAPBENCH_MODELS_TWIN_STREAM_H_
