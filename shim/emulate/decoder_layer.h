// A decoder layer's operators, made by ggml's own constructors inside the emulated process, as llama.cpp makes them.
#ifndef CAPBENCH_SHIM_EMULATE_DECODER_LAYER_H_
#define CAPBENCH_SHIM_EMULATE_DECODER_LAYER_H_

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "shim/emulate/ggml.h"
#include "shim/emulate/model_layer.h"

namespace capbench::emulate {

struct LayerShape {
  std::uint64_t tokens = 512;  // in one batch: a prompt's, or 1
  std::uint64_t cells = 512;   // of the key-value cache that are looked at
  bool flash_attention = true;
  models::TensorType cache = models::TensorType::kF16;
};

// An operator that computes; views and permutations are left out.
struct LayerOperator {
  std::string role;   // what it is for: "attn_q", "kq", "ffn_act"
  std::string op;     // as ggml calls it: "MUL_MAT"
  std::string types;  // of what it reads: "Q4_K x F32"
  Address tensor = 0;
};

// Everything from the token embedding through one layer to the output. Where a release lacks a constructor, the older
// way is built. An error names the constructor that failed.
Result<std::vector<LayerOperator>> build_decoder_layer(Ggml& ggml, const ModelLayer& layer, const LayerShape& shape);

}  // namespace capbench::emulate

#endif  // CAPBENCH_SHIM_EMULATE_DECODER_LAYER_H_
