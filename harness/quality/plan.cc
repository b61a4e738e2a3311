#include "harness/quality/plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "models/gguf.h"
#include "models/tensor_type.h"
#include "models/twin_plan.h"

namespace capbench::quality {
namespace {

// As ggml writes a type's name in lists of tests: "q4_K", "iq2_xxs", "f16".
std::string ggml_name(std::string_view name) {
  std::string text(name);
  std::transform(text.begin(), text.end(), text.begin(),
                 [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; });
  if (text.ends_with("_k")) text.back() = 'K';
  return text;
}

Error bad(std::string cause, std::string remedy) {
  return {ErrorKind::kUsage, "quality", std::move(cause), std::move(remedy)};
}

Status check(const Settings& settings, const ModelFacts& model) {
  constexpr std::int64_t kMaxCtx = 1 << 16;
  constexpr std::int64_t kMaxChunks = 1 << 12;
  if (settings.ctx < 8 || settings.ctx > kMaxCtx) {
    return bad(fmt::format("a ctx of {} tokens", settings.ctx), fmt::format("8 to {}", kMaxCtx));
  }
  if (settings.chunks < 2 || settings.chunks > kMaxChunks) {
    return bad(fmt::format("{} chunks", settings.chunks), fmt::format("2 to {}", kMaxChunks));
  }
  const std::int64_t positions = runtime::judged_positions(settings.ctx, settings.chunks);
  if (positions < runtime::kFewestPositions) {
    return bad(fmt::format("{} chunks of {} tokens give {} positions to judge, fewer than {}", settings.chunks,
                           settings.ctx, positions, runtime::kFewestPositions),
               "more chunks, or a larger ctx");
  }
  if (model.context != 0 && static_cast<std::uint64_t>(settings.ctx) > model.context) {
    return bad(fmt::format("a ctx of {} tokens, and the model's is {}", settings.ctx, model.context), "a smaller ctx");
  }
  for (const double limit : {settings.max_mean_kl, settings.max_kl}) {
    if (!std::isfinite(limit) || limit <= 0) {
      return bad(fmt::format("a divergence of at most {}", limit), "a limit above 0");
    }
  }
  return {};
}

std::string why_impossible(const ModelFacts& model) {
  if (model.vocabulary == 0) return "the model has no vocabulary to read a text with";
  if (model.twin_fill == "pattern") return "a pattern twin's output means nothing; a planted twin's does";
  return "";
}

runtime::PerplexityRun run_of(const Plan& plan, const Places& places) {
  return {places.llama_perplexity, places.model, places.text, places.base, plan.settings.ctx, plan.settings.chunks};
}

std::vector<std::string> operators_of(const Plan& plan) {
  std::vector<std::string> names;
  for (const std::string& name : plan.settings.operators) {
    for (const std::string& one :
         name == "model" ? runtime::model_operators(plan.model.experts) : std::vector<std::string>{name}) {
      if (std::find(names.begin(), names.end(), one) == names.end()) names.push_back(one);
    }
  }
  return names;
}

}  // namespace

ModelFacts facts_of(const models::Gguf& gguf) {
  ModelFacts facts;
  const std::string architecture = models::find_string(gguf, "general.architecture").value_or("");
  const auto of_architecture = [&](std::string_view key) {
    return models::find_unsigned(gguf, fmt::format("{}.{}", architecture, key)).value_or(0);
  };
  facts.twin_fill = models::find_string(gguf, models::kTwinFillKey).value_or("");
  if (const models::GgufValue* tokens = models::find_key(gguf, "tokenizer.ggml.tokens")) {
    if (const auto* list = std::get_if<models::GgufArray>(tokens)) facts.vocabulary = list->count;
  }
  facts.context = of_architecture("context_length");
  facts.experts = of_architecture("expert_count") != 0;
  facts.needs.head_size = of_architecture("attention.key_length");
  const std::uint64_t heads = of_architecture("attention.head_count");
  if (facts.needs.head_size == 0 && heads != 0) facts.needs.head_size = of_architecture("embedding_length") / heads;
  for (const models::GgufTensor& tensor : gguf.tensors) {
    if (tensor.shape.size() < 2) continue;
    std::string name = ggml_name(models::tensor_type_info(tensor.type).name);
    auto& types = facts.needs.weight_types;
    if (std::find(types.begin(), types.end(), name) == types.end()) types.push_back(std::move(name));
  }
  std::sort(facts.needs.weight_types.begin(), facts.needs.weight_types.end());
  return facts;
}

Result<Plan> make_plan(const Settings& settings, const ModelFacts& model, const std::optional<std::string>& own) {
  if (Status status = check(settings, model); !status) return status.error();
  Plan plan{settings, model, {}, why_impossible(model)};
  const std::int64_t tokens = settings.ctx * settings.chunks;
  if (own) {
    // Nobody can count another tokenizer's tokens here; below a byte per token no tokenizer has enough.
    if (static_cast<std::int64_t>(own->size()) < tokens) {
      return bad(fmt::format("the text {} has {} bytes, too few for {} tokens", settings.text, own->size(), tokens),
                 "a longer text, fewer chunks or a smaller ctx");
    }
    plan.text = own_text(settings.text, *own);
  } else if (model.twin_fill == "planted") {
    plan.text = sequence_text(tokens);
  } else {
    auto text = english_text(tokens);
    if (!text) return std::move(text).error();
    plan.text = std::move(*text);
  }
  return plan;
}

std::string_view step_name(Step step) {
  switch (step) {
    case Step::kBase:
      return "base";
    case Step::kPrompt:
      return "prompt";
    case Step::kDecode:
      return "decode";
    case Step::kOperators:
      return "operators";
  }
  return "";
}

std::uint64_t base_size(const Plan& plan) {
  return runtime::base_file_size(plan.settings.ctx, plan.settings.chunks, plan.model.vocabulary);
}

std::string operator_device(const runtime::PerplexityTreatment& arm) {
  if (arm.device == "none" || (arm.device.empty() && arm.gpu_layers == 0)) return "CPU";
  return arm.device.substr(0, arm.device.find_first_of("/,"));
}

Result<Job> base_job(const Plan& plan, const Places& places, const runtime::PerplexityTreatment& reference) {
  auto argv = runtime::perplexity_base_argv(run_of(plan, places), reference);
  if (!argv) return std::move(argv).error();
  return Job{Step::kBase, std::move(*argv), places.text, places.base};
}

Result<std::vector<Job>> arm_jobs(const Plan& plan, const Places& places, const runtime::PerplexityTreatment& arm,
                                  const Scope& scope) {
  std::vector<Job> jobs;
  for (const Step step : {Step::kPrompt, Step::kDecode}) {
    const bool prompt = step == Step::kPrompt;
    if (!(prompt ? scope.prompt : scope.decode)) continue;
    auto argv = runtime::perplexity_compare_argv(run_of(plan, places), arm,
                                                 prompt ? runtime::Batch::kPrompt : runtime::Batch::kDecode);
    if (!argv) return std::move(argv).error();
    jobs.push_back({step, std::move(*argv), places.base, ""});
  }
  const std::vector<std::string> operators = operators_of(plan);
  if (operators.empty()) return jobs;
  const std::string device = operator_device(arm);
  if (device.empty()) {
    return bad("operators cannot be tried on a device that the arm does not name",
               "name the arm's device, or leave the operators out");
  }
  for (auto& argv : runtime::test_backend_ops_argvs(places.test_backend_ops, device, operators, plan.model.needs)) {
    jobs.push_back({Step::kOperators, std::move(argv), "", ""});
  }
  return jobs;
}

}  // namespace capbench::quality
