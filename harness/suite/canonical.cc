#include <map>
#include <nlohmann/json.hpp>
#include <string_view>

#include "base/digest.h"
#include "harness/suite/limits.h"
#include "harness/suite/suite.h"

// A member that came into the format later is written only where it is not its default, so that the suites of earlier
// versions keep their bytes and with them their names.
namespace capbench::suite {
namespace {

using nlohmann::json;

json to_json(const Model& model) {
  json node = {{"name", model.name}, {"kind", model.kind}};
  if (!model.catalog.empty()) {
    node["catalog"] = model.catalog;
  } else if (model.like.empty()) {
    node["file"] = model.file;
  } else {
    node["like"] = model.like;
    node["seed"] = model.seed;
  }
  if (!model.sha256.empty()) node["sha256"] = model.sha256;
  return node;
}

// Members whose absence leaves the choice to the application have no default to write.
json to_json(const Workload& workload, std::string_view runtime) {
  json node = {{"name", workload.name}, {"r", workload.repetitions}};
  if (runtime != kGoogleBenchmark) {
    node["p"] = workload.n_prompt;
    node["n"] = workload.n_gen;
  }
  if (runtime == kLlamaBench) node["d"] = workload.n_depth;
  if (runtime != kMlxLm) node["args"] = workload.extra_args;
  if (workload.threads) node["t"] = *workload.threads;
  if (workload.gpu_layers) node["ngl"] = *workload.gpu_layers;
  if (!workload.flash_attention.empty()) node["fa"] = workload.flash_attention;
  if (!workload.filter.empty()) node["filter"] = workload.filter;
  return node;
}

json to_json(const Arm& arm) {
  json node = {{"name", arm.name}, {"mode", arm.mode}, {"target", arm.target}, {"guest", arm.guest},
               {"set", arm.set},   {"env", arm.env},   {"device", arm.device}, {"shim", arm.shim}};
  if (!arm.executable.empty()) node["executable"] = arm.executable;
  if (!arm.args.empty()) node["args"] = arm.args;
  if (arm.expected_to_fail) node["expect"] = kExpectations[0];
  return node;
}

json to_json(const TargetSpec& spec) {
  json node = {{"kind", spec.kind}};
  if (!spec.machine.empty()) node["machine"] = spec.machine;
  for (const auto& [name, value] : spec.options) node[name] = value;
  for (const auto& [name, texts] : spec.lists) node[name] = texts;
  return node;
}

json to_json(const DesignBase& base) {
  json node = json::object();
  const DesignBase defaults;
  if (base.mode != defaults.mode) node["mode"] = base.mode;
  if (base.target != defaults.target) node["target"] = base.target;
  if (!base.guest.empty()) node["guest"] = base.guest;
  if (!base.set.empty()) node["set"] = base.set;
  if (!base.env.empty()) node["env"] = base.env;
  if (!base.device.empty()) node["device"] = base.device;
  if (!base.shim.empty()) node["shim"] = base.shim;
  if (!base.executable.empty()) node["executable"] = base.executable;
  if (!base.args.empty()) node["args"] = base.args;
  return node;
}

json to_json(const Factor& factor) {
  json levels = json::array();
  for (const auto& level : factor.levels) levels.push_back(level ? json(*level) : json());
  const char* word = factor.kind == Factor::Kind::kCapability    ? "name"
                     : factor.kind == Factor::Kind::kEnvironment ? "env"
                                                                 : "arg";
  json node = {{word, factor.name}, {"levels", std::move(levels)}};
  if (!factor.label.empty()) node["label"] = factor.label;
  return node;
}

json to_json(const Design& design) {
  json kinds = json::array();
  for (const DesignKind kind : design.kinds) kinds.push_back(kDesignKinds[static_cast<std::size_t>(kind)]);
  json factors = json::array();
  for (const Factor& factor : design.factors) factors.push_back(to_json(factor));
  json node = {{"kind", std::move(kinds)}, {"factors", std::move(factors)}};
  if (design.resolution != Design().resolution) node["resolution"] = design.resolution;
  if (design.base != DesignBase()) node["base"] = to_json(design.base);
  if (!design.controls.empty()) node["controls"] = design.controls;
  return node;
}

json to_json(const Hygiene& hygiene) {
  json node = {
      {"gate", hygiene.gate}, {"wait_s", hygiene.wait_s}, {"require_ac", hygiene.require_ac}, {"vms", hygiene.vms}};
  if (hygiene.max_load) node["max_load"] = *hygiene.max_load;
  if (hygiene.max_gpu_use_percent) node["max_gpu_use_percent"] = *hygiene.max_gpu_use_percent;
  if (hygiene.min_memory_free_percent) node["min_memory_free_percent"] = *hygiene.min_memory_free_percent;
  if (hygiene.max_temperature_c) node["max_temperature_c"] = *hygiene.max_temperature_c;
  return node;
}

json to_json(const Protocol& protocol) {
  json node = {{"trials", protocol.trials},
               {"order", kOrders[protocol.order == Order::kRandomBlocks ? 0 : 1]},
               {"seed", protocol.seed},
               {"time_limit_s", protocol.time_limit_s},
               {"cooldown_s", protocol.cooldown_s}};
  if (protocol.warmup_trials != 0) node["warmup_trials"] = protocol.warmup_trials;
  if (protocol.verbose_trial) node["verbose_trial"] = true;
  if (protocol.preload_s != 0) node["preload_s"] = protocol.preload_s;
  if (protocol.hygiene) node["hygiene"] = to_json(*protocol.hygiene);
  if (protocol.until) {
    node["until"] = {{"ci_half_width", protocol.until->ci_half_width}, {"max_trials", protocol.until->max_trials}};
  }
  return node;
}

json to_json(const Quality& quality) {
  return {{"text", quality.text},     {"max_mean_kl", quality.max_mean_kl},
          {"max_kl", quality.max_kl}, {"chunks", quality.chunks},
          {"ctx", quality.ctx},       {"ops", quality.ops}};
}

// Of a target's options, those that say what it is and not how it is reached.
bool is_recorded(std::string_view option) {
  return option == "guest" || option == "image" || option.starts_with("require.");
}

}  // namespace

std::string canonical_json(const Suite& suite) {
  json document = {{"capbench", kVersionRange.low},
                   {"name", suite.name},
                   {"description", suite.description},
                   {"runtime", {{"kind", suite.runtime.kind}, {"executable", suite.runtime.executable}}},
                   {"protocol", to_json(suite.protocol)}};
  json& workloads = document["workloads"] = json::array();
  for (const Workload& workload : suite.workloads) workloads.push_back(to_json(workload, suite.runtime.kind));
  json models = json::array();
  for (const Model& model : suite.models) {
    if (model.kind != "none") models.push_back(to_json(model));
  }
  if (!models.empty() || suite.runtime.kind != kGoogleBenchmark) document["models"] = std::move(models);
  json arms = json::array();
  for (std::size_t i = 0; i + suite.designed_arms < suite.arms.size(); ++i) arms.push_back(to_json(suite.arms[i]));
  // The design makes the others again.
  if (!arms.empty() || !suite.design) document["arms"] = std::move(arms);
  if (suite.design) document["design"] = to_json(*suite.design);
  for (const auto& [name, spec] : suite.targets) document["targets"][name] = to_json(spec);
  if (suite.quality) document["quality"] = to_json(*suite.quality);
  // The library sorts keys. A suite that was parsed is valid UTF-8; one made by hand must not throw here.
  return document.dump(-1, ' ', false, json::error_handler_t::replace);
}

std::string recorded_json(const Suite& suite) {
  Suite recorded = suite;
  for (auto& [name, spec] : recorded.targets) {
    std::erase_if(spec.options, [](const auto& option) { return !is_recorded(option.first); });
    std::erase_if(spec.lists, [](const auto& list) { return !is_recorded(list.first); });
  }
  return canonical_json(recorded);
}

std::string suite_id(const Suite& suite) {
  return sha256(recorded_json(suite));
}

}  // namespace capbench::suite
