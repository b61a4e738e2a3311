#include "reports/render_markdown.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <vector>

#include "reports/group.h"
#include "reports/text.h"

namespace capbench::reports {
namespace {

constexpr std::size_t kColumns = 80;

struct Column {
  std::string header;
  bool right = false;              // numbers
  std::vector<std::string> cells;  // escaped

  std::size_t width() const {
    std::size_t widest = std::max<std::size_t>(3, display_width(header));
    for (const std::string& cell : cells) widest = std::max(widest, display_width(cell));
    return widest;
  }
};

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

std::vector<Column> table_of(const Group& group, bool percent_intervals) {
  std::vector<Column> columns = {{"test", false, {}},     {"bare-metal", true, {}}, {"stock", true, {}},
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

std::size_t table_width(const std::vector<Column>& columns, std::size_t padding) {
  std::size_t width = 1;
  for (const Column& column : columns) width += column.width() + 2 * padding + 1;
  return width;
}

std::string padded(const std::string& text, std::size_t width, bool right) {
  const std::string fill(width - std::min(width, display_width(text)), ' ');
  return right ? fill + text : text + fill;
}

void write_table(const std::vector<Column>& columns, std::string& out) {
  // A space beside each bar if there is room for it.
  const std::string space(table_width(columns, 1) <= kColumns ? 1 : 0, ' ');
  const auto write_line = [&](auto cell) {
    out += '|';
    for (const Column& column : columns) {
      out += fmt::format("{}{}{}|", space, padded(cell(column), column.width(), column.right), space);
    }
    out += '\n';
  };
  write_line([](const Column& column) { return column.header; });
  write_line([](const Column& column) {
    std::string rule(column.width(), '-');
    if (column.right) rule.back() = ':';
    return rule;
  });
  for (std::size_t i = 0; i < columns.front().cells.size(); ++i) {
    write_line([i](const Column& column) { return column.cells[i]; });
  }
}

// At the start of a line these begin a list, heading, quotation or code block; so do "1." and "1)".
bool starts_a_block(std::string_view word) {
  if (word.empty() || std::string_view("#>*:~").find(word.front()) != std::string_view::npos) return true;
  // "-" and "---" do, "--list" does not.
  if (std::string_view("-+=").find(word.front()) != std::string_view::npos) {
    return word.find_first_not_of(word.front()) == std::string_view::npos;
  }
  const std::size_t digits = std::min(word.find_first_not_of("0123456789"), word.size());
  return digits > 0 && digits < word.size() && (word[digits] == '.' || word[digits] == ')');
}

// One list item of escaped words, broken at spaces so that lines stay within the columns where the words allow it. A
// word that would start a block of its own stays on the line before it.
void write_item(const std::string& escaped, std::string& out) {
  std::string line = "-";
  std::size_t from = 0;
  while (from < escaped.size()) {
    const std::size_t end = std::min(escaped.find(' ', from), escaped.size());
    const std::string word = escaped.substr(from, end - from);
    from = end + 1;
    if (word.empty()) continue;
    if (display_width(line) + 1 + display_width(word) > kColumns && line.size() > 2 && !starts_a_block(word)) {
      out += line + "\n";
      line.assign(1, ' ');
    }
    line += " " + word;
  }
  out += line + "\n";
}

// What of the table found no room beside its columns.
struct Beside {
  bool treatment = false;          // the same in every row
  bool percent_intervals = false;  // of % of bare
};

// The widest form of the main table that fits the terminal, or else the narrowest.
std::vector<Column> fitting_table(const Group& group, Beside& beside) {
  for (const bool intervals : {true, false}) {
    std::vector<Column> columns = table_of(group, intervals);
    const auto& treatments = columns.back().cells;
    const bool alike =
        std::all_of(treatments.begin(), treatments.end(), [&](const auto& t) { return t == treatments[0]; });
    beside.percent_intervals = !intervals;
    beside.treatment = false;
    if (table_width(columns, 0) <= kColumns) return columns;
    if (!alike && !intervals) return columns;
    if (!alike) continue;
    beside.treatment = true;
    columns.pop_back();
    if (table_width(columns, 0) <= kColumns || !intervals) return columns;
  }
  return {};
}

void write_percent_intervals(const Group& group, std::string& out) {
  for (const SpeedupRow* row : group.rows) {
    const auto& percent = row->percent_of_bare_metal;
    if (!percent || !percent->ci95) continue;
    write_item(escape_markdown(fmt::format("{}: % of bare ", test_name(*row))) + percent_cell(percent, true), out);
  }
}

// The suite's own arms, as many tests to a table as fit; an arm with too long a name gets a number.
void write_own_arms(const Group& group, std::string& out) {
  const std::vector<OwnArm> arms = own_arms(group);
  if (arms.empty()) return;
  std::vector<std::vector<Column>> tests;
  std::size_t widest = 0;
  for (std::size_t i = 0; i < group.rows.size(); ++i) {
    Column speed = {escape_markdown(test_name(*group.rows[i])), true, {}};
    Column relative = {"x bare", true, {}};
    for (const OwnArm& arm : arms) {
      const ModeSummary* mode = arm.rows[i];
      speed.cells.push_back(mode != nullptr && mode->stats ? format_number(mode->stats->median.value) : "-");
      const bool compared = mode != nullptr && mode->over_bare_metal;
      relative.cells.push_back(compared ? format_number(mode->over_bare_metal->value) + "x" : "-");
    }
    tests.push_back({speed, relative});
    widest = std::max(widest, table_width(tests.back(), 0));
  }
  Column names = {"arm", false, {}};
  std::vector<std::string> legend;
  for (const OwnArm& arm : arms) {
    std::string name = escape_markdown(arm.name);
    if (display_width(name) + 1 + widest > kColumns) {
      legend.push_back(name);
      name = fmt::format("({})", legend.size());
    }
    names.cells.push_back(name);
  }
  std::vector<Column> columns = {names};
  const auto flush = [&] {
    write_table(columns, out);
    out += '\n';
    columns = {names};
  };
  for (const auto& test : tests) {
    std::vector<Column> longer = columns;
    longer.insert(longer.end(), test.begin(), test.end());
    if (columns.size() > 1 && table_width(longer, 0) > kColumns) {
      flush();
      longer = columns;
      longer.insert(longer.end(), test.begin(), test.end());
    }
    columns = std::move(longer);
  }
  flush();
  for (std::size_t i = 0; i < legend.size(); ++i) write_item(fmt::format("arm ({}): {}", i + 1, legend[i]), out);
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
    write_item(escape_markdown(alike ? lines[i] : fmt::format("{}: {}", test_name(*group.rows[i]), lines[i])), out);
  }
}

void write_results(const Group& group, std::string& out) {
  Beside beside;
  const std::vector<Column> columns = fitting_table(group, beside);
  write_table(columns, out);
  out += '\n';
  write_own_arms(group, out);
  if (beside.treatment) {
    write_item(fmt::format("treatment: {} in every row", escape_markdown(group.rows.front()->treatment)), out);
  }
  if (beside.percent_intervals) write_percent_intervals(group, out);
  write_summary(group, out);
}

void write_group(const Group& group, std::string& out) {
  out += fmt::format("## {}\n\n", escape_markdown(group.title));
  if (!group.about.empty()) write_item("about: " + escape_markdown(group.about), out);
  for (const auto& [name, value] : group.details) write_item(fmt::format("{}: {}", name, escape_markdown(value)), out);
  out += '\n';
  if (group.has_results) {
    write_results(group, out);
  } else {
    for (const std::string& reason : reasons_for_no_result(group)) write_item(escape_markdown(reason), out);
  }
  for (const std::string& note : group_notes(group)) write_item(escape_markdown(note), out);
  out += '\n';
}

bool is_word(std::string_view text, std::size_t i) {
  if (i >= text.size()) return false;
  const auto byte = static_cast<unsigned char>(text[i]);
  return byte >= 0x80 || (byte >= '0' && byte <= '9') || (byte >= 'A' && byte <= 'Z') || (byte >= 'a' && byte <= 'z');
}

}  // namespace

std::string escape_markdown(std::string_view text) {
  const std::string line = one_line(text);
  std::string out;
  out.reserve(line.size());
  for (std::size_t i = 0; i < line.size(); ++i) {
    const char c = line[i];
    const bool underscore = c == '_' && !(i > 0 && is_word(line, i - 1) && is_word(line, i + 1));
    if (c == '<') {
      out += "&lt;";
    } else if (c == '>') {
      out += "&gt;";
    } else if (c == '&') {
      out += "&amp;";
    } else {
      if (underscore || std::string_view("\\`*[]|#~!$").find(c) != std::string_view::npos) out += '\\';
      out += c;
    }
  }
  return out;
}

std::string render_markdown(const SpeedupReport& report) {
  std::string out;
  if (report.rows.empty()) return "No trials to report.\n";
  for (const Group& group : group_rows(report)) write_group(group, out);
  out += "### Notes\n\n";
  for (const std::string& sentence : explanations(report)) write_item(escape_markdown(sentence), out);
  return out;
}

}  // namespace capbench::reports
