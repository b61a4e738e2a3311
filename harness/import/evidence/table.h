// A table of somebody's own figures beside the results, and whether the samples give the same. Pure; takes any bytes.
#ifndef CAPBENCH_HARNESS_IMPORT_EVIDENCE_TABLE_H_
#define CAPBENCH_HARNESS_IMPORT_EVIDENCE_TABLE_H_

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace capbench::imports::evidence {

// What a column of figures is of.
enum class Figure { kBareMetal, kStock, kUnlocked, kRatio, kPercent };

std::string_view figure_name(Figure figure);  // "bare metal", "stock", "unlocked", "ratio", "percent of bare metal"

struct PrintedFigure {
  double value = 0;
  double half_digit = 0;  // half a unit of the last printed digit
  std::string text;       // as printed
};

struct TableLine {
  std::size_t line = 0;  // from 1
  std::string label;     // the cells that are no figure, joined
  std::string test;      // "pp512"
  std::map<Figure, PrintedFigure> figures;
};

// CSV with commas, semicolons or tabs, any order and names of columns: one whose cells are tests ("pp512"), and columns
// that say host or bare, stock, shim or unlocked or hooked, ratio or speedup, percent. Nothing if it is no such table.
std::optional<std::vector<TableLine>> parse_table(std::string_view text);

// The figures of one test, by mode; each as a list of trials, each a list of its samples in tokens/s.
using Samples = std::vector<std::vector<double>>;

struct Cell {
  std::string name;  // for people: "tinyllama-1.1b, pp512"
  std::string test;
  std::string about;  // words that a table's label may use for it
  Samples bare_metal;
  Samples stock;
  Samples unlocked;
};

struct TableCheck {
  std::vector<std::string> findings;
  std::vector<std::string> notes;
  std::size_t exactly = 0;  // figures that the samples give
  std::size_t rounded = 0;  // figures that they give only as speeds of six digits
};

// A printed figure agrees if it is what the samples give at its digits, either exactly or from speeds of six digits, as
// llama-bench prints them and tables are made of them.
TableCheck check_table(const std::string& name, const std::vector<TableLine>& lines, const std::vector<Cell>& cells);

// The figures that the cell's samples give. `six_digits`: each speed rounded as llama-bench prints it.
std::map<Figure, double> figures_of(const Cell& cell, bool six_digits);

}  // namespace capbench::imports::evidence

#endif  // CAPBENCH_HARNESS_IMPORT_EVIDENCE_TABLE_H_
