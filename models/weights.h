// Random weights drawn straight into ggml's blocks.
//
// Draws come from SplitMix64 (Steele, Lea, Flood: "Fast splittable pseudorandom number generators", 2014) used as a
// function of (key, index), so any block can be made on any thread. A byte of a draw picks one of 256 levels that
// follow the normal distribution, and all arithmetic after it is on integers or single IEEE operations: the same bytes
// come out on every platform.
#ifndef CAPBENCH_MODELS_WEIGHTS_H_
#define CAPBENCH_MODELS_WEIGHTS_H_

#include <cstdint>
#include <string_view>

#include "models/tensor_type.h"

namespace capbench::models {

// The `index`-th draw under `key`.
constexpr std::uint64_t draw(std::uint64_t key, std::uint64_t index) {
  std::uint64_t z = key + (index + 1) * 0x9E3779B97F4A7C15U;
  z = (z ^ (z >> 30U)) * 0xBF58476D1CE4E5B9U;
  z = (z ^ (z >> 27U)) * 0x94D049BB133111EBU;
  return z ^ (z >> 31U);
}

// The key of a stream of draws, by name.
std::uint64_t stream_key(std::uint64_t seed, std::string_view stream);

// IEEE half precision, rounded to nearest even; infinite beyond its range.
std::uint16_t to_half(double value);

// The types that fill_row() writes: F32, F16, BF16, Q8_0, Q4_0, Q4_K, Q6_K.
bool can_fill(TensorType type);

// Writes `elements` weights (whole blocks, a multiple of 8) of zero mean and the given standard deviation as type
// `type` at `out`. The levels depend on `row_key` only, not on the type or the deviation, so two rows with the same key
// point in the same direction. Every scale is finite, and every block has its own.
void fill_row(TensorType type, double deviation, std::uint64_t row_key, std::uint64_t elements, char* out);

// Writes a vector of F32 factors around 1 (0.875 to 1.109).
void fill_factors(std::uint64_t row_key, std::uint64_t elements, char* out);

}  // namespace capbench::models

#endif  // CAPBENCH_MODELS_WEIGHTS_H_
