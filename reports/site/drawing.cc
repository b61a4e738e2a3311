#include "reports/site/drawing.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "reports/site/plots.h"
#include "reports/speedup.h"

namespace capbench::site {
namespace {

constexpr double kAxes = 80;  // pixels beside the plot, with titles and the key

// `times` names members that are texts of a time.
Json drawing(std::string_view plot, double height, Json params, Json data, Json times = Json::array()) {
  return {{"plot", plot},
          {"height", std::ceil(height + kAxes)},
          {"params", std::move(params)},
          {"data", std::move(data)},
          {"times", std::move(times)}};
}

void add_interval(Json& datum, const std::optional<reports::Interval>& interval) {
  if (!interval) return;
  datum["lo"] = interval->low;
  datum["hi"] = interval->high;
}

std::string interval_text(const reports::Estimate& estimate) {
  if (!estimate.ci95) return "no interval: " + estimate.interval;
  return fmt::format("{} to {} ({})", number(estimate.ci95->low), number(estimate.ci95->high), estimate.interval);
}

std::string mode_group(const std::string& mode) {
  return mode_class(mode) == "other" ? "other" : mode;
}

// Those of the words that a member of the data has, in their order.
template <typename Words>
Json there(const Words& words, const Json& values, const char* member) {
  Json found = Json::array();
  for (const auto& word : words) {
    if (std::any_of(values.begin(), values.end(), [&](const Json& datum) { return datum[member] == word; }))
      found.push_back(word);
  }
  return found;
}

// The place of each row, by its first line.
class Places {
 public:
  std::size_t of(const std::string& row) { return places_.try_emplace(row, places_.size()).first->second; }
  double count() const { return static_cast<double>(places_.size()); }

 private:
  std::map<std::string, std::size_t> places_;
};

// Round ratios between the smallest and the largest, few enough to read.
Json ratio_ticks(const std::vector<Ratio>& ratios) {
  double low = 1;
  double high = 1;
  for (const Ratio& ratio : ratios) {
    low = std::min({low, ratio.value, ratio.interval ? ratio.interval->low : ratio.value});
    high = std::max({high, ratio.value, ratio.interval ? ratio.interval->high : ratio.value});
  }
  const double span = low > 0 ? high / low : 1e9;
  const std::vector<double> all =
      span > 5 ? std::vector<double>{0.001, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50, 100, 200, 500, 1000}
      : span > 1.6 ? std::vector<double>{0.2, 0.3, 0.4, 0.5, 0.6, 0.8, 1, 1.25, 1.5, 2, 2.5, 3, 4, 5}
      : span > 1.15
          ? std::vector<double>{0.6, 0.7, 0.8, 0.9, 1, 1.1, 1.2, 1.3, 1.4, 1.5, 1.6}
          : std::vector<double>{0.86, 0.88, 0.9, 0.92, 0.94, 0.96, 0.98, 1, 1.02, 1.04, 1.06, 1.08, 1.1, 1.12, 1.14};
  Json ticks = Json::array();
  for (const double tick : all) {
    if (tick >= low * 0.9 && tick <= high * 1.1) ticks.push_back(tick);
  }
  return ticks;
}

}  // namespace

std::vector<std::string> row_names(const std::vector<std::vector<std::string>>& rows, std::size_t always) {
  std::vector<std::string> names(rows.size());
  const std::size_t parts = rows.empty() ? 0 : rows.front().size();
  for (std::size_t part = 0; part < parts; ++part) {
    const auto differs = [&](const std::vector<std::string>& row) { return row[part] != rows.front()[part]; };
    if (part >= always && std::none_of(rows.begin(), rows.end(), differs)) continue;
    std::map<std::string, std::size_t> called;
    for (const std::string& name : names) ++called[name];
    for (std::size_t i = 0; i < rows.size(); ++i) {
      if (rows[i][part].empty() || (part > always && called[names[i]] == 1)) continue;
      names[i] += (names[i].empty() ? "" : ", ") + rows[i][part];
    }
  }
  std::set<std::string> taken;
  for (std::string& name : names) {
    const std::string plain = name;
    for (std::size_t n = 2; !taken.insert(name).second; ++n) name = fmt::format("{} #{}", plain, n);
  }
  return names;
}

Json draw_bars(const std::vector<Bar>& bars) {
  Json values = Json::array();
  Places places;
  for (const Bar& bar : bars) {
    Json datum{{"row", bar.row},
               {"place", places.of(bar.row)},
               {"mode", mode_group(bar.mode)},
               {"speed", bar.speed.value},
               {"tip",
                {{"title", bar.row},
                 {"mode", bar.mode},
                 {"tokens/s", number(bar.speed.value)},
                 {"95 %", interval_text(bar.speed)}}}};
    add_interval(datum, bar.speed.ci95);
    values.push_back(std::move(datum));
  }
  Json modes = there(kModes, values, "mode");
  const double height = kBarStep * static_cast<double>(modes.size()) / kBarShare * places.count();
  return drawing(kBarsPlot, height, {{"modes", std::move(modes)}}, {{"rows", std::move(values)}});
}

Json draw_ratios(const std::vector<Ratio>& ratios, std::string_view title, double margin) {
  Json values = Json::array();
  Places places;
  for (const Ratio& ratio : ratios) {
    Json tip{{"title", ratio.row}, {"what", ratio.group}, {"ratio", number(ratio.value)}};
    tip["95 %"] = ratio.interval ? fmt::format("{} to {}", number(ratio.interval->low), number(ratio.interval->high))
                                 : "no interval";
    tip["note"] = ratio.note;
    Json datum{{"row", ratio.row},
               {"place", places.of(ratio.row)},
               {"group", ratio.group},
               {"ratio", ratio.value},
               {"tip", std::move(tip)}};
    add_interval(datum, ratio.interval);
    values.push_back(std::move(datum));
  }
  Json groups = there(std::array{kProven, kUnproven, kWithAll, kWithNone, kOnAverage}, values, "group");
  const double height = kRatioStep * static_cast<double>(groups.size()) / kRatioShare * places.count();
  Json bands = Json::array();
  if (margin > 0 && margin < 1) bands.push_back({{"from", 1 - margin}, {"to", 1 / (1 - margin)}});
  return drawing(kRatiosPlot, height, {{"groups", std::move(groups)}, {"ticks", ratio_ticks(ratios)}, {"title", title}},
                 {{"rows", std::move(values)}, {"bands", std::move(bands)}});
}

Json draw_arms(const std::vector<ArmPoint>& arms) {
  Json values = Json::array();
  Places places;
  for (const ArmPoint& arm : arms) {
    Json datum{
        {"arm", arm.arm},
        {"name", arm.name},
        {"place", places.of(arm.arm)},
        {"mode", mode_group(arm.mode)},
        {"speed", arm.speed.value},
        {"tip", {{"title", arm.arm}, {"tokens/s", number(arm.speed.value)}, {"95 %", interval_text(arm.speed)}}}};
    add_interval(datum, arm.speed.ci95);
    values.push_back(std::move(datum));
  }
  Json modes = there(kModes, values, "mode");
  return drawing(kArmsPlot, kArmStep * places.count(), {{"modes", std::move(modes)}, {"chosen", ""}},
                 {{"rows", std::move(values)}});
}

Json draw_history(const std::vector<HistoryPoint>& points, const std::vector<HistorySegment>& segments,
                  const std::vector<HistoryChange>& changes, bool by_date) {
  constexpr std::array kSettings = {kNewestSetting, kSecondSetting, kThirdSetting, kOlderSettings};
  const auto setting_name = [&](std::size_t setting) { return kSettings[std::min(setting, kSettings.size() - 1)]; };
  Json values = Json::array();
  Json names = Json::object();
  Json places = Json::array();
  for (const HistoryPoint& point : points) {
    Json datum{{"order", point.order},
               {"setting", setting_name(point.setting)},
               {"line", point.setting},
               {"date", point.date},
               {"speed", point.speed.value},
               {"tip",
                {{"title", point.label},
                 {"build", point.build},
                 {"system", point.system},
                 {"measured", point.date},
                 {"tokens/s", number(point.speed.value)},
                 {"95 %", interval_text(point.speed)},
                 {"trials", count(point.trials)}}}};
    if (!point.link.empty()) datum["link"] = point.link;
    add_interval(datum, point.speed.ci95);
    names[std::to_string(point.order)] = point.label.empty() ? "(no name)" : point.label;
    places.push_back(point.order);
    values.push_back(std::move(datum));
  }
  const auto date_of = [&](std::size_t order) { return points[order].date; };
  Json levels = Json::array();
  for (const HistorySegment& segment : segments) {
    if (segment.to >= points.size()) continue;
    levels.push_back({{"from", segment.from},
                      {"to", segment.to},
                      {"level", segment.level},
                      {"setting", setting_name(segment.setting)},
                      {"date", date_of(segment.from)},
                      {"until", date_of(segment.to)}});
  }
  Json lines = Json::array();
  for (const HistoryChange& change : changes) {
    if (change.order >= points.size()) continue;
    lines.push_back({{"order", change.order},
                     {"date", date_of(change.order)},
                     {"kind", change.slower ? kSlower : kFaster},
                     {"tip", {{"change", change.text}}}});
  }
  Json settings = there(kSettings, values, "setting");
  // One setting needs no key.
  if (settings.size() < 2) settings = Json::array();
  Json params{{"names", std::move(names)}, {"places", std::move(places)}, {"settings", std::move(settings)}};
  params["kinds"] = there(std::array{kSlower, kFaster}, lines, "kind");
  // Less than two times make no axis.
  const bool on_axis = by_date && std::any_of(points.begin(), points.end(), [&](const HistoryPoint& point) {
                         return point.date != points.front().date;
                       });
  return drawing(on_axis ? kHistoryDatesPlot : kHistoryPlot, kHistoryHeight, std::move(params),
                 {{"points", std::move(values)}, {"levels", std::move(levels)}, {"changes", std::move(lines)}},
                 on_axis ? Json{"date", "until"} : Json::array());
}

}  // namespace capbench::site
