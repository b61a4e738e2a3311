// What a twin consists of, before a byte of it is written.
#ifndef CAPBENCH_MODELS_TWIN_PLAN_H_
#define CAPBENCH_MODELS_TWIN_PLAN_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "models/gguf_writer.h"
#include "models/shape.h"

namespace capbench::models {

// How a twin's weights are made.
enum class Fill {
  // Random from the seed, so planted that the model continues ascending text (sequence_text()) far better than chance
  // only if every kernel computes what it should.
  kPlanted,
  // One random block per matrix, repeated: same speed, written as fast as the disk takes it, output meaningless.
  kPattern,
};

// "planted", "pattern".
std::string_view fill_name(Fill fill);
std::optional<Fill> fill_of(std::string_view name);

// Changes whenever the same shape and seed give other bytes.
inline constexpr std::uint32_t kTwinVersion = 1;

// How one tensor's weights are drawn. Tensors of the same `stream` share their draws, row by row.
struct Weights {
  std::string stream;           // with the seed, decides every draw
  double deviation = 1;         // standard deviation; 0: a vector of factors around 1
  std::uint64_t row_shift = 0;  // row r takes the draws of row (r - row_shift) mod rows; at most the rows
};

struct TwinPlan {
  Shape shape;
  std::uint64_t seed = 0;
  Fill fill = Fill::kPlanted;
  GgufHead head;                 // its layout lists the tensors
  std::vector<Weights> weights;  // one per tensor
};

// Metadata keys of our own, by which a twin is known.
inline constexpr std::string_view kTwinLikeKey = "capbench.twin.like";
inline constexpr std::string_view kTwinSeedKey = "capbench.twin.seed";
inline constexpr std::string_view kTwinFillKey = "capbench.twin.fill";
inline constexpr std::string_view kTwinVersionKey = "capbench.twin.version";

// An error for a shape that no model can have.
Result<TwinPlan> plan_twin(const Shape& shape, std::uint64_t seed, Fill fill);

// Bytes of the finished file, whatever the seed and the fill; nothing for an impossible shape.
std::optional<std::uint64_t> twin_size(const Shape& shape);

}  // namespace capbench::models

#endif  // CAPBENCH_MODELS_TWIN_PLAN_H_
