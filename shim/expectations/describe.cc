#include "shim/expectations/describe.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <string_view>

namespace capbench::shim {
namespace {

constexpr std::size_t kColumns = 80;
constexpr std::size_t kLabel = 16;  // where the text begins

// `head`, then the text wrapped at spaces behind as many columns; a word that is longer than a line is cut.
void append_wrapped(std::string& out, std::string head, std::string_view text) {
  const std::size_t room = kColumns - head.size();
  while (!text.empty()) {
    std::size_t take = text.size();
    if (take > room) {
      const std::size_t space = text.rfind(' ', room);
      take = space == std::string_view::npos || space == 0 ? room : space;
    }
    out += head;
    out += text.substr(0, take);
    out += '\n';
    text.remove_prefix(take);
    while (text.starts_with(' ')) text.remove_prefix(1);
    head.assign(head.size(), ' ');
  }
}

// "  LABEL         text".
void append_field(std::string& out, std::string_view label, std::string_view text) {
  append_wrapped(out, fmt::format("{:<{}}", fmt::format("  {}", label), kLabel), text);
}

std::string values_text(const Toggle& toggle) {
  switch (toggle.kind) {
    case ValueKind::kInteger:
      return fmt::format("an integer from {} to {}", toggle.low, toggle.high);
    case ValueKind::kSwitch:
      return "on, off";
    case ValueKind::kLevel:
      break;
  }
  std::string text;
  for (std::size_t i = 0; i < toggle.levels.count; ++i) {
    text += (i == 0 ? "" : ", ") + std::string(toggle.levels.names[i]);
  }
  return text;
}

std::string need_text(const Need& need) {
  return need.at_least ? fmt::format("{} >= {}", need.capability, *need.at_least)
                       : fmt::format("{} = {}", need.capability, need.is);
}

std::string needs_text(const Expectation& flag) {
  std::string text;
  for (const auto& group : flag.needs) {
    if (!text.empty()) text += ", or ";
    for (std::size_t i = 0; i < group.size(); ++i) text += (i == 0 ? "" : " and ") + need_text(group[i]);
  }
  return text;
}

std::string joined(const std::vector<std::string>& texts) {
  std::string all;
  for (const std::string& text : texts) all += (all.empty() ? "" : "; ") + text;
  return all;
}

void append_expectation(std::string& out, const Expectation& flag) {
  out += fmt::format("\n  {}\n", flag.flag);
  append_field(out, "  needs", needs_text(flag));
  append_field(out, "  and", joined(flag.also_needs));
  append_field(out, "  opens", joined(flag.opens));
  append_field(out, "  without", flag.without);
  append_field(out, "  shown by", flag.log.empty() ? "no line of the log" : flag.log);
  append_field(out, "  switch", flag.off_switch);
  append_field(out, "  source", flag.source);
}

nlohmann::ordered_json to_json(const ExpectationMap& map, const Expectation& flag) {
  nlohmann::ordered_json needs = nlohmann::ordered_json::array();
  for (const auto& group : flag.needs) {
    nlohmann::ordered_json answers = nlohmann::ordered_json::array();
    for (const Need& need : group) {
      nlohmann::ordered_json answer{{"capability", need.capability}};
      if (need.at_least) {
        answer["at_least"] = *need.at_least;
      } else {
        answer["is"] = need.is;
      }
      answers.push_back(std::move(answer));
    }
    needs.push_back(std::move(answers));
  }
  return {{"application", map.application},
          {"version", map.version},
          {"backend", map.backend},
          {"flag", flag.flag},
          {"needs", std::move(needs)},
          {"also_needs", flag.also_needs},
          {"opens", flag.opens},
          {"without", flag.without},
          {"log", flag.log},
          {"off_switch", flag.off_switch},
          {"source", flag.source}};
}

}  // namespace

std::string list_text() {
  std::string out;
  for (const Toggle& toggle : kToggles) {
    out += fmt::format("{}\n", toggle.name);
    append_wrapped(out, "    ", toggle.description);
  }
  return out;
}

std::string describe_text(const Toggle& toggle, const std::vector<ExpectationMap>& maps) {
  const DomainInfo& domain = domain_info(toggle.domain);
  std::string out = fmt::format("{}\n", toggle.name);
  append_field(out, "what", toggle.description);
  append_field(out, "values", values_text(toggle));
  append_field(out, "who asks", toggle.asked_by);
  append_field(out, "side effects", toggle.side_effects.empty() ? "none known" : toggle.side_effects);
  append_field(out, "answered on", domain.platform);
  append_field(out, "shim",
               has_shim(toggle.domain) ? fmt::format("{} through {}", domain.library, domain.injection)
                                       : std::string("not in this build"));
  append_field(out, "also known as", toggle.alias);
  for (const ExpectationMap& map : maps) {
    bool first = true;
    for (const Expectation& flag : map.flags) {
      if (!flag.mentions(toggle.name)) continue;
      if (first) {
        out += fmt::format("\nexpected of {} {} on {} (from its sources, not measured)\n", map.application, map.version,
                           map.backend);
      }
      first = false;
      append_expectation(out, flag);
    }
  }
  return out;
}

std::string describe_json(const Toggle& toggle, const std::vector<ExpectationMap>& maps) {
  const DomainInfo& domain = domain_info(toggle.domain);
  nlohmann::ordered_json values;
  switch (toggle.kind) {
    case ValueKind::kInteger:
      values = {{"kind", "integer"}, {"low", toggle.low}, {"high", toggle.high}};
      break;
    case ValueKind::kSwitch:
      values = {{"kind", "switch"}, {"levels", {"on", "off"}}};
      break;
    case ValueKind::kLevel:
      values = {
          {"kind", "level"},
          {"levels", std::vector<std::string_view>(toggle.levels.names, toggle.levels.names + toggle.levels.count)}};
      break;
  }
  nlohmann::ordered_json document{{"capability", toggle.name},
                                  {"domain", domain.name},
                                  {"description", toggle.description},
                                  {"values", std::move(values)},
                                  {"asked_by", toggle.asked_by},
                                  {"side_effects", toggle.side_effects},
                                  {"alias", toggle.alias},
                                  {"platform", domain.platform},
                                  {"shim", domain.library},
                                  {"injection", domain.injection},
                                  {"expectations", nlohmann::ordered_json::array()}};
  for (const ExpectationMap& map : maps) {
    for (const Expectation& flag : map.flags) {
      if (flag.mentions(toggle.name)) document["expectations"].push_back(to_json(map, flag));
    }
  }
  return document.dump(2) + "\n";
}

}  // namespace capbench::shim
