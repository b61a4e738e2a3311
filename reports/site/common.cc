// What several pages say alike.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>

#include "reports/site/pages.h"

namespace capbench::site {
namespace {

std::string value_text(const nlohmann::json& value) {
  return value.is_string() ? value.get<std::string>()
                           : value.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

// Facts by name, those of objects as "a.b".
void flatten(const nlohmann::json& json, const std::string& prefix, std::map<std::string, std::string>& facts) {
  if (!json.is_object() && !(json.is_array() && !json.empty() && json.front().is_object())) {
    facts[prefix] = value_text(json);
    return;
  }
  std::size_t index = 0;
  for (const auto& item : json.items()) {
    const std::string name = json.is_array() ? std::to_string(index++) : item.key();
    flatten(item.value(), prefix.empty() ? name : prefix + "." + name, facts);
  }
}

std::map<std::string, std::string> facts_of(const std::string& text) {
  std::map<std::string, std::string> facts;
  const auto json = nlohmann::json::parse(text, nullptr, false);
  if (json.is_object()) flatten(json, "", facts);
  return facts;
}

std::string cut(const std::string& text) {
  constexpr std::size_t kMost = 400;
  return text.size() <= kMost ? text : text.substr(0, kMost) + " ...";
}

}  // namespace

std::size_t parts_of(std::size_t rows, std::size_t rows_of_a_part) {
  return std::max<std::size_t>(1, (rows + rows_of_a_part - 1) / rows_of_a_part);
}

Frame frame_of(const Site& site, std::string title, std::string active, std::string lead, std::string root) {
  Frame frame;
  frame.title = std::move(title);
  frame.active = std::move(active);
  frame.lead = std::move(lead);
  frame.root = std::move(root);
  frame.stamp = fmt::format("{} of {}, newest measured {}. Page made {} UTC by capbench from its store.",
                            count_of(site.model.n_results(), "result"), count_of(site.model.n_trials, "trial"),
                            site.model.newest_start.empty() ? "never" : esc(minute(site.model.newest_start)),
                            esc(minute(site.model.read_at)));
  return frame;
}

std::string model_text(const std::string& model, const std::string& kind) {
  return kind == "twin" ? model + " (twin)" : model;
}

std::string trial_link(const Site& site, std::uint32_t launch, const std::string& root, std::string_view text) {
  const std::string id = reports::digest_hex(site.model.m.launches[launch].id);
  const std::string shown = text.empty() ? fmt::format("<code>{}</code>", id.substr(0, 12)) : esc(text);
  if (!site.has_page(launch)) return fmt::format("<span title=\"not in this copy of the site\">{}</span>", shown);
  return fmt::format("<a href=\"{}trial/{}.html\">{}</a>", root, id, shown);
}

std::string series_link(const Site& site, const Series& series, const std::string& root, const std::string& html) {
  if (!site.has_page(series)) return fmt::format("<span title=\"not in this copy of the site\">{}</span>", html);
  return fmt::format("<a href=\"{}history/{}.html\">{}</a>", root, series.id, html);
}

std::string arm_text(const std::string& mode, const std::string& arm) {
  return arm.empty() || arm == mode ? mode : mode + " (" + arm + ")";
}

std::string series_text(const Site& site, const Series& series) {
  const SeriesKey& key = site.model.key(series);
  return model_text(key.model, key.model_kind) + ", " + key.test + ", " + arm_text(key.mode, key.arm);
}

std::string detail(std::string_view name, const std::string& html) {
  return html.empty() ? "" : fmt::format("<dt>{}</dt><dd>{}</dd>\n", name, html);
}

std::string status_html(std::string_view status, std::string_view reason) {
  std::string html = badge(status, status == "ok" ? "good" : "bad");
  if (!reason.empty()) html += "<span class=\"range\">" + esc(reason) + "</span>";
  return html;
}

std::string why_not_counted(const Model& model, const Launch& launch) {
  const std::string& status = model.text(launch.status);
  if (status != "ok") return status_html(status, model.text(launch.reason));
  const auto because = [](std::string_view name, std::string_view kind, std::string_view reason) {
    return badge(name, kind) + "<span class=\"range\">" + std::string(reason) + "</span>";
  };
  if (model.text(launch.treatment) == "invalid")
    return because("invalid treatment", "bad", "it was not given what its arm asks for");
  if (launch.block < 0) return because("warm-up", "", "measured before the first block, for nobody's result");
  if (!launch.latest) return because("replaced", "", "a later attempt stands in its place");
  return because("no samples", "warn", "its source states means at most, which have no median");
}

std::string list_of(const std::vector<std::string>& items) {
  std::string html = "<ul class=\"notes\">\n";
  for (const std::string& item : items) html += "<li>" + item + "</li>\n";
  return html + "</ul>\n";
}

std::string environment_difference(const Site& site, const std::string& before, const std::string& after) {
  if (before == after) return "<p>The environment is the same, fact by fact.</p>\n";
  const auto a = site.model.environments.find(before);
  const auto b = site.model.environments.find(after);
  if (a == site.model.environments.end() || b == site.model.environments.end()) {
    return "<p>One of the two environments is not known.</p>\n";
  }
  const std::map<std::string, std::string> old_facts = facts_of(a->second.json);
  const std::map<std::string, std::string> new_facts = facts_of(b->second.json);
  std::map<std::string, std::pair<std::string, std::string>> differing;
  for (const auto& [name, value] : old_facts) {
    const auto other = new_facts.find(name);
    if (other == new_facts.end()) {
      differing[name] = {value, ""};
    } else if (other->second != value) {
      differing[name] = {value, other->second};
    }
  }
  for (const auto& [name, value] : new_facts) {
    if (!old_facts.contains(name)) differing[name] = {"", value};
  }
  const auto shown = [&](const std::string& text) {
    if (text.empty()) return std::string("<span class=\"soft\">not known</span>");
    return esc(cut(site.options.redact ? site.options.redact(text) : text));
  };
  std::vector<TableRow> rows;
  for (const auto& [name, values] : differing) {
    rows.push_back({{esc(name)}, {shown(values.first)}, {shown(values.second)}});
  }
  return table("environment-difference", fmt::format("{} of {} facts differ", differing.size(), new_facts.size()),
               {{"Fact", "text", ""}, {"Before", "wide", ""}, {"Here", "wide", ""}}, rows);
}

}  // namespace capbench::site
