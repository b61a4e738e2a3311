#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <utility>

#include "harness/suite/check.h"
#include "harness/suite/limits.h"
#include "harness/suite/members.h"
#include "harness/suite/strict_json.h"
#include "harness/suite/suite.h"

namespace capbench::suite {
namespace {

using nlohmann::json;

void complain(Problem& problem, const std::string& path, std::optional<Complaint> complaint) {
  if (complaint) problem.report(path, std::move(complaint->cause), std::move(complaint->remedy));
}

// A name that must be there, or takes a default.
std::string read_name(const Members& members, std::string_view key, Problem& problem, std::string absent = "") {
  if (!members.has(key)) {
    if (absent.empty()) members.require(key, "a name");
    return absent;
  }
  std::string name = members.text(key, kPathBytes);
  complain(problem, members.path_of(key), check_name(name));
  return name;
}

std::string read_path(const Members& members, std::string_view key, Problem& problem) {
  std::string path = members.text(key, kPathBytes);
  if (members.has(key) && path.empty()) problem.report(members.path_of(key), "\"\"; expected a path");
  return path;
}

Runtime read_runtime(const json& node, const std::string& path, Problem& problem) {
  const Members members(node, path, kRuntimeKeys, problem);
  Runtime runtime;
  runtime.kind = members.one_of("kind", kRuntimeKinds, runtime.kind);
  runtime.executable = members.text("executable", kPathBytes);
  return runtime;
}

bool is_sha256(std::string_view text) {
  return text.size() == 64 && text.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

Model read_model(const json& node, const std::string& path, Problem& problem) {
  const Members members(node, path, kModelKeys, problem);
  Model model;
  model.name = read_name(members, "name", problem);
  if (members.has("like") == members.has("file")) {
    problem.report(path, members.has("like") ? R"(both "like" and "file")" : R"(neither "like" nor "file")",
                   R"("file" for a model file, or "like" for a twin written on first use)");
  }
  if (members.has("file")) {
    model.file = read_path(members, "file", problem);
    if (model.file.find(',') != std::string::npos) {
      problem.report(members.path_of("file"), in_quotes(model.file) + " has a comma, at which llama-bench splits paths",
                     "rename the file, or link it under another name");
    }
    if (members.has("seed")) {
      problem.report(members.path_of("seed"), "only a twin has a seed", "remove it, or use \"like\"");
    }
  }
  if (members.has("like")) {
    model.like = read_name(members, "like", problem);
    model.seed = static_cast<std::uint64_t>(members.integer("seed", kSeedRange, 1));
  }
  model.sha256 = members.text("sha256", kPathBytes);
  if (members.has("sha256") && !is_sha256(model.sha256)) {
    problem.report(members.path_of("sha256"), in_quotes(model.sha256) + "; expected 64 lowercase hexadecimal digits");
  }
  model.kind = members.one_of("kind", kModelKinds, members.has("like") ? "twin" : "real");
  if (members.has("like") && model.kind != "twin") {
    problem.report(members.path_of("kind"), in_quotes(model.kind) + "; a model that is \"like\" another is a twin",
                   "remove it");
  }
  return model;
}

std::vector<std::string> read_arguments(const Members& members, Problem& problem) {
  const json* node = members.find("args");
  if (node == nullptr) return {};
  const std::string path = members.path_of("args");
  if (!node->is_array()) {
    problem.expected(path, *node, "an array of texts", R"(["-b", "512"])");
    return {};
  }
  if (node->size() > kArgs) {
    problem.report(path, fmt::format("{} elements; expected at most {}", node->size(), kArgs));
    return {};
  }
  std::vector<std::string> arguments;
  for (std::size_t i = 0; i < node->size(); ++i) {
    if ((*node)[i].is_string()) {
      arguments.push_back((*node)[i].get<std::string>());
    } else {
      problem.expected(fmt::format("{}[{}]", path, i), (*node)[i], "text in quotes");
    }
  }
  if (problem.found()) return arguments;
  if (auto wrong = check_arguments(arguments)) {
    complain(problem, fmt::format("{}[{}]", path, wrong->index), std::move(wrong->complaint));
  }
  return arguments;
}

bool all_zero(const std::vector<std::int64_t>& values) {
  return std::all_of(values.begin(), values.end(), [](std::int64_t value) { return value == 0; });
}

Workload read_workload(const json& node, const std::string& path, Problem& problem) {
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
  workload.extra_args = read_arguments(members, problem);
  if (all_zero(workload.n_prompt) && all_zero(workload.n_gen)) {
    problem.report(path, R"("p" and "n" are both 0, so nothing would be measured)", R"("p": 512, "n": 128)");
  }
  return workload;
}

// An object of texts, each pair checked by `check(name, value)`.
template <class Check>
std::map<std::string, std::string> read_pairs(const Members& members, std::string_view key, Problem& problem,
                                              const Check& check) {
  const json* node = members.find(key);
  if (node == nullptr) return {};
  const std::string path = members.path_of(key);
  if (!node->is_object()) {
    problem.expected(path, *node, "an object of texts");
    return {};
  }
  if (node->size() > kPairs) {
    problem.report(path, fmt::format("{} members; expected at most {}", node->size(), kPairs));
    return {};
  }
  std::map<std::string, std::string> pairs;
  for (const auto& [name, value] : node->items()) {
    const std::string member = member_path(path, name);
    if (!value.is_string()) {
      problem.expected(member, value, "text in quotes", value.is_number() ? "\"" + value.dump() + "\"" : "");
      continue;
    }
    const auto& text = value.template get_ref<const std::string&>();
    complain(problem, member, check(name, text));
    pairs.emplace(name, text);
  }
  return pairs;
}

std::optional<Complaint> check_capability_level(std::string_view name, std::string_view level) {
  if (auto complaint = check_capability(name)) return complaint;
  return check_level(level);
}

std::optional<Complaint> check_environment(std::string_view name, std::string_view value) {
  if (auto complaint = check_environment_name(name)) return complaint;
  if (value.size() <= kEnvBytes && value.find('\0') == std::string_view::npos) return std::nullopt;
  return Complaint{fmt::format("{}; expected at most {} bytes, none of them zero", in_quotes(value), kEnvBytes), ""};
}

// What the three known modes mean; others are the suite's own affair.
void check_mode(const Arm& arm, const Members& members, Problem& problem) {
  const bool plain = arm.mode == "bare-metal" || arm.mode == "stock";
  if (plain && !arm.set.empty()) {
    problem.report(members.path_of("set"), fmt::format("the mode is {}, which has no shim", arm.mode),
                   R"(remove "set", or "mode": "unlocked")");
  }
  if (arm.mode == "bare-metal" && !arm.guest.empty()) {
    problem.report(members.path_of("guest"), "the mode is bare-metal, which has no guest",
                   R"(remove "guest", or "mode": "stock")");
  }
  if (arm.mode == "unlocked" && arm.set.empty()) {
    problem.report(members.path_of("set"), "the mode is unlocked, but no capability is set",
                   R"("set": {"cpu.isa": "best"})");
  }
  if (!arm.shim.empty() && arm.set.empty() && arm.guest.empty()) {
    problem.report(members.path_of("shim"), "the arm neither sets a capability nor has a guest, so no shim is loaded",
                   R"(remove "shim", or add "set")");
  }
}

Arm read_arm(const json& node, const std::string& path, Problem& problem) {
  const Members members(node, path, kArmKeys, problem);
  Arm arm;
  arm.name = read_name(members, "name", problem);
  if (members.require("mode", R"("bare-metal", "stock", "unlocked" or another name)")) {
    arm.mode = read_name(members, "mode", problem);
  }
  arm.target = read_name(members, "target", problem, arm.target);
  arm.guest = read_pairs(members, "guest", problem, check_capability_level);
  arm.set = read_pairs(members, "set", problem, check_capability_level);
  arm.env = read_pairs(members, "env", problem, check_environment);
  arm.device = members.text("device", kValueBytes);
  if (arm.device.find(',') != std::string::npos) {
    problem.report(members.path_of("device"),
                   in_quotes(arm.device) + " has a comma; llama-bench would run every device",
                   "'/' between devices used together, or one arm for each");
  }
  arm.shim = members.text("shim", kPathBytes);
  check_mode(arm, members, problem);
  return arm;
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
  return protocol;
}

// A non-empty array whose elements have names of their own.
template <class Item, class Read>
std::vector<Item> read_list(const Members& members, std::string_view key, Problem& problem, const Read& read) {
  std::vector<Item> items;
  if (!members.require(key, fmt::format("an array of {}", key))) return items;
  const json& node = *members.find(key);
  const std::string path = members.path_of(key);
  if (!node.is_array() || node.empty() || node.size() > kItems) {
    const std::string expected = fmt::format("an array of 1 to {} {}", kItems, key);
    if (node.is_array() && !node.empty()) {
      problem.report(path, fmt::format("{} elements; expected {}", node.size(), expected));
    } else {
      problem.expected(path, node, expected);
    }
    return items;
  }
  std::map<std::string, std::size_t> first;
  for (std::size_t i = 0; i < node.size() && !problem.found(); ++i) {
    const std::string element = fmt::format("{}[{}]", path, i);
    items.push_back(read(node[i], element, problem));
    const auto [earlier, fresh] = first.emplace(items.back().name, i);
    if (!fresh) {
      problem.report(element + ".name",
                     fmt::format("{} is also the name of {}[{}]", in_quotes(items.back().name), path, earlier->second),
                     "a name of its own");
    }
  }
  return items;
}

void check_total(const Suite& suite, Problem& problem) {
  // At most 1000 * 1000 * 1000 * 10000, far from overflow.
  const auto total = static_cast<std::int64_t>(suite.models.size() * suite.workloads.size() * suite.arms.size()) *
                     suite.protocol.trials;
  if (total <= kTotalTrials) return;
  problem.report("$",
                 fmt::format("{} models x {} workloads x {} arms x {} trials are {} processes; expected at most {}",
                             suite.models.size(), suite.workloads.size(), suite.arms.size(), suite.protocol.trials,
                             total, kTotalTrials),
                 "split the suite");
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
  suite.models = read_list<Model>(members, "models", problem, read_model);
  suite.workloads = read_list<Workload>(members, "workloads", problem, read_workload);
  suite.arms = read_list<Arm>(members, "arms", problem, read_arm);
  if (members.has("protocol")) suite.protocol = read_protocol(*members.find("protocol"), "$.protocol", problem);
  if (!problem.found()) check_total(suite, problem);
  return suite;
}

}  // namespace

Result<Suite> parse_suite(std::string_view json) {
  auto document = parse_strict_json(json, {.bytes = kFileBytes});
  if (!document.ok()) return std::move(document).error();
  Problem problem;
  Suite suite = read_suite(*document, problem);
  if (problem.found()) return problem.error();
  return suite;
}

}  // namespace capbench::suite
