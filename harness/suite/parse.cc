#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/digest.h"
#include "base/utf8.h"
#include "harness/design/expand.h"
#include "harness/suite/check.h"
#include "harness/suite/limits.h"
#include "harness/suite/machine.h"
#include "harness/suite/members.h"
#include "harness/suite/readers.h"
#include "harness/suite/strict_json.h"
#include "harness/suite/suite.h"

namespace capbench::suite {
namespace {

using nlohmann::json;

Runtime read_runtime(const json& node, const std::string& path, Problem& problem) {
  const Members members(node, path, kRuntimeKeys, problem);
  Runtime runtime;
  runtime.kind = members.one_of("kind", kRuntimeKinds, runtime.kind);
  runtime.executable = members.text("executable", kPathBytes);
  if (runtime.kind == kGoogleBenchmark && runtime.executable.empty()) {
    problem.report(members.path_of("executable"), "missing; a Google Benchmark program has no usual name",
                   "its path, relative to the suite file");
  }
  return runtime;
}

// Where the model comes from: one of three.
void read_origin(const Members& members, std::string_view runtime, Model& model, Problem& problem) {
  constexpr std::string_view kRemedy =
      R"("file" for a model file, "catalog" for a pinned one, or "like" for a twin written on first use)";
  std::string_view origin;
  for (const std::string_view key : {"file", "like", "catalog"}) {
    if (!members.has(key)) continue;
    if (!origin.empty()) {
      problem.report(members.path(), fmt::format(R"(both "{}" and "{}")", origin, key), std::string(kRemedy));
      return;
    }
    origin = key;
  }
  if (origin.empty()) {
    problem.report(members.path(), R"(none of "file", "like" and "catalog")", std::string(kRemedy));
  }
  if (members.has("like") && runtime != kLlamaBench) {
    problem.report(members.path_of("like"), fmt::format("a twin is a GGUF file, which {} does not read", runtime),
                   R"("file" or "catalog")");
  }
  if (members.has("file")) {
    model.file = read_path(members, "file", problem);
    if (model.file.find(',') != std::string::npos) {
      problem.report(members.path_of("file"), in_quotes(model.file) + " has a comma, at which llama-bench splits paths",
                     "rename the file, or link it under another name");
    }
  }
  if (members.has("catalog")) model.catalog = read_name(members, "catalog", problem);
  if (members.has("like")) {
    model.like = read_name(members, "like", problem);
    model.seed = static_cast<std::uint64_t>(members.integer("seed", kSeedRange, 1));
  } else if (members.has("seed")) {
    problem.report(members.path_of("seed"), "only a twin has a seed", "remove it, or use \"like\"");
  }
}

Model read_model(const json& node, const std::string& path, std::string_view runtime, Problem& problem) {
  const Members members(node, path, kModelKeys, problem);
  Model model;
  model.name = read_name(members, "name", problem);
  read_origin(members, runtime, model, problem);
  model.sha256 = members.text("sha256", kPathBytes);
  if (members.has("sha256") && !is_sha256(model.sha256)) {
    problem.report(members.path_of("sha256"), in_quotes(model.sha256) + "; expected 64 lowercase hexadecimal digits");
  }
  model.kind = members.one_of("kind", kModelKinds, members.has("like") ? "twin" : "real");
  if (members.has("like") && model.kind != "twin") {
    problem.report(members.path_of("kind"), in_quotes(model.kind) + "; a model that is \"like\" another is a twin",
                   "remove it");
  }
  if (members.has("catalog") && model.kind != "real") {
    problem.report(members.path_of("kind"), in_quotes(model.kind) + "; a model of the catalog is a real one",
                   R"(remove it, or "like" in place of "catalog")");
  }
  return model;
}

bool all_zero(const std::vector<std::int64_t>& values) {
  return std::all_of(values.begin(), values.end(), [](std::int64_t value) { return value == 0; });
}

void check_runtime_members(const Members& members, const Workload& workload, std::string_view runtime,
                           Problem& problem) {
  for (const std::string_view key : {"d", "t", "ngl", "fa"}) only_with(members, key, runtime, kLlamaBench, problem);
  only_with(members, "filter", runtime, kGoogleBenchmark, problem);
  if (runtime == kGoogleBenchmark) {
    for (const std::string_view key : {"p", "n"}) only_with(members, key, runtime, kLlamaBench, problem);
    return;
  }
  if (runtime == kMlxLm) {
    only_with(members, "args", runtime, kLlamaBench, problem);
    for (const auto& [key, values] : {std::pair("p", workload.n_prompt), std::pair("n", workload.n_gen)}) {
      if (values.size() == 1 && values[0] > 0) continue;
      problem.report(members.path_of(key), "mlx-lm times one prompt and one generation of it together",
                     "one integer above 0");
    }
  }
  if (all_zero(workload.n_prompt) && all_zero(workload.n_gen)) {
    problem.report(members.path(), R"("p" and "n" are both 0, so nothing would be measured)", R"("p": 512, "n": 128)");
  }
}

Workload read_workload(const json& node, const std::string& path, std::string_view runtime, Problem& problem) {
  const Members members(node, path, kWorkloadKeys, problem);
  Workload workload;
  workload.name = read_name(members, "name", problem);
  workload.n_prompt = members.integers("p", kTokenRange, kTests, 0);
  workload.n_gen = members.integers("n", kTokenRange, kTests, 0);
  workload.n_depth = members.integers("d", kTokenRange, kTests, 0);
  workload.repetitions = members.integer("r", kRepetitionRange, workload.repetitions);
  workload.threads = members.optional_integer("t", kThreadRange);
  workload.gpu_layers = members.optional_integer("ngl", kLayerRange);
  workload.flash_attention = members.one_of("fa", kFlashAttention, "");
  workload.filter = members.text("filter", kFilterBytes);
  workload.extra_args = read_arguments(members, runtime, ArgumentsOf::kWorkload, problem);
  check_runtime_members(members, workload, runtime, problem);
  return workload;
}

Hygiene read_hygiene(const json& node, const std::string& path, Problem& problem) {
  const Members members(node, path, kHygieneKeys, problem);
  Hygiene hygiene;
  hygiene.gate = members.one_of("gate", kGates, hygiene.gate);
  hygiene.wait_s = members.number("wait_s", 0, false, kLongestWait, hygiene.wait_s);
  hygiene.max_load = members.optional_number("max_load", 0, true, kMostLoad);
  hygiene.max_gpu_use_percent = members.optional_number("max_gpu_use_percent", 0, false, 100);
  hygiene.min_memory_free_percent = members.optional_number("min_memory_free_percent", 0, false, 100);
  hygiene.max_temperature_c = members.optional_number("max_temperature_c", 0, true, kHottest);
  hygiene.require_ac = members.boolean("require_ac", hygiene.require_ac);
  hygiene.vms = members.one_of("vms", kVms, hygiene.vms);
  return hygiene;
}

Until read_until(const json& node, const std::string& path, Problem& problem) {
  const Members members(node, path, kUntilKeys, problem);
  Until until;
  until.ci_half_width = members.number("ci_half_width", 0, true, kWidestHalfWidth, until.ci_half_width);
  until.max_trials = members.integer("max_trials", kMaxTrialsRange, until.max_trials);
  return until;
}

Protocol read_protocol(const json& node, const std::string& path, Problem& problem) {
  const Members members(node, path, kProtocolKeys, problem);
  Protocol protocol;
  protocol.trials = members.integer("trials", kTrialRange, protocol.trials);
  protocol.order =
      members.one_of("order", kOrders, kOrders[0]) == kOrders[0] ? Order::kRandomBlocks : Order::kAsWritten;
  protocol.seed = static_cast<std::uint64_t>(members.integer("seed", kSeedRange, 1));
  protocol.time_limit_s = members.number("time_limit_s", 0, true, kLongestLimit, protocol.time_limit_s);
  protocol.cooldown_s = members.number("cooldown_s", 0, false, kLongestCooldown, protocol.cooldown_s);
  protocol.warmup_trials = members.integer("warmup_trials", kWarmupRange, protocol.warmup_trials);
  protocol.verbose_trial = members.boolean("verbose_trial", protocol.verbose_trial);
  protocol.preload_s = members.number("preload_s", 0, false, kLongestPreload, protocol.preload_s);
  if (members.has("hygiene")) {
    protocol.hygiene = read_hygiene(*members.find("hygiene"), members.path_of("hygiene"), problem);
  }
  if (members.has("until")) {
    protocol.until = read_until(*members.find("until"), members.path_of("until"), problem);
    if (protocol.until->max_trials < protocol.trials) {
      problem.report(
          members.path_of("until") + ".max_trials",
          fmt::format("{} is less than the {} trials of the protocol", protocol.until->max_trials, protocol.trials),
          fmt::format("{} or more", protocol.trials));
    }
  }
  return protocol;
}

std::optional<Complaint> check_operator(std::string_view name) {
  const bool word = !name.empty() && name.size() <= kOpBytes && std::all_of(name.begin(), name.end(), [](char c) {
    return (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
  });
  if (word) return std::nullopt;
  return Complaint{in_quotes(name) + "; expected an operator's name in capitals", "a name like \"MUL_MAT\""};
}

Quality read_quality(const json& node, const std::string& path, Problem& problem) {
  const Members members(node, path, kQualityKeys, problem);
  Quality quality;
  quality.text = members.has("text") ? read_path(members, "text", problem) : quality.text;
  quality.max_mean_kl = members.number("max_mean_kl", 0, true, kMostKl, quality.max_mean_kl);
  quality.max_kl = members.number("max_kl", 0, true, kMostKl, quality.max_kl);
  quality.chunks = members.integer("chunks", kChunkRange, quality.chunks);
  quality.ctx = members.integer("ctx", kContextRange, quality.ctx);
  quality.ops = members.texts("ops", kOps, kPathBytes);
  for (std::size_t i = 0; i < quality.ops.size(); ++i) {
    complain(problem, fmt::format("{}[{}]", members.path_of("ops"), i), check_operator(quality.ops[i]));
  }
  return quality;
}

void check_total(const Suite& suite, Problem& problem) {
  // At most 1000 * 1000 * 1256 * 10000, far from overflow.
  const std::int64_t trials =
      suite.protocol.until ? std::max(suite.protocol.trials, suite.protocol.until->max_trials) : suite.protocol.trials;
  const auto total =
      static_cast<std::int64_t>(suite.models.size() * suite.workloads.size() * suite.arms.size()) * trials;
  if (total <= kTotalTrials) return;
  problem.report(
      "$",
      fmt::format("{} models x {} workloads x {} arms x {} trials are {} processes; expected at most {}",
                  suite.models.size(), suite.workloads.size(), suite.arms.size(), trials, total, kTotalTrials),
      "split the suite");
}

// An option in an arm and in a workload would make llama-bench run every combination.
void check_argument_clash(const Workload& workload, const std::string& where, const std::vector<std::string>& arguments,
                          const std::string& path, Problem& problem) {
  if (const std::string option = common_option(workload.extra_args, arguments); !option.empty()) {
    problem.report(path, fmt::format("{} is also in \"args\" of {}", in_quotes(option), where),
                   "remove one of the two; llama-bench would run every combination");
  }
  struct Owned {
    std::string_view key;
    std::string_view option;
    bool given;
  };
  for (const Owned& owned :
       {Owned{"t", "-t", workload.threads.has_value()}, Owned{"ngl", "-ngl", workload.gpu_layers.has_value()},
        Owned{"fa", "-fa", !workload.flash_attention.empty()}}) {
    if (!owned.given || !has_option(arguments, owned.option)) continue;
    problem.report(path, fmt::format("\"{}\" is also \"{}\" of {}", owned.option, owned.key, where),
                   fmt::format("remove \"{}\" there; llama-bench would run every combination", owned.key));
  }
}

void check_argument_clashes(const Suite& suite, Problem& problem) {
  if (suite.runtime.kind != kLlamaBench) return;
  for (std::size_t w = 0; w < suite.workloads.size(); ++w) {
    const std::string where = fmt::format("$.workloads[{}]", w);
    for (std::size_t i = 0; i + suite.designed_arms < suite.arms.size(); ++i) {
      check_argument_clash(suite.workloads[w], where, suite.arms[i].args, fmt::format("$.arms[{}].args", i), problem);
    }
    if (!suite.design) continue;
    check_argument_clash(suite.workloads[w], where, suite.design->base.args, "$.design.base.args", problem);
    for (std::size_t i = 0; i < suite.design->factors.size(); ++i) {
      const Factor& factor = suite.design->factors[i];
      if (factor.kind != Factor::Kind::kArgument) continue;
      check_argument_clash(suite.workloads[w], where, {factor.name}, fmt::format("$.design.factors[{}].arg", i),
                           problem);
    }
  }
}

void read_arms(const Members& members, Suite& suite, Problem& problem) {
  if (members.has("arms") || !members.has("design")) {
    read_elements(members, "arms", problem, [&](const json& node, const std::string& path) {
      suite.arms.push_back(read_arm(node, path, suite.runtime.kind, problem));
      if (!problem.found()) check_target(suite.arms.back().target, path + ".target", suite.targets, problem);
    });
    if (!problem.found()) check_names(suite.arms, "$.arms", problem);
  }
  if (problem.found() || !members.has("design")) return;
  suite.design = read_design(*members.find("design"), "$.design", suite.runtime.kind, problem);
  if (!problem.found()) check_target(suite.design->base.target, "$.design.base.target", suite.targets, problem);
  if (problem.found()) return;
  if (auto status = design::expand_into(suite); !status) {
    const Error& error = status.error();
    problem.report(error.what, error.cause, error.remedy);
  }
  if (!problem.found() && suite.arms.size() > kItems) {
    problem.report("$.design",
                   fmt::format("{} arms with those of \"arms\"; expected at most {}", suite.arms.size(), kItems),
                   "split the suite");
  }
}

void read_models(const Members& members, Suite& suite, Problem& problem) {
  if (suite.runtime.kind == kGoogleBenchmark) {
    if (members.has("models")) {
      problem.report("$.models", "the runtime is google-benchmark, which loads no model", "remove it");
    }
    Model none;
    none.name = kNoModel;
    none.kind = "none";
    suite.models.push_back(std::move(none));
    return;
  }
  read_elements(members, "models", problem, [&](const json& node, const std::string& path) {
    suite.models.push_back(read_model(node, path, suite.runtime.kind, problem));
  });
  if (!problem.found()) check_names(suite.models, "$.models", problem);
}

Suite read_suite(const json& document, Problem& problem) {
  Suite suite;
  const Members members(document, "$", kSuiteKeys, problem);
  if (members.require("capbench", "1, the version of this format") &&
      !as_integer(*members.find("capbench"), kVersionRange)) {
    problem.expected("$.capbench", *members.find("capbench"), "1, the version of this format",
                     "a capbench that knows this version");
  }
  suite.name = read_name(members, "name", problem);
  suite.description = members.text("description", kTextBytes);
  if (members.has("runtime")) suite.runtime = read_runtime(*members.find("runtime"), "$.runtime", problem);
  if (members.has("targets")) suite.targets = read_targets(*members.find("targets"), "$.targets", problem);
  if (!problem.found()) read_models(members, suite, problem);
  if (!problem.found()) {
    read_elements(members, "workloads", problem, [&](const json& node, const std::string& path) {
      suite.workloads.push_back(read_workload(node, path, suite.runtime.kind, problem));
    });
  }
  if (!problem.found()) check_names(suite.workloads, "$.workloads", problem);
  if (!problem.found()) read_arms(members, suite, problem);
  if (members.has("protocol")) suite.protocol = read_protocol(*members.find("protocol"), "$.protocol", problem);
  if (suite.protocol.verbose_trial && suite.runtime.kind != kLlamaBench) {
    problem.report("$.protocol.verbose_trial", fmt::format("the runtime {} has no -v", suite.runtime.kind),
                   "leave it out");
  }
  if (members.has("quality")) {
    suite.quality = read_quality(*members.find("quality"), "$.quality", problem);
    only_with(members, "quality", suite.runtime.kind, kLlamaBench, problem);
  }
  if (!problem.found()) check_argument_clashes(suite, problem);
  if (!problem.found()) check_total(suite, problem);
  return suite;
}

}  // namespace

std::string machine_of(const Suite& suite, const Arm& arm) {
  return machine_of(arm.target, suite.targets);
}

Result<Suite> parse_suite(std::string_view json) {
  auto document = parse_strict_json(json, {.bytes = kFileBytes});
  if (!document.ok()) return std::move(document).error();
  Problem problem;
  Suite suite = read_suite(*document, problem);
  if (problem.found()) return problem.error();
  return suite;
}

}  // namespace capbench::suite
