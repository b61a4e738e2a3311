#include "models/tensor_type.h"

#include <algorithm>
#include <array>

namespace capbench::models {
namespace {

constexpr std::array kTypes = {
    TensorTypeInfo{TensorType::kF32, "F32", 1, 4},
    TensorTypeInfo{TensorType::kF16, "F16", 1, 2},
    TensorTypeInfo{TensorType::kQ4_0, "Q4_0", 32, 18},
    TensorTypeInfo{TensorType::kQ4_1, "Q4_1", 32, 20},
    TensorTypeInfo{TensorType::kQ5_0, "Q5_0", 32, 22},
    TensorTypeInfo{TensorType::kQ5_1, "Q5_1", 32, 24},
    TensorTypeInfo{TensorType::kQ8_0, "Q8_0", 32, 34},
    TensorTypeInfo{TensorType::kQ8_1, "Q8_1", 32, 36},
    TensorTypeInfo{TensorType::kQ2_K, "Q2_K", 256, 84},
    TensorTypeInfo{TensorType::kQ3_K, "Q3_K", 256, 110},
    TensorTypeInfo{TensorType::kQ4_K, "Q4_K", 256, 144},
    TensorTypeInfo{TensorType::kQ5_K, "Q5_K", 256, 176},
    TensorTypeInfo{TensorType::kQ6_K, "Q6_K", 256, 210},
    TensorTypeInfo{TensorType::kQ8_K, "Q8_K", 256, 292},
    TensorTypeInfo{TensorType::kIQ2_XXS, "IQ2_XXS", 256, 66},
    TensorTypeInfo{TensorType::kIQ2_XS, "IQ2_XS", 256, 74},
    TensorTypeInfo{TensorType::kIQ3_XXS, "IQ3_XXS", 256, 98},
    TensorTypeInfo{TensorType::kIQ1_S, "IQ1_S", 256, 50},
    TensorTypeInfo{TensorType::kIQ4_NL, "IQ4_NL", 32, 18},
    TensorTypeInfo{TensorType::kIQ3_S, "IQ3_S", 256, 110},
    TensorTypeInfo{TensorType::kIQ2_S, "IQ2_S", 256, 82},
    TensorTypeInfo{TensorType::kIQ4_XS, "IQ4_XS", 256, 136},
    TensorTypeInfo{TensorType::kI8, "I8", 1, 1},
    TensorTypeInfo{TensorType::kI16, "I16", 1, 2},
    TensorTypeInfo{TensorType::kI32, "I32", 1, 4},
    TensorTypeInfo{TensorType::kI64, "I64", 1, 8},
    TensorTypeInfo{TensorType::kF64, "F64", 1, 8},
    TensorTypeInfo{TensorType::kIQ1_M, "IQ1_M", 256, 56},
    TensorTypeInfo{TensorType::kBF16, "BF16", 1, 2},
    TensorTypeInfo{TensorType::kTQ1_0, "TQ1_0", 256, 54},
    TensorTypeInfo{TensorType::kTQ2_0, "TQ2_0", 256, 66},
    TensorTypeInfo{TensorType::kMXFP4, "MXFP4", 32, 17},
    TensorTypeInfo{TensorType::kNVFP4, "NVFP4", 64, 36},
    TensorTypeInfo{TensorType::kQ1_0, "Q1_0", 128, 18},
    TensorTypeInfo{TensorType::kQ2_0, "Q2_0", 64, 18},
};

struct FileTypeName {
  std::uint64_t number;
  std::string_view name;
};

// llama.cpp's llama_ftype numbers; the K types carry their size as a word.
constexpr std::array kFileTypes = {
    FileTypeName{0, "all F32"},
    FileTypeName{1, "F16"},
    FileTypeName{2, "Q4_0"},
    FileTypeName{3, "Q4_1"},
    FileTypeName{7, "Q8_0"},
    FileTypeName{8, "Q5_0"},
    FileTypeName{9, "Q5_1"},
    FileTypeName{10, "Q2_K - Medium"},
    FileTypeName{11, "Q3_K - Small"},
    FileTypeName{12, "Q3_K - Medium"},
    FileTypeName{13, "Q3_K - Large"},
    FileTypeName{14, "Q4_K - Small"},
    FileTypeName{15, "Q4_K - Medium"},
    FileTypeName{16, "Q5_K - Small"},
    FileTypeName{17, "Q5_K - Medium"},
    FileTypeName{18, "Q6_K"},
    FileTypeName{25, "IQ4_NL - 4.5 bpw"},
    FileTypeName{30, "IQ4_XS - 4.25 bpw"},
    FileTypeName{32, "BF16"},
    FileTypeName{38, "MXFP4 MoE"},
};

}  // namespace

std::span<const TensorTypeInfo> tensor_types() {
  return kTypes;
}

std::optional<TensorTypeInfo> tensor_type_info(std::uint32_t number) {
  const auto found = std::find_if(kTypes.begin(), kTypes.end(), [number](const TensorTypeInfo& info) {
    return static_cast<std::uint32_t>(info.type) == number;
  });
  if (found == kTypes.end()) return std::nullopt;
  return *found;
}

TensorTypeInfo tensor_type_info(TensorType type) {
  return tensor_type_info(static_cast<std::uint32_t>(type)).value_or(TensorTypeInfo{});
}

std::string_view file_type_name(std::uint64_t file_type) {
  for (const FileTypeName& entry : kFileTypes) {
    if (entry.number == file_type) return entry.name;
  }
  return {};
}

}  // namespace capbench::models
