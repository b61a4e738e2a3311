#include "reports/expected.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "harness/suite/structs.h"

namespace capbench::reports {
namespace {

using nlohmann::json;
using Levels = std::map<std::string, std::string>;

std::optional<std::int64_t> number_of(const std::string& level) {
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(level.data(), level.data() + level.size(), number);
  if (error != std::errc() || end != level.data() + level.size()) return std::nullopt;
  return number;
}

// Of the answers that are not known: given or not.
enum class Unknown { kGiven, kNotGiven };

bool fulfils(const shim::Need& need, const Levels& levels, Unknown unknown) {
  const auto found = levels.find(need.capability);
  if (found == levels.end() || found->second == suite::kUnset) return unknown == Unknown::kGiven;
  if (!need.at_least) return found->second == need.is;
  const std::optional<std::int64_t> number = number_of(found->second);
  return number ? *number >= *need.at_least : unknown == Unknown::kGiven;
}

bool fulfils(const std::string& name, std::int64_t least, const Levels& levels, Unknown unknown) {
  const auto found = levels.find(name);
  if (found == levels.end()) return unknown == Unknown::kGiven;
  if (found->second == "on" || found->second == "off") return (found->second == "on" ? 1 : 0) >= least;
  const std::optional<std::int64_t> number = number_of(found->second);
  return number ? *number >= least : unknown == Unknown::kGiven;
}

// What stands beside the factor in one condition counts as given, so that the factor decides it. Another way to the
// same conclusion counts only if it is known to be open.
Unknown unknown_in(const Change& change, bool mentions_factor) {
  return change.kind != "capability" || mentions_factor ? Unknown::kGiven : Unknown::kNotGiven;
}

bool holds(const shim::Expectation& flag, const Change& change, const Levels& capabilities, const Levels& variables) {
  if (!flag.off_switch.empty()) {
    const auto found = variables.find(flag.off_switch);
    if (found != variables.end() && found->second != suite::kUnset) return false;
  }
  return flag.needs.empty() ||
         std::any_of(flag.needs.begin(), flag.needs.end(), [&](const std::vector<shim::Need>& group) {
           const bool mentions = std::any_of(group.begin(), group.end(),
                                             [&](const shim::Need& need) { return need.capability == change.factor; });
           return std::all_of(group.begin(), group.end(), [&](const shim::Need& need) {
             return fulfils(need, capabilities, unknown_in(change, mentions));
           });
         });
}

bool holds(const ExecutedMap::Needs& needs, const Change& change, const Levels& capabilities) {
  return std::any_of(needs.begin(), needs.end(), [&](const auto& group) {
    const Unknown unknown = unknown_in(change, group.contains(change.factor));
    return std::all_of(group.begin(), group.end(),
                       [&](const auto& need) { return fulfils(need.first, need.second, capabilities, unknown); });
  });
}

void add_once(const std::string& text, std::vector<std::string>& list) {
  if (std::find(list.begin(), list.end(), text) == list.end()) list.push_back(text);
}

// Before and after, as the maps ask.
struct Settings {
  Levels capabilities;
  Levels variables;
};

Settings settings_of(const Change& change, const std::string& level) {
  Settings settings;
  for (const auto& [name, value] : change.others) {
    (name.find('.') != std::string::npos ? settings.capabilities : settings.variables)[name] = value;
  }
  (change.kind == "capability" ? settings.capabilities : settings.variables)[change.factor] = level;
  return settings;
}

void read_sources(const Change& change, const shim::ExpectationMap& map, Expected& out) {
  const Settings before = settings_of(change, change.from);
  const Settings after = settings_of(change, change.to);
  for (const shim::Expectation& flag : map.flags) {
    const bool concerned =
        change.kind == "capability" ? flag.mentions(change.factor) : flag.off_switch == change.factor;
    if (!concerned) continue;
    if (out.verdict.empty()) out.verdict = "no";
    out.source = fmt::format("source of {} {}", map.application, map.version);
    if (holds(flag, change, before.capabilities, before.variables) !=
        holds(flag, change, after.capabilities, after.variables)) {
      out.verdict = "may";
      add_once(flag.flag, out.flags);
    }
  }
}

// Whether the operator is used so in such a test, and then whether only with flash attention or types that the model
// may not have.
enum class Use { kNo, kSometimes, kAlways };

Use use_of(const ExecutedMap::Outcome& outcome, bool generation) {
  const std::string_view beginning = generation ? "tg" : "pp";
  Use use = Use::kNo;
  for (const std::string& situation : outcome.situations) {
    if (!situation.starts_with(beginning)) continue;
    if (!situation.ends_with(" fa") && !outcome.some_types_only) return Use::kAlways;
    use = Use::kSometimes;
  }
  return use;
}

void read_executed(const Change& change, const ExecutedMap& map, Expected& out) {
  if (std::find(map.factors.begin(), map.factors.end(), change.factor) == map.factors.end()) return;
  const Settings before = settings_of(change, change.from);
  const Settings after = settings_of(change, change.to);
  Expected executed;
  executed.verdict = "no";
  executed.source = fmt::format("code of llama.cpp {}, executed", map.release);
  for (const ExecutedMap::Outcome& outcome : map.outcomes) {
    if (holds(outcome.needs, change, before.capabilities) == holds(outcome.needs, change, after.capabilities)) continue;
    const Use use = outcome.is_operator ? use_of(outcome, change.generation) : Use::kSometimes;
    if (use == Use::kNo) continue;
    if (use == Use::kAlways) executed.verdict = "yes";
    if (executed.verdict == "no") executed.verdict = "may";
    if (outcome.is_operator) add_once(outcome.name, executed.flags);
  }
  // What was executed counts more than what was read; the flags of both are shown.
  for (const std::string& flag : out.flags) add_once(flag, executed.flags);
  if (executed.verdict == "no" && out.verdict == "may") {
    executed.verdict = "may";
    executed.source = out.source;
  }
  out = std::move(executed);
}

const json* member(const json& object, const char* name, json::value_t type) {
  if (!object.is_object() || !object.contains(name)) return nullptr;
  const json& value = object.at(name);
  return value.type() == type ? &value : nullptr;
}

std::string text_member(const json& object, const char* name) {
  const json* found = member(object, name, json::value_t::string);
  return found == nullptr ? std::string() : found->get<std::string>();
}

ExecutedMap::Needs needs_of(const json& entry) {
  ExecutedMap::Needs needs;
  const json* list = member(entry, "needs", json::value_t::array);
  if (list == nullptr) return needs;
  for (const json& group : *list) {
    std::map<std::string, std::int64_t> all;
    if (!group.is_object()) continue;
    for (const auto& [name, level] : group.items()) {
      if (level.is_number_integer()) all[name] = level.get<std::int64_t>();
    }
    needs.push_back(std::move(all));
  }
  return needs;
}

}  // namespace

Result<ExecutedMap> parse_executed_map(std::string_view text) {
  const json document = json::parse(text, nullptr, false);
  const auto error = [](const std::string& cause) {
    return Error{ErrorKind::kUsage, "the map of a Metal library", cause, "write it with `capbench explain --map`"};
  };
  if (text_member(document, "kind") != "capbench.map") return error("is not one: no \"kind\": \"capbench.map\"");
  const json* factors = member(document, "factors", json::value_t::array);
  const json* properties = member(document, "properties", json::value_t::array);
  const json* operators = member(document, "operators", json::value_t::array);
  if (factors == nullptr || properties == nullptr || operators == nullptr) {
    return error("lacks its factors, properties or operators");
  }
  ExecutedMap map;
  if (const json* library = member(document, "library", json::value_t::object); library != nullptr) {
    map.release = text_member(*library, "release");
  }
  for (const json& factor : *factors) map.factors.push_back(text_member(factor, "name"));
  for (const json& entry : *properties) {
    map.outcomes.push_back({text_member(entry, "name"), false, false, {}, needs_of(entry)});
  }
  for (const json& entry : *operators) {
    ExecutedMap::Outcome outcome = {text_member(entry, "operator"), true, false, {}, needs_of(entry)};
    const json* whole = member(entry, "whole", json::value_t::boolean);
    outcome.some_types_only = whole == nullptr || !whole->get<bool>();
    if (const json* list = member(entry, "situations", json::value_t::array); list != nullptr) {
      for (const json& situation : *list) {
        if (situation.is_string()) outcome.situations.push_back(situation.get<std::string>());
      }
    }
    map.outcomes.push_back(std::move(outcome));
  }
  return map;
}

Result<Sources> load_sources() {
  auto read = shim::load_expectations();
  if (!read) return std::move(read).error();
  auto executed = load_executed_map();
  if (!executed) return std::move(executed).error();
  return Sources{std::move(*read), {std::move(*executed)}};
}

Expected expected_of(const Change& change, const Sources& sources) {
  Expected out;
  for (const shim::ExpectationMap& map : sources.read) read_sources(change, map, out);
  for (const ExecutedMap& map : sources.executed) read_executed(change, map, out);
  return out;
}

std::string agreement(const std::string& expected, const std::string& measured) {
  if (expected.empty() || (measured != "yes" && measured != "no")) return "";
  if (expected == "may") return measured == "yes" ? "agrees" : "allowed";
  return expected == measured ? "agrees" : "surprise";
}

}  // namespace capbench::reports
