// Models x machines: stock, unlocked and bare metal side by side.
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <span>
#include <utility>

#include "reports/flags_text.h"
#include "reports/site/drawing.h"
#include "reports/site/pages.h"
#include "reports/text.h"

namespace capbench::site {
namespace {

using reports::ModeSummary;
using reports::SpeedupRow;

// Most rows of one figure: more bars than this cannot be told apart.
constexpr std::size_t kFigureRows = 30;

const ModeSummary* mode_of(const SpeedupRow& row, std::string_view mode) {
  const auto found =
      std::find_if(row.modes.begin(), row.modes.end(), [&](const ModeSummary& one) { return one.mode == mode; });
  return found == row.modes.end() ? nullptr : &*found;
}

TableCell speed_cell(const SpeedupRow& row, std::string_view mode) {
  const ModeSummary* summary = mode_of(row, mode);
  if (summary == nullptr || !summary->stats) {
    std::string why = "not measured";
    for (const reports::NotOk& bad : row.not_ok) {
      if (bad.mode != mode) continue;
      why = bad.status == reports::kMeanOnly ? "only a mean" : fmt::format("{} {}", bad.count, bad.status);
    }
    return {fmt::format("<span class=\"soft\">{}</span>", esc(why)), "0"};
  }
  return {estimate(summary->stats->median) +
              fmt::format(" <span class=\"range\">{}</span>", esc(count_of(summary->stats->n_trials, "trial"))),
          fmt::format("{}", summary->stats->median.value)};
}

std::string evidence(const SpeedupRow& row) {
  std::string html = badge(row.treatment, row.treatment == "proven"    ? "good"
                                          : row.treatment == "invalid" ? "bad"
                                                                       : "warn");
  html += ' ';
  html += badge(row.quality, row.quality == "passed" ? "good" : row.quality == "wrong" ? "bad" : "");
  if (!row.flags.empty()) {
    html += "<details class=\"flags\"><summary>" + count_of(row.flags.size(), "flag") + "</summary><ul>";
    for (const std::string& flag : row.flags) html += "<li>" + esc(flag) + "</li>";
    for (const std::string& note : row.notes) html += "<li>" + esc(note) + "</li>";
    html += "</ul></details>";
  }
  return html;
}

// What a row is, the most telling first.
std::vector<std::string> parts_of_name(const SpeedupRow& row) {
  std::string arm;
  for (const ModeSummary& mode : row.modes) {
    if (row.arms_shown && mode.mode == reports::kUnlocked) arm = mode.arm;
  }
  return {model_text(row.model, row.model_kind),          row.test,  row.machine, arm, row.workload,
          row.guest.empty() ? "" : "guest: " + row.guest, row.suite, row.build};
}

std::string bars_figure(const std::vector<SpeedupRow>& all, bool generation) {
  std::vector<const SpeedupRow*> shown;
  std::vector<std::vector<std::string>> parts;
  const auto has_bar = [](const ModeSummary& mode) { return mode.stats && reports::is_core_mode(mode.mode); };
  for (const SpeedupRow& row : all) {
    if ((row.n_gen > 0 && row.n_prompt == 0) != generation || shown.size() == kFigureRows) continue;
    if (std::none_of(row.modes.begin(), row.modes.end(), has_bar)) continue;
    shown.push_back(&row);
    parts.push_back(parts_of_name(row));
  }
  if (shown.empty()) return "";
  const std::vector<std::string> names = row_names(parts, 2);
  std::vector<Bar> bars;
  for (std::size_t i = 0; i < shown.size(); ++i) {
    for (const ModeSummary& mode : shown[i]->modes) {
      if (has_bar(mode)) bars.push_back({names[i], mode.mode, mode.stats->median});
    }
  }
  return figure(generation ? "bars-generation" : "bars-prompt",
                generation ? "Generation, tokens per second with 95 % intervals"
                           : "Prompt processing, tokens per second with 95 % intervals",
                draw_bars(bars));
}

std::string notes_section(const std::vector<SpeedupRow>& rows) {
  std::set<std::string> flags;
  for (const SpeedupRow& row : rows) flags.insert(row.flags.begin(), row.flags.end());
  std::string html =
      "<section aria-labelledby=\"notes\"><h2 id=\"notes\">How to read it</h2>\n<ul class=\"notes\">\n"
      "<li>A mode's number is the median over its trials of each trial's median; one trial is one fresh process.</li>\n"
      "<li>An interval is between trials where there are several. \"within one process\" says nothing about the next "
      "process.</li>\n"
      "<li>Only the newest build of each suite on each machine is here; older ones are in the <a "
      "href=\"history.html\">history</a>.</li>\n"
      "<li>Modes of a suite's own, such as the arms of an ablation, are on the page of that <a "
      "href=\"ablation.html\">ablation</a>.</li>\n";
  for (const std::string& sentence : reports::flag_explanations(flags)) html += "<li>" + esc(sentence) + "</li>\n";
  return html + "</ul></section>\n";
}

}  // namespace

Result<std::string> speedup_page(const Site& site, Connections& connections, std::size_t part_number) {
  std::vector<schema::Store*> stores;
  for (std::size_t i = 0; i < site.stores.size(); ++i) {
    Result<Connection*> connection = connections.at(i);
    if (!connection) return std::move(connection).error();
    stores.push_back(&(*connection)->store);
  }
  const auto [first, last] = site.speedup_parts[part_number - 1];
  const auto report = read_speedup_of(site.model, std::span(site.model.speedup).subspan(first, last - first), stores);
  if (!report) return report.error();
  std::string body = pager("speedup", part_number, speedup_parts(site));
  body += bars_figure(report->rows, false) + bars_figure(report->rows, true);
  std::vector<TableRow> rows;
  for (const SpeedupRow& row : report->rows) {
    std::string about = esc(model_text(row.model, row.model_kind));
    about += fmt::format("<span class=\"range\">{}</span>", esc(row.suite + ", " + row.workload));
    std::string machine = esc(row.machine);
    const std::string guest = row.guest.empty() ? "" : "guest: " + row.guest;
    machine += fmt::format("<span class=\"range\">{}</span>",
                           esc(row.build + (row.build.empty() || guest.empty() ? "" : ", ") + guest));
    const double percent = row.percent_of_bare_metal ? row.percent_of_bare_metal->value : 0;
    rows.push_back({{about, row.model},
                    {esc(row.test.empty() ? "(no result)" : row.test)},
                    {machine, row.machine},
                    speed_cell(row, reports::kBareMetal),
                    speed_cell(row, reports::kStock),
                    speed_cell(row, reports::kUnlocked),
                    {estimate(row.speedup, true), fmt::format("{}", row.speedup ? row.speedup->value : 0), "key"},
                    {percent > 0 ? fmt::format("<span class=\"value\">{:.1f} %</span> {}", percent,
                                               range(row.percent_of_bare_metal->ci95))
                                 : std::string("<span class=\"soft\">\xE2\x80\x93</span>"),
                     fmt::format("{}", percent)},
                    {evidence(row), row.treatment, "badges"}});
  }
  if (rows.empty()) {
    body += "<p>Nothing has been measured yet.</p>\n";
  } else {
    body += table("speedup", "Tokens per second of each mode, and what unlocking is worth",
                  {{"Model", "wide", ""},
                   {"Test", "text", "as llama-bench names it"},
                   {"Machine", "wide", ""},
                   {"bare-metal", "num", "no guest, no shim"},
                   {"stock", "num", "the guest as it is shipped"},
                   {"unlocked", "num", "the same guest, with the shim"},
                   {"Speedup", "num", "unlocked over stock, with its 95 % interval"},
                   {"Of bare metal", "num", "unlocked over bare metal"},
                   {"Evidence", "text", "whether the treatment was proven, and the output checked"}},
                  rows, true);
  }
  body += notes_section(report->rows);
  return page(frame_of(site, "Speedup", "speedup.html",
                       "Every model on every machine: <span class=\"mode bare\">bare-metal</span>, <span class=\"mode "
                       "stock\">stock</span> and <span class=\"mode unlocked\">unlocked</span>."),
              body);
}

}  // namespace capbench::site
