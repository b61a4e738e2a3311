// Vega-Lite specifications of the pages' figures. Pure. Colours are names of the style sheet's properties
// ("var(--stock)"), which the scripts replace by what they are in light, dark or print.
#ifndef CAPBENCH_REPORTS_SITE_SPEC_H_
#define CAPBENCH_REPORTS_SITE_SPEC_H_

#include <optional>
#include <string>
#include <vector>

#include "reports/estimates.h"
#include "reports/site/html.h"

namespace capbench::site {

// Bars of tokens per second, one for each mode of each row, with their intervals.
struct Bar {
  std::string row;
  std::string mode;
  reports::Estimate speed;
};
Json bars_spec(const std::vector<Bar>& bars);

// Ratios with their intervals on a logarithmic axis, a line at 1 (and a band of +-margin around it).
struct Ratio {
  std::string row;
  std::string group;  // its colour's word: "proven", "removing", ...
  double value = 0;
  std::optional<reports::Interval> interval;
  std::string note;
};
struct RatioStyle {
  std::string title;                // of the axis
  std::vector<std::string> groups;  // words, in order
  std::vector<std::string> colours;
  double margin = 0;
};
Json ratios_spec(const std::vector<Ratio>& ratios, const RatioStyle& style);

// Arms as points with intervals; the one named by the parameter `chosen` stands out.
struct ArmPoint {
  std::string arm;
  std::string mode;
  reports::Estimate speed;
};
Json arms_spec(const std::vector<ArmPoint>& arms);

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
Json history_spec(const std::vector<HistoryPoint>& points, const std::vector<HistorySegment>& segments,
                  const std::vector<HistoryChange>& changes, bool by_date);

// Products of factors: how much more the one is worth with the other. A matrix.
struct Interaction {
  std::string a;
  std::string b;
  double ratio = 0;
  std::optional<reports::Interval> interval;
  bool shown = false;
};

}  // namespace capbench::site

#endif  // CAPBENCH_REPORTS_SITE_SPEC_H_
