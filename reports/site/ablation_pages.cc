// Which capability a speed depends on: switches over the arms that were measured, effects, interactions.
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "reports/site/drawing.h"
#include "reports/site/pages.h"
#include "reports/site/plots.h"

namespace capbench::site {
namespace {

using reports::AblationArm;
using reports::AblationFactor;
using reports::AblationFamily;
using reports::AblationRow;
using reports::Interval;

std::optional<Interval> interval_of(const std::optional<double>& lo, const std::optional<double>& hi) {
  if (!lo || !hi) return std::nullopt;
  return Interval{*lo, *hi};
}

std::optional<reports::Estimate> speed_of(const AblationArm& arm) {
  if (!arm.numbers.median) return std::nullopt;
  const stats::MedianInterval& median = *arm.numbers.median;
  return reports::Estimate{median.median, interval_of(median.lo, median.hi), median.label, median.estimator};
}

std::optional<reports::Estimate> over_reference(const AblationArm& arm) {
  if (!arm.numbers.against_reference || !arm.numbers.against_reference->alone) return std::nullopt;
  const stats::RatioInterval& ratio = *arm.numbers.against_reference->alone;
  return reports::Estimate{ratio.ratio, interval_of(ratio.lo, ratio.hi), ratio.label, ratio.estimator};
}

std::string title_of(const AblationRow& row) {
  return model_text(row.model, row.model_kind) + " on " + (row.device.empty() ? row.machine : row.device);
}

Json estimate_json(const std::optional<reports::Estimate>& estimate) {
  if (!estimate) return nullptr;
  Json json{{"value", estimate->value}, {"label", estimate->interval}};
  if (estimate->ci95) {
    json["lo"] = estimate->ci95->low;
    json["hi"] = estimate->ci95->high;
  }
  return json;
}

Json test_json(const AblationRow& row, std::size_t index) {
  Json arms = Json::array();
  for (const AblationArm& arm : row.arms) {
    Json json{{"name", arm.name},
              {"mode", arm.mode},
              {"status", arm.status},
              {"treatment", arm.treatment},
              {"quality", arm.quality},
              {"trials", arm.numbers.summary ? arm.numbers.summary->n_trials : 0},
              {"speed", estimate_json(speed_of(arm))},
              {"stock", estimate_json(over_reference(arm))}};
    if (arm.numbers.against_bare_metal && arm.numbers.against_bare_metal->alone) {
      json["bare"] = 100 * arm.numbers.against_bare_metal->alone->ratio;
    }
    arms.push_back(std::move(json));
  }
  Json families = Json::array();
  for (const AblationFamily& family : row.families) {
    Json factors = Json::array();
    for (std::size_t f = 0; f < family.levels.factors.size(); ++f) {
      const reports::VariedFactor& factor = family.levels.factors[f];
      Json json{{"name", factor.name}, {"label", factor.label}, {"levels", factor.levels}};
      if (f < family.factors.size()) {
        json["depends"] = family.factors[f].depends;
        json["why"] = family.factors[f].why;
        json["condition"] = family.factors[f].condition;
      }
      factors.push_back(std::move(json));
    }
    Json cells = Json::array();
    for (const reports::FactorFamily::Cell& cell : family.levels.cells) {
      cells.push_back({{"arm", cell.arm}, {"levels", cell.levels}});
    }
    families.push_back({{"place", family.levels.place},
                        {"sentence", family.dependence ? family.dependence->sentence : family.problem},
                        {"factors", std::move(factors)},
                        {"cells", std::move(cells)}});
  }
  return {{"test", row.test},
          {"figure", fmt::format("arms-{}", index)},
          {"section", fmt::format("test-{}", index)},
          {"arms", std::move(arms)},
          {"families", std::move(families)}};
}

std::string arms_table(const AblationRow& row, std::size_t index) {
  std::vector<TableRow> rows;
  for (const AblationArm& arm : row.arms) {
    const auto speed = speed_of(arm);
    const auto ratio = over_reference(arm);
    std::string status = arm.status == "ok" ? badge("ok", "good") : badge(arm.status, arm.finding ? "bad" : "");
    status += " " + badge(arm.treatment, arm.treatment == "proven" ? "good" : "warn");
    if (arm.quality == "wrong") status += " " + badge("wrong output", "bad");
    const bool has_bare = arm.numbers.against_bare_metal && arm.numbers.against_bare_metal->alone;
    rows.push_back({{fmt::format("<span class=\"mode {}\">{}</span>", mode_class(arm.mode), esc(arm.name)), arm.name},
                    {estimate(speed), fmt::format("{}", speed ? speed->value : 0), "key"},
                    {arm.is_reference ? std::string("<span class=\"soft\">stock</span>") : estimate(ratio, true),
                     fmt::format("{}", ratio ? ratio->value : 0)},
                    {has_bare ? fmt::format("{:.1f} %", 100 * arm.numbers.against_bare_metal->alone->ratio)
                              : std::string("<span class=\"soft\">\xE2\x80\x93</span>"),
                     fmt::format("{}", has_bare ? arm.numbers.against_bare_metal->alone->ratio : 0)},
                    {fmt::format("{}", arm.numbers.summary ? arm.numbers.summary->n_trials : 0)},
                    {status}});
  }
  return table(fmt::format("arms-table-{}", index), fmt::format("{}: every arm, tokens per second", row.test),
               {{"Arm", "wide", ""},
                {"Median", "num", "median of trial medians"},
                {"Over stock", "num", "with its own 95 % interval"},
                {"Of bare metal", "num", ""},
                {"Trials", "num", ""},
                {"State", "text", ""}},
               rows);
}

std::string effect_html(const std::optional<stats::Effect>& effect) {
  const stats::RatioInterval* ratio = stats::deciding(effect);
  if (ratio == nullptr) return "<span class=\"soft\">\xE2\x80\x93</span>";
  return "<span class=\"value\">" + times(ratio->ratio) + "</span> " + range(interval_of(ratio->lo, ratio->hi), true);
}

std::string effect_sort(const std::optional<stats::Effect>& effect) {
  const stats::RatioInterval* ratio = stats::deciding(effect);
  return fmt::format("{}", ratio == nullptr ? 0 : ratio->ratio);
}

std::string factors_table(const AblationFamily& family, const std::string& id, const std::string& test) {
  std::vector<TableRow> rows;
  for (const AblationFactor& factor : family.factors) {
    const std::string kind = factor.depends == "yes" ? "key-yes" : factor.depends == "no" ? "" : "warn";
    std::string depends = badge(factor.depends, kind);
    if (!factor.condition.empty()) depends += "<span class=\"range\">" + esc(factor.condition) + "</span>";
    std::string expected = factor.expected.verdict.empty() ? std::string("<span class=\"soft\">\xE2\x80\x93</span>")
                                                           : esc(factor.expected.verdict);
    if (!factor.agreement.empty())
      expected += " " + badge(factor.agreement, factor.agreement == "surprise" ? "bad" : "");
    rows.push_back({{fmt::format("<span title=\"{}\">{}</span>", esc(factor.factor.name), esc(factor.factor.label))},
                    {depends, factor.depends},
                    {effect_html(factor.removing), effect_sort(factor.removing)},
                    {effect_html(factor.adding), effect_sort(factor.adding)},
                    {effect_html(factor.main), effect_sort(factor.main)},
                    {expected},
                    {esc(factor.why)}});
  }
  return table(id, fmt::format("{}: what each factor is worth", test),
               {{"Factor", "text", ""},
                {"Depends on it", "wide", "a claim needs its whole interval on one side of the margin"},
                {"Unlocked, with over without", "num", "what leaving it out of everything unlocked costs"},
                {"Stock, with over without", "num", "what adding it to stock gives"},
                {"On average", "num", "main effect: over the settings of the others"},
                {"Expected", "text", "what llama.cpp's source, or its own code executed, says"},
                {"Why", "wide", ""}},
               rows);
}

std::string forest(const AblationRow& row, const AblationFamily& family, const std::string& id) {
  std::vector<Ratio> ratios;
  for (const AblationFactor& factor : family.factors) {
    const auto add = [&](const std::optional<stats::Effect>& effect, std::string_view group) {
      const stats::RatioInterval* ratio = stats::deciding(effect);
      if (ratio == nullptr) return;
      ratios.push_back({factor.factor.label, group, ratio->ratio, interval_of(ratio->lo, ratio->hi), ratio->label});
    };
    add(factor.removing, kWithAll);
    add(factor.adding, kWithNone);
    add(factor.main, kOnAverage);
  }
  if (ratios.empty()) return "";
  return figure(
      id,
      fmt::format("{}: speed with the factor over speed without it, with simultaneous 95 % intervals; the band is "
                  "the margin of {:.1f} %",
                  row.test, 100 * row.margin),
      draw_ratios(ratios, "with over without", row.margin));
}

std::string interactions(const AblationFamily& family, const std::string& id, const std::string& test) {
  if (family.interactions.empty()) return "";
  const std::size_t n = family.levels.factors.size();
  std::vector<Column> columns{{"with", "text", ""}};
  for (const reports::VariedFactor& factor : family.levels.factors)
    columns.push_back({factor.label, "num", factor.name});
  std::vector<TableRow> rows;
  for (std::size_t a = 0; a < n; ++a) {
    TableRow row{{esc(family.levels.factors[a].label)}};
    for (std::size_t b = 0; b < n; ++b) {
      if (a == b) {
        row.push_back({"<span class=\"soft\">\xC2\xB7</span>"});
        continue;
      }
      const auto found = std::find_if(family.interactions.begin(), family.interactions.end(), [&](const auto& effect) {
        return effect.factors.size() == 2 && ((effect.factors[0] == a && effect.factors[1] == b) ||
                                              (effect.factors[0] == b && effect.factors[1] == a));
      });
      const std::optional<stats::Effect> effect =
          found == family.interactions.end() ? std::nullopt : std::optional<stats::Effect>(*found);
      const stats::RatioInterval* ratio = stats::deciding(effect);
      const bool less = ratio != nullptr && ratio->hi && *ratio->hi < 1;
      const bool more = ratio != nullptr && ratio->lo && *ratio->lo > 1;
      row.push_back({effect_html(effect), effect_sort(effect), less ? "less" : more ? "more" : ""});
    }
    rows.push_back(std::move(row));
  }
  return table(id, fmt::format("{}: interactions", test), columns, rows) +
         "<p class=\"small\">How many times as much a factor is worth when the other is unlocked as when it is stock. "
         "1 is none; below 1 they stand in for each other, above 1 they need each other. Shaded: the simultaneous 95 % "
         "interval leaves 1 out.</p>\n";
}

// "f: coopmat=on int-dot=off float16=on" -> "f: coopmat, float16": where a figure is narrow, names that begin alike and
// end differently are cut to the same.
std::string short_arm_name(const std::string& name) {
  const std::size_t colon = name.find(": ");
  if (colon == std::string::npos) return name;
  std::string on;
  for (std::string_view rest = std::string_view(name).substr(colon + 2); !rest.empty();) {
    const std::string_view word = rest.substr(0, rest.find(' '));
    rest.remove_prefix(std::min(rest.size(), word.size() + 1));
    const std::size_t equals = word.find('=');
    const std::string_view level = equals == std::string_view::npos ? "" : word.substr(equals + 1);
    if (level != "on" && level != "off") return name;
    if (level == "on") on += (on.empty() ? "" : ", ") + std::string(word.substr(0, equals));
  }
  return name.substr(0, colon + 2) + (on.empty() ? "none" : on);
}

std::string test_section(const AblationRow& row, std::size_t index) {
  std::string html =
      fmt::format("<section class=\"test\" id=\"test-{0}\" aria-labelledby=\"h-{0}\"><h2 id=\"h-{0}\">{1}</h2>\n",
                  index, esc(row.test.empty() ? "(no result)" : row.test));
  for (const AblationFamily& family : row.families) {
    const std::string sentence = family.dependence ? family.dependence->sentence : family.problem;
    if (!family.levels.place.empty()) html += "<p class=\"small\">In " + esc(family.levels.place) + "</p>\n";
    if (!sentence.empty()) html += "<p class=\"finding\">" + esc(sentence) + ".</p>\n";
  }
  std::vector<ArmPoint> arms;
  for (const AblationArm& arm : row.arms) {
    if (const auto speed = speed_of(arm)) arms.push_back({arm.name, short_arm_name(arm.name), arm.mode, *speed});
  }
  if (!arms.empty()) {
    html += figure(fmt::format("arms-{}", index), row.test + ": every arm, with 95 % intervals", draw_arms(arms));
  }
  for (std::size_t f = 0; f < row.families.size(); ++f) {
    const AblationFamily& family = row.families[f];
    if (family.factors.empty()) continue;
    html += forest(row, family, fmt::format("effects-{}-{}", index, f));
    html += factors_table(family, fmt::format("factors-{}-{}", index, f), row.test);
    html += interactions(family, fmt::format("interactions-{}-{}", index, f), row.test);
    if (!family.levels.notes.empty()) {
      html += "<ul class=\"notes\">";
      for (const std::string& note : family.levels.notes) html += "<li>" + esc(note) + "</li>";
      html += "</ul>\n";
    }
  }
  html += arms_table(row, index);
  if (!row.notes.empty()) {
    html += "<ul class=\"notes\">";
    for (const std::string& note : row.notes) html += "<li>" + esc(note) + "</li>";
    html += "</ul>\n";
  }
  return html + "</section>\n";
}

std::string summary_of(const Ablation& ablation) {
  std::string text;
  for (const AblationRow& row : ablation.tests) {
    for (const AblationFamily& family : row.families) {
      if (family.dependence && !family.dependence->sentence.empty()) {
        text += (text.empty() ? "" : "<br>") + esc(family.dependence->sentence);
      }
    }
  }
  return text.empty() ? "<span class=\"soft\">no statement can be made</span>" : text;
}

}  // namespace

std::string ablation_index(const Site& site) {
  std::vector<TableRow> rows;
  for (const Ablation& ablation : site.ablations) {
    const AblationRow& first = ablation.tests.front();
    rows.push_back({{fmt::format("<a href=\"ablation/{}.html\">{}</a><span class=\"range\">{}</span>", ablation.id,
                                 esc(title_of(first)), esc(first.suite + ", " + first.workload)),
                     title_of(first)},
                    {count(first.arms.size())},
                    {summary_of(ablation)},
                    {esc(day(first.measured_last))}});
  }
  std::string body;
  if (rows.empty()) {
    body = "<p>No suite here varies a capability. <code>suites/vulkan-llvmpipe.json</code> is one that does.</p>\n";
  } else {
    body = table("ablations", "Suites that vary capabilities",
                 {{"What", "wide", ""}, {"Arms", "num", ""}, {"What was found", "wide", ""}, {"Measured", "text", ""}},
                 rows, true);
  }
  if (!site.left_out.empty()) {
    body += "<ul class=\"notes\">";
    for (const std::string& sentence : site.left_out) body += "<li>" + esc(sentence) + "</li>";
    body += "</ul>\n";
  }
  return page(frame_of(site, "Ablation", "ablation.html",
                       "Which capability does a speed depend on? Each was taken away or added, alone or in every "
                       "combination, and what that cost was measured."),
              body);
}

std::string ablation_page(const Site& site, const Ablation& ablation) {
  const AblationRow& first = ablation.tests.front();
  Json tests = Json::array();
  std::string sections;
  for (std::size_t i = 0; i < ablation.tests.size(); ++i) {
    tests.push_back(test_json(ablation.tests[i], i));
    sections += test_section(ablation.tests[i], i);
  }
  std::string body = "<dl class=\"details\">\n";
  body += detail("Suite", esc(first.suite));
  body += detail("About", esc(first.suite_description));
  body += detail("Machine", esc(first.machine));
  body += detail("Device", esc(first.device));
  body += detail("Build", esc(first.build));
  body += detail("Guest", esc(first.guest));
  body += detail("Measured", esc(day(first.measured_first) == day(first.measured_last)
                                     ? day(first.measured_last)
                                     : day(first.measured_first) + " to " + day(first.measured_last)));
  body += "</dl>\n";
  body +=
      "<section class=\"explorer\" id=\"explorer\" data-explorer=\"explorer-data\" aria-labelledby=\"h-explorer\" "
      "hidden><h2 id=\"h-explorer\">Explore</h2></section>\n";
  body += data_block("explorer-data", {{"tests", std::move(tests)}});
  body += sections;
  Frame frame =
      frame_of(site, "Ablation: " + title_of(first), "ablation.html",
               "Switch capabilities off and on; what you see is what was measured with exactly those.", "../");
  frame.parent = "<a href=\"../ablation.html\">All ablations</a>";
  return page(frame, body);
}

}  // namespace capbench::site
