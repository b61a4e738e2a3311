#include "reports/render_markdown.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <vector>

#include "reports/group.h"
#include "reports/markdown_text.h"
#include "reports/text.h"

namespace capbench::reports {
namespace {

std::string ratio_cell(const std::optional<Estimate>& speedup) {
  if (!speedup) return "-";
  std::string text = format_number(speedup->value) + "x";
  // Square brackets alone make no link.
  if (speedup->ci95) {
    text += fmt::format(" [{}, {}]", format_number(speedup->ci95->low), format_number(speedup->ci95->high));
  }
  return text;
}

std::string percent_cell(const std::optional<Estimate>& percent, bool with_interval) {
  if (!percent) return "-";
  std::string text = format_number(percent->value);
  if (with_interval && percent->ci95) {
    text += fmt::format(" [{}, {}]", format_number(percent->ci95->low), format_number(percent->ci95->high));
  }
  return text;
}

std::vector<MarkdownColumn> table_of(const Group& group, bool percent_intervals) {
  std::vector<MarkdownColumn> columns = {{"test", false, {}},     {"bare-metal", true, {}}, {"stock", true, {}},
                                         {"unlocked", true, {}},  {"speedup", true, {}},    {"% of bare", true, {}},
                                         {"treatment", false, {}}};
  for (const SpeedupRow* row : group.rows) {
    columns[0].cells.push_back(escape_markdown(test_name(*row)));
    for (std::size_t mode = 0; mode < 3; ++mode) {
      const auto& stats = row->modes[mode].stats;
      columns[mode + 1].cells.push_back(stats ? format_number(stats->median.value) : "-");
    }
    columns[4].cells.push_back(ratio_cell(row->speedup));
    columns[5].cells.push_back(percent_cell(row->percent_of_bare_metal, percent_intervals));
    columns[6].cells.push_back(escape_markdown(row->treatment));
  }
  return columns;
}

// What of the table found no room beside its columns.
struct Beside {
  bool treatment = false;          // the same in every row
  bool percent_intervals = false;  // of % of bare
};

// The widest form of the main table that fits the terminal, or else the narrowest.
std::vector<MarkdownColumn> fitting_table(const Group& group, Beside& beside) {
  for (const bool intervals : {true, false}) {
    std::vector<MarkdownColumn> columns = table_of(group, intervals);
    const auto& treatments = columns.back().cells;
    const bool alike =
        std::all_of(treatments.begin(), treatments.end(), [&](const auto& t) { return t == treatments[0]; });
    beside.percent_intervals = !intervals;
    beside.treatment = false;
    if (markdown_table_width(columns, 0) <= kMarkdownColumns) return columns;
    if (!alike && !intervals) return columns;
    if (!alike) continue;
    beside.treatment = true;
    columns.pop_back();
    if (markdown_table_width(columns, 0) <= kMarkdownColumns || !intervals) return columns;
  }
  return {};
}

void write_percent_intervals(const Group& group, std::string& out) {
  for (const SpeedupRow* row : group.rows) {
    const auto& percent = row->percent_of_bare_metal;
    if (!percent || !percent->ci95) continue;
    write_markdown_item(escape_markdown(fmt::format("{}: % of bare ", test_name(*row))) + percent_cell(percent, true),
                        out);
  }
}

// The suite's own arms, as many tests to a table as fit; an arm with too long a name gets a number.
void write_own_arms(const Group& group, std::string& out) {
  const std::vector<OwnArm> arms = own_arms(group);
  if (arms.empty()) return;
  std::vector<std::vector<MarkdownColumn>> tests;
  std::size_t widest = 0;
  for (std::size_t i = 0; i < group.rows.size(); ++i) {
    MarkdownColumn speed = {escape_markdown(test_name(*group.rows[i])), true, {}};
    MarkdownColumn relative = {"x bare", true, {}};
    for (const OwnArm& arm : arms) {
      const ModeSummary* mode = arm.rows[i];
      speed.cells.push_back(mode != nullptr && mode->stats ? format_number(mode->stats->median.value) : "-");
      const bool compared = mode != nullptr && mode->over_bare_metal;
      relative.cells.push_back(compared ? format_number(mode->over_bare_metal->value) + "x" : "-");
    }
    tests.push_back({speed, relative});
    widest = std::max(widest, markdown_table_width(tests.back(), 0));
  }
  MarkdownColumn names = {"arm", false, {}};
  std::vector<std::string> legend;
  for (const OwnArm& arm : arms) {
    std::string name = escape_markdown(arm.name);
    if (display_width(name) + 1 + widest > kMarkdownColumns) {
      legend.push_back(name);
      name = fmt::format("({})", legend.size());
    }
    names.cells.push_back(name);
  }
  std::vector<MarkdownColumn> columns = {names};
  const auto flush = [&] {
    write_markdown_table(columns, out);
    out += '\n';
    columns = {names};
  };
  for (const auto& test : tests) {
    std::vector<MarkdownColumn> longer = columns;
    longer.insert(longer.end(), test.begin(), test.end());
    if (columns.size() > 1 && markdown_table_width(longer, 0) > kMarkdownColumns) {
      flush();
      longer = columns;
      longer.insert(longer.end(), test.begin(), test.end());
    }
    columns = std::move(longer);
  }
  flush();
  for (std::size_t i = 0; i < legend.size(); ++i)
    write_markdown_item(fmt::format("arm ({}): {}", i + 1, legend[i]), out);
}

// "bare-metal 5 (25 samples, proven), ..."; once for all where more than three arms are alike.
std::string trials_text(const SpeedupRow& row) {
  std::vector<std::string> modes;
  std::vector<std::string> counts;
  for (const ModeSummary& mode : row.modes) {
    if (!mode.stats) continue;
    counts.push_back(
        fmt::format("{} ({}, {})", mode.stats->n_trials, count_of(mode.stats->n_samples, "sample"), mode.treatment));
    modes.push_back(fmt::format("{} {}", mode_name(row, mode), counts.back()));
  }
  const bool alike =
      std::all_of(counts.begin(), counts.end(), [&](const auto& count) { return count == counts.front(); });
  if (alike && counts.size() > 3) return fmt::format("of each of {} arms {}", counts.size(), counts.front());
  return fmt::format("{}", fmt::join(modes, ", "));
}

// How many trials and of what treatment, and the quality: once if all rows of the group say the same.
void write_summary(const Group& group, std::string& out) {
  std::vector<std::string> lines;
  for (const SpeedupRow* row : group.rows) {
    const std::string trials = trials_text(*row);
    lines.push_back(trials.empty() ? "no trial counts" : fmt::format("trials: {}; quality {}", trials, row->quality));
  }
  const bool alike = std::all_of(lines.begin(), lines.end(), [&](const auto& line) { return line == lines.front(); });
  for (std::size_t i = 0; i < (alike ? 1 : lines.size()); ++i) {
    write_markdown_item(escape_markdown(alike ? lines[i] : fmt::format("{}: {}", test_name(*group.rows[i]), lines[i])),
                        out);
  }
}

void write_results(const Group& group, std::string& out) {
  Beside beside;
  const std::vector<MarkdownColumn> columns = fitting_table(group, beside);
  write_markdown_table(columns, out);
  out += '\n';
  write_own_arms(group, out);
  if (beside.treatment) {
    write_markdown_item(fmt::format("treatment: {} in every row", escape_markdown(group.rows.front()->treatment)), out);
  }
  if (beside.percent_intervals) write_percent_intervals(group, out);
  write_summary(group, out);
}

void write_group(const Group& group, std::string& out) {
  out += fmt::format("## {}\n\n", escape_markdown(group.title));
  if (!group.about.empty()) write_markdown_item("about: " + escape_markdown(group.about), out);
  for (const auto& [name, value] : group.details)
    write_markdown_item(fmt::format("{}: {}", name, escape_markdown(value)), out);
  out += '\n';
  if (group.has_results) {
    write_results(group, out);
  } else {
    for (const std::string& reason : reasons_for_no_result(group)) write_markdown_item(escape_markdown(reason), out);
  }
  for (const std::string& note : group_notes(group)) write_markdown_item(escape_markdown(note), out);
  out += '\n';
}

}  // namespace

std::string render_markdown(const SpeedupReport& report) {
  std::string out;
  if (report.rows.empty()) return "No trials to report.\n";
  for (const Group& group : group_rows(report)) write_group(group, out);
  out += "### Notes\n\n";
  for (const std::string& sentence : explanations(report)) write_markdown_item(escape_markdown(sentence), out);
  return out;
}

}  // namespace capbench::reports
