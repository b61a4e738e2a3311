// The element types of ggml's tensors and how each is laid out in blocks.
//
// Numbers and sizes are those of ggml 0.25 (its ggml_type enumeration and block structures).
#ifndef CAPBENCH_MODELS_TENSOR_TYPE_H_
#define CAPBENCH_MODELS_TENSOR_TYPE_H_

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace capbench::models {

// The number is what a GGUF file stores. Numbers missing here were removed from the format.
enum class TensorType : std::uint32_t {
  kF32 = 0,
  kF16 = 1,
  kQ4_0 = 2,
  kQ4_1 = 3,
  kQ5_0 = 6,
  kQ5_1 = 7,
  kQ8_0 = 8,
  kQ8_1 = 9,
  kQ2_K = 10,
  kQ3_K = 11,
  kQ4_K = 12,
  kQ5_K = 13,
  kQ6_K = 14,
  kQ8_K = 15,
  kIQ2_XXS = 16,
  kIQ2_XS = 17,
  kIQ3_XXS = 18,
  kIQ1_S = 19,
  kIQ4_NL = 20,
  kIQ3_S = 21,
  kIQ2_S = 22,
  kIQ4_XS = 23,
  kI8 = 24,
  kI16 = 25,
  kI32 = 26,
  kI64 = 27,
  kF64 = 28,
  kIQ1_M = 29,
  kBF16 = 30,
  kTQ1_0 = 34,
  kTQ2_0 = 35,
  kMXFP4 = 39,
  kNVFP4 = 40,
  kQ1_0 = 41,
  kQ2_0 = 42,
};

struct TensorTypeInfo {
  TensorType type = TensorType::kF32;
  std::string_view name;             // as llama.cpp prints it: "Q4_K"
  std::uint32_t block_elements = 1;  // a row is a whole number of blocks
  std::uint32_t block_bytes = 4;
};

// Every type known here, by number.
std::span<const TensorTypeInfo> tensor_types();

// Nothing for a number that is unknown or was removed from the format.
std::optional<TensorTypeInfo> tensor_type_info(std::uint32_t number);

// For a value of the enumeration, which always has an entry.
TensorTypeInfo tensor_type_info(TensorType type);

// The name of `general.file_type` as llama-bench prints it inside model_type ("Q4_K - Medium"); empty if unknown.
std::string_view file_type_name(std::uint64_t file_type);

}  // namespace capbench::models

#endif  // CAPBENCH_MODELS_TENSOR_TYPE_H_
