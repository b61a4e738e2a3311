#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <utility>

#include "reports/document.h"
#include "reports/latex_text.h"
#include "reports/text.h"

namespace capbench::reports {
namespace {

constexpr double kLine = 345;               // points, of an article in 10 pt
constexpr double kGap = 6;                  // between two columns
constexpr double kWrapped = 119;            // 14 em of \footnotesize
constexpr std::size_t kWidestText = 28;     // characters; longer texts are wrapped
constexpr std::size_t kLinesOfPage = 40;    // of a table with its caption
constexpr std::size_t kWaitingTables = 20;  // more than 100 that find no page stop TeX

// About, in \footnotesize of Computer Modern.
double points_of(std::string_view text) {
  double points = 0;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte >= 0x80) {
      points += (byte & 0xC0U) == 0x80U ? 0 : 34;  // as a number
    } else if ((c >= 'A' && c <= 'Z') || c == 'm' || c == 'w' || c == '%' || c == '+' || c == '=') {
      points += 6.5;
    } else if (std::string_view("ijlt .,:;'!|()[]/").find(c) != std::string_view::npos) {
      points += 3;
    } else {
      points += 4.4;
    }
  }
  return points;
}

// What is written, and how many tables have been since the last page break.
struct Output {
  std::string text;
  std::size_t waiting = 0;
};

bool is_long(const std::string& text) {
  return display_width(text) > kWidestText;
}

bool is_wrapped(const Table::Column& column, const Cell& cell) {
  return !column.right && cell.beside.empty() && is_long(cell.text);
}

// A name may be broken behind its underscores: it may be longer than the column.
std::string breakable(const std::string& escaped) {
  std::string out;
  for (std::size_t i = 0; i < escaped.size(); ++i) {
    out += escaped[i];
    if (escaped[i] == '_' && i > 0 && escaped[i - 1] == '\\') out += "\\allowbreak{}";
  }
  return out;
}

std::string wrapped(const std::string& escaped) {
  return fmt::format("\\parbox[t]{{14em}}{{\\raggedright {}\\strut}}", breakable(escaped));
}

std::string cell_latex(const Table::Column& column, const Cell& cell) {
  std::string out = cell.text.empty() ? "\\textendash{}" : escape_latex(cell.text);
  if (is_wrapped(column, cell)) out = wrapped(out);
  if (cell.tone == "key") out = fmt::format("\\textbf{{{}}}", out);
  if (!cell.beside.empty()) out += fmt::format(" {{\\scriptsize {}}}", escape_latex(cell.beside));
  return out;
}

double width_of(const Table& table, std::size_t column) {
  const std::string& header = table.columns[column].header;
  double widest = is_long(header) ? kWrapped : points_of(header);
  for (const std::vector<Cell>& row : table.rows) {
    const Cell& cell = row[column];
    double width = is_wrapped(table.columns[column], cell) ? kWrapped : points_of(cell.text);
    if (cell.tone == "key") width *= 1.15;
    if (!cell.beside.empty()) width += 3 + 0.9 * points_of(cell.beside);
    widest = std::max(widest, width);
  }
  return widest + kGap;
}

// The columns in as many parts as it takes, each of which begins with the names.
std::vector<std::vector<std::size_t>> parts_of(const Table& table) {
  std::vector<std::vector<std::size_t>> parts;
  const double names = width_of(table, 0);
  double width = 0;
  for (std::size_t i = 1; i < table.columns.size(); ++i) {
    const double more = width_of(table, i);
    if (parts.empty() || width + more > kLine) {
      parts.push_back({0});
      width = names;
    }
    parts.back().push_back(i);
    width += more;
  }
  if (parts.empty()) parts.push_back({0});
  return parts;
}

std::size_t lines_of(const Table& table, const std::vector<std::size_t>& columns, const std::vector<Cell>& row) {
  std::size_t lines = 1;
  for (const std::size_t i : columns) {
    // Words leave the ends of lines empty.
    if (is_wrapped(table.columns[i], row[i])) {
      lines = std::max(lines, 1 + display_width(row[i].text) * 4 / (3 * kWidestText));
    }
  }
  return lines;
}

void begin_table(const std::string& caption, const Table& table, const std::vector<std::size_t>& columns, Output& out) {
  if (out.waiting == kWaitingTables) {
    out.text += "\\clearpage\n";
    out.waiting = 0;
  }
  ++out.waiting;
  std::string spec;
  std::string header;
  for (const std::size_t i : columns) {
    spec += table.columns[i].right ? 'r' : 'l';
    const std::string name = escape_latex(table.columns[i].header);
    header += fmt::format("{}{}", header.empty() ? "" : " & ", is_long(table.columns[i].header) ? wrapped(name) : name);
  }
  out.text += fmt::format(
      "\\begin{{table}}[!htbp]\n\\centering\n\\footnotesize\n\\setlength{{\\tabcolsep}}{{3pt}}\n\\caption{{{}}}\n"
      "\\begin{{tabular}}{{{}}}\n\\toprule\n{} \\\\\n\\midrule\n",
      escape_latex(caption), spec, header);
}

void end_table(Output& out) {
  out.text += "\\bottomrule\n\\end{tabular}\n\\end{table}\n\n";
}

void write_part(const std::string& caption, bool& continued, const Table& table,
                const std::vector<std::size_t>& columns, Output& out) {
  std::size_t lines = kLinesOfPage;
  bool open = false;
  for (const std::vector<Cell>& row : table.rows) {
    const std::size_t more = lines_of(table, columns, row);
    if (lines + more > kLinesOfPage) {
      if (open) end_table(out);
      begin_table(caption + (continued ? " (continued)" : ""), table, columns, out);
      continued = true;
      open = true;
      lines = 0;
    }
    lines += more;
    for (std::size_t i = 0; i < columns.size(); ++i) {
      out.text += fmt::format("{}{}", i == 0 ? "" : " & ", cell_latex(table.columns[columns[i]], row[columns[i]]));
    }
    out.text += " \\\\\n";
  }
  if (open) end_table(out);
}

void write_table(const Section& section, const Table& table, Output& out) {
  if (table.columns.empty() || table.rows.empty()) return;
  const std::string caption = table.caption.empty() ? section.title : section.title + ": " + table.caption;
  bool continued = false;
  for (const std::vector<std::size_t>& columns : parts_of(table)) write_part(caption, continued, table, columns, out);
}

void write_list(const std::vector<std::string>& items, std::string& out) {
  if (items.empty()) return;
  out += "\\begin{itemize}\n\\sloppy\n";
  for (const std::string& item : items) out += fmt::format("\\item {}\n", breakable(escape_latex(item)));
  out += "\\end{itemize}\n\n";
}

}  // namespace

std::string document_latex(const Document& document) {
  Output out;
  out.text = fmt::format(
      "% capbench report: {}. For pdflatex, UTF-8; the preamble needs \\usepackage{{booktabs}} and nothing else.\n"
      "% Tables fit a line of 345 pt (article, 10 pt). Letters that its fonts lack stand as their number.\n\n",
      escape_latex(document.title));
  if (document.sections.empty()) return out.text + escape_latex(document.if_empty) + "\n";
  for (const Section& section : document.sections) {
    out.text += fmt::format("\\subsection*{{{}}}\n\n", escape_latex(section.title));
    std::vector<std::string> details;
    if (!section.about.empty()) details.push_back("about: " + section.about);
    for (const auto& [name, value] : section.details) details.push_back(fmt::format("{}: {}", name, value));
    write_list(details, out.text);
    write_list(section.findings, out.text);
    for (const Table& table : section.tables) write_table(section, condensed(table), out);
    write_list(section.notes, out.text);
  }
  if (!document.explanations.empty()) out.text += "\\subsection*{How to read this}\n\n";
  write_list(document.explanations, out.text);
  return out.text;
}

}  // namespace capbench::reports
