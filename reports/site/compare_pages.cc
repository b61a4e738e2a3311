// Any two environments or builds, cell by cell. The page chooses; what each environment measured is a file of its own.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "reports/site/pages.h"

namespace capbench::site {
namespace {

std::string side_id(const std::string& environment) {
  return environment.empty() ? "unknown" : environment.substr(0, 16);
}

std::string environment_text(const Model& model, const std::string& id) {
  const auto found = model.environments.find(id);
  if (found == model.environments.end()) return "environment not known";
  const Environment& environment = found->second;
  std::string text = environment.label;
  if (!environment.chip.empty() && text.find(environment.chip) == std::string::npos) text += ", " + environment.chip;
  if (!environment.system.empty()) text += ", " + environment.system;
  return text + " (" + id.substr(0, 6) + ")";
}

}  // namespace

std::string compare_page(const Site& site) {
  const Model& model = site.model;
  Json sides = Json::array();
  for (const auto& [environment, builds] : site.builds) {
    Json names = Json::array();
    for (const Texts::Id build : builds) names.push_back(model.text(build));
    sides.push_back(
        {{"id", side_id(environment)}, {"name", environment_text(model, environment)}, {"builds", std::move(names)}});
  }
  Json first;
  if (site.first_pair) {
    first = {{"side", side_id(site.first_pair->environment)},
             {"older", model.text(site.first_pair->older)},
             {"newer", model.text(site.first_pair->newer)}};
  }
  std::string body;
  if (sides.empty()) {
    body = "<p>Nothing has been measured yet.</p>\n";
  } else {
    body =
        "<section data-compare=\"compare-data\" aria-label=\"Comparison\">"
        "<noscript><p>Choosing two sides needs scripts. Without them, the <a href=\"history.html\">history</a> of a "
        "series "
        "has every build and environment below one another.</p></noscript></section>\n" +
        data_block("compare-data", {{"sides", std::move(sides)}, {"first", std::move(first)}});
    body += fmt::format(
        "<section aria-labelledby=\"notes\"><h2 id=\"notes\">How to read it</h2><ul class=\"notes\">\n"
        "<li>Cells match if suite, model, workload, test, guest, mode and arm have the same names. What has no match "
        "is "
        "listed below the table.</li>\n"
        "<li>A ratio's interval is made of the two medians' own 95 % intervals on the logarithmic scale (MOVER: Donner "
        "and "
        "Zou 2012); a side of a single process has none, and then neither has the ratio.</li>\n"
        "<li>Two machines differ in more than what you look for. A comparison of treatments belongs on one machine: "
        "see <a "
        "href=\"speedup.html\">Speedup</a>.</li>\n"
        "<li>The newest {} builds of each environment can be chosen.</li></ul></section>\n",
        kMostBuilds);
  }
  return page(frame_of(site, "Compare", "compare.html", "Any two environments or builds, side by side."), body);
}

std::string compare_data(const Site& site, const std::string& environment) {
  const Model& model = site.model;
  std::map<std::string_view, std::size_t> place;
  Json texts = Json::array();
  const auto index = [&](const std::string& text) {
    const auto [found, is_new] = place.try_emplace(text, texts.size());
    if (is_new) texts.push_back(text);
    return found->second;
  };
  Json cells = Json::array();
  const auto mine = model.by_environment.find(environment);
  const auto builds = site.builds.find(environment);
  if (mine != model.by_environment.end() && builds != site.builds.end()) {
    const std::set<Texts::Id> chosen(builds->second.begin(), builds->second.end());
    for (const std::uint32_t place_of_cell : mine->second) {
      const Cell& cell = model.cells[place_of_cell];
      if (!chosen.contains(cell.build)) continue;
      const auto speed = estimate_of(model, cell);
      if (!speed) continue;
      const Series& series = model.series[cell.series];
      const SeriesKey& key = model.key(series);
      Json row = Json::array();
      for (const std::string* text : {&key.suite, &key.model, &key.model_kind, &key.workload, &key.test, &key.guest,
                                      &key.mode, &key.arm, &model.text(cell.build)}) {
        row.push_back(index(*text));
      }
      row.push_back(speed->value);
      // That of a single process says nothing about another.
      const bool between = speed->ci95 && cell.n > 1;
      row.push_back(between ? Json(speed->ci95->low) : Json());
      row.push_back(between ? Json(speed->ci95->high) : Json());
      row.push_back(cell.n);
      row.push_back(site.has_page(series) ? series.id : "");
      cells.push_back(std::move(row));
    }
  }
  return fmt::format("capbenchData(\"{}\", {});\n", side_id(environment),
                     safe_json({{"texts", std::move(texts)}, {"cells", std::move(cells)}}));
}

}  // namespace capbench::site
