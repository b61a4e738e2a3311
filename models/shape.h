// The shape of a llama model: what decides its speed, without its weights.
#ifndef CAPBENCH_MODELS_SHAPE_H_
#define CAPBENCH_MODELS_SHAPE_H_

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"

namespace capbench::models {

// Which type each matrix takes. Vectors are always F32.
enum class Mix {
  kF16,     // everything F16
  kBF16,    // everything BF16
  kQ8_0,    // everything Q8_0
  kQ4_0,    // everything Q4_0, the output Q6_K
  kQ4_K_M,  // Q4_K; Q6_K for the output, and for attn_v and ffn_down where use_more_bits() says so
};

struct Shape {
  std::string name;   // what `--like` takes and a twin is called after: "tinyllama-1.1b"
  std::string title;  // for people: "TinyLlama 1.1B"
  std::uint32_t layers = 0;
  std::uint32_t width = 0;
  std::uint32_t heads = 0;
  std::uint32_t kv_heads = 0;
  std::uint32_t ffn = 0;
  std::uint32_t vocab = 0;
  std::uint32_t context = 0;  // tokens
  float rms_epsilon = 1e-5F;
  Mix mix = Mix::kQ4_K_M;
  bool pure = false;  // the mix's own type for the output too
};

// "Q4_K_M".
std::string_view mix_name(Mix mix);

// The layers to which llama.cpp's quantizer gives a better type in the _M mixes: the first and the last eighth, and
// every third between (its use_more_bits).
bool use_more_bits(std::uint32_t layer, std::uint32_t layers);

// An error that names what no loadable model can have.
Status check_shape(const Shape& shape);

}  // namespace capbench::models

#endif  // CAPBENCH_MODELS_SHAPE_H_
