// The site's kinds of plots as Vega-Lite specifications. They are the same for every page: a figure (drawing.h) names
// its plot and brings data and parameters. web/build.mjs compiles them while the program is built, so that no reader's
// browser has to. Colours are properties of the style sheet ("var(--stock)"): light, dark and paper need no other
// drawing. Pure.
#ifndef CAPBENCH_REPORTS_SITE_PLOTS_H_
#define CAPBENCH_REPORTS_SITE_PLOTS_H_

#include <array>
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

inline constexpr std::string_view kSlower = "slower";
inline constexpr std::string_view kFaster = "faster";
// Modes of a suite's own are the last.
inline constexpr std::array<std::string_view, 4> kModes = {"bare-metal", "stock", "unlocked", "other"};

// Pixels, of which a figure's height is made: of a bar, of a ratio's line, of an arm's line. What of a row is bars, and
// what of it is ratios (Vega-Lite's own padding).
inline constexpr double kBarStep = 9;
inline constexpr double kBarShare = 0.65;
inline constexpr double kRatioStep = 13;
inline constexpr double kRatioShare = 0.8;
inline constexpr double kArmStep = 20;
inline constexpr double kHistoryHeight = 320;

std::vector<Plot> plots();

}  // namespace capbench::site

#endif  // CAPBENCH_REPORTS_SITE_PLOTS_H_
