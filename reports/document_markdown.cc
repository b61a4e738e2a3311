#include <fmt/format.h>

#include <algorithm>

#include "reports/document.h"
#include "reports/markdown_text.h"
#include "reports/text.h"

namespace capbench::reports {
namespace {

// Wider cells become numbers.
constexpr std::size_t kWidestCell = 30;
constexpr std::size_t kShortName = 12;

// What found no room in a section's tables.
class Legend {
 public:
  // The text, or the number under which it stands before the tables.
  std::string place(const std::string& escaped, std::size_t room) {
    if (display_width(escaped) <= room) return escaped;
    const auto known = std::find(texts_.begin(), texts_.end(), escaped);
    const auto number = static_cast<std::size_t>(known - texts_.begin()) + 1;
    if (known == texts_.end()) texts_.push_back(escaped);
    return fmt::format("({})", number);
  }

  void write(std::string& out) const {
    for (std::size_t i = 0; i < texts_.size(); ++i) {
      write_markdown_item(fmt::format("({}): {}", i + 1, texts_[i]), out);
    }
    if (!texts_.empty()) out += '\n';
  }

 private:
  std::vector<std::string> texts_;
};

std::string cell_text(const Cell& cell) {
  std::string text = escape_markdown(cell.text.empty() ? "-" : cell.text);
  // Square brackets alone make no link.
  if (!cell.beside.empty()) text += " " + one_line(cell.beside);
  return text;
}

bool is_interval(const Cell& cell) {
  return !cell.beside.empty();
}

MarkdownColumn column_of(const Table& table, std::size_t index, std::size_t room, Legend& legend) {
  MarkdownColumn column = {escape_markdown(table.columns[index].header), table.columns[index].right, {}};
  for (const std::vector<Cell>& row : table.rows) {
    const std::string text = cell_text(row[index]);
    column.cells.push_back(is_interval(row[index]) ? text : legend.place(text, room));
  }
  return column;
}

// The table in as many parts as it takes, each of which begins with the names.
std::vector<std::vector<MarkdownColumn>> parts_of(const MarkdownColumn& names,
                                                  const std::vector<MarkdownColumn>& columns) {
  std::vector<std::vector<MarkdownColumn>> parts = {{names}};
  for (const MarkdownColumn& column : columns) {
    parts.back().push_back(column);
    if (parts.back().size() > 2 && markdown_table_width(parts.back(), 0) > kMarkdownColumns) {
      parts.back().pop_back();
      parts.push_back({names, column});
    }
  }
  return parts;
}

void write_table(const Table& table, Legend& legend, std::string& out) {
  if (table.columns.empty() || table.rows.empty()) return;
  std::vector<MarkdownColumn> columns;
  for (std::size_t i = 1; i < table.columns.size(); ++i) columns.push_back(column_of(table, i, kWidestCell, legend));
  // Names as they are if two parts hold all of it, and no part is too wide for them.
  Legend none;
  const MarkdownColumn full = column_of(table, 0, kMarkdownColumns, none);
  const auto fits = [](const std::vector<MarkdownColumn>& part) {
    return markdown_table_width(part, 0) <= kMarkdownColumns;
  };
  auto parts = parts_of(full, columns);
  if (parts.size() > 2 || !std::all_of(parts.begin(), parts.end(), fits)) {
    parts = parts_of(column_of(table, 0, kShortName, legend), columns);
  }
  if (!table.caption.empty()) {
    std::string item;
    write_markdown_item(escape_markdown(table.caption) + ":", item);
    out += item.substr(2) + "\n";  // a paragraph, broken like an item
  }
  for (const std::vector<MarkdownColumn>& part : parts) {
    write_markdown_table(part, out);
    out += '\n';
  }
}

void write_section(const Section& section, std::string& out) {
  out += fmt::format("## {}\n\n", escape_markdown(section.title));
  if (!section.about.empty()) write_markdown_item("about: " + escape_markdown(section.about), out);
  for (const auto& [name, value] : section.details) {
    write_markdown_item(fmt::format("{}: {}", escape_markdown(name), escape_markdown(value)), out);
  }
  out += '\n';
  for (const std::string& finding : section.findings) write_markdown_item(escape_markdown(finding), out);
  if (!section.findings.empty()) out += '\n';
  Legend legend;
  std::string tables;
  for (const Table& table : section.tables) write_table(condensed(table), legend, tables);
  legend.write(out);
  out += tables;
  for (const std::string& note : section.notes) write_markdown_item(escape_markdown(note), out);
  if (!section.notes.empty()) out += '\n';
}

}  // namespace

std::string document_markdown(const Document& document) {
  if (document.sections.empty()) return escape_markdown(document.if_empty) + "\n";
  std::string out;
  for (const Section& section : document.sections) write_section(section, out);
  if (!document.explanations.empty()) out += "### Notes\n\n";
  for (const std::string& sentence : document.explanations) write_markdown_item(escape_markdown(sentence), out);
  return out;
}

}  // namespace capbench::reports
