#include "models/twin_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <utility>

namespace capbench::models {
namespace {

TensorType base_type(Mix mix) {
  switch (mix) {
    case Mix::kF16:
      return TensorType::kF16;
    case Mix::kBF16:
      return TensorType::kBF16;
    case Mix::kQ8_0:
      return TensorType::kQ8_0;
    case Mix::kQ4_0:
      return TensorType::kQ4_0;
    case Mix::kQ4_K_M:
      return TensorType::kQ4_K;
  }
  return TensorType::kF32;
}

// llama.cpp's number of the mix, which llama-bench prints as part of the model's type.
std::uint32_t file_type(Mix mix) {
  switch (mix) {
    case Mix::kF16:
      return 1;
    case Mix::kQ4_0:
      return 2;
    case Mix::kQ8_0:
      return 7;
    case Mix::kQ4_K_M:
      return 15;
    case Mix::kBF16:
      return 32;
  }
  return 0;
}

struct Vocabulary {
  std::vector<std::string> tokens;
  std::vector<float> scores;
  std::vector<std::int32_t> types;
};

// Three special tokens, the 256 bytes, and filler that no text can produce.
Vocabulary byte_vocabulary(std::uint32_t count) {
  // llama.cpp's numbers of token kinds.
  constexpr std::int32_t kUnknown = 2;
  constexpr std::int32_t kControl = 3;
  constexpr std::int32_t kUnused = 5;
  constexpr std::int32_t kByte = 6;
  Vocabulary vocabulary{{"<unk>", "<s>", "</s>"}, {}, {kUnknown, kControl, kControl}};
  for (std::uint32_t byte = 0; byte < 256; ++byte) {
    vocabulary.tokens.push_back(fmt::format("<0x{:02X}>", byte));
    vocabulary.types.push_back(kByte);
  }
  for (std::uint32_t id = 259; id < count; ++id) {
    vocabulary.tokens.push_back(fmt::format("<f{}>", id));
    vocabulary.types.push_back(kUnused);
  }
  vocabulary.scores.assign(count, 0.0F);
  return vocabulary;
}

std::vector<GgufKey> twin_metadata(const Shape& shape, std::uint64_t seed, Fill fill) {
  Vocabulary vocabulary = byte_vocabulary(shape.vocab);
  return {
      {"general.architecture", std::string("llama")},
      {"general.name", shape.title + " twin"},
      {"general.file_type", file_type(shape.mix)},
      {"general.quantization_version", std::uint32_t{2}},
      {std::string(kTwinLikeKey), shape.name},
      {std::string(kTwinSeedKey), seed},
      {std::string(kTwinFillKey), std::string(fill_name(fill))},
      {std::string(kTwinVersionKey), kTwinVersion},
      {"llama.context_length", shape.context},
      {"llama.embedding_length", shape.width},
      {"llama.block_count", shape.layers},
      {"llama.feed_forward_length", shape.ffn},
      {"llama.attention.head_count", shape.heads},
      {"llama.attention.head_count_kv", shape.kv_heads},
      {"llama.attention.layer_norm_rms_epsilon", shape.rms_epsilon},
      {"llama.rope.dimension_count", shape.width / shape.heads},
      {"llama.vocab_size", shape.vocab},
      {"tokenizer.ggml.model", std::string("llama")},
      {"tokenizer.ggml.tokens", string_array(vocabulary.tokens)},
      {"tokenizer.ggml.scores", float_array(vocabulary.scores)},
      {"tokenizer.ggml.token_type", int_array(vocabulary.types)},
      {"tokenizer.ggml.bos_token_id", std::uint32_t{1}},
      {"tokenizer.ggml.eos_token_id", std::uint32_t{2}},
      {"tokenizer.ggml.unknown_token_id", std::uint32_t{0}},
  };
}

struct Tensors {
  std::vector<GgufTensor> list;
  std::vector<Weights> weights;

  void vector(const std::string& name, std::uint64_t length) {
    list.push_back({name, {length}, TensorType::kF32, 0, 0, 0});
    weights.push_back({name, 0, 0});
  }

  // `gain` is the standard deviation of an output whose inputs have deviation 1.
  void matrix(const std::string& name, std::uint64_t columns, std::uint64_t rows, TensorType type, double gain) {
    list.push_back({name, {columns, rows}, type, 0, 0, 0});
    weights.push_back({name, gain / std::sqrt(static_cast<double>(columns)), 0});
  }
};

// The gains were found by trial with llama-perplexity: attention attends, every matrix leaves a mark on the logits, and
// the answer still comes through.
constexpr double kMixGain = 1.5;  // v, o, ffn
constexpr double kOutputGain = 2.0;

// For q and k. Sharp attention makes a wrong q or k visible, but it also multiplies rounding differences layer by
// layer: at 1.7 the 22 layers of TinyLlama turn harmless ones into a KL divergence of 0.04, at 1.3 into 0.008.
double attend_gain(const Shape& shape) {
  constexpr std::uint32_t kDeep = 12;
  return shape.layers > kDeep ? 1.3 : 1.7;
}

// What o and ffn_down take on top of kMixGain, so that deep, wide and large-vocabulary models are about equally sure.
// After the last norm the token's own embedding has length share = 1 / sqrt(1 + noise) of the residual stream, `noise`
// being what the layers added in units of its variance; the right logit is then kOutputGain * sqrt(width) * share above
// the mean, and should stand a little above the loudest of `vocab` wrong ones.
double residual_step(const Shape& shape) {
  constexpr double kNoisePerLayer = 5;  // measured, at a step of 1
  constexpr double kLogitPerBit = 0.9;  // of the vocabulary's size
  const double wanted = kLogitPerBit * std::bit_width(shape.vocab);
  const double logit_over_share = kOutputGain * std::sqrt(static_cast<double>(shape.width));
  const double inverse_share = logit_over_share / wanted;
  const double inverse_square = inverse_share * inverse_share;
  const double noise = std::max(0.25, inverse_square - 1.0);
  return std::sqrt(noise / (kNoisePerLayer * shape.layers));
}

void add_layer(Tensors& tensors, const Shape& shape, std::uint32_t layer) {
  const std::string prefix = "blk." + std::to_string(layer) + ".";
  const TensorType type = base_type(shape.mix);
  const bool better = shape.mix == Mix::kQ4_K_M && use_more_bits(layer, shape.layers);
  const TensorType value_type = better ? TensorType::kQ6_K : type;
  const std::uint64_t kv_width = std::uint64_t{shape.width / shape.heads} * shape.kv_heads;
  const double residual = kMixGain * residual_step(shape);
  tensors.vector(prefix + "attn_norm.weight", shape.width);
  tensors.matrix(prefix + "attn_q.weight", shape.width, shape.width, type, attend_gain(shape));
  tensors.matrix(prefix + "attn_k.weight", shape.width, kv_width, type, attend_gain(shape));
  tensors.matrix(prefix + "attn_v.weight", shape.width, kv_width, value_type, kMixGain);
  tensors.matrix(prefix + "attn_output.weight", shape.width, shape.width, type, residual);
  tensors.vector(prefix + "ffn_norm.weight", shape.width);
  tensors.matrix(prefix + "ffn_gate.weight", shape.width, shape.ffn, type, kMixGain);
  tensors.matrix(prefix + "ffn_up.weight", shape.width, shape.ffn, type, kMixGain);
  tensors.matrix(prefix + "ffn_down.weight", shape.ffn, shape.width, value_type, residual);
}

Tensors twin_tensors(const Shape& shape) {
  const TensorType type = base_type(shape.mix);
  const bool quantised_output = (shape.mix == Mix::kQ4_0 || shape.mix == Mix::kQ4_K_M) && !shape.pure;
  const std::string embedding = "token_embd.weight";
  Tensors tensors;
  tensors.list.push_back({embedding, {shape.width, shape.vocab}, type, 0, 0, 0});
  tensors.weights.push_back({embedding, 1.0, 0});
  for (std::uint32_t layer = 0; layer < shape.layers; ++layer) add_layer(tensors, shape, layer);
  tensors.vector("output_norm.weight", shape.width);
  tensors.matrix("output.weight", shape.width, shape.vocab, quantised_output ? TensorType::kQ6_K : type, kOutputGain);
  // The planted rule: token t is answered by t + 1, because output row t + 1 points where embedding row t does.
  tensors.weights.back().stream = embedding;
  tensors.weights.back().row_shift = 1;
  return tensors;
}

}  // namespace

std::string_view fill_name(Fill fill) {
  return fill == Fill::kPlanted ? "planted" : "pattern";
}

std::optional<Fill> fill_of(std::string_view name) {
  for (const Fill fill : {Fill::kPlanted, Fill::kPattern}) {
    if (fill_name(fill) == name) return fill;
  }
  return std::nullopt;
}

Result<TwinPlan> plan_twin(const Shape& shape, std::uint64_t seed, Fill fill) {
  if (Status status = check_shape(shape); !status) return status.error();
  Tensors tensors = twin_tensors(shape);
  auto head = lay_out_gguf(twin_metadata(shape, seed, fill), std::move(tensors.list));
  if (!head) return head.error();
  return TwinPlan{shape, seed, fill, std::move(*head), std::move(tensors.weights)};
}

std::optional<std::uint64_t> twin_size(const Shape& shape) {
  const auto plan = plan_twin(shape, 0, Fill::kPlanted);
  if (!plan) return std::nullopt;
  return plan->head.size;
}

}  // namespace capbench::models
