// One series per model, test, mode and machine, over builds, systems or dates.
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "reports/site/pages.h"
#include "reports/site/spec.h"

namespace capbench::site {
namespace {

// Most points of one page: the newest.
constexpr std::size_t kMostPoints = 1000;

std::string system_of(const Site& site, const Cell& cell) {
  const auto found = site.model.environments.find(site.model.text(cell.environment));
  return found == site.model.environments.end() ? "" : found->second.system;
}

std::string percent_change(double ratio) {
  return fmt::format("{:+.1f} %", 100 * (ratio - 1));
}

// "-12.1 % [-14.0, -10.2]"
std::string change_text(const stats::ChangePoint& point) {
  return fmt::format("{} [{:+.1f}, {:+.1f}]", percent_change(point.ratio), 100 * (point.lo - 1), 100 * (point.hi - 1));
}

std::string p_text(double p) {
  return p < 0.001 ? fmt::format("{:.4f}", p) : fmt::format("{:.3f}", p);
}

TableRow change_row(const Site& site, const Change& change, const std::string& root, bool with_series) {
  const Series& series = site.model.series[change.series];
  const Cell& at = site.model.cells[series.cells[change.point.index]];
  const Cell& before = site.model.cells[series.cells[change.point.index - 1]];
  const bool slower = change.point.ratio < 1;
  TableRow row;
  if (with_series) {
    row.push_back({series_link(series, root, esc(series_text(site, series))) +
                   fmt::format("<span class=\"range\">{}</span>",
                               esc(site.model.machine_label(site.model.text(series.key.machine))))});
  }
  row.push_back({badge(slower ? "slower" : "faster", slower ? "bad" : "good")});
  row.push_back({esc(change_text(change.point)), fmt::format("{}", change.point.ratio), slower ? "worse" : "better"});
  row.push_back({esc(day(site.model.text(at.first_started))), site.model.text(at.first_started)});
  row.push_back({trial_link(site, median_trial(at), root, site.model.text(at.build))});
  row.push_back({at.environment == before.environment ? std::string("the same") : badge("differs too", "warn")});
  row.push_back({p_text(change.point.p), fmt::format("{}", change.point.p)});
  return row;
}

std::vector<Column> change_columns(bool with_series) {
  std::vector<Column> columns;
  if (with_series) columns.push_back({"Series", "wide", ""});
  for (const Column& column :
       std::vector<Column>{{"Change", "text", ""},
                           {"By", "num", "with its 95 % interval"},
                           {"Since", "text", "first measured after it"},
                           {"Build", "text", "the first after it"},
                           {"Environment", "text", "of the first after it, against the one before"},
                           {"p", "num", "of the permutation test"}}) {
    columns.push_back(column);
  }
  return columns;
}

std::vector<HistorySegment> segments_of(const Site& site, const Series& series, std::size_t skipped,
                                        const std::vector<const Change*>& changes) {
  std::vector<std::size_t> starts{0};
  for (const Change* change : changes) starts.push_back(change->point.index);
  std::vector<HistorySegment> segments;
  for (std::size_t s = 0; s < starts.size(); ++s) {
    const std::size_t end = s + 1 < starts.size() ? starts[s + 1] : series.cells.size();
    std::vector<double> values;
    for (std::size_t i = starts[s]; i < end; ++i) {
      if (const auto speed = estimate_of(site.model.cells[series.cells[i]])) values.push_back(speed->value);
    }
    if (values.empty() || end <= skipped) continue;
    segments.push_back({std::max(starts[s], skipped) - skipped, end - 1 - skipped, stats::median(values)});
  }
  return segments;
}

}  // namespace

std::string changes_section(const Site& site, std::size_t most) {
  std::string html = "<section aria-labelledby=\"changes\"><h2 id=\"changes\">Regressions and improvements</h2>\n";
  std::vector<TableRow> rows;
  for (const Change& change : site.changes) {
    if (rows.size() == most) break;
    rows.push_back(change_row(site, change, "", true));
  }
  if (rows.empty()) {
    return html +
           fmt::format("<p>No change point in {}.</p></section>\n", count_of(site.model.series.size(), "series"));
  }
  const std::size_t n = site.changes.size();
  html +=
      table("changes-table",
            n > most ? fmt::format("The newest {} of {} change points", most, count(n)) : "Change points, newest first",
            change_columns(true), rows);
  return html + "</section>\n";
}

std::string history_index(const Site& site, std::size_t part) {
  const Model& model = site.model;
  std::vector<std::size_t> changes_of(model.series.size());
  for (const Change& change : site.changes) ++changes_of[change.series];
  std::vector<TableRow> rows;
  const std::size_t first = (part - 1) * kSeriesRows;
  for (std::size_t i = first; i < std::min(model.series.size(), first + kSeriesRows); ++i) {
    const Series& series = model.series[i];
    const Cell& newest = model.cells[series.cells.back()];
    const auto speed = estimate_of(newest);
    const std::string name = model_text(model.text(series.key.model), model.text(series.key.model_kind));
    const std::string& arm = model.text(series.key.arm);
    std::string mode = mode_name(model.text(series.key.mode));
    if (arm != model.text(series.key.mode)) mode += "<span class=\"range\">" + esc(arm) + "</span>";
    rows.push_back({{series_link(series, "", esc(name)) + "<span class=\"range\">" +
                         esc(model.text(series.key.suite) + ", " + model.text(series.key.workload)) + "</span>",
                     name},
                    {esc(model.text(series.key.test))},
                    {mode, model.text(series.key.mode)},
                    {esc(model.machine_label(model.text(series.key.machine)))},
                    {count(series.cells.size()), std::to_string(series.cells.size())},
                    {speed ? number(speed->value) : "", fmt::format("{}", speed ? speed->value : 0), "key"},
                    {esc(day(model.text(newest.first_started)))},
                    {changes_of[i] == 0 ? std::string("<span class=\"soft\">none</span>") : count(changes_of[i]),
                     std::to_string(changes_of[i])}});
  }
  std::string body = pager("history", part, history_parts(site));
  if (rows.empty()) {
    body += "<p>Nothing has been measured yet.</p>\n";
  } else {
    body += table("series",
                  fmt::format("{}; the filter looks at this part of the list", count_of(model.series.size(), "series")),
                  {{"Model", "wide", ""},
                   {"Test", "text", ""},
                   {"Mode", "text", ""},
                   {"Machine", "wide", ""},
                   {"Points", "num", "a build in an environment each"},
                   {"Newest", "num", "tokens per second, median of trial medians"},
                   {"Measured", "text", ""},
                   {"Changes", "num", "change points"}},
                  rows, true);
  }
  return page(
      frame_of(site, "History", "history.html",
               "One series for each model, test, mode and machine, over builds of llama.cpp, systems or dates."),
      body + pager("history", part, history_parts(site)));
}

std::string history_page(const Site& site, const Series& series) {
  const Model& model = site.model;
  const auto index = static_cast<std::uint32_t>(&series - model.series.data());
  const std::size_t n = series.cells.size();
  const std::size_t skipped = n > kMostPoints ? n - kMostPoints : 0;
  std::vector<const Change*> changes;
  for (const Change& change : site.changes) {
    if (change.series == index) changes.push_back(&change);
  }
  std::sort(changes.begin(), changes.end(),
            [](const auto* a, const auto* b) { return a->point.index < b->point.index; });
  std::vector<HistoryPoint> points;
  std::vector<TableRow> rows;
  for (std::size_t i = skipped; i < n; ++i) {
    const Cell& cell = model.cells[series.cells[i]];
    const auto speed = estimate_of(cell);
    if (!speed) continue;
    HistoryPoint point;
    point.build = model.text(cell.build);
    point.system = system_of(site, cell);
    point.date = model.text(cell.first_started);
    point.order = i - skipped;
    point.speed = *speed;
    point.trials = cell.measured.size();
    const std::uint32_t trial = median_trial(cell);
    if (site.has_page(trial)) point.link = "../trial/" + hex_of(model.trials[trial].id) + ".html";
    std::string environment = esc(point.system.empty() ? "not known" : point.system);
    if (i > 0 && model.cells[series.cells[i - 1]].environment != cell.environment) {
      environment += " " + badge("changed", "warn");
    }
    rows.push_back({{esc(minute(point.date)), point.date},
                    {trial_link(site, trial, "../", point.build.empty() ? "(no build)" : point.build), point.build},
                    {environment},
                    {estimate(speed), fmt::format("{}", speed->value), "key"},
                    {count(point.trials), std::to_string(point.trials)},
                    {fmt::format("<span class=\"range\">{}</span>", esc(speed->interval))}});
    points.push_back(std::move(point));
  }
  std::vector<HistoryChange> lines;
  std::vector<TableRow> change_rows;
  for (const Change* change : changes) {
    if (change->point.index >= skipped) {
      lines.push_back({change->point.index - skipped, change->point.ratio < 1, change_text(change->point)});
    }
    change_rows.push_back(change_row(site, *change, "../", false));
  }
  std::string body = "<dl class=\"details\">\n";
  const auto detail = [&](std::string_view name, const std::string& html) {
    if (!html.empty()) body += fmt::format("<dt>{}</dt><dd>{}</dd>\n", name, html);
  };
  detail("Suite", esc(model.text(series.key.suite)));
  detail("Machine", esc(model.machine_label(model.text(series.key.machine))));
  detail("Model", esc(model_text(model.text(series.key.model), model.text(series.key.model_kind))));
  detail("Workload", esc(model.text(series.key.workload)));
  detail("Test", esc(model.text(series.key.test)));
  detail("Mode", mode_name(model.text(series.key.mode)));
  detail("Arm", esc(model.text(series.key.arm)));
  detail("Guest", esc(model.text(series.key.guest)));
  body += "</dl>\n";
  if (skipped > 0) {
    body += fmt::format("<p>The newest {} of {} points; `capbench export` gives all of them.</p>\n", count(kMostPoints),
                        count(n));
  }
  body += "<div class=\"history\" data-history=\"history\">\n" +
          figure("history", "Median of trial medians at each point, with its 95 % interval; a click opens the trial",
                 history_spec(points, segments_of(site, series, skipped, changes), lines)) +
          "</div>\n";
  if (!change_rows.empty()) {
    body += table("changes", "Change points: E-divisive on logarithms, p under 0.01, 2 % or more",
                  change_columns(false), change_rows);
  } else if (n < 10) {
    body += fmt::format("<p>{}: a change point needs five on either side.</p>\n", count_of(n, "point"));
  } else {
    body += "<p>No change point.</p>\n";
  }
  std::reverse(rows.begin(), rows.end());
  body += table("points", "Points, newest first; each opens the trial in its middle",
                {{"Measured (UTC)", "text", ""},
                 {"Build", "text", ""},
                 {"System", "text", ""},
                 {"Tokens per second", "num", "median of trial medians"},
                 {"Trials", "num", ""},
                 {"Interval", "wide", ""}},
                rows);
  Frame frame = frame_of(site, series_text(site, series), "history.html",
                         "Over builds of llama.cpp, systems or dates, on one machine.", "../");
  frame.parent = "<a href=\"../history.html\">All series</a>";
  return page(frame, body);
}

}  // namespace capbench::site
