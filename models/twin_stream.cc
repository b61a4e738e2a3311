#include "models/twin_stream.h"

#include <algorithm>
#include <condition_variable>
#include <cstring>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "models/weights.h"

namespace capbench::models {
namespace {

constexpr std::uint64_t kPieceBytes = 1U << 20U;

// Whole rows of one tensor.
struct Rows {
  std::size_t tensor = 0;
  std::uint64_t first = 0;
  std::uint64_t count = 0;
};

std::uint64_t row_count(const GgufTensor& tensor) {
  return tensor.elements / tensor.shape.front();
}

std::vector<Rows> split(const Gguf& layout) {
  std::vector<Rows> pieces;
  for (std::size_t i = 0; i < layout.tensors.size(); ++i) {
    const GgufTensor& tensor = layout.tensors[i];
    const std::uint64_t rows = row_count(tensor);
    const std::uint64_t step = std::max<std::uint64_t>(1, kPieceBytes / (tensor.bytes / rows));
    for (std::uint64_t first = 0; first < rows; first += step)
      pieces.push_back({i, first, std::min(step, rows - first)});
  }
  return pieces;
}

void fill_pattern(const GgufTensor& tensor, const Weights& weights, std::uint64_t key, std::string& out) {
  const TensorTypeInfo type = tensor_type_info(tensor.type);
  // The float types draw eight weights at a time.
  const std::uint64_t elements = std::max<std::uint64_t>(8, type.block_elements);
  std::size_t done = static_cast<std::size_t>(elements / type.block_elements * type.block_bytes);
  fill_row(tensor.type, weights.deviation, key, elements, out.data());
  while (done < out.size()) {
    const std::size_t more = std::min(done, out.size() - done);
    std::memcpy(out.data() + done, out.data(), more);
    done += more;
  }
}

void fill(const TwinPlan& plan, const Rows& rows, std::string& out) {
  const GgufTensor& tensor = plan.head.layout.tensors[rows.tensor];
  const Weights& weights = plan.weights[rows.tensor];
  const std::uint64_t total = row_count(tensor);
  const std::uint64_t row_bytes = tensor.bytes / total;
  const std::uint64_t key = stream_key(plan.seed, weights.stream);
  out.resize(static_cast<std::size_t>(rows.count * row_bytes));
  if (weights.deviation == 0) return fill_factors(key, tensor.elements, out.data());
  if (plan.fill == Fill::kPattern) return fill_pattern(tensor, weights, key, out);
  for (std::uint64_t i = 0; i < rows.count; ++i) {
    const std::uint64_t row = (rows.first + i + total - weights.row_shift) % total;
    fill_row(tensor.type, weights.deviation, draw(key, row), tensor.shape.front(), out.data() + i * row_bytes);
  }
}

// A ring of buffers between the threads that fill pieces and the one that takes them.
class Pipeline {
 public:
  Pipeline(const TwinPlan& plan, unsigned threads)
      : plan_(plan), pieces_(split(plan.head.layout)), slots_(threads + 2) {
    threads_.reserve(threads);
    for (unsigned i = 0; i < threads; ++i) threads_.emplace_back([this] { work(); });
  }
  Pipeline(const Pipeline&) = delete;
  Pipeline& operator=(const Pipeline&) = delete;
  ~Pipeline() {
    {
      const std::lock_guard lock(mutex_);
      stopped_ = true;
    }
    changed_.notify_all();
    for (std::thread& thread : threads_) thread.join();
  }

  Status drain(const std::function<Status(const TwinPiece&)>& take) {
    for (std::size_t i = 0; i < pieces_.size(); ++i) {
      Slot& slot = slots_[i % slots_.size()];
      {
        std::unique_lock lock(mutex_);
        changed_.wait(lock, [&slot] { return slot.full; });
      }
      const GgufTensor& tensor = plan_.head.layout.tensors[pieces_[i].tensor];
      const std::uint64_t offset = pieces_[i].first * (tensor.bytes / row_count(tensor));
      if (Status status = take({pieces_[i].tensor, offset, slot.bytes}); !status) return status;
      {
        const std::lock_guard lock(mutex_);
        slot.full = false;
        ++taken_;
      }
      changed_.notify_all();
    }
    return {};
  }

 private:
  struct Slot {
    std::string bytes;
    bool full = false;
  };

  void work() {
    for (;;) {
      std::size_t mine = 0;
      {
        std::unique_lock lock(mutex_);
        if (next_ == pieces_.size()) return;
        mine = next_++;
        // The slot is free once the piece that used it last has been taken.
        changed_.wait(lock, [&] { return stopped_ || mine < taken_ + slots_.size(); });
        if (stopped_) return;
      }
      Slot& slot = slots_[mine % slots_.size()];
      fill(plan_, pieces_[mine], slot.bytes);
      {
        const std::lock_guard lock(mutex_);
        slot.full = true;
      }
      changed_.notify_all();
    }
  }

  const TwinPlan& plan_;
  const std::vector<Rows> pieces_;
  std::vector<Slot> slots_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::size_t next_ = 0;
  std::size_t taken_ = 0;
  bool stopped_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace

Status stream_twin(const TwinPlan& plan, unsigned threads, const std::function<Status(const TwinPiece&)>& take) {
  if (threads == 0) threads = std::clamp(std::thread::hardware_concurrency(), 1U, 8U);
  Pipeline pipeline(plan, threads);
  return pipeline.drain(take);
}

}  // namespace capbench::models
