// The first page: what is here, what it comes to, what is new, what became slower.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <tuple>

#include "base/counted.h"
#include "reports/site/drawing.h"
#include "reports/site/pages.h"
#include "reports/site/plots.h"

namespace capbench::site {
namespace {

constexpr std::size_t kNewest = 12;
constexpr std::size_t kChanges = 12;

std::string tile(std::string_view value, std::string_view name, std::string_view more = "") {
  return fmt::format("<div class=\"tile\"><dt>{}</dt><dd>{}</dd>{}</div>\n", name, value,
                     more.empty() ? "" : fmt::format("<dd class=\"more\">{}</dd>", more));
}

std::string headline_section(const Site& site) {
  std::string html = "<section aria-labelledby=\"speedups\"><h2 id=\"speedups\">Unlocked over stock</h2>\n";
  if (site.headlines.empty())
    return html + "<p>No suite here has both a stock and an unlocked arm that count.</p></section>\n";
  std::vector<Ratio> ratios;
  std::vector<std::vector<std::string>> parts;
  std::vector<TableRow> cells;
  for (const reports::SpeedupRow& one : site.headlines) {
    const reports::SpeedupRow* row = &one;
    parts.push_back(
        {model_text(row->model, row->model_kind), row->test, row->machine, row->guest, row->suite, row->build});
    ratios.push_back({"", row->treatment == kProven ? kProven : kUnproven, row->speedup->value, row->speedup->ci95,
                      row->speedup->interval});
    cells.push_back({{esc(model_text(row->model, row->model_kind))},
                     {esc(row->test)},
                     {esc(row->machine)},
                     {estimate(row->speedup, true), fmt::format("{}", row->speedup->value), "key"},
                     {row->percent_of_bare_metal ? fmt::format("{:.1f} %", row->percent_of_bare_metal->value)
                                                 : std::string("\xE2\x80\x93"),
                      fmt::format("{}", row->percent_of_bare_metal ? row->percent_of_bare_metal->value : 0)},
                     {badge(row->treatment, row->treatment == "proven" ? "good" : "warn") + " " +
                      badge(row->quality, row->quality == "passed" ? "good" : "")}});
  }
  const std::vector<std::string> names = row_names(parts, 2);
  for (std::size_t i = 0; i < ratios.size(); ++i) ratios[i].row = names[i];
  html += figure("headlines", "Speedups with their 95 % intervals, logarithmic",
                 draw_ratios(ratios, "unlocked over stock"));
  html += table("headline-table", "The largest ratio of each suite, machine and model, of the newest build",
                {{"Model", "wide", ""},
                 {"Test", "text", ""},
                 {"Machine", "wide", ""},
                 {"Speedup", "num", "median of trial medians, unlocked over stock"},
                 {"Of bare metal", "num", "unlocked over bare metal"},
                 {"Evidence", "text", "treatment; output compared with bare metal"}},
                cells);
  return html + "<p class=\"more\"><a href=\"speedup.html\">Every model and machine</a></p></section>\n";
}

std::string newest_section(const Site& site) {
  std::string html = "<section aria-labelledby=\"newest\"><h2 id=\"newest\">Newest results</h2>\n";
  std::vector<TableRow> rows;
  for (const Run& run : site.model.runs) {
    if (rows.size() == kNewest) break;
    const std::string state = run.state == "complete" ? badge("complete", "good") : badge(run.state, "warn");
    rows.push_back({{esc(run.suite)},
                    {esc(site.model.machine_label(run.machine_id))},
                    {esc(minute(run.started)), run.started},
                    {count(run.trials), std::to_string(run.trials)},
                    {count(run.not_counted), std::to_string(run.not_counted)},
                    {state}});
  }
  if (rows.empty())
    return html +
           "<p>None yet. <code>capbench run</code> measures, <code>capbench import</code> reads what others "
           "measured.</p></section>\n";
  html += table(
      "newest-table", "Runs, newest first",
      {{"Suite", "wide", ""},
       {"Machine", "wide", ""},
       {"Started (UTC)", "text", ""},
       {"Trials", "num", "that count"},
       {"Not counted", "num", "failed, replaced, excluded, wrongly treated or only a mean, each kept with its reason"},
       {"State", "text", ""}},
      rows);
  return html + "</section>\n";
}

}  // namespace

std::string overview_page(const Site& site) {
  const Model& model = site.model;
  std::set<std::string> models;
  for (const Series& series : model.series) models.insert(model.key(series).model);
  std::string body = "<dl class=\"tiles\">\n";
  body += tile(count(model.n_results()), "results", "each a test of one process");
  body += tile(count(model.n_trials), "trials that count",
               model.not_counted.empty() ? "none was left out"
                                         : fmt::format("<a href=\"not-counted.html\">{} more, each with its reason</a>",
                                                       count(model.not_counted.size())));
  body += tile(count(model.machines.size()), noun_of(model.machines.size(), "machine"),
               count_of(model.environments.size(), "environment"));
  body += tile(count(models.size()), noun_of(models.size(), "model"), "");
  body += tile(model.newest_start.empty() ? "\xE2\x80\x93" : esc(day(model.newest_start)), "newest measurement", "");
  body += "</dl>\n";
  body += headline_section(site);
  body += changes_section(site, kChanges);
  body += newest_section(site);
  return page(
      frame_of(site, "Overview", "index.html",
               "How fast llama.cpp runs on a machine, in a guest as it is shipped (<em>stock</em>), and in the same "
               "guest when a shim lets it ask for what the hardware can do (<em>unlocked</em>)."),
      body);
}

}  // namespace capbench::site
