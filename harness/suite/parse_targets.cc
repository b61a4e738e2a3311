#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <vector>

#include "base/nearest.h"
#include "base/utf8.h"
#include "harness/suite/limits.h"
#include "harness/suite/machine.h"
#include "harness/suite/readers.h"
#include "harness/suite/strict_json.h"

namespace capbench::suite {
namespace {

using nlohmann::json;

// A number or a boolean as it is written; a whole number without a fraction or exponent.
std::optional<std::string> scalar_text(const json& value) {
  if (value.is_string()) return value.get<std::string>();
  if (value.is_boolean()) return value.get<bool>() ? "true" : "false";
  if (!value.is_number()) return std::nullopt;
  constexpr IntegerRange kExact{-kSeedRange.high, kSeedRange.high};
  if (const auto whole = as_integer(value, kExact)) return std::to_string(*whole);
  return value.dump();
}

class Reader {
 public:
  Reader(TargetSpec& spec, Problem& problem) : spec_(spec), problem_(problem) {}

  // `prefix` is "" for the target's own members, "require." for those of an object within.
  void read(const json& node, const std::string& path, const std::string& prefix) {
    for (const auto& [key, value] : node.items()) {
      const std::string member = member_path(path, key);
      if (prefix.empty() && (key == "kind" || key == "machine")) continue;
      const std::string name = prefix + key;
      complain(problem_, member, check_option_name(name));
      if (problem_.found()) return;
      read_member(value, member, name, prefix.empty());
    }
  }

 private:
  void read_member(const json& value, const std::string& path, const std::string& name, bool may_nest) {
    if (value.is_object() && may_nest && name.find('.') == std::string::npos) {
      read(value, path, name + ".");
    } else if (value.is_array()) {
      keep(spec_.lists, read_list(value, path), path, name);
    } else if (const auto text = scalar_text(value)) {
      check_text(*text, path, value);
      keep(spec_.options, *text, path, name);
    } else {
      problem_.expected(path, value, "text, a number, true, false, or an array of texts");
    }
  }

  std::vector<std::string> read_list(const json& node, const std::string& path) {
    std::vector<std::string> texts;
    if (node.size() > kOptionTexts) {
      problem_.report(path, fmt::format("{} elements; expected at most {}", node.size(), kOptionTexts));
    }
    for (std::size_t i = 0; i < node.size() && !problem_.found(); ++i) {
      const std::string element = fmt::format("{}[{}]", path, i);
      if (!node[i].is_string()) {
        problem_.expected(element, node[i], "text in quotes", node[i].is_number() ? "\"" + node[i].dump() + "\"" : "");
        break;
      }
      texts.push_back(node[i].get<std::string>());
      check_text(texts.back(), element, node[i]);
    }
    return texts;
  }

  void check_text(const std::string& text, const std::string& path, const json& value) {
    if (text.size() <= kOptionBytes && text.find('\0') == std::string::npos) return;
    problem_.expected(path, value, fmt::format("text of at most {} bytes, none of them zero", kOptionBytes));
  }

  template <class Map, class Value>
  void keep(Map& map, Value value, const std::string& path, const std::string& name) {
    if (spec_.options.contains(name) || spec_.lists.contains(name)) {
      problem_.report(path, fmt::format("\"{}\" is said twice", name), "remove one of the two");
      return;
    }
    if (spec_.options.size() + spec_.lists.size() >= kOptions) {
      problem_.report(path, fmt::format("more than {} members", kOptions));
      return;
    }
    map.emplace(name, std::move(value));
  }

  TargetSpec& spec_;
  Problem& problem_;
};

TargetSpec read_target(const json& node, const std::string& path, Problem& problem) {
  TargetSpec spec;
  if (!node.is_object()) {
    problem.expected(path, node, "an object with a \"kind\"");
    return spec;
  }
  const auto kind = node.find("kind");
  if (kind == node.end()) {
    problem.report(member_path(path, "kind"), "missing; expected a kind of target", R"("kind": "ssh")");
    return spec;
  }
  if (!kind->is_string() || check_option_name(kind->get_ref<const std::string&>()) ||
      kind->get_ref<const std::string&>().find('.') != std::string::npos) {
    problem.expected(member_path(path, "kind"), *kind, "a kind of target, a word in lower case", R"("kind": "ssh")");
    return spec;
  }
  spec.kind = kind->get<std::string>();
  if (const auto machine = node.find("machine"); machine != node.end()) {
    const std::string where = member_path(path, "machine");
    if (machine->is_string()) {
      spec.machine = machine->get<std::string>();
      complain(problem, where, check_name(spec.machine));
    } else {
      problem.expected(where, *machine, R"("local" or a target's name)");
    }
  }
  Reader(spec, problem).read(node, path, "");
  return spec;
}

std::string other_target(const std::string& target, const std::map<std::string, TargetSpec>& targets) {
  std::vector<std::string_view> names{"local"};
  for (const auto& [name, spec] : targets) names.emplace_back(name);
  const std::string_view near = nearest(target, names);
  return near.empty() ? R"("local", or describe it in "targets" of the suite)" : fmt::format("\"{}\"", near);
}

}  // namespace

void check_target(const std::string& target, const std::string& path, const std::map<std::string, TargetSpec>& targets,
                  Problem& problem) {
  if (target == "local" || targets.contains(target)) return;
  problem.report(path, in_quotes(target) + " is no target of this suite", other_target(target, targets));
}

std::map<std::string, TargetSpec> read_targets(const json& node, const std::string& path, Problem& problem) {
  std::map<std::string, TargetSpec> targets;
  if (!node.is_object() || node.size() > kTargets) {
    if (node.is_object()) {
      problem.report(path, fmt::format("{} targets; expected at most {}", node.size(), kTargets));
    } else {
      problem.expected(path, node, "an object of targets by name");
    }
    return targets;
  }
  for (const auto& [name, value] : node.items()) {
    const std::string member = member_path(path, name);
    complain(problem, member, check_name(name));
    TargetSpec spec = read_target(value, member, problem);
    if (problem.found()) return targets;
    if (name == "local" && spec.kind != "local") {
      problem.report(member + ".kind", in_quotes(spec.kind) + "; the target \"local\" is this machine",
                     "another name for it, or \"kind\": \"local\"");
    }
    targets.emplace(name, std::move(spec));
  }
  for (const auto& [name, spec] : targets) {
    if (spec.machine.empty() || spec.machine == "local") continue;
    const std::string where = member_path(path, name) + ".machine";
    check_target(spec.machine, where, targets, problem);
    const std::string host = machine_of(spec.machine, targets);
    if (host != spec.machine) {
      problem.report(where, fmt::format("{} is no machine, it lives on {}", in_quotes(spec.machine), in_quotes(host)),
                     in_quotes(host));
    }
  }
  return targets;
}

}  // namespace capbench::suite
