// A report as headings, tables and sentences, before it becomes Markdown, HTML or LaTeX. Texts are as they came: each
// format escapes them, so a name can make no markup in any of them. Pure, thread-safe.
#ifndef CAPBENCH_REPORTS_DOCUMENT_H_
#define CAPBENCH_REPORTS_DOCUMENT_H_

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "reports/html_chart.h"

namespace capbench::reports {

struct Cell {
  std::string text;    // empty: nothing to say
  std::string beside;  // smaller, behind or below it: an interval
  std::string aside;   // as beside, where there is room: not in Markdown
  std::string tone;    // "good", "bad", "soft", "key", or empty

  bool operator==(const Cell&) const = default;
};

struct Table {
  struct Column {
    std::string header;
    bool right = false;  // numbers
    bool once = false;   // said in the caption where every row says the same or nothing
  };
  std::string caption;
  std::vector<Column> columns;          // the first names the row
  std::vector<std::vector<Cell>> rows;  // each as long as `columns`
};

struct Chart {
  std::string title;
  std::vector<Bar> bars;
};

struct Section {
  std::string title;
  std::string about;  // may be empty
  std::vector<std::pair<std::string, std::string>> details;
  std::vector<std::string> findings;  // what to read first
  std::vector<Table> tables;
  std::vector<Chart> charts;  // in HTML only
  std::vector<std::string> notes;
};

struct Document {
  std::string title;  // "Ablation"
  std::string lead;   // one sentence
  std::vector<Section> sections;
  std::vector<std::string> explanations;  // how to read it
  std::string if_empty;                   // what to say without sections
};

// GitHub-flavoured Markdown within 80 columns where the words allow it: a table that is too wide is broken into several
// that each begin with the row's name, and a name that leaves no room becomes a number with its meaning before the
// tables.
std::string document_markdown(const Document& document);

// One self-contained page, see html_page.h.
std::string document_html(const Document& document);

// Tables in the manner of booktabs, to be \input into a paper: the preamble needs \usepackage{booktabs}. Characters
// that a pdflatex without further packages has no glyph for become their number, "[U+4E2D]".
std::string document_latex(const Document& document);

// With what all rows say of columns marked `once` moved to the caption.
Table condensed(const Table& table);

// Cells that stand for what is not known or not there.
Cell soft(std::string text);

}  // namespace capbench::reports

#endif  // CAPBENCH_REPORTS_DOCUMENT_H_
