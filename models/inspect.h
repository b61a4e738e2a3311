// What a model file is, without loading it.
#ifndef CAPBENCH_MODELS_INSPECT_H_
#define CAPBENCH_MODELS_INSPECT_H_

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "models/gguf.h"

namespace capbench::models {

// Tensors of one type together.
struct TypeShare {
  TensorType type = TensorType::kF32;
  std::uint64_t tensors = 0;
  std::uint64_t parameters = 0;
  std::uint64_t bytes = 0;
};

// What a twin says about itself.
struct TwinMark {
  std::string like;
  std::optional<std::uint64_t> seed;
  std::string fill;
};

struct ModelInfo {
  std::string file;
  std::uint32_t gguf_version = 3;
  std::uint64_t file_size = 0;     // bytes
  std::uint64_t weight_bytes = 0;  // tensor data without padding: llama-bench's model_size
  std::uint64_t parameters = 0;    // llama-bench's model_n_params
  std::string architecture;        // empty where the file does not say
  std::string name;
  std::string file_type;  // "Q4_K - Medium"
  std::optional<std::uint64_t> layers;
  std::optional<std::uint64_t> width;
  std::optional<std::uint64_t> heads;
  std::optional<std::uint64_t> kv_heads;
  std::optional<std::uint64_t> ffn;
  std::optional<std::uint64_t> context;  // tokens
  std::string tokenizer;                 // "llama" (SentencePiece), "gpt2" (BPE), ...
  std::optional<std::uint64_t> tokens;   // of the vocabulary
  std::vector<TypeShare> types;          // largest first
  std::optional<TwinMark> twin;          // nothing for a real model
};

// Errors as read_gguf().
Result<ModelInfo> inspect(const std::filesystem::path& path);
ModelInfo inspect(const Gguf& gguf, std::string file);

// "twin" or "real": results of the two never mix.
std::string_view kind_of(const ModelInfo& info);

// At most 80 columns; and one JSON object.
std::string inspect_text(const ModelInfo& info);
std::string inspect_json(const ModelInfo& info);

}  // namespace capbench::models

#endif  // CAPBENCH_MODELS_INSPECT_H_
