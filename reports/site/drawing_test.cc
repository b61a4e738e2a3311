#include "reports/site/drawing.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <set>

#include "reports/site/plots.h"

namespace capbench::site {
namespace {

using Names = std::vector<std::string>;

TEST(RowNames, SayAsMuchAsTellsThemApart) {
  EXPECT_EQ(row_names({{"a 8B", "pp512", "M1", "nightly"}, {"b 1B", "pp512", "M1", "weekly"}}, 2),
            (Names{"a 8B, pp512", "b 1B, pp512"}))
      << "the machine is the same, and names differ without the suite";
  EXPECT_EQ(row_names({{"a", "pp512", "M1", "nightly"}, {"a", "pp512", "M2", "weekly"}}, 2),
            (Names{"a, pp512, M1", "a, pp512, M2"}));
  EXPECT_EQ(row_names({{"a", "pp512", "M1", "nightly"}, {"a", "pp512", "M1", "weekly"}, {"b", "pp512", "M2", ""}}, 2),
            (Names{"a, pp512, M1, nightly", "a, pp512, M1, weekly", "b, pp512, M2"}));
}

TEST(RowNames, NoTwoAreAlike) {
  EXPECT_EQ(row_names({{"a", "pp"}, {"a", "pp"}, {"a", "pp #2"}, {"a", "pp"}}, 2),
            (Names{"a, pp", "a, pp #2", "a, pp #2 #2", "a, pp #3"}));
  EXPECT_TRUE(row_names({}, 2).empty());
}

Json only_rows(const Json& drawing) {
  return drawing.at("data").at("rows");
}

TEST(Drawing, BarsBringTheModesThatAreThereAndTheirRowsInOrder) {
  const reports::Estimate speed{100, reports::Interval{98, 103}, "between trials", ""};
  const Json drawing =
      draw_bars({{"z", "unlocked", speed}, {"z", "stock", {50, std::nullopt, "one trial", ""}}, {"a", "stock", speed}});
  EXPECT_EQ(drawing.at("plot"), kBarsPlot);
  EXPECT_EQ(drawing.at("params").at("modes"), Json({"stock", "unlocked"}));
  const Json rows = only_rows(drawing);
  ASSERT_EQ(rows.size(), 3U);
  EXPECT_EQ(rows[0].at("place"), 0);
  EXPECT_EQ(rows[1].at("place"), 0);
  EXPECT_EQ(rows[2].at("place"), 1) << "not by the alphabet";
  EXPECT_EQ(rows[0].at("lo"), 98);
  EXPECT_FALSE(rows[1].contains("lo"));
  EXPECT_EQ(rows[1].at("tip").at("95 %"), "no interval: one trial");
}

TEST(Drawing, RatiosHaveTicksAroundThemAndTheirGroupsInOrder) {
  const Json drawing = draw_ratios(
      {{"coopmat2", kOnAverage, 1.2, reports::Interval{1.1, 1.3}, ""}, {"coopmat2", kWithAll, 2, std::nullopt, ""}},
      "with over without", 0.05);
  EXPECT_EQ(drawing.at("params").at("groups"), Json({kWithAll, kOnAverage}));
  EXPECT_EQ(drawing.at("data").at("bands"), Json::parse(R"([{"from": 0.95, "to": 1.0526315789473684}])"));
  EXPECT_TRUE(draw_ratios({}, "ratio", 1).at("data").at("bands").empty()) << "a logarithmic axis has no 0";
  const Json& ticks = drawing.at("params").at("ticks");
  EXPECT_LE(ticks.front(), 1);
  EXPECT_GE(ticks.back(), 2);
}

TEST(Drawing, OneSettingOfASeriesNeedsNoKey) {
  const auto point = [](std::size_t order, std::size_t setting) {
    return HistoryPoint{
        "b" + std::to_string(order), setting, "", "", "2026-01-0" + std::to_string(order + 1) + "T00:00:00Z", order,
        {10, std::nullopt, "", ""},  1,       ""};
  };
  EXPECT_EQ(draw_history({point(0, 0), point(1, 0)}, {}, {}, false).at("params").at("settings"), Json::array());
  const Json several =
      draw_history({point(0, 7), point(1, 0)}, {{0, 0, 10, 7}}, {{1, true, "slower by a fifth"}}, true);
  EXPECT_EQ(several.at("plot"), kHistoryDatesPlot);
  EXPECT_EQ(several.at("params").at("settings"), Json({kNewestSetting, kOlderSettings}));
  EXPECT_EQ(several.at("params").at("kinds"), Json({"slower"}));
  EXPECT_EQ(several.at("data").at("changes")[0].at("tip").at("change"), "slower by a fifth");
}

// Whoever draws gives exactly what the plot asks for.
// An axis of time with a single time on it has ticks of milliseconds.
TEST(Drawing, PointsOfOneTimeStandByName) {
  HistoryPoint point;
  point.label = "2026-01-01 00:00";
  point.date = "2026-01-01T00:00:00Z";
  EXPECT_EQ(draw_history({point}, {}, {}, true).at("plot"), kHistoryPlot);
  HistoryPoint later = point;
  later.date = "2026-01-02T00:00:00Z";
  later.order = 1;
  EXPECT_EQ(draw_history({point, later}, {}, {}, true).at("plot"), kHistoryDatesPlot);
}

TEST(Plots, ParametersAndDataAreThoseThatDrawingsBring) {
  const reports::Estimate speed{1, std::nullopt, "", ""};
  std::vector<HistoryPoint> two_times(2);
  two_times[1].date = "2026-01-01T00:00:00Z";
  const std::vector<Json> drawings = {
      draw_bars({{"a", "stock", speed}}), draw_ratios({{"a", kProven, 1, std::nullopt, ""}}, "ratio"),
      draw_arms({{"a", "a", "stock", speed}}), draw_history({}, {}, {}, false), draw_history(two_times, {}, {}, true)};
  const std::vector<Plot> all = plots();
  ASSERT_EQ(all.size(), drawings.size());
  for (std::size_t i = 0; i < all.size(); ++i) {
    SCOPED_TRACE(all[i].name);
    EXPECT_EQ(drawings[i].at("plot"), all[i].name);
    std::set<std::string> asked;
    for (const Json& parameter : all[i].spec.at("params")) asked.insert(parameter.at("name"));
    std::set<std::string> given;
    for (const auto& parameter : drawings[i].at("params").items()) given.insert(parameter.key());
    EXPECT_EQ(asked, given);
    std::set<std::string> sets;
    const auto add = [&](const Json& spec) {
      if (spec.contains("data") && spec.at("data").contains("name")) sets.insert(spec.at("data").at("name"));
    };
    add(all[i].spec);
    for (const Json& layer : all[i].spec.at("layer")) add(layer);
    std::set<std::string> brought;
    for (const auto& data : drawings[i].at("data").items()) brought.insert(data.key());
    EXPECT_EQ(sets, brought);
  }
}

}  // namespace
}  // namespace capbench::site
