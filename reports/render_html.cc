#include "reports/render_html.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <vector>

#include "reports/group.h"
#include "reports/html_chart.h"
#include "reports/html_style.h"
#include "reports/html_text.h"
#include "reports/text.h"

namespace capbench::reports {
namespace {

constexpr std::string_view kMinus = "\xE2\x80\x93";  // en dash: nothing there

std::string range_span(const std::optional<Interval>& ci95) {
  if (!ci95) return "";
  return fmt::format(" <span class=\"range\">[{}, {}]</span>", format_number(ci95->low), format_number(ci95->high));
}

std::string_view word_class(std::string_view word) {
  if (word == "proven" || word == "passed") return "good";
  return word == "invalid" || word == "wrong" ? "bad" : "soft";
}

// On a phone a row becomes a card: display:block takes a table's meaning away, so roles give it back.
std::string cell(std::string_view label, std::string_view css_class, const std::string& html) {
  return fmt::format("<td role=\"cell\" class=\"{}\" data-label=\"{}\"><span>{}</span></td>\n", css_class,
                     escape_html(label), html);
}

std::string estimate_html(const std::optional<Estimate>& estimate, std::string_view unit) {
  if (!estimate) return std::string(kMinus);
  return fmt::format("{}{}{}", format_number(estimate->value), unit, range_span(estimate->ci95));
}

// The suite's own modes of all rows, in order of first use.
std::vector<std::string> own_modes(const Group& group) {
  std::vector<std::string> names;
  for (const SpeedupRow* row : group.rows) {
    for (std::size_t i = 3; i < row->modes.size(); ++i) {
      const std::string name = mode_name(*row, row->modes[i]);
      if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
    }
  }
  return names;
}

std::string mode_html(const SpeedupRow& row, const std::string& name) {
  for (const ModeSummary& mode : row.modes) {
    if (mode_name(row, mode) == name && mode.stats) return format_number(mode.stats->median.value);
  }
  return std::string(kMinus);
}

void write_row(const SpeedupRow& row, const std::vector<std::string>& modes, std::string& out) {
  out += fmt::format("<tr role=\"row\">\n<th role=\"rowheader\" scope=\"row\">{}</th>\n", escape_html(test_name(row)));
  for (const std::string& mode : modes) out += cell(mode, "num", mode_html(row, mode));
  out += cell("speedup", "num key", estimate_html(row.speedup, "\xC3\x97"));
  out += cell("% of bare metal", "num", estimate_html(row.percent_of_bare_metal, " %"));
  for (const auto& [label, word] : {std::pair("treatment", &row.treatment), std::pair("quality", &row.quality)}) {
    out += cell(label, word_class(*word), escape_html(*word));
  }
  out += "</tr>\n";
}

void write_table(const Group& group, std::string& out) {
  std::vector<std::string> modes = {kBareMetal, kStock, kUnlocked};
  for (std::string& name : own_modes(group)) modes.push_back(std::move(name));
  out +=
      "<table role=\"table\" class=\"main\">\n<caption>Median tokens per second; in brackets the interval of "
      "the ratio</caption>\n";
  out += "<thead role=\"rowgroup\"><tr role=\"row\">\n<th role=\"columnheader\" scope=\"col\">test</th>\n";
  const auto head = [&](std::string_view name, std::string_view css_class) {
    out += fmt::format("<th role=\"columnheader\" scope=\"col\"{}>{}</th>\n", css_class, escape_html(name));
  };
  for (const std::string& mode : modes) head(mode, " class=\"num\"");
  head("speedup", " class=\"num\"");
  head("% of bare metal", " class=\"num\"");
  head("treatment", "");
  head("quality", "");
  out += "</tr></thead>\n<tbody role=\"rowgroup\">\n";
  for (const SpeedupRow* row : group.rows) write_row(*row, modes, out);
  out += "</tbody>\n</table>\n";
}

void write_charts(const Group& group, std::size_t number, std::string& out) {
  std::string charts;
  bool whiskers = false;
  for (std::size_t i = 0; i < group.rows.size(); ++i) {
    const SpeedupRow& row = *group.rows[i];
    const std::string chart = bar_chart(row, fmt::format("chart-{}-{}", number, i + 1));
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

void write_trial(const TrialPoint& trial, bool runs_shown, std::string& out) {
  out += "<tr>";
  if (runs_shown) out += fmt::format("<td>{}</td>", escape_html(trial.run_id));
  out += fmt::format("<td class=\"num\">{}</td><td>{}</td><td>{}</td>", trial.block, escape_html(trial.mode),
                     escape_html(trial.arm));
  out += fmt::format("<td class=\"num\">{}</td><td class=\"num\">{}</td>",
                     trial.median_ts ? format_number(*trial.median_ts) : std::string(kMinus), trial.n_samples);
  std::string status = escape_html(trial.status);
  if (trial.attempt > 1) status += fmt::format(", attempt {}", trial.attempt);
  if (!trial.counted && trial.status == "ok") status += ", not counted";
  if (!trial.reason.empty()) status += ": " + escape_html(trial.reason);
  out += fmt::format("<td class=\"{}\">{}</td></tr>\n", trial.counted ? "good" : "bad", status);
}

void write_trials(const Group& group, std::string& out) {
  std::size_t count = 0;
  for (const SpeedupRow* row : group.rows) count = std::max(count, row->trials.size());
  out += fmt::format("<details>\n<summary>Every trial ({} per test)</summary>\n", count);
  for (const SpeedupRow* row : group.rows) {
    const bool runs_shown = row->runs.size() > 1;
    out += fmt::format("<h3>{}</h3>\n<div class=\"scroll\">\n<table>\n<thead><tr>", escape_html(test_name(*row)));
    if (runs_shown) out += "<th scope=\"col\">run</th>";
    out +=
        "<th scope=\"col\" class=\"num\">block</th><th scope=\"col\">mode</th><th scope=\"col\">arm</th>"
        "<th scope=\"col\" class=\"num\">median tokens/s</th><th scope=\"col\" class=\"num\">samples</th>"
        "<th scope=\"col\">status</th></tr></thead>\n<tbody>\n";
    for (const TrialPoint& trial : row->trials) write_trial(trial, runs_shown, out);
    out += "</tbody>\n</table>\n</div>\n";
  }
  out += "</details>\n";
}

void write_group(const Group& group, std::size_t number, std::string& out) {
  out += fmt::format("<section aria-labelledby=\"group-{0}\">\n<h2 id=\"group-{0}\">{1}</h2>\n<dl>\n", number,
                     escape_html(group.title));
  for (const auto& [name, value] : group.details) {
    out += fmt::format("<dt>{}</dt><dd>{}</dd>\n", escape_html(name), escape_html(value));
  }
  out += "</dl>\n";
  write_table(group, out);
  write_charts(group, number, out);
  write_notes(group, out);
  write_trials(group, out);
  out += "</section>\n";
}

}  // namespace

std::string render_html(const SpeedupReport& report) {
  std::string out = fmt::format(
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
      "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">\n"
      "<title>capbench: speedup</title>\n<style>{}</style>\n</head>\n<body>\n<header>\n<h1>Speedup</h1>\n",
      kHtmlStyle);
  out +=
      "<p class=\"lead\">How much faster a guest runs when a capability shim corrects what it is told about the "
      "device, and "
      "how close that comes to bare metal.</p>\n</header>\n<main>\n";
  const std::vector<Group> groups = group_rows(report);
  if (groups.empty()) out += "<section>\n<p>No trials to report.</p>\n</section>\n";
  for (std::size_t i = 0; i < groups.size(); ++i) write_group(groups[i], i + 1, out);
  const std::vector<std::string> sentences = explanations(report);
  if (!sentences.empty()) {
    out += "<section aria-labelledby=\"reading\">\n<h2 id=\"reading\">How to read this</h2>\n<ul class=\"notes\">\n";
    for (const std::string& sentence : sentences) out += fmt::format("<li>{}</li>\n", escape_html(sentence));
    out += "</ul>\n</section>\n";
  }
  return out + "</main>\n</body>\n</html>\n";
}

}  // namespace capbench::reports
