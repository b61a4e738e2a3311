#include "shim/emulate/decoder_layer.h"

#include <fmt/format.h>

#include <cmath>
#include <utility>

namespace capbench::emulate {
namespace {

using models::TensorType;

constexpr std::uint64_t kContextBytes = 8U << 20U;  // for tensors without data
constexpr std::uint64_t kMaskPad = 64;              // rows that older releases want a mask padded to
constexpr std::int32_t kRopeNormal = 0;
constexpr std::int32_t kRopeNeox = 2;
constexpr std::int32_t kSortDescending = 1;

std::string type_text(TensorType type) {
  return std::string(models::tensor_type_info(type).name);
}

class Builder {
 public:
  Builder(Ggml& ggml, const ModelLayer& layer, const LayerShape& shape) : ggml_(ggml), layer_(layer), shape_(shape) {}

  Result<std::vector<LayerOperator>> build() {
    start();
    const Address embedded = embed();
    const Address attended = attention(normalise(embedded, "attn_norm"));
    const Address residual = op("attn_residual", "F32 x F32", "ggml_add", {t(attended), t(embedded)});
    const Address fed = layer_.find("ffn_gate_inp") != nullptr && layer_.experts != 0
                            ? experts(normalise(residual, "ffn_norm"))
                            : feed_forward(normalise(residual, "ffn_norm"));
    if (fed != 0) {
      const Address out = op("ffn_residual", "F32 x F32", "ggml_add", {t(fed), t(residual)});
      finish(out);
    }
    if (ggml_.process().machine().failed()) {
      Error error = *ggml_.process().machine().error();
      error.what = fmt::format("{}, operator {}: {}", layer_.model, current_, error.what);
      return error;
    }
    return std::move(operators_);
  }

 private:
  Argument t(Address tensor) const { return word(tensor); }

  void start() {
    // struct ggml_init_params { mem_size, mem_buffer, no_alloc }: larger than 16 bytes, so passed by address.
    Machine& machine = ggml_.process().machine();
    const Address params = ggml_.process().heap().allocate(24);
    machine.write(params, kContextBytes);
    machine.write<std::uint64_t>(params + 16, 1);
    context_ = ggml_.call("ggml_init", {word(params)});
  }

  // A constructor whose tensor needs no computing of its own.
  Address view(std::string_view constructor, std::initializer_list<Argument> arguments) {
    return construct(constructor, arguments);
  }

  Address op(std::string role, std::string types, std::string_view constructor,
             std::initializer_list<Argument> arguments) {
    if (!ggml_.process().machine().failed()) current_ = role;
    const Address tensor = construct(constructor, arguments);
    if (tensor != 0) note(std::move(role), std::move(types), tensor);
    return tensor;
  }

  void note(std::string role, std::string types, Address tensor) {
    operators_.push_back({std::move(role), ggml_.text("ggml_op_desc", {word(tensor)}), std::move(types), tensor});
  }

  Address construct(std::string_view constructor, std::initializer_list<Argument> arguments) {
    std::vector<Argument> all{word(context_)};
    all.insert(all.end(), arguments.begin(), arguments.end());
    const auto entry = ggml_.process().find("_" + std::string(constructor));
    Machine& machine = ggml_.process().machine();
    if (!entry) {
      machine.fail({ErrorKind::kUsage, "libggml-base.dylib", fmt::format("it has no function {}", constructor),
                    "a release that is known to run"});
      return 0;
    }
    const auto result = machine.call(*entry, all);
    return result.ok() ? *result : 0;
  }

  Address tensor(TensorType type, std::uint64_t a, std::uint64_t b = 1, std::uint64_t c = 1, std::uint64_t d = 1) {
    const auto number = static_cast<std::int32_t>(type);
    return construct("ggml_new_tensor_4d", {word32(number), word(a), word(b), word(c), word(d)});
  }

  Address weight_tensor(const LayerWeight& weight, TensorType type) {
    const auto at = [&](std::size_t i) { return i < weight.shape.size() ? weight.shape[i] : 1; };
    return tensor(type, at(0), at(1), at(2));
  }

  Address embed() {
    const LayerWeight* const table = layer_.find("token_embd");
    const Address tokens = tensor(TensorType::kI32, shape_.tokens);
    if (table == nullptr) return tensor(TensorType::kF32, layer_.width, shape_.tokens);
    Address rows = 0;
    for (const TensorType type : table->types) {
      rows = op("token_embd", type_text(type) + " x I32", "ggml_get_rows", {t(weight_tensor(*table, type)), t(tokens)});
    }
    return rows;
  }

  // A norm and its factors; without a weight of that role, the input.
  Address normalise(Address input, const std::string& role) {
    const LayerWeight* const weight = layer_.find(role);
    if (weight == nullptr) return input;
    const Address normed =
        op(role, "F32", layer_.rms_norm ? "ggml_rms_norm" : "ggml_norm", {t(input), Argument(layer_.norm_epsilon)});
    return op(role + "_mul", "F32 x F32", "ggml_mul", {t(normed), t(tensor(TensorType::kF32, weight->shape[0]))});
  }

  // One operator per type that the matrix has in some layer; the last one's result goes on.
  Address multiply(const std::string& role, Address input) {
    const LayerWeight* const weight = layer_.find(role);
    if (weight == nullptr) return 0;
    Address product = 0;
    for (const TensorType type : weight->types) {
      product = op(role, type_text(type) + " x F32", "ggml_mul_mat", {t(weight_tensor(*weight, type)), t(input)});
    }
    if (const LayerWeight* const bias = layer_.find(role + ".bias"); bias != nullptr) {
      product = op(role + "_bias", "F32 x F32", "ggml_add", {t(product), t(tensor(TensorType::kF32, bias->shape[0]))});
    }
    return product;
  }

  Address heads_of(Address matrix, std::uint64_t length, std::uint64_t heads) {
    if (matrix == 0) return 0;
    return view("ggml_reshape_3d", {t(matrix), word(length), word(heads), word(shape_.tokens)});
  }

  // Part of the fused matrix's result: `heads` heads of `length` numbers, `offset` numbers into each token's row.
  Address part_of(Address fused, std::uint64_t row, std::uint64_t length, std::uint64_t heads, std::uint64_t offset) {
    constexpr std::uint64_t kFloat = 4;
    return view("ggml_view_3d", {t(fused), word(length), word(heads), word(shape_.tokens), word(length * kFloat),
                                 word(row * kFloat), word(offset * kFloat)});
  }

  Address rope(const std::string& role, Address input, Address positions) {
    return op(role, "F32 x I32", "ggml_rope_ext",
              {t(input), t(positions), word(0), word32(static_cast<std::int32_t>(layer_.rope_dimensions)),
               word32(layer_.rope_neox ? kRopeNeox : kRopeNormal), word32(4096), Argument(10000.0F), Argument(1.0F),
               Argument(0.0F), Argument(1.0F), Argument(32.0F), Argument(1.0F)});
  }

  Address attention(Address input) {
    const std::uint64_t key_row = layer_.key_length * layer_.kv_heads;
    const std::uint64_t value_row = layer_.value_length * layer_.kv_heads;
    Address q = 0;
    Address k = 0;
    Address v = 0;
    if (layer_.find("attn_q") != nullptr) {
      q = heads_of(multiply("attn_q", input), layer_.key_length, layer_.heads);
      k = heads_of(multiply("attn_k", input), layer_.key_length, layer_.kv_heads);
      v = layer_.find("attn_v") != nullptr ? heads_of(multiply("attn_v", input), layer_.value_length, layer_.kv_heads)
                                           : k;
    } else {
      const Address fused = multiply("attn_qkv", input);
      const std::uint64_t query_row = layer_.key_length * layer_.heads;
      const std::uint64_t row = query_row + key_row + value_row;
      q = part_of(fused, row, layer_.key_length, layer_.heads, 0);
      k = part_of(fused, row, layer_.key_length, layer_.kv_heads, query_row);
      v = part_of(fused, row, layer_.value_length, layer_.kv_heads, query_row + key_row);
    }
    q = normalise(q, "attn_q_norm");
    k = normalise(k, "attn_k_norm");
    const Address positions = tensor(TensorType::kI32, shape_.tokens);
    q = rope("rope_q", q, positions);
    k = rope("rope_k", k, positions);
    store("k_cache", k, key_row, false);
    store("v_cache", v, value_row, !shape_.flash_attention);
    return multiply_output(shape_.flash_attention ? flash(q) : separate(q));
  }

  Address multiply_output(Address attended) {
    const Address product = multiply("attn_output", attended);
    return product == 0 ? attended : product;
  }

  // What the batch adds to the cache. Without flash attention values are kept transposed.
  void store(const std::string& role, Address rows, std::uint64_t length, bool transposed) {
    const std::string types = "F32 x " + type_text(shape_.cache);
    Address source = rows;
    if (!contiguous(rows)) source = op(role + "_cont", "F32", "ggml_cont", {t(rows)});
    if (ggml_.has("ggml_set_rows")) {
      const std::uint64_t width = transposed ? 1 : length;
      const std::uint64_t count = transposed ? length * shape_.tokens : shape_.tokens;
      const std::uint64_t total = transposed ? length * shape_.cells : shape_.cells;
      source = view("ggml_reshape_2d", {t(source), word(width), word(count)});
      op(role, types, "ggml_set_rows",
         {t(tensor(shape_.cache, width, total)), t(source), t(tensor(TensorType::kI64, count))});
      return;
    }
    source = view("ggml_reshape_2d", {t(source), word(length), word(shape_.tokens)});
    Address target = tensor(shape_.cache, length, shape_.tokens);
    if (transposed) {
      source = view("ggml_transpose", {t(source)});
      target = tensor(shape_.cache, shape_.tokens, length);
    }
    op(role, types, "ggml_cpy", {t(source), t(target)});
  }

  bool contiguous(Address tensor_address) {
    return (ggml_.call("ggml_is_contiguous", {word(tensor_address)}) & 0xffU) != 0;
  }

  std::uint64_t mask_rows() const { return (shape_.tokens + kMaskPad - 1) / kMaskPad * kMaskPad; }
  float scale() const { return 1.0F / std::sqrt(static_cast<float>(layer_.key_length)); }

  Address permuted(Address matrix) {
    return view("ggml_permute", {t(matrix), word32(0), word32(2), word32(1), word32(3)});
  }

  // The cache as attention reads it: [length, cells, heads].
  Address cached(std::uint64_t length) { return permuted(tensor(shape_.cache, length, layer_.kv_heads, shape_.cells)); }

  Address flash(Address q) {
    const Address mask = tensor(TensorType::kF16, shape_.cells, mask_rows());
    const Address attended =
        op("attention", fmt::format("F32 x {} x {}", type_text(shape_.cache), type_text(shape_.cache)),
           "ggml_flash_attn_ext",
           {t(permuted(q)), t(cached(layer_.key_length)), t(cached(layer_.value_length)), t(mask), Argument(scale()),
            Argument(0.0F), Argument(layer_.attention_softcap)});
    return view("ggml_reshape_2d", {t(attended), word(layer_.value_length * layer_.heads), word(shape_.tokens)});
  }

  Address separate(Address q) {
    Address kq =
        op("kq", type_text(shape_.cache) + " x F32", "ggml_mul_mat", {t(cached(layer_.key_length)), t(permuted(q))});
    if (layer_.attention_softcap > 0) {
      kq = op("kq_cap", "F32", "ggml_scale", {t(kq), Argument(1.0F / layer_.attention_softcap)});
      kq = op("kq_cap", "F32", "ggml_tanh", {t(kq)});
      kq = op("kq_cap", "F32", "ggml_scale", {t(kq), Argument(layer_.attention_softcap)});
    }
    const Address mask = tensor(TensorType::kF32, shape_.cells, mask_rows());
    kq = op("kq_softmax", "F32 x F32", "ggml_soft_max_ext", {t(kq), t(mask), Argument(scale()), Argument(0.0F)});
    const Address values = tensor(shape_.cache, shape_.cells, layer_.value_length, layer_.kv_heads);
    const Address weighted = op("kqv", type_text(shape_.cache) + " x F32", "ggml_mul_mat", {t(values), t(kq)});
    return op("kqv_cont", "F32", "ggml_cont_2d",
              {t(permuted(weighted)), word(layer_.value_length * layer_.heads), word(shape_.tokens)});
  }

  // gate and up, already multiplied, to what the down matrix takes.
  Address activate(Address gate, Address up) {
    const std::string_view fused = layer_.gelu ? "ggml_geglu_split" : "ggml_swiglu_split";
    if (gate != 0 && ggml_.has(fused)) return op("ffn_act", "F32 x F32", fused, {t(gate), t(up)});
    const Address active = op("ffn_act", "F32", layer_.gelu ? "ggml_gelu" : "ggml_silu", {t(gate != 0 ? gate : up)});
    return gate == 0 ? active : op("ffn_gate_mul", "F32 x F32", "ggml_mul", {t(active), t(up)});
  }

  Address feed_forward(Address input) {
    const Address gate = multiply("ffn_gate", input);
    const Address up = multiply("ffn_up", input);
    if (up == 0) return 0;
    return multiply("ffn_down", activate(gate, up));
  }

  Address multiply_chosen(const std::string& role, Address input, Address chosen) {
    const LayerWeight* const weight = layer_.find(role);
    if (weight == nullptr) return 0;
    Address product = 0;
    for (const TensorType type : weight->types) {
      product = op(role, type_text(type) + " x F32", "ggml_mul_mat_id",
                   {t(weight_tensor(*weight, type)), t(input), t(chosen)});
    }
    return product;
  }

  Address experts(Address input) {
    const Address logits = multiply("ffn_gate_inp", input);
    const Address probabilities = op("ffn_moe_probs", "F32", "ggml_soft_max", {t(logits)});
    const auto used = static_cast<std::int32_t>(layer_.experts_used);
    const Address sorted = op("ffn_moe_topk", "F32", "ggml_argsort", {t(probabilities), word32(kSortDescending)});
    const Address chosen = view("ggml_view_2d", {t(sorted), word32(used), word(shape_.tokens),
                                                 word(layer_.experts * sizeof(std::int32_t)), word(0)});
    const Address column =
        view("ggml_reshape_3d", {t(probabilities), word(1), word(layer_.experts), word(shape_.tokens)});
    const Address weights = op("ffn_moe_weights", "F32 x I32", "ggml_get_rows", {t(column), t(chosen)});
    const Address spread = view("ggml_reshape_3d", {t(input), word(layer_.width), word(1), word(shape_.tokens)});
    const Address up = multiply_chosen("ffn_up_exps", spread, chosen);
    const Address gate = multiply_chosen("ffn_gate_exps", spread, chosen);
    if (up == 0) return 0;
    const Address down = multiply_chosen("ffn_down_exps", activate(gate, up), chosen);
    const Address weighted = op("ffn_moe_weighted", "F32 x F32", "ggml_mul", {t(down), t(weights)});
    // The experts' results are added up as views, each with every n-th row.
    const std::uint64_t row = layer_.width * sizeof(float);
    Address sum = 0;
    for (std::uint64_t i = 0; i < std::min<std::uint64_t>(layer_.experts_used, 2); ++i) {
      const Address one = view("ggml_view_2d", {t(weighted), word(layer_.width), word(shape_.tokens),
                                                word(layer_.experts_used * row), word(i * row)});
      sum = sum == 0 ? one : op("ffn_moe_add", "F32 x F32", "ggml_add", {t(sum), t(one)});
    }
    return sum != 0 && layer_.experts_used == 1 ? op("ffn_moe_cont", "F32", "ggml_cont", {t(sum)}) : sum;
  }

  void finish(Address out) {
    const Address last = op("last_tokens", "F32 x I32", "ggml_get_rows", {t(out), t(tensor(TensorType::kI32, 1))});
    const Address normed = normalise(last, "output_norm");
    if (multiply("output", normed) != 0) return;
    // Without a matrix of its own the model uses the embedding's.
    const LayerWeight* const table = layer_.find("token_embd");
    if (table == nullptr) return;
    for (const TensorType type : table->types) {
      op("output", type_text(type) + " x F32", "ggml_mul_mat", {t(weight_tensor(*table, type)), t(normed)});
    }
  }

  Ggml& ggml_;
  const ModelLayer& layer_;
  const LayerShape& shape_;
  Address context_ = 0;
  std::string current_;
  std::vector<LayerOperator> operators_;
};

}  // namespace

Result<std::vector<LayerOperator>> build_decoder_layer(Ggml& ggml, const ModelLayer& layer, const LayerShape& shape) {
  return Builder(ggml, layer, shape).build();
}

}  // namespace capbench::emulate
