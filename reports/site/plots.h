// The site's kinds of plots as Vega-Lite specifications. They are the same for every page: a figure (drawing.h) names
// its plot and brings data and parameters. web/build.mjs compiles them while the program is built, so that no reader's
// browser has to. Colours are properties of the style sheet ("var(--stock)"): light, dark and paper need no other
// drawing. Pure.
#ifndef CAPBENCH_REPORTS_SITE_PLOTS_H_
#define CAPBENCH_REPORTS_SITE_PLOTS_H_

#include <nlohmann/json.hpp>
#include <string_view>
#include <vector>

namespace capbench::site {

struct Plot {
  std::string_view name;
  nlohmann::ordered_json spec;
};

inline constexpr std::string_view kBarsPlot = "bars";
inline constexpr std::string_view kRatiosPlot = "ratios";
inline constexpr std::string_view kArmsPlot = "arms";
inline constexpr std::string_view kHistoryPlot = "history";             // over builds or systems, one place each
inline constexpr std::string_view kHistoryDatesPlot = "history-dates";  // over time

// Words of the data that have colours.
inline constexpr std::string_view kProven = "proven";
inline constexpr std::string_view kUnproven = "unproven";
inline constexpr std::string_view kWithAll = "everything unlocked";
inline constexpr std::string_view kWithNone = "everything else stock";
inline constexpr std::string_view kOnAverage = "on average";
inline constexpr std::string_view kNewestSetting = "newest setting";
inline constexpr std::string_view kSecondSetting = "setting 2";
inline constexpr std::string_view kThirdSetting = "setting 3";
inline constexpr std::string_view kOlderSettings = "older ones";

std::vector<Plot> plots();

}  // namespace capbench::site

#endif  // CAPBENCH_REPORTS_SITE_PLOTS_H_
