#include "shim/emulate/model_layer.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <set>

#include "models/catalog.h"
#include "models/twin_plan.h"

namespace capbench::emulate {
namespace {

constexpr std::uint64_t kMaxDimension = 1U << 24U;

// Roles that build_decoder_layer() uses.
constexpr std::array<std::string_view, 24> kUsed = {
    "token_embd",   "output",        "output_norm", "attn_norm",     "attn_q",        "attn_k",
    "attn_v",       "attn_qkv",      "attn_output", "attn_q.bias",   "attn_k.bias",   "attn_v.bias",
    "attn_q_norm",  "attn_k_norm",   "ffn_norm",    "ffn_gate",      "ffn_up",        "ffn_down",
    "ffn_gate_inp", "ffn_gate_exps", "ffn_up_exps", "ffn_down_exps", "attn_qkv.bias", "attn_output.bias",
};
// Read only by the tokenizer's or sampler's side, or applied where an operator of the same kind stands already.
constexpr std::array<std::string_view, 4> kAside = {"rope_freqs", "post_attention_norm", "post_ffw_norm",
                                                    "layer_output_scale"};

// Architectures whose rotary embedding pairs neighbours; all others pair halves.
constexpr std::array<std::string_view, 16> kNeighbours = {
    "llama",   "llama4", "deci",   "baichuan", "internlm2", "minicpm", "xverse",  "command-r",
    "cohere2", "olmo",   "arctic", "deepseek", "chatglm",   "granite", "smollm3", "ernie4_5",
};

// "blk.3.attn_q.weight" is attn_q, "blk.3.attn_q.bias" attn_q.bias, "output.weight" output.
std::string role_of(std::string_view name) {
  if (name.starts_with("blk.")) {
    const std::size_t dot = name.find('.', 4);
    if (dot == std::string_view::npos) return std::string(name);
    name.remove_prefix(dot + 1);
  }
  constexpr std::string_view kWeight = ".weight";
  if (name.ends_with(kWeight)) name.remove_suffix(kWeight.size());
  return std::string(name);
}

}  // namespace

const LayerWeight* ModelLayer::find(std::string_view role) const {
  const auto found = weights.find(std::string(role));
  return found == weights.end() ? nullptr : &found->second;
}

Result<ModelLayer> read_model_layer(const models::Gguf& gguf, std::string name) {
  ModelLayer layer;
  layer.model = std::move(name);
  layer.architecture = models::find_string(gguf, "general.architecture").value_or("");
  const auto number = [&](std::string_view key) {
    return models::find_unsigned(gguf, layer.architecture + "." + std::string(key)).value_or(0);
  };
  const auto real = [&](std::string_view key) {
    return models::find_number(gguf, layer.architecture + "." + std::string(key));
  };
  layer.width = number("embedding_length");
  layer.heads = number("attention.head_count");
  layer.kv_heads = number("attention.head_count_kv");
  if (layer.kv_heads == 0) layer.kv_heads = layer.heads;
  layer.experts = number("expert_count");
  layer.experts_used = number("expert_used_count");
  const auto rms = real("attention.layer_norm_rms_epsilon");
  layer.rms_norm = rms.has_value();
  layer.norm_epsilon = static_cast<float>(rms.value_or(real("attention.layer_norm_epsilon").value_or(1e-5)));
  layer.attention_softcap = static_cast<float>(real("attn_logit_softcapping").value_or(0));
  layer.gelu = layer.architecture.starts_with("gemma");
  layer.rope_neox = std::find(kNeighbours.begin(), kNeighbours.end(), layer.architecture) == kNeighbours.end();

  std::set<std::string> others;
  for (const models::GgufTensor& tensor : gguf.tensors) {
    const std::string role = role_of(tensor.name);
    if (std::find(kUsed.begin(), kUsed.end(), role) == kUsed.end()) {
      if (std::find(kAside.begin(), kAside.end(), role) == kAside.end()) others.insert(role);
      continue;
    }
    LayerWeight& weight = layer.weights[role];
    if (weight.shape.empty()) weight.shape = tensor.shape;
    if (std::find(weight.types.begin(), weight.types.end(), tensor.type) == weight.types.end()) {
      weight.types.push_back(tensor.type);
    }
  }
  for (auto& [role, weight] : layer.weights) std::sort(weight.types.begin(), weight.types.end());
  layer.not_covered.assign(others.begin(), others.end());

  const Error unknown{ErrorKind::kUsage, layer.model, "",
                      "a model with attention and feed-forward layers, as tinyllama-1.1b"};
  const auto fails = [&](std::string cause) {
    Error error = unknown;
    error.cause = std::move(cause);
    return error;
  };
  if (layer.architecture.empty()) return fails("it does not name its architecture");
  const auto sane = [](std::uint64_t value) { return value > 0 && value <= kMaxDimension; };
  if (!sane(layer.width) || !sane(layer.heads) || !sane(layer.kv_heads) || layer.heads % layer.kv_heads != 0) {
    return fails(fmt::format("width {}, {} heads, {} key heads make no layer of {}", layer.width, layer.heads,
                             layer.kv_heads, layer.architecture));
  }
  const bool separate = layer.find("attn_q") != nullptr && layer.find("attn_k") != nullptr;
  if (!separate && layer.find("attn_qkv") == nullptr) {
    return fails(fmt::format("its layers ({}) have no attention with query, key and value", layer.architecture));
  }
  layer.key_length = number("attention.key_length");
  if (layer.key_length == 0) layer.key_length = layer.width / layer.heads;
  layer.value_length = number("attention.value_length");
  if (layer.value_length == 0) layer.value_length = layer.key_length;
  layer.rope_dimensions = number("rope.dimension_count");
  if (layer.rope_dimensions == 0) layer.rope_dimensions = layer.key_length;
  for (const auto& [role, weight] : layer.weights) {
    if (weight.shape.empty() || weight.shape.size() > 3 ||
        !std::all_of(weight.shape.begin(), weight.shape.end(), sane)) {
      return fails(fmt::format("{} has a shape that no layer has", role));
    }
  }
  // Layers may differ in shape (sliding windows, shared keys); the first one's must fit together.
  const auto rows = [&](std::string_view role) {
    const LayerWeight* const weight = layer.find(role);
    return weight == nullptr || weight->shape.size() < 2 ? std::uint64_t{0} : weight->shape[1];
  };
  if (separate) {
    if (rows("attn_q") % layer.heads != 0 || rows("attn_k") % layer.kv_heads != 0) {
      return fails("its query or key matrix is no whole number of heads");
    }
    // Trust the matrices over the metadata: some architectures give several lengths.
    layer.key_length = rows("attn_q") / layer.heads;
    if (layer.key_length == 0 || rows("attn_k") / layer.key_length == 0) return fails("its keys are empty");
    layer.kv_heads = rows("attn_k") / layer.key_length;
    layer.value_length = layer.find("attn_v") == nullptr ? layer.key_length : rows("attn_v") / layer.kv_heads;
    if (layer.heads % layer.kv_heads != 0 || layer.value_length == 0) return fails("its heads do not divide");
    layer.rope_dimensions = std::min(layer.rope_dimensions, layer.key_length);
  }
  if (layer.experts != 0 && (layer.experts_used == 0 || layer.experts_used > layer.experts || layer.experts > 4096)) {
    return fails(fmt::format("it uses {} of {} experts", layer.experts_used, layer.experts));
  }
  return layer;
}

Result<ModelLayer> find_model_layer(const std::string& model) {
  if (const auto shape = models::find_shape(model); shape.ok()) {
    const auto plan = models::plan_twin(*shape, 0, models::Fill::kPattern);
    if (!plan.ok()) return plan.error();
    return read_model_layer(plan->head.layout, model);
  }
  const std::filesystem::path path(model);
  std::error_code ignored;
  if (!std::filesystem::exists(path, ignored)) {
    std::string names;
    for (const models::CatalogEntry& entry : models::catalog()) {
      if (entry.shape) names += (names.empty() ? "" : ", ") + entry.name;
    }
    return Error{ErrorKind::kUsage, "--model " + model, "neither a file nor a model with a known shape",
                 "a GGUF file, or one of " + names};
  }
  const auto gguf = models::read_gguf(path);
  if (!gguf.ok()) return gguf.error();
  return read_model_layer(*gguf, path.filename().string());
}

ModelLayer with_weight_type(ModelLayer layer, models::TensorType type) {
  for (auto& [role, weight] : layer.weights) {
    if (weight.shape.size() > 1) weight.types = {type};
  }
  return layer;
}

}  // namespace capbench::emulate
