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

std::vector<Column> table_of(const Group& group) {
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
    columns[5].cells.push_back(row->percent_of_bare_metal ? format_number(row->percent_of_bare_metal->value) : "-");
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
  if (word.empty() || std::string_view("-+=#>*:~").find(word.front()) != std::string_view::npos) return true;
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

// Modes of the suite's own have no column.
void write_other_modes(const Group& group, std::string& out) {
  for (const SpeedupRow* row : group.rows) {
    for (std::size_t i = 3; i < row->modes.size(); ++i) {
      const ModeSummary& mode = row->modes[i];
      if (!mode.stats) continue;
      write_item(escape_markdown(fmt::format("{}: {} {} tokens/s", test_name(*row), mode_name(*row, mode),
                                             format_number(mode.stats->median.value))),
                 out);
    }
  }
}

// How many trials and of what treatment, and the quality: once if all rows of the group say the same.
void write_summary(const Group& group, std::string& out) {
  std::vector<std::string> lines;
  for (const SpeedupRow* row : group.rows) {
    std::vector<std::string> modes;
    for (const ModeSummary& mode : row->modes) {
      if (!mode.stats) continue;
      modes.push_back(fmt::format("{} {} ({}, {})", mode_name(*row, mode), mode.stats->n_trials,
                                  count_of(mode.stats->n_samples, "sample"), mode.treatment));
    }
    lines.push_back(modes.empty() ? "no trial counts"
                                  : fmt::format("trials: {}; quality {}", fmt::join(modes, ", "), row->quality));
  }
  const bool alike = std::all_of(lines.begin(), lines.end(), [&](const auto& line) { return line == lines.front(); });
  for (std::size_t i = 0; i < (alike ? 1 : lines.size()); ++i) {
    write_item(escape_markdown(alike ? lines[i] : fmt::format("{}: {}", test_name(*group.rows[i]), lines[i])), out);
  }
}

void write_group(const Group& group, std::string& out) {
  out += fmt::format("## {}\n\n", escape_markdown(group.title));
  for (const auto& [name, value] : group.details) write_item(fmt::format("{}: {}", name, escape_markdown(value)), out);
  out += '\n';

  std::vector<Column> columns = table_of(group);
  const auto& treatments = columns.back().cells;
  const bool alike =
      std::all_of(treatments.begin(), treatments.end(), [&](const auto& t) { return t == treatments[0]; });
  std::string common_treatment;
  if (alike && table_width(columns, 0) > kColumns) {
    common_treatment = treatments[0];
    columns.pop_back();
  }
  write_table(columns, out);
  out += '\n';

  if (!common_treatment.empty()) write_item("treatment: " + common_treatment + " in every row", out);
  write_other_modes(group, out);
  write_summary(group, out);
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
