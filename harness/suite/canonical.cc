#include <nlohmann/json.hpp>

#include "base/digest.h"
#include "harness/suite/limits.h"
#include "harness/suite/suite.h"

namespace capbench::suite {
namespace {

using nlohmann::json;

json to_json(const Model& model) {
  json node = {{"name", model.name}, {"kind", model.kind}};
  if (model.like.empty()) {
    node["file"] = model.file;
  } else {
    node["like"] = model.like;
    node["seed"] = model.seed;
  }
  if (!model.sha256.empty()) node["sha256"] = model.sha256;
  return node;
}

// Members whose absence leaves the choice to llama-bench have no default to write.
json to_json(const Workload& workload) {
  json node = {{"name", workload.name}, {"p", workload.n_prompt},    {"n", workload.n_gen},
               {"d", workload.n_depth}, {"r", workload.repetitions}, {"args", workload.extra_args}};
  if (workload.threads) node["t"] = *workload.threads;
  if (workload.gpu_layers) node["ngl"] = *workload.gpu_layers;
  if (!workload.flash_attention.empty()) node["fa"] = workload.flash_attention;
  return node;
}

json to_json(const Arm& arm) {
  return {{"name", arm.name}, {"mode", arm.mode}, {"target", arm.target}, {"guest", arm.guest},
          {"set", arm.set},   {"env", arm.env},   {"device", arm.device}, {"shim", arm.shim}};
}

json to_json(const Protocol& protocol) {
  return {{"trials", protocol.trials},
          {"order", kOrders[protocol.order == Order::kRandomBlocks ? 0 : 1]},
          {"seed", protocol.seed},
          {"time_limit_s", protocol.time_limit_s},
          {"cooldown_s", protocol.cooldown_s}};
}

template <class Item>
json to_array(const std::vector<Item>& items) {
  json node = json::array();
  for (const Item& item : items) node.push_back(to_json(item));
  return node;
}

}  // namespace

std::string canonical_json(const Suite& suite) {
  const json document = {{"capbench", kVersionRange.low},
                         {"name", suite.name},
                         {"description", suite.description},
                         {"runtime", {{"kind", suite.runtime.kind}, {"executable", suite.runtime.executable}}},
                         {"models", to_array(suite.models)},
                         {"workloads", to_array(suite.workloads)},
                         {"arms", to_array(suite.arms)},
                         {"protocol", to_json(suite.protocol)}};
  // The library sorts keys. A suite that was parsed is valid UTF-8; one made by hand must not throw here.
  return document.dump(-1, ' ', false, json::error_handler_t::replace);
}

std::string suite_id(const Suite& suite) {
  return sha256(canonical_json(suite));
}

}  // namespace capbench::suite
