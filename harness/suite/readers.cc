#include "harness/suite/readers.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <utility>

#include "base/utf8.h"
#include "harness/suite/limits.h"
#include "harness/suite/strict_json.h"

namespace capbench::suite {

using nlohmann::json;

void complain(Problem& problem, const std::string& path, std::optional<Complaint> complaint) {
  if (complaint) problem.report(path, std::move(complaint->cause), std::move(complaint->remedy));
}

std::string read_name(const Members& members, std::string_view key, Problem& problem, std::string absent) {
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

std::map<std::string, std::string> read_pairs(const Members& members, std::string_view key, Problem& problem,
                                              PairCheck check) {
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
    const auto& text = value.get_ref<const std::string&>();
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

std::vector<std::string> read_arguments(const Members& members, std::string_view runtime, ArgumentsOf whose,
                                        Problem& problem) {
  const json* node = members.find("args");
  if (node == nullptr) return {};
  const std::string path = members.path_of("args");
  if (!node->is_array()) {
    problem.expected(path, *node, "an array of texts",
                     runtime == kGoogleBenchmark ? R"(["--benchmark_min_time=0.5"])" : R"(["-b", "512"])");
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
  if (auto wrong = check_arguments(arguments, runtime, whose)) {
    complain(problem, fmt::format("{}[{}]", path, wrong->index), std::move(wrong->complaint));
  }
  return arguments;
}

void only_with(const Members& members, std::string_view key, std::string_view runtime, std::string_view wanted,
               Problem& problem) {
  if (!members.has(key) || runtime == wanted) return;
  problem.report(members.path_of(key), fmt::format("the runtime is {}, which has no \"{}\"", runtime, key),
                 "remove it");
}

void read_elements(const Members& members, std::string_view key, Problem& problem,
                   const std::function<void(const json& node, const std::string& path)>& read) {
  if (!members.require(key, fmt::format("an array of {}", key))) return;
  const json& node = *members.find(key);
  const std::string path = members.path_of(key);
  if (!node.is_array() || node.empty() || node.size() > kItems) {
    const std::string expected = fmt::format("an array of 1 to {} {}", kItems, key);
    if (node.is_array() && !node.empty()) {
      problem.report(path, fmt::format("{} elements; expected {}", node.size(), expected));
    } else {
      problem.expected(path, node, expected);
    }
    return;
  }
  for (std::size_t i = 0; i < node.size() && !problem.found(); ++i) read(node[i], fmt::format("{}[{}]", path, i));
}

}  // namespace capbench::suite
