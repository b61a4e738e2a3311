#include <fmt/format.h>

#include <algorithm>

#include "reports/latex_text.h"
#include "reports/paper/paper.h"
#include "reports/subject.h"

namespace capbench::reports::paper {
namespace {

std::string latex_of(const Line& line) {
  std::string out;
  for (const Piece& piece : line) {
    out += piece.is_number ? fmt::format("\\cbnumber{{{}}}", piece.text) : escape_latex(piece.text);
  }
  return out;
}

// Columns of text share the line's width; names may be longer than any of them.
std::string column_spec(const PaperTable& table) {
  const auto texts = std::count(table.right.begin(), table.right.end(), false);
  const double gaps = 0.012 * static_cast<double>(table.right.size());  // 4 pt each, of a line of 345 pt
  const double numbers = 0.12 * static_cast<double>(static_cast<std::ptrdiff_t>(table.right.size()) - texts);
  const double share = std::max(0.1, (1 - gaps - numbers) / static_cast<double>(std::max<std::ptrdiff_t>(1, texts)));
  std::string spec;
  for (const bool right : table.right) {
    spec += right ? ">{\\raggedleft\\arraybackslash}p{0.12\\linewidth}"
                  : fmt::format(">{{\\raggedright\\arraybackslash}}p{{{:.3f}\\linewidth}}", share);
  }
  return spec;
}

// A longtable breaks over pages by itself.
void write_table(const PaperTable& table, std::string& out) {
  std::string header;
  for (const std::string& name : table.headers) header += (header.empty() ? "" : " & ") + escape_latex(name);
  out += fmt::format(
      "{{\\footnotesize\\setlength{{\\tabcolsep}}{{2pt}}\n\\begin{{longtable}}{{{}}}\n\\caption{{{}}}\\label{{{}}}"
      "\\\\\n"
      "\\toprule\n{} \\\\\n\\midrule\n\\endfirsthead\n\\toprule\n{} \\\\\n\\midrule\n\\endhead\n\\bottomrule\n"
      "\\endfoot\n",
      column_spec(table), latex_of(table.caption), table.label, header, header);
  for (const std::vector<Line>& row : table.rows) {
    std::string cells;
    for (std::size_t i = 0; i < row.size(); ++i) cells += (i == 0 ? "" : " & ") + latex_of(row[i]);
    out += cells + " \\\\\n";
  }
  out += "\\end{longtable}}\n\n";
}

void write_block(const Block& block, std::string& out) {
  switch (block.kind) {
    case Block::Kind::kParagraph:
      for (const Line& line : block.lines) out += latex_of(line) + "\n\n";
      break;
    case Block::Kind::kList:
      if (block.lines.empty()) break;
      out += "\\begin{itemize}\n";
      for (const Line& line : block.lines) out += fmt::format("\\item {}\n", latex_of(line));
      out += "\\end{itemize}\n\n";
      break;
    case Block::Kind::kTable:
      write_table(block.table, out);
      break;
    case Block::Kind::kFigure:
      // A paper made without its figures compiles all the same.
      out += fmt::format(
          "\\begin{{figure}}[htbp]\n\\centering\n\\IfFileExists{{figures/"
          "{0}.pdf}}{{\\includegraphics[width=\\linewidth,"
          "height=0.8\\textheight,keepaspectratio]{{figures/{0}.pdf}}}}{{(figures/{0}.pdf was not drawn)}}\n"
          "\\caption{{{1}}}\\label{{{2}}}\n\\end{{figure}}\n\n",
          block.figure.name, latex_of(block.figure.caption), block.figure.label);
      break;
  }
}

}  // namespace

std::string paper_latex(const Paper& paper) {
  std::string out = fmt::format(
      "% Written by capbench report paper. For pdflatex of TeX Live. The numbers come from numbers.tex.\n"
      "\\documentclass{{article}}\n\\usepackage{{array}}\n\\usepackage{{booktabs}}\n"
      "\\usepackage{{longtable}}\n\\usepackage{{graphicx}}\n\\sloppy\n\\input{{numbers.tex}}\n\\title{{{}}}\n"
      "\\author{{To be filled in}}\n\\date{{}}\n\\begin{{document}}\n\\maketitle\n\n",
      escape_latex(paper.title));
  bool in_appendix = false;
  for (const PaperSection& section : paper.sections) {
    if (section.appendix && !in_appendix) out += "\\appendix\n";
    in_appendix = in_appendix || section.appendix;
    out += fmt::format("\\section{{{}}}\n\n", escape_latex(section.title));
    for (const Block& block : section.blocks) write_block(block, out);
  }
  return out + "\\end{document}\n";
}

std::string numbers_latex(const Numbers& numbers) {
  std::string out =
      "% Written by capbench report paper. \\cbdefine{KEY}{NUMBER}{QUERY}{RESULTS}: \\cbnumber{KEY} prints the "
      "number,\n"
      "% \\cbquery{KEY} the command that reads it from the store ($DB), \\cbresults{KEY} the trials that it follows "
      "from\n"
      "% (the first digits of their ids; numbers.json has all of them).\n"
      "\\makeatletter\n"
      "\\newcommand{\\cbdefine}[4]{\\@namedef{cb@n@#1}{#2}\\@namedef{cb@q@#1}{#3}\\@namedef{cb@r@#1}{#4}}\n"
      "\\newcommand{\\cb@get}[2]{\\@ifundefined{cb@#1@#2}{\\PackageError{capbench}{no number "
      "#2}{}}{\\@nameuse{cb@#1@#2}}}\n"
      "\\newcommand{\\cbnumber}[1]{\\cb@get{n}{#1}}\n"
      "\\newcommand{\\cbquery}[1]{\\cb@get{q}{#1}}\n"
      "\\newcommand{\\cbresults}[1]{\\cb@get{r}{#1}}\n"
      "\\makeatother\n";
  for (const auto& [key, number] : numbers.all()) {
    std::vector<std::string> ids;
    for (const std::string& id : number.result_ids) ids.push_back(short_id(id));
    out += fmt::format("\\cbdefine{{{}}}{{{}}}%\n  {{{}}}%\n  {{{}}}\n", key, escape_latex(number.text),
                       escape_latex(number.query), escape_latex(fmt::format("{}", fmt::join(ids, " "))));
  }
  return out;
}

}  // namespace capbench::reports::paper
