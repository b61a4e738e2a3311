#include "reports/markdown_text.h"

#include <fmt/format.h>

#include <algorithm>

#include "reports/text.h"

namespace capbench::reports {
namespace {

std::string padded(const std::string& text, std::size_t width, bool right) {
  const std::string fill(width - std::min(width, display_width(text)), ' ');
  return right ? fill + text : text + fill;
}

// At the start of a line these begin a list, heading, quotation or code block; so do "1." and "1)".
bool starts_a_block(std::string_view word) {
  if (word.empty() || std::string_view("#>*:~").find(word.front()) != std::string_view::npos) return true;
  // "-" and "---" do, "--list" does not.
  if (std::string_view("-+=").find(word.front()) != std::string_view::npos) {
    return word.find_first_not_of(word.front()) == std::string_view::npos;
  }
  const std::size_t digits = std::min(word.find_first_not_of("0123456789"), word.size());
  return digits > 0 && digits + 1 == word.size() && (word[digits] == '.' || word[digits] == ')');
}

bool is_word(std::string_view text, std::size_t i) {
  if (i >= text.size()) return false;
  const auto byte = static_cast<unsigned char>(text[i]);
  return byte >= 0x80 || (byte >= '0' && byte <= '9') || (byte >= 'A' && byte <= 'Z') || (byte >= 'a' && byte <= 'z');
}

}  // namespace

std::size_t MarkdownColumn::width() const {
  std::size_t widest = std::max<std::size_t>(3, display_width(header));
  for (const std::string& cell : cells) widest = std::max(widest, display_width(cell));
  return widest;
}

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

std::size_t markdown_table_width(const std::vector<MarkdownColumn>& columns, std::size_t padding) {
  std::size_t width = 1;
  for (const MarkdownColumn& column : columns) width += column.width() + 2 * padding + 1;
  return width;
}

void write_markdown_table(const std::vector<MarkdownColumn>& columns, std::string& out) {
  // A space beside each bar if there is room for it.
  const std::string space(markdown_table_width(columns, 1) <= kMarkdownColumns ? 1 : 0, ' ');
  const auto write_line = [&](auto cell) {
    out += '|';
    for (const MarkdownColumn& column : columns) {
      out += fmt::format("{}{}{}|", space, padded(cell(column), column.width(), column.right), space);
    }
    out += '\n';
  };
  write_line([](const MarkdownColumn& column) { return column.header; });
  write_line([](const MarkdownColumn& column) {
    std::string rule(column.width(), '-');
    if (column.right) rule.back() = ':';
    return rule;
  });
  for (std::size_t i = 0; i < columns.front().cells.size(); ++i) {
    write_line([i](const MarkdownColumn& column) { return column.cells[i]; });
  }
}

void write_markdown_item(const std::string& escaped, std::string& out) {
  std::string line = "-";
  std::size_t from = 0;
  while (from < escaped.size()) {
    const std::size_t end = std::min(escaped.find(' ', from), escaped.size());
    const std::string word = escaped.substr(from, end - from);
    from = end + 1;
    if (word.empty()) continue;
    if (display_width(line) + 1 + display_width(word) > kMarkdownColumns && line.size() > 2 && !starts_a_block(word)) {
      out += line + "\n";
      line.assign(1, ' ');
    }
    line += " " + word;
  }
  out += line + "\n";
}

}  // namespace capbench::reports
