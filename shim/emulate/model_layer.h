// What of a model decides which operators its decoder layers need: read from a GGUF's head or from the catalog.
#ifndef CAPBENCH_SHIM_EMULATE_MODEL_LAYER_H_
#define CAPBENCH_SHIM_EMULATE_MODEL_LAYER_H_

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "models/gguf.h"

namespace capbench::emulate {

// One kind of matrix or vector of a layer: "attn_q", "ffn_norm", or of the model: "token_embd", "output".
struct LayerWeight {
  std::vector<std::uint64_t> shape;       // the length of a row first
  std::vector<models::TensorType> types;  // all that occur in some layer, by number
};

struct ModelLayer {
  std::string model;         // the file's name, or the catalog's
  std::string architecture;  // "llama"
  std::uint64_t width = 0;
  std::uint64_t heads = 0;
  std::uint64_t kv_heads = 0;
  std::uint64_t key_length = 0;    // of one head
  std::uint64_t value_length = 0;  // of one head
  std::uint64_t rope_dimensions = 0;
  bool rope_neox = false;  // halves are rotated against each other, not neighbours
  std::uint64_t experts = 0;
  std::uint64_t experts_used = 0;
  float norm_epsilon = 1e-5F;
  bool rms_norm = true;
  bool gelu = false;  // otherwise SiLU
  float attention_softcap = 0;
  std::map<std::string, LayerWeight> weights;
  std::vector<std::string> not_covered;  // weights that the layers built here do not use

  const LayerWeight* find(std::string_view role) const;
};

// An error if the model is no decoder of a kind known here (attention with query, key and value).
Result<ModelLayer> read_model_layer(const models::Gguf& gguf, std::string name);

// A name of the catalog with a shape, or a GGUF file.
Result<ModelLayer> find_model_layer(const std::string& model);

// The same layer with every matrix of that type.
ModelLayer with_weight_type(ModelLayer layer, models::TensorType type);

}  // namespace capbench::emulate

#endif  // CAPBENCH_SHIM_EMULATE_MODEL_LAYER_H_
