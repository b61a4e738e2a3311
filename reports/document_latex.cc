#include <fmt/format.h>

#include "reports/document.h"
#include "reports/latex_text.h"

namespace capbench::reports {
namespace {

std::string cell_latex(const Cell& cell) {
  std::string out = cell.text.empty() ? "\\textendash{}" : escape_latex(cell.text);
  if (cell.tone == "key") out = fmt::format("\\textbf{{{}}}", out);
  if (!cell.beside.empty()) out += fmt::format(" {{\\footnotesize {}}}", escape_latex(cell.beside));
  return out;
}

void write_table(const Section& section, const Table& table, std::string& out) {
  if (table.columns.empty() || table.rows.empty()) return;
  std::string spec;
  for (const Table::Column& column : table.columns) spec += column.right ? 'r' : 'l';
  const std::string caption = table.caption.empty() ? section.title : section.title + ": " + table.caption;
  out += fmt::format(
      "\\begin{{table}}[htbp]\n\\centering\n\\small\n\\caption{{{}}}\n\\begin{{tabular}}{{{}}}\n\\toprule\n",
      escape_latex(caption), spec);
  for (std::size_t i = 0; i < table.columns.size(); ++i) {
    out += fmt::format("{}{}", i == 0 ? "" : " & ", escape_latex(table.columns[i].header));
  }
  out += " \\\\\n\\midrule\n";
  for (const std::vector<Cell>& row : table.rows) {
    for (std::size_t i = 0; i < row.size(); ++i) out += fmt::format("{}{}", i == 0 ? "" : " & ", cell_latex(row[i]));
    out += " \\\\\n";
  }
  out += "\\bottomrule\n\\end{tabular}\n\\end{table}\n\n";
}

void write_list(const std::vector<std::string>& items, std::string& out) {
  if (items.empty()) return;
  out += "\\begin{itemize}\n";
  for (const std::string& item : items) out += fmt::format("\\item {}\n", escape_latex(item));
  out += "\\end{itemize}\n\n";
}

}  // namespace

std::string document_latex(const Document& document) {
  std::string out = fmt::format("% capbench report: {}. The preamble needs \\usepackage{{booktabs}}.\n\n",
                                escape_latex(document.title));
  if (document.sections.empty()) return out + escape_latex(document.if_empty) + "\n";
  for (const Section& section : document.sections) {
    out += fmt::format("\\subsection*{{{}}}\n\n", escape_latex(section.title));
    std::vector<std::string> details;
    if (!section.about.empty()) details.push_back("about: " + section.about);
    for (const auto& [name, value] : section.details) details.push_back(fmt::format("{}: {}", name, value));
    write_list(details, out);
    write_list(section.findings, out);
    for (const Table& table : section.tables) write_table(section, condensed(table), out);
    write_list(section.notes, out);
  }
  if (!document.explanations.empty()) out += "\\subsection*{How to read this}\n\n";
  write_list(document.explanations, out);
  return out;
}

}  // namespace capbench::reports
