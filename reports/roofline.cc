#include "reports/roofline.h"

#include <algorithm>
#include <string_view>

#include "models/twin_plan.h"

namespace capbench::reports {
namespace {

// A prompt this short is bound by reading the weights as much as by arithmetic.
constexpr std::int64_t kFewestPromptTokens = 32;

constexpr std::string_view kEmbedding = "token_embd.weight";
constexpr std::string_view kOutput = "output.weight";

struct TensorFacts {
  std::string_view name;
  double elements = 0;
  double bytes = 0;
  double rows = 1;  // the product of all dimensions but the first
  std::size_t dimensions = 1;
};

bool is_expert(std::string_view name) {
  return name.find("_exps.") != std::string_view::npos;
}

// Looked up by token, or read by no layer of the decoder.
bool is_looked_up(std::string_view name) {
  return name == kEmbedding || name.starts_with("per_layer_token_embd.") || name.starts_with("position_embd.") ||
         name.starts_with("token_types.");
}

// `active` of experts, 1 for a model without any. `tied`: the output is the token embedding.
void add(const TensorFacts& tensor, double active, bool tied, ModelReads& reads) {
  const double share = is_expert(tensor.name) ? active : 1;
  const bool is_output = tensor.name == kOutput || (tied && tensor.name == kEmbedding);
  if (is_looked_up(tensor.name) && !is_output) {
    reads.generation_bytes += tensor.bytes / std::max(1.0, tensor.rows);
    return;
  }
  reads.generation_bytes += share * tensor.bytes;
  if (tensor.dimensions > 1 && !is_output) reads.prompt_parameters += share * tensor.elements;
}

template <class Tensor>
TensorFacts facts_of(const Tensor& tensor) {
  TensorFacts facts;
  facts.name = tensor.name;
  facts.elements = static_cast<double>(tensor.elements);
  facts.bytes = static_cast<double>(tensor.bytes);
  facts.dimensions = tensor.shape.size();
  const double row = tensor.shape.empty() ? 1 : static_cast<double>(tensor.shape.front());
  facts.rows = row > 0 ? facts.elements / row : 1;
  return facts;
}

template <class Tensors>
ModelReads reads_of_tensors(const Tensors& tensors, double active) {
  const bool tied =
      std::none_of(tensors.begin(), tensors.end(), [](const auto& tensor) { return tensor.name == kOutput; });
  ModelReads reads;
  reads.exact = true;
  for (const auto& tensor : tensors) add(facts_of(tensor), active, tied, reads);
  return reads;
}

}  // namespace

ModelReads reads_of(const models::Gguf& gguf) {
  const std::string architecture = models::find_string(gguf, "general.architecture").value_or("");
  const auto experts = models::find_unsigned(gguf, architecture + ".expert_count");
  const auto used = models::find_unsigned(gguf, architecture + ".expert_used_count");
  double active = 1;
  if (experts && used && *experts > 0 && *used <= *experts) {
    active = static_cast<double>(*used) / static_cast<double>(*experts);
  }
  return reads_of_tensors(gguf.tensors, active);
}

std::optional<ModelReads> reads_of(const models::Shape& shape) {
  const auto plan = models::plan_twin(shape, 1, models::Fill::kPattern);
  if (!plan.ok()) return std::nullopt;
  return reads_of_tensors(plan->head.layout.tensors, 1);
}

std::optional<ModelReads> reads_of(const schema::ResultRecord& result) {
  if (result.model_size <= 0 || result.model_n_params <= 0) return std::nullopt;
  return ModelReads{static_cast<double>(result.model_size), static_cast<double>(result.model_n_params), false};
}

RooflineShare roofline_share(double tokens_per_second, std::int64_t n_prompt, std::int64_t n_gen,
                             const std::optional<DeviceLimits>& device, const std::optional<ModelReads>& reads) {
  RooflineShare share;
  const bool generation = n_prompt == 0 && n_gen > 0;
  const bool prompt = n_gen == 0 && n_prompt >= kFewestPromptTokens;
  if (!device) {
    share.why = "unknown device";
  } else if (!reads) {
    share.why = "unknown model size";
  } else if (!generation && !prompt) {
    share.why = "neither a long prompt nor generation alone";
  } else if (generation && reads->generation_bytes <= static_cast<double>(device->cache_bytes)) {
    // Once read they come from there: of the memory's bandwidth nothing is needed.
    share.why = "the weights fit the cache";
  } else {
    share.bound = generation ? "bandwidth" : "arithmetic";
    const Limit& limit = generation ? device->bandwidth : device->arithmetic;
    const double per_token = generation ? reads->generation_bytes : 2 * reads->prompt_parameters;
    share.percent = 100 * per_token * tokens_per_second / limit.value;
    share.approximate = !reads->exact;
    share.over = *share.percent > 100;
    share.compared = limit.compared;
    share.source = limit.source;
  }
  return share;
}

}  // namespace capbench::reports
