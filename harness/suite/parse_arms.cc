#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <set>
#include <span>
#include <utility>

#include "base/nearest.h"
#include "base/utf8.h"
#include "harness/suite/limits.h"
#include "harness/suite/readers.h"
#include "harness/suite/strict_json.h"

namespace capbench::suite {
namespace {

using nlohmann::json;

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

std::string read_device(const Members& members, std::string_view runtime, Problem& problem) {
  std::string device = members.text("device", kValueBytes);
  if (device.find(',') != std::string::npos) {
    problem.report(members.path_of("device"), in_quotes(device) + " has a comma; llama-bench would run every device",
                   "'/' between devices used together, or one arm for each");
  }
  if (!device.empty()) only_with(members, "device", runtime, kLlamaBench, problem);
  return device;
}

// The members that an arm and the base of a design share.
template <class Treatment>
void read_treatment(const Members& members, std::string_view runtime, Treatment& arm, Problem& problem) {
  arm.target = read_name(members, "target", problem, arm.target);
  arm.guest = read_pairs(members, "guest", problem, check_capability_level);
  arm.set = read_pairs(members, "set", problem, check_capability_level);
  arm.env = read_pairs(members, "env", problem, check_environment);
  arm.device = read_device(members, runtime, problem);
  arm.shim = members.text("shim", kPathBytes);
  arm.executable = members.text("executable", kPathBytes);
  arm.args = read_arguments(members, runtime, ArgumentsOf::kArm, problem);
}

DesignBase read_base(const json& node, const std::string& path, std::string_view runtime, Problem& problem) {
  const Members members(node, path, kBaseKeys, problem);
  DesignBase base;
  base.mode = read_name(members, "mode", problem, base.mode);
  if (base.mode == "stock" || base.mode == "unlocked" || base.mode == "bare-metal") {
    problem.report(members.path_of("mode"),
                   in_quotes(base.mode) + "; this is the mode of the arms between, and capbench names the others",
                   R"(remove it, or a name of your own)");
  }
  read_treatment(members, runtime, base, problem);
  return base;
}

struct FactorWord {
  std::string_view key;
  Factor::Kind kind;
};
constexpr auto kFactorWords = std::to_array<FactorWord>(
    {{"name", Factor::Kind::kCapability}, {"env", Factor::Kind::kEnvironment}, {"arg", Factor::Kind::kArgument}});

std::optional<Complaint> check_factor_name(const Factor& factor) {
  switch (factor.kind) {
    case Factor::Kind::kCapability:
      return check_capability(factor.name);
    case Factor::Kind::kEnvironment:
      return check_environment_name(factor.name);
    case Factor::Kind::kArgument:
      return check_argument_name(factor.name);
  }
  return std::nullopt;
}

std::optional<Complaint> check_factor_level(const Factor& factor, const std::string& level, std::string_view runtime) {
  if (level == kUnset) return Complaint{in_quotes(level) + "; that word stands for the null level", "null"};
  switch (factor.kind) {
    case Factor::Kind::kCapability:
      return check_level(level);
    case Factor::Kind::kEnvironment:
      return check_environment(factor.name, level);
    case Factor::Kind::kArgument:
      if (auto wrong = check_arguments({factor.name, level}, runtime, ArgumentsOf::kArm)) return wrong->complaint;
  }
  return std::nullopt;
}

void read_levels(const Members& members, std::string_view runtime, Factor& factor, Problem& problem) {
  const std::string what = fmt::format("an array of 2 to {} levels, the stock one first", kLevels);
  if (!members.require("levels", what)) return;
  const json& node = *members.find("levels");
  const std::string path = members.path_of("levels");
  if (!node.is_array() || node.size() < 2 || node.size() > kLevels) {
    if (node.is_array()) {
      problem.report(path, fmt::format("{} levels; expected 2 to {}", node.size(), kLevels),
                     "the stock level first, the unlocked one last");
    } else {
      problem.expected(path, node, what, R"(["off", "on"])");
    }
    return;
  }
  std::set<std::optional<std::string>> seen;
  for (std::size_t i = 0; i < node.size() && !problem.found(); ++i) {
    const std::string element = fmt::format("{}[{}]", path, i);
    std::optional<std::string> level;
    if (node[i].is_string()) {
      level = node[i].get<std::string>();
      complain(problem, element, check_factor_level(factor, *level, runtime));
    } else if (!node[i].is_null()) {
      problem.expected(element, node[i], "text in quotes, or null for unset",
                       node[i].is_number() ? "\"" + node[i].dump() + "\"" : "");
    }
    if (!seen.insert(level).second) problem.report(element, "the level appears twice", "remove one of the two");
    factor.levels.push_back(std::move(level));
  }
}

Factor read_factor(const json& node, const std::string& path, std::string_view runtime, Problem& problem) {
  const Members members(node, path, kFactorKeys, problem);
  Factor factor;
  std::string_view word;
  for (const FactorWord& candidate : kFactorWords) {
    if (!members.has(candidate.key)) continue;
    if (!word.empty()) {
      problem.report(path, fmt::format(R"(both "{}" and "{}")", word, candidate.key), "one factor for each");
      return factor;
    }
    word = candidate.key;
    factor.kind = candidate.kind;
  }
  if (word.empty()) {
    problem.report(path, R"(none of "name", "env" and "arg")",
                   R"("name" for a capability, "env" for a variable, "arg" for an argument)");
    return factor;
  }
  factor.name = members.text(word, kNameBytes);
  complain(problem, members.path_of(word), check_factor_name(factor));
  factor.label = members.text("label", kLabelBytes);
  if (!factor.label.empty()) complain(problem, members.path_of("label"), check_name(factor.label));
  if (!problem.found()) read_levels(members, runtime, factor, problem);
  return factor;
}

// A choice of texts, written as one text or as an array of different ones.
std::vector<std::size_t> read_choices(const Members& members, std::string_view key,
                                      std::span<const std::string_view> choices, Problem& problem) {
  std::vector<std::size_t> chosen;
  const json* node = members.find(key);
  if (node == nullptr) return chosen;
  const auto choose = [&](const json& value, const std::string& path) {
    const auto at = value.is_string() ? std::find(choices.begin(), choices.end(), value.get_ref<const std::string&>())
                                      : choices.end();
    if (at == choices.end()) {
      const std::string_view near =
          value.is_string() ? nearest(value.get_ref<const std::string&>(), choices) : std::string_view();
      problem.expected(path, value, fmt::format("\"{}\"", fmt::join(choices, "\" or \"")),
                       near.empty() ? "" : fmt::format("\"{}\"", near));
      return;
    }
    const auto index = static_cast<std::size_t>(at - choices.begin());
    if (std::find(chosen.begin(), chosen.end(), index) != chosen.end()) {
      problem.report(path, shown(value) + " appears twice", "remove one of the two");
    }
    chosen.push_back(index);
  };
  if (!node->is_array()) {
    choose(*node, members.path_of(key));
  } else {
    for (std::size_t i = 0; i < node->size() && !problem.found(); ++i) {
      choose((*node)[i], fmt::format("{}[{}]", members.path_of(key), i));
    }
  }
  std::sort(chosen.begin(), chosen.end());
  return chosen;
}

// A factor varies alone what it varies.
void check_factors(const Design& design, const std::string& path, Problem& problem) {
  std::set<std::pair<Factor::Kind, std::string>> seen;
  for (std::size_t i = 0; i < design.factors.size(); ++i) {
    const Factor& factor = design.factors[i];
    const std::string element = fmt::format("{}.factors[{}]", path, i);
    if (!seen.emplace(factor.kind, factor.name).second) {
      problem.report(element, in_quotes(factor.name) + " is a factor twice", "one factor with all its levels");
    }
    const DesignBase& base = design.base;
    const bool in_base = factor.kind == Factor::Kind::kCapability    ? base.set.contains(factor.name)
                         : factor.kind == Factor::Kind::kEnvironment ? base.env.contains(factor.name)
                                                                     : !common_option(base.args, {factor.name}).empty();
    if (in_base) {
      problem.report(element, in_quotes(factor.name) + " is also in \"base\", which every arm would have",
                     "remove it from \"base\"");
    }
    for (std::size_t j = 0; j < i && factor.kind == Factor::Kind::kArgument; ++j) {
      if (design.factors[j].kind == factor.kind && !common_option({design.factors[j].name}, {factor.name}).empty()) {
        problem.report(element, in_quotes(factor.name) + " is another name of " + in_quotes(design.factors[j].name),
                       "one factor with all its levels");
      }
    }
  }
}

}  // namespace

Arm read_arm(const json& node, const std::string& path, std::string_view runtime, Problem& problem) {
  const Members members(node, path, kArmKeys, problem);
  Arm arm;
  arm.name = read_name(members, "name", problem);
  if (members.require("mode", R"("bare-metal", "stock", "unlocked" or another name)")) {
    arm.mode = read_name(members, "mode", problem);
  }
  read_treatment(members, runtime, arm, problem);
  arm.expected_to_fail = !members.one_of("expect", kExpectations, "").empty();
  check_mode(arm, members, problem);
  return arm;
}

Design read_design(const json& node, const std::string& path, std::string_view runtime, Problem& problem) {
  const Members members(node, path, kDesignKeys, problem);
  Design design;
  if (members.require("kind", fmt::format("\"{}\", or an array of them", fmt::join(kDesignKinds, "\" or \"")))) {
    for (const std::size_t kind : read_choices(members, "kind", kDesignKinds, problem)) {
      design.kinds.push_back(static_cast<DesignKind>(kind));
    }
    if (design.kinds.empty()) {
      problem.report(members.path_of("kind"), "[]; expected a kind of design",
                     fmt::format("one of {}", fmt::join(kDesignKinds, ", ")));
    }
  }
  const bool fractional =
      std::find(design.kinds.begin(), design.kinds.end(), DesignKind::kFractional) != design.kinds.end();
  if (members.has("resolution") && !fractional) {
    problem.report(members.path_of("resolution"), "only a fractional design has a resolution",
                   R"(remove it, or "kind": "fractional")");
  }
  design.resolution = members.integer("resolution", kResolutionRange, design.resolution);
  if (members.has("base")) design.base = read_base(*members.find("base"), path + ".base", runtime, problem);
  if (members.require("factors", "an array of what is varied")) {
    const json& factors = *members.find("factors");
    const std::string list = members.path_of("factors");
    if (!factors.is_array() || factors.empty() || factors.size() > kFactors) {
      const std::string expected = fmt::format("an array of 1 to {} factors", kFactors);
      if (factors.is_array() && !factors.empty()) {
        problem.report(list, fmt::format("{} elements; expected {}", factors.size(), expected));
      } else {
        problem.expected(list, factors, expected);
      }
    }
    for (std::size_t i = 0; !problem.found() && i < factors.size(); ++i) {
      design.factors.push_back(read_factor(factors[i], fmt::format("{}[{}]", list, i), runtime, problem));
    }
  }
  for (const std::size_t control : read_choices(members, "controls", kControls, problem)) {
    design.controls.emplace_back(kControls[control]);
    const bool is_device = design.controls.back() == kRoleCpuOnly || design.controls.back() == kRoleExpectedFailure;
    if (!is_device || runtime == kLlamaBench) continue;
    problem.report(
        members.path_of("controls"),
        fmt::format(R"(the runtime is {}, which has no "device", and "{}" is one)", runtime, design.controls.back()),
        fmt::format("remove \"{}\"", design.controls.back()));
  }
  if (!problem.found()) check_factors(design, path, problem);
  return design;
}

}  // namespace capbench::suite
