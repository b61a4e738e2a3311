#include "models/shape.h"

namespace capbench::models {

std::string_view mix_name(Mix mix) {
  switch (mix) {
    case Mix::kF16:
      return "F16";
    case Mix::kBF16:
      return "BF16";
    case Mix::kQ8_0:
      return "Q8_0";
    case Mix::kQ4_0:
      return "Q4_0";
    case Mix::kQ4_K_M:
      return "Q4_K_M";
  }
  return "";
}

bool use_more_bits(std::uint32_t layer, std::uint32_t layers) {
  const std::uint32_t eighth = layers / 8;
  return layer < eighth || layer >= 7 * layers / 8 || (layer - eighth) % 3 == 2;
}

Status check_shape(const Shape& shape) {
  const auto bad = [&shape](std::string cause) -> Status {
    return Error{ErrorKind::kUsage, "shape '" + shape.name + "'", std::move(cause), "change the shape"};
  };
  // Three special tokens and the 256 bytes.
  constexpr std::uint32_t kMinVocab = 259;
  constexpr std::uint32_t kMax = 1U << 20U;
  if (shape.layers == 0 || shape.layers > 1000) return bad("a model has 1 to 1000 layers");
  if (shape.vocab < kMinVocab || shape.vocab > kMax) return bad("a byte-level vocabulary has 259 to 1048576 tokens");
  if (shape.context == 0) return bad("the context is 0 tokens");
  if (shape.width > kMax || shape.ffn > kMax) return bad("the width and ffn are at most 1048576");
  const std::uint32_t block = shape.mix == Mix::kQ4_K_M || (shape.mix == Mix::kQ4_0 && !shape.pure) ? 256
                              : shape.mix == Mix::kF16 || shape.mix == Mix::kBF16                   ? 8
                                                                                                    : 32;
  if (shape.width == 0 || shape.width % block != 0 || shape.ffn == 0 || shape.ffn % block != 0) {
    return bad("the width and ffn must be multiples of " + std::to_string(block) + " for " +
               std::string(mix_name(shape.mix)));
  }
  if (shape.heads == 0 || shape.width % shape.heads != 0 || (shape.width / shape.heads) % 2 != 0) {
    return bad("the width must be an even multiple of the heads");
  }
  if (shape.kv_heads == 0 || shape.heads % shape.kv_heads != 0) {
    return bad("the heads must be a multiple of the key-value heads");
  }
  if (!(shape.rms_epsilon > 0 && shape.rms_epsilon < 1)) return bad("the RMS epsilon must lie between 0 and 1");
  return {};
}

}  // namespace capbench::models
