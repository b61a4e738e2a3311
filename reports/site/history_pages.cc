// One series per model, test, mode and machine, over builds, systems or runs.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <utility>

#include "reports/site/drawing.h"
#include "reports/site/pages.h"

namespace capbench::site {
namespace {

using reports::Axis;
using reports::SeriesChange;
using reports::SeriesPoint;

// Most points of one axis: the newest.
constexpr std::size_t kMostPoints = 1000;
constexpr std::size_t kMostRows = 200;  // of the table below it: also the newest
constexpr std::size_t kMostFailed = 50;
constexpr std::size_t kMostDifferences = 4;

std::string percent_change(double ratio) {
  return fmt::format("{:+.1f} %", 100 * (ratio - 1));
}

// "-12.1 % [-14.0, -10.2]"
std::string change_text(const SeriesChange& change) {
  return fmt::format("{} [{:+.1f}, {:+.1f}]", percent_change(change.ratio), 100 * (change.ci95.low - 1),
                     100 * (change.ci95.high - 1));
}

std::string how_text(const SeriesChange& change) {
  if (!change.p) return "trials of two points";
  return *change.p < 0.001 ? fmt::format("level, p = {:.4f}", *change.p) : fmt::format("level, p = {:.3f}", *change.p);
}

std::string state_html(const std::string& state, const std::string& why, bool slower) {
  const std::string_view kind = state == "open" ? (slower ? "bad" : "") : state == "fixed" ? "good" : "warn";
  std::string html = badge(state, kind);
  if (!why.empty()) html += " <span class=\"range\">" + esc(why) + "</span>";
  return html;
}

struct ChangeText {
  const SeriesChange& change;
  std::string label;
  std::string date;
  std::uint32_t launch = 0;
};

void add_change_cells(const Site& site, const ChangeText& one, const std::string& root, TableRow& row) {
  const bool slower = one.change.ratio < 1;
  row.push_back({badge(slower ? "slower" : "faster", slower ? "bad" : "good")});
  row.push_back({esc(change_text(one.change)), fmt::format("{}", one.change.ratio), slower ? "worse" : "better"});
  row.push_back({esc(day(one.date)), one.date});
  row.push_back({trial_link(site, one.launch, root, one.label)});
  row.push_back({esc(how_text(one.change))});
  row.push_back({state_html(one.change.state, one.change.why, slower)});
  row.push_back({"<code>" + esc(one.change.id.substr(0, 12)) + "</code>"});
}

void add_change_columns(std::vector<Column>& columns) {
  for (const Column& column : std::vector<Column>{{"Change", "text", ""},
                                                  {"By", "num", "with its 95 % interval"},
                                                  {"Since", "text", "first measured after it"},
                                                  {"First after it", "text", "opens a trial of it"},
                                                  {"Seen in", "text", "the level of the series, or two neighbours"},
                                                  {"State", "text", "what people decided of it"},
                                                  {"Id", "text", "what capbench check --triage takes"}}) {
    columns.push_back(column);
  }
}

// One axis of one series, its settings in one row of points.
struct AxisView {
  Axis axis = Axis::kBuilds;
  std::vector<reports::Series> settings;
  struct Place {
    std::size_t setting = 0;
    std::size_t point = 0;
  };
  std::vector<Place> order;  // oldest first
  std::size_t skipped = 0;

  const SeriesPoint& at(const Place& place) const { return settings[place.setting].points[place.point]; }
};

AxisView view_of(const Site& site, const Series& series, Axis axis) {
  const Model& model = site.model;
  AxisView view;
  view.axis = axis;
  view.settings = reports::series_of(model.m, series.key, axis, {true, true}, model.decisions);
  for (std::size_t s = 0; s < view.settings.size(); ++s) {
    for (std::size_t p = 0; p < view.settings[s].points.size(); ++p) view.order.push_back({s, p});
  }
  if (view.settings.size() > 1) {
    std::stable_sort(view.order.begin(), view.order.end(),
                     [&](const auto& a, const auto& b) { return view.at(a).date < view.at(b).date; });
  }
  if (view.order.size() > kMostPoints) {
    view.skipped = view.order.size() - kMostPoints;
    view.order.erase(view.order.begin(), view.order.begin() + static_cast<std::ptrdiff_t>(view.skipped));
  }
  return view;
}

std::string setting_name(std::size_t number, std::size_t of) {
  return of == 1 ? "" : number == 0 ? "1 (newest)" : std::to_string(number + 1);
}

// Those that say from what to what come first.
std::string joined(std::vector<std::string> items, std::size_t most) {
  std::stable_partition(items.begin(), items.end(),
                        [](const std::string& item) { return item.find(" -> ") != std::string::npos; });
  std::string text;
  for (std::size_t i = 0; i < std::min(most, items.size()); ++i) text += (i == 0 ? "" : ", ") + items[i];
  if (items.size() > most) text += fmt::format(" and {} more", items.size() - most);
  return text;
}

std::string system_of(const Site& site, const SeriesPoint& point) {
  const auto found = site.model.environments.find(point.environment_id);
  return found == site.model.environments.end() ? "" : found->second.system;
}

std::string figure_of(const Site& site, const AxisView& view, const std::string& id) {
  std::vector<HistoryPoint> points;
  std::map<std::pair<std::size_t, std::size_t>, std::size_t> place;  // of setting and point
  for (std::size_t i = 0; i < view.order.size(); ++i) {
    const SeriesPoint& from = view.at(view.order[i]);
    HistoryPoint point;
    point.label = from.label;
    point.setting = view.order[i].setting;
    point.build = from.build;
    point.system = system_of(site, from);
    point.date = from.date;
    point.order = i;
    point.speed = {from.median_ts, from.ci95, from.interval, ""};
    point.trials = from.n_trials;
    const std::uint32_t launch = median_launch(site.model, from.places);
    if (site.has_page(launch)) {
      point.link = "../trial/" + reports::digest_hex(site.model.m.launches[launch].id) + ".html";
    }
    place[{view.order[i].setting, view.order[i].point}] = i;
    points.push_back(std::move(point));
  }
  std::vector<HistorySegment> segments;
  std::vector<HistoryChange> lines;
  for (std::size_t s = 0; s < view.settings.size(); ++s) {
    const reports::Series& series = view.settings[s];
    std::vector<std::size_t> starts{0};
    for (const SeriesChange& change : series.changes) {
      starts.push_back(change.index);
      if (const auto at = place.find({s, change.index}); at != place.end()) {
        lines.push_back({at->second, change.ratio < 1, change_text(change)});
      }
    }
    for (std::size_t k = 0; k < starts.size(); ++k) {
      const std::size_t end = k + 1 < starts.size() ? starts[k + 1] : series.points.size();
      std::vector<double> values;
      std::vector<std::size_t> orders;
      for (std::size_t i = starts[k]; i < end; ++i) {
        values.push_back(series.points[i].median_ts);
        if (const auto at = place.find({s, i}); at != place.end()) orders.push_back(at->second);
      }
      if (orders.empty()) continue;
      segments.push_back({*std::min_element(orders.begin(), orders.end()),
                          *std::max_element(orders.begin(), orders.end()), stats::median(values), s});
    }
  }
  return figure(id, "Median of trial medians at each point, with its 95 % interval; a click opens the trial",
                draw_history(points, segments, lines, view.axis == Axis::kRuns));
}

std::string points_table(const Site& site, const AxisView& view, const std::string& id) {
  std::vector<TableRow> rows;
  const bool several = view.settings.size() > 1;
  for (auto place = view.order.rbegin(); place != view.order.rend() && rows.size() < kMostRows; ++place) {
    const SeriesPoint& point = view.at(*place);
    const std::uint32_t launch = median_launch(site.model, point.places);
    const reports::Estimate speed{point.median_ts, point.ci95, point.interval, ""};
    TableRow row{{esc(minute(point.date)), point.date},
                 {trial_link(site, launch, "../", point.label.empty() ? "(no name)" : point.label), point.label}};
    if (view.axis != Axis::kBuilds) row.push_back({esc(point.build), point.build});
    if (several) row.push_back({esc(setting_name(place->setting, view.settings.size()))});
    row.push_back({estimate(speed) + fmt::format(" <span class=\"range\">{}</span>", esc(point.interval)),
                   fmt::format("{}", point.median_ts), "key"});
    row.push_back({count(point.n_trials), std::to_string(point.n_trials)});
    row.push_back({point.different.empty()
                       ? std::string("<span class=\"soft\">\xE2\x80\x93</span>")
                       : "<span class=\"range\">" + esc(joined(point.different, kMostDifferences)) + "</span>"});
    rows.push_back(std::move(row));
  }
  std::vector<Column> columns{{"Measured (UTC)", "text", ""},
                              {view.axis == Axis::kBuilds    ? "Build"
                               : view.axis == Axis::kSystems ? "System"
                                                             : "Run",
                               "text", "opens the trial in its middle"}};
  if (view.axis != Axis::kBuilds) columns.push_back({"Build", "text", ""});
  if (several) columns.push_back({"Setting", "text", "points of one setting are comparable"});
  columns.push_back({"Tokens per second", "num", "median of trial medians"});
  columns.push_back({"Trials", "num", ""});
  columns.push_back({"Differs from the one before in", "wide", ""});
  std::string caption = "Points, newest first; each opens the trial in its middle";
  if (const std::size_t all = view.order.size() + view.skipped; rows.size() < all) {
    caption += fmt::format("; the newest {} of {}, `capbench export` gives all", count(rows.size()), count(all));
  }
  return table(id, caption, columns, rows);
}

std::string changes_table(const Site& site, const AxisView& view, const std::string& id) {
  std::vector<TableRow> rows;
  std::vector<std::string> decided;
  const bool several = view.settings.size() > 1;
  std::size_t longest = 0;
  for (std::size_t s = 0; s < view.settings.size(); ++s) {
    const reports::Series& series = view.settings[s];
    longest = std::max(longest, series.points.size());
    auto decisions = series.decisions;
    for (const SeriesChange& change : series.changes) {
      decisions.erase(change.id);
      const SeriesPoint& point = series.points[change.index];
      TableRow row;
      if (several) row.push_back({esc(setting_name(s, view.settings.size()))});
      add_change_cells(site, {change, point.label, point.date, median_launch(site.model, point.places)}, "../", row);
      rows.push_back(std::move(row));
    }
    for (const auto& [regression, decision] : decisions) {
      decided.push_back(fmt::format("<code>{}</code>, no longer seen: {}", esc(regression.substr(0, 12)),
                                    state_html(decision.first, decision.second, true)));
    }
  }
  std::string html;
  if (!rows.empty()) {
    std::vector<Column> columns;
    if (several) columns.push_back({"Setting", "text", ""});
    add_change_columns(columns);
    html = table(id, "Changes, as capbench check finds them", columns, rows);
  } else if (longest < 2) {
    html = "<p>A single point of each setting: nothing to compare it with.</p>\n";
  } else {
    html = fmt::format("<p>No change in {}.</p>\n", count_of(view.order.size() + view.skipped, "point"));
  }
  if (!decided.empty()) html += list_of(decided);
  return html;
}

std::string settings_list(const AxisView& view) {
  if (view.settings.size() < 2) return "";
  std::vector<std::string> items;
  for (std::size_t s = 0; s < view.settings.size(); ++s) {
    const reports::Series& series = view.settings[s];
    items.push_back(
        fmt::format("Setting {}: {}, {} to {}{}", esc(setting_name(s, view.settings.size())),
                    count_of(series.points.size(), "point"), esc(day(series.points.front().date)),
                    esc(day(series.points.back().last_date)),
                    s == 0 ? "" : "; against the newest: " + esc(joined(series.setting_apart, 2 * kMostDifferences))));
  }
  return "<p>Only points of one setting are compared: everything that ran is the same but what this axis "
         "varies.</p>\n" +
         list_of(items);
}

std::string axis_section(const Site& site, const Series& series, Axis axis) {
  const AxisView view = view_of(site, series, axis);
  const std::string name(reports::axis_name(axis));
  return fmt::format("<section class=\"axis\" data-axis=\"{0}\" aria-labelledby=\"h-{0}\"><h2 id=\"h-{0}\">{1}</h2>\n",
                     name,
                     axis == Axis::kBuilds    ? "Over builds of llama.cpp"
                     : axis == Axis::kSystems ? "Over systems"
                                              : "Over time, run by run") +
         figure_of(site, view, "history-" + name) + changes_table(site, view, "changes-" + name) + settings_list(view) +
         points_table(site, view, "points-" + name) + "</section>\n";
}

std::string failures_section(const Site& site, const Series& series) {
  const std::span<const std::uint32_t> failed = failures_of(site.model, series);
  if (failed.empty()) return "";
  const Model& model = site.model;
  std::vector<TableRow> rows;
  for (const std::uint32_t i : failed.first(std::min(failed.size(), kMostFailed))) {
    const Launch& launch = model.m.launches[i];
    rows.push_back({{esc(minute(model.text(launch.started))), model.text(launch.started)},
                    {trial_link(site, i, "../")},
                    {why_not_counted(model, launch)}});
  }
  std::string caption = fmt::format("{} of this arm did not count", count_of(failed.size(), "trial"));
  if (rows.size() < failed.size()) caption += fmt::format("; the newest {}", rows.size());
  return "<section aria-labelledby=\"h-failed\"><h2 id=\"h-failed\">Not counted</h2>\n" +
         table("not-counted", caption,
               {{"Started (UTC)", "text", ""}, {"Trial", "text", ""}, {"Status and reason", "wide", ""}}, rows) +
         "</section>\n";
}

}  // namespace

std::string changes_section(const Site& site, std::size_t most) {
  std::string html = "<section aria-labelledby=\"changes\"><h2 id=\"changes\">Regressions and improvements</h2>\n";
  std::vector<TableRow> rows;
  for (const Change& one : site.changes) {
    if (rows.size() == most) break;
    const Series& series = site.model.series[one.series];
    TableRow row{{series_link(site, series, "", esc(series_text(site, series))) +
                  fmt::format("<span class=\"range\">{}</span>",
                              esc(site.model.machine_label(site.model.key(series).machine_id)))}};
    add_change_cells(site, {one.change, one.label, one.date, one.launch}, "", row);
    rows.push_back(std::move(row));
  }
  if (rows.empty()) {
    return html + fmt::format("<p>No change in {}.</p></section>\n", count_of(site.model.series.size(), "series"));
  }
  const std::size_t n = site.changes.size();
  std::vector<Column> columns{{"Series", "wide", ""}};
  add_change_columns(columns);
  html += table("changes-table",
                n > most ? fmt::format("The newest {} of {} changes, as capbench check finds them", most, count(n))
                         : "Changes, newest first, as capbench check finds them",
                columns, rows);
  return html + "</section>\n";
}

std::string history_index(const Site& site, std::size_t part) {
  const Model& model = site.model;
  std::vector<TableRow> rows;
  const std::size_t first = (part - 1) * kSeriesRows;
  for (std::size_t i = first; i < std::min(model.series.size(), first + kSeriesRows); ++i) {
    const Series& series = model.series[i];
    const SeriesSummary& summary = site.summaries[i];
    const SeriesKey& key = model.key(series);
    const Cell& newest = model.cells[series.newest];
    const auto speed = estimate_of(model, newest);
    const std::string name = model_text(key.model, key.model_kind);
    std::string mode = mode_name(key.mode);
    if (key.arm != key.mode) mode += "<span class=\"range\">" + esc(key.arm) + "</span>";
    std::string changes = summary.changes == 0 ? "<span class=\"soft\">none</span>" : count(summary.changes);
    if (summary.open > 0) changes += " " + badge(fmt::format("{} open", summary.open), "bad");
    rows.push_back({{series_link(site, series, "", esc(name)) + "<span class=\"range\">" +
                         esc(key.suite + ", " + key.workload) + "</span>",
                     name},
                    {esc(key.test)},
                    {mode, key.mode},
                    {esc(model.machine_label(key.machine_id))},
                    {count(summary.points), std::to_string(summary.points)},
                    {speed ? number(speed->value) : "", fmt::format("{}", speed ? speed->value : 0), "key"},
                    {esc(day(model.text(newest.first_started)))},
                    {changes, std::to_string(summary.changes)}});
  }
  std::string body = pager("history", part, history_parts(site));
  if (rows.empty()) {
    body += "<p>Nothing has been measured yet.</p>\n";
  } else {
    std::string caption = fmt::format("{} series", count(model.series.size()));
    if (history_parts(site) > 1) caption += "; the filter looks at this part of the list";
    if (!site.every_series) {
      caption += fmt::format("; {} of them have a page in this copy, `capbench serve` has all",
                             count(site.series_pages.size()));
    }
    body += table("series", caption,
                  {{"Model", "wide", ""},
                   {"Test", "text", ""},
                   {"Mode", "wide", ""},
                   {"Machine", "wide", ""},
                   {"Builds", "num", "points, over all settings"},
                   {"Newest", "num", "tokens per second, median of trial medians"},
                   {"Measured", "text", ""},
                   {"Changes", "num", "over builds; open: slower, and nobody has said anything of it"}},
                  rows, true);
  }
  return page(frame_of(site, "History", "history.html",
                       "One series for each model, test, mode and machine, over builds of llama.cpp, systems or runs."),
              body + pager("history", part, history_parts(site)));
}

std::string history_page(const Site& site, const Series& series) {
  const SeriesKey& key = site.model.key(series);
  std::string body = "<dl class=\"details\">\n";
  body += detail("Suite", esc(key.suite));
  body += detail("Machine", esc(site.model.machine_label(key.machine_id)));
  body += detail("Device", esc(key.device));
  body += detail("Model", esc(model_text(key.model, key.model_kind)));
  body += detail("Workload", esc(key.workload));
  body += detail("Test", esc(key.test));
  body += detail("Mode", mode_name(key.mode));
  body += detail("Arm", esc(key.arm));
  body += detail("Guest", esc(key.guest));
  body += "</dl>\n<div class=\"history\" data-history>\n";
  for (const Axis axis : {Axis::kBuilds, Axis::kSystems, Axis::kRuns}) body += axis_section(site, series, axis);
  body += "</div>\n" + failures_section(site, series);
  Frame frame = frame_of(site, series_text(site, series), "history.html",
                         "Over builds of llama.cpp, systems or runs, on one machine.", "../");
  frame.parent = "<a href=\"../history.html\">All series</a>";
  return page(frame, body);
}

std::string failures_page(const Site& site, std::size_t part) {
  const Model& model = site.model;
  std::vector<TableRow> rows;
  const std::size_t all = std::min(model.not_counted.size(), kMostFailures);
  const std::size_t first = (part - 1) * kFailureRows;
  for (std::size_t i = first; i < std::min(all, first + kFailureRows); ++i) {
    const Launch& launch = model.m.launches[model.not_counted[i]];
    const auto text = [&](Texts::Id id) -> const std::string& { return model.text(id); };
    rows.push_back({{trial_link(site, model.not_counted[i], "")},
                    {esc(minute(text(launch.started))), text(launch.started)},
                    {why_not_counted(model, launch), text(launch.status)},
                    {esc(model_text(text(launch.model), text(launch.model_kind))) + "<span class=\"range\">" +
                     esc(text(launch.suite) + ", " + text(launch.workload)) + "</span>"},
                    {esc(arm_text(text(launch.mode), text(launch.arm)))},
                    {esc(model.machine_label(text(launch.machine_id)))}});
  }
  std::string body = pager("not-counted", part, failure_parts(site));
  if (rows.empty()) {
    body += "<p>None: every trial here counts.</p>\n";
  } else {
    std::string caption = fmt::format("{}, newest first", count_of(model.not_counted.size(), "trial"));
    if (all < model.not_counted.size()) caption += fmt::format("; the newest {} are listed", count(all));
    body += table("failed", caption,
                  {{"Trial", "text", ""},
                   {"Started (UTC)", "text", ""},
                   {"Status and reason", "wide", ""},
                   {"Model", "wide", ""},
                   {"Arm", "wide", ""},
                   {"Machine", "wide", ""}},
                  rows, true);
  }
  return page(frame_of(site, "Not counted", "",
                       "Trials that failed, ran too long, were excluded or measured again, warmed up, were not what "
                       "they claimed, or "
                       "of which only a mean is known. None is counted, none is deleted."),
              body);
}

}  // namespace capbench::site
