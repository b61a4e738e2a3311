#include "reports/render_html.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <vector>

#include "reports/group.h"
#include "reports/html_chart.h"
#include "reports/html_page.h"
#include "reports/html_text.h"
#include "reports/text.h"

namespace capbench::reports {
namespace {

constexpr std::string_view kMinus = kHtmlNothing;
constexpr std::string_view kTimes = "\xC3\x97";

std::string estimate_html(const std::optional<Estimate>& estimate, std::string_view unit) {
  if (!estimate) return std::string(kMinus);
  return fmt::format("{}{}{}", format_number(estimate->value), unit, html_range(estimate->ci95));
}

void write_row(const SpeedupRow& row, std::string& out) {
  out += fmt::format("<tr role=\"row\">\n<th role=\"rowheader\" scope=\"row\">{}</th>\n", escape_html(test_name(row)));
  for (std::size_t i = 0; i < 3; ++i) {
    const ModeSummary& mode = row.modes[i];
    out += html_cell(mode.mode, "num", mode.stats ? format_number(mode.stats->median.value) : std::string(kMinus));
  }
  out += html_cell("speedup", "num key", estimate_html(row.speedup, kTimes));
  out += html_cell("% of bare metal", "num", estimate_html(row.percent_of_bare_metal, " %"));
  for (const auto& [label, word] : {std::pair("treatment", &row.treatment), std::pair("quality", &row.quality)}) {
    out += html_cell(label, html_word_class(*word), escape_html(*word));
  }
  out += "</tr>\n";
}

void write_table(const Group& group, std::string& out) {
  out +=
      "<div class=\"scroll\">\n<table role=\"table\" class=\"main\">\n<caption>Median tokens per second; in brackets "
      "the interval of the ratio</caption>\n";
  out += "<thead role=\"rowgroup\"><tr role=\"row\">\n<th role=\"columnheader\" scope=\"col\">test</th>\n";
  const auto head = [&](std::string_view name, std::string_view css_class) {
    out += fmt::format("<th role=\"columnheader\" scope=\"col\"{}>{}</th>\n", css_class, escape_html(name));
  };
  for (const char* mode : {kBareMetal, kStock, kUnlocked}) head(mode, " class=\"num\"");
  head("speedup", " class=\"num\"");
  head("% of bare metal", " class=\"num\"");
  head("treatment", "");
  head("quality", "");
  out += "</tr></thead>\n<tbody role=\"rowgroup\">\n";
  for (const SpeedupRow* row : group.rows) write_row(*row, out);
  out += "</tbody>\n</table>\n</div>\n";
}

// The suite's own arms over the tests [from, to), one row an arm.
void write_own_arms(const Group& group, const std::vector<OwnArm>& arms, std::size_t from, std::size_t to,
                    std::string& out) {
  out +=
      "<div class=\"scroll\">\n<table role=\"table\" class=\"main arms\">\n<caption>The suite&#39;s own arms, and "
      "their speed over bare-metal&#39;s</caption>\n<thead role=\"rowgroup\"><tr role=\"row\">\n";
  const auto head = [&](std::string_view scope, std::string_view text) {
    out += fmt::format("<th role=\"columnheader\" {}>{}</th>\n", scope, text);
  };
  head("scope=\"col\" rowspan=\"2\"", "arm");
  for (std::size_t i = from; i < to; ++i) {
    head("scope=\"colgroup\" colspan=\"2\" class=\"num\"", escape_html(test_name(*group.rows[i])));
  }
  head("scope=\"col\" rowspan=\"2\"", "treatment");
  out += "</tr><tr role=\"row\">\n";
  for (std::size_t i = from; i < to; ++i) {
    head("scope=\"col\" class=\"num inner\"", "tokens/s");
    head("scope=\"col\" class=\"num inner\"", fmt::format("{} bare-metal", kTimes));
  }
  out += "</tr></thead>\n<tbody role=\"rowgroup\">\n";
  for (const OwnArm& arm : arms) {
    out += fmt::format("<tr role=\"row\">\n<th role=\"rowheader\" scope=\"row\">{}</th>\n", escape_html(arm.name));
    for (std::size_t i = from; i < to; ++i) {
      const ModeSummary* mode = arm.rows[i];
      const std::string test = test_name(*group.rows[i]);
      const bool measured = mode != nullptr && mode->stats;
      out += html_cell(test, "num", measured ? format_number(mode->stats->median.value) : std::string(kMinus));
      out += html_cell(fmt::format("{} {} bare-metal", test, kTimes), "num",
                       mode != nullptr ? estimate_html(mode->over_bare_metal, kTimes) : std::string(kMinus));
    }
    out += html_cell("treatment", html_word_class(arm.treatment), escape_html(arm.treatment));
    out += "</tr>\n";
  }
  out += "</tbody>\n</table>\n</div>\n";
}

void write_own_arms(const Group& group, std::string& out) {
  const std::vector<OwnArm> arms = own_arms(group);
  if (arms.empty()) return;
  constexpr std::size_t kTestsAbreast = 3;  // what a sheet of paper has room for
  for (std::size_t from = 0; from < group.rows.size(); from += kTestsAbreast) {
    write_own_arms(group, arms, from, std::min(from + kTestsAbreast, group.rows.size()), out);
  }
}

std::vector<Bar> bars_of(const SpeedupRow& row) {
  std::vector<Bar> bars;
  for (const ModeSummary& mode : row.modes) {
    if (!mode.stats) continue;
    bars.push_back({mode_name(row, mode), bar_class(mode.mode), mode.stats->median.value, mode.stats->median.ci95});
  }
  return bars;
}

void write_charts(const Group& group, std::size_t number, std::string& out) {
  std::string charts;
  bool whiskers = false;
  for (std::size_t i = 0; i < group.rows.size(); ++i) {
    const SpeedupRow& row = *group.rows[i];
    const std::string chart =
        bar_chart(bars_of(row), fmt::format("{}: median tokens per second by mode", test_name(row)),
                  fmt::format("chart-{}-{}", number, i + 1));
    if (chart.empty()) continue;
    whiskers = whiskers || chart.find("\"whisker\"") != std::string::npos;
    charts += fmt::format("<figure>\n<figcaption>{} <span class=\"soft\">tokens/s</span></figcaption>\n{}</figure>\n",
                          escape_html(test_name(row)), chart);
  }
  if (charts.empty()) return;
  out += "<div class=\"charts\">\n" + charts + "</div>\n";
  if (whiskers) {
    out +=
        "<p class=\"small\">Bars start at zero; each chart has its own scale. Whiskers: 95 % interval of the "
        "median; of two trials, their range.</p>\n";
  }
}

void write_notes(const Group& group, std::string& out) {
  std::string items;
  for (const std::string& note : group_notes(group)) items += fmt::format("<li>{}</li>\n", escape_html(note));
  if (!items.empty()) out += "<ul class=\"notes\">\n" + items + "</ul>\n";
}

// The mode is said once where the arm's name says it.
std::string trial_arm(const TrialPoint& trial) {
  return trial.arm.starts_with(trial.mode) ? trial.arm : fmt::format("{} ({})", trial.mode, trial.arm);
}

// On a phone a trial becomes three lines of two cells each.
void write_trial(const TrialPoint& trial, bool runs_shown, std::string& out) {
  const auto add = [&](std::string_view css_class, std::string_view label, const std::string& html) {
    out += fmt::format("<td role=\"cell\" class=\"{}\"{}>{}</td>", css_class,
                       label.empty() ? "" : fmt::format(" data-label=\"{}\"", label), html);
  };
  out += "<tr role=\"row\">";
  if (runs_shown) add("run", "run", escape_html(trial.run_id));
  add("id", "", escape_html(short_id(trial.id)));
  add("num block", "block", fmt::format("{}", trial.block));
  add("arm", "", escape_html(trial_arm(trial)));
  add("num speed", "tokens/s", trial.median_ts ? format_number(*trial.median_ts) : std::string(kMinus));
  add("num samples", "samples", fmt::format("{}", trial.n_samples));
  std::string status = escape_html(trial.status);
  if (trial.attempt > 1) status += fmt::format(", attempt {}", trial.attempt);
  if (!trial.counted && trial.status == "ok") status += ", not counted";
  if (!trial.reason.empty()) status += ": " + escape_html(trial.reason);
  add(trial.counted ? "status good" : "status bad", "", status);
  out += "</tr>\n";
}

void write_trials(const Group& group, std::string& out) {
  std::size_t count = 0;
  for (const SpeedupRow* row : group.rows) count = std::max(count, row->trials.size());
  out += fmt::format("<details>\n<summary>Every trial ({}{})</summary>\n", count, group.has_results ? " per test" : "");
  for (const SpeedupRow* row : group.rows) {
    const bool runs_shown = row->runs.size() > 1;
    if (!row->test.empty()) out += fmt::format("<h3>{}</h3>\n", escape_html(test_name(*row)));
    out +=
        "<div class=\"scroll\">\n<table role=\"table\" class=\"trials\">\n<thead role=\"rowgroup\"><tr role=\"row\">";
    const auto head = [&](std::string_view name, std::string_view css_class) {
      out += fmt::format("<th role=\"columnheader\" scope=\"col\"{}>{}</th>", css_class, name);
    };
    if (runs_shown) head("run", "");
    head("trial", "");
    head("block", " class=\"num\"");
    head("arm", "");
    head("median tokens/s", " class=\"num\"");
    head("samples", " class=\"num\"");
    head("status", "");
    out += "</tr></thead>\n<tbody role=\"rowgroup\">\n";
    for (const TrialPoint& trial : row->trials) write_trial(trial, runs_shown, out);
    out += "</tbody>\n</table>\n</div>\n";
  }
  out += "</details>\n<p class=\"small paper\">The list of every trial is part of the page, not of its print.</p>\n";
}

void write_group(const Group& group, std::size_t number, std::string& out) {
  out += fmt::format("<section aria-labelledby=\"group-{0}\">\n<h2 id=\"group-{0}\">{1}</h2>\n", number,
                     escape_html(group.title));
  if (!group.about.empty()) out += fmt::format("<p class=\"about\">{}</p>\n", escape_html(group.about));
  out += "<dl>\n";
  for (const auto& [name, value] : group.details) {
    out += fmt::format("<dt>{}</dt><dd>{}</dd>\n", escape_html(name), escape_html(value));
  }
  out += "</dl>\n";
  if (group.has_results) {
    write_table(group, out);
    write_own_arms(group, out);
    write_charts(group, number, out);
  } else {
    for (const std::string& reason : reasons_for_no_result(group)) {
      out += fmt::format("<p class=\"reason\">{}</p>\n", escape_html(reason));
    }
  }
  write_notes(group, out);
  write_trials(group, out);
  out += "</section>\n";
}

}  // namespace

std::string render_html(const SpeedupReport& report) {
  std::string out = html_page_start("Speedup",
                                    "How much faster a guest runs when a capability shim corrects what it is told "
                                    "about the device, and how close that comes to bare metal.");
  const std::vector<Group> groups = group_rows(report);
  if (groups.empty()) out += "<section>\n<p>No trials to report.</p>\n</section>\n";
  for (std::size_t i = 0; i < groups.size(); ++i) write_group(groups[i], i + 1, out);
  return out + html_page_end(explanations(report));
}

}  // namespace capbench::reports
