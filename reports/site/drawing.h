// What the pages' figures show: which plot (plots.h), its data and parameters, and about how high it will be, in
// pixels. Pure.
#ifndef CAPBENCH_REPORTS_SITE_DRAWING_H_
#define CAPBENCH_REPORTS_SITE_DRAWING_H_

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "reports/estimates.h"
#include "reports/site/html.h"

namespace capbench::site {

// Names for the rows of a figure out of what each row is, the most telling first; all rows have as many parts. The
// first `always` are in every name, the one behind them where it is not the same in all rows, and the rest only where
// names would be alike. What is alike even so gets a number: "tinyllama, pp512 #2".
std::vector<std::string> row_names(const std::vector<std::vector<std::string>>& rows, std::size_t always);

// Bars of tokens per second, one for each mode of each row, with their intervals.
struct Bar {
  std::string row;  // another name for each row
  std::string mode;
  reports::Estimate speed;
};
Json draw_bars(const std::vector<Bar>& bars);

// Ratios with their intervals on a logarithmic axis, a line at 1 (and a band of +-margin around it).
struct Ratio {
  std::string row;
  std::string_view group;  // its colour's word: kProven, kOnAverage, ...
  double value = 0;
  std::optional<reports::Interval> interval;
  std::string note;
};
// `title` is the axis's. Groups stand in the order of plots.h.
Json draw_ratios(const std::vector<Ratio>& ratios, std::string_view title, double margin = 0);

// Arms as points with intervals; one of them can be chosen to stand out.
struct ArmPoint {
  std::string arm;
  std::string name;  // as the figure has room for it
  std::string mode;
  reports::Estimate speed;
};
Json draw_arms(const std::vector<ArmPoint>& arms);

// A series over builds, systems or runs: points with intervals, segments between changes, changes as lines. Points of
// one setting are joined; the newest setting is 0.
struct HistoryPoint {
  std::string label;
  std::size_t setting = 0;
  std::string build;
  std::string system;
  std::string date;
  std::size_t order = 0;
  reports::Estimate speed;
  std::size_t trials = 0;
  std::string link;
};
struct HistorySegment {
  std::size_t from = 0;  // orders, both included
  std::size_t to = 0;
  double level = 0;
  std::size_t setting = 0;
};
struct HistoryChange {
  std::size_t order = 0;  // of the first point after it
  bool slower = false;
  std::string text;
};
Json draw_history(const std::vector<HistoryPoint>& points, const std::vector<HistorySegment>& segments,
                  const std::vector<HistoryChange>& changes, bool by_date);

}  // namespace capbench::site

#endif  // CAPBENCH_REPORTS_SITE_DRAWING_H_
