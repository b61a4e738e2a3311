#include <fmt/format.h>

#include "reports/markdown_text.h"
#include "reports/paper/paper.h"

namespace capbench::reports::paper {
namespace {

std::string markdown_of(const Line& line, const Numbers& numbers) {
  std::string out;
  for (const Piece& piece : line) {
    const Number* number = piece.is_number ? numbers.find(piece.text) : nullptr;
    out += escape_markdown(number != nullptr ? number->text : piece.text);
  }
  return out;
}

// Broken like an item, without its mark.
void write_paragraph(const std::string& escaped, std::string& out) {
  std::string item;
  write_markdown_item(escaped, item);
  std::string text = item.substr(2);
  for (std::size_t at = text.find("\n  "); at != std::string::npos; at = text.find("\n  ", at + 1))
    text.erase(at + 1, 2);
  out += text + "\n";
}

void write_table(const PaperTable& table, const Numbers& numbers, std::string& out) {
  if (table.rows.empty()) return;
  write_paragraph(markdown_of(table.caption, numbers), out);
  std::vector<MarkdownColumn> columns;
  for (std::size_t i = 0; i < table.headers.size(); ++i) {
    columns.push_back({escape_markdown(table.headers[i]), table.right[i], {}});
    for (const std::vector<Line>& row : table.rows) columns.back().cells.push_back(markdown_of(row[i], numbers));
  }
  // As many columns to a table as fit, each part with the names of its rows: the columns of text that lead.
  std::size_t names = 0;
  while (names < columns.size() && !table.right[names]) ++names;
  if (names == 0 || names == columns.size()) names = 1;
  const std::vector<MarkdownColumn> leading(columns.begin(), columns.begin() + static_cast<std::ptrdiff_t>(names));
  std::vector<MarkdownColumn> part = leading;
  const auto flush = [&] {
    write_markdown_table(part, out);
    out += '\n';
    part = leading;
  };
  for (std::size_t i = names; i < columns.size(); ++i) {
    part.push_back(columns[i]);
    if (part.size() > names + 1 && markdown_table_width(part, 0) > kMarkdownColumns) {
      part.pop_back();
      flush();
      part.push_back(columns[i]);
    }
  }
  flush();
}

void write_block(const Block& block, const Numbers& numbers, std::string& out) {
  switch (block.kind) {
    case Block::Kind::kParagraph:
      for (const Line& line : block.lines) write_paragraph(markdown_of(line, numbers), out);
      break;
    case Block::Kind::kList:
      for (const Line& line : block.lines) write_markdown_item(markdown_of(line, numbers), out);
      if (!block.lines.empty()) out += '\n';
      break;
    case Block::Kind::kTable:
      write_table(block.table, numbers, out);
      break;
    case Block::Kind::kFigure:
      out += fmt::format("![{}](figures/{}.svg)\n\n", markdown_of(block.figure.caption, numbers), block.figure.name);
      break;
  }
}

}  // namespace

std::string paper_markdown(const Paper& paper) {
  std::string out = fmt::format("# {}\n\n", escape_markdown(paper.title));
  for (const PaperSection& section : paper.sections) {
    out += fmt::format("## {}\n\n", escape_markdown(section.title));
    for (const Block& block : section.blocks) write_block(block, paper.numbers, out);
  }
  while (out.ends_with("\n\n")) out.pop_back();
  return out;
}

}  // namespace capbench::reports::paper
