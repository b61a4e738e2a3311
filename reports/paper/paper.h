// A paper about the results of a store: one text in LaTeX, Markdown and HTML, its numbers with what they were read
// from, and its figures. Pure, thread-safe.
#ifndef CAPBENCH_REPORTS_PAPER_PAPER_H_
#define CAPBENCH_REPORTS_PAPER_PAPER_H_

#include <string>
#include <vector>

#include "reports/ablation.h"
#include "reports/paper/number.h"
#include "reports/speedup.h"

namespace capbench::reports::paper {

// A piece of running text: words as they came, or the key of a number.
struct Piece {
  bool is_number = false;
  std::string text;
};
using Line = std::vector<Piece>;

struct PaperTable {
  std::string label;  // "tab:speedup"
  Line caption;
  std::vector<std::string> headers;
  std::vector<bool> right;              // columns of numbers
  std::vector<std::vector<Line>> rows;  // each as long as `headers`
};

// A Vega-Lite specification, to be drawn into figures/NAME.svg and figures/NAME.pdf.
struct Figure {
  std::string name;   // "speedup"
  std::string label;  // "fig:speedup"
  Line caption;
  std::string specification;  // JSON
};

struct Block {
  enum class Kind { kParagraph, kList, kTable, kFigure } kind = Kind::kParagraph;
  std::vector<Line> lines;  // of a paragraph one; of a list its items
  PaperTable table;
  Figure figure;
};

struct PaperSection {
  std::string title;
  bool appendix = false;
  std::vector<Block> blocks;
};

struct Paper {
  std::string title;
  std::vector<PaperSection> sections;  // setup, method, results, ablation, threats to validity, artifact appendix
  Numbers numbers;
};

// What the store's own tables say besides the two reports.
struct PaperSource {
  SpeedupReport speedup;
  AblationReport ablation;
  std::string suite;  // the filter; empty: every suite
};

Paper make_paper(const PaperSource& source);

// paper.tex, which reads numbers.tex beside it; both for pdflatex of TeX Live with array, booktabs, graphicx and
// longtable.
std::string paper_latex(const Paper& paper);
// The numbers as macros: \cbnumber{KEY} prints one, \cbquery{KEY} and \cbresults{KEY} what it was read from.
std::string numbers_latex(const Numbers& numbers);
std::string paper_markdown(const Paper& paper);
// One page; its figures lie beside it.
std::string paper_html(const Paper& paper);

// The figures of all sections, in order.
std::vector<Figure> figures_of(const Paper& paper);

}  // namespace capbench::reports::paper

#endif  // CAPBENCH_REPORTS_PAPER_PAPER_H_
