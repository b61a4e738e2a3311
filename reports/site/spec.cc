#include "reports/site/spec.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "reports/speedup.h"

namespace capbench::site {
namespace {

constexpr std::string_view kSchema = "https://vega.github.io/schema/vega-lite/v6.json";

Json start() {
  return {{"$schema", kSchema}, {"width", "container"}};
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

// Colours are the same everywhere; only the modes that are there are in the key.
Json mode_colour(const Json& values) {
  Json there = Json::array();
  for (const char* mode : {reports::kBareMetal, reports::kStock, reports::kUnlocked, "other"}) {
    const auto is_of = [&](const Json& datum) { return datum["mode"] == mode; };
    if (std::any_of(values.begin(), values.end(), is_of)) there.push_back(mode);
  }
  return {{"field", "mode"},
          {"type", "nominal"},
          {"scale",
           {{"domain", {reports::kBareMetal, reports::kStock, reports::kUnlocked, "other"}},
            {"range", {"var(--bare)", "var(--stock)", "var(--unlocked)", "var(--other)"}}}},
          {"legend", {{"title", nullptr}, {"orient", "top"}, {"values", std::move(there)}}}};
}

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

std::string mode_group(const std::string& mode) {
  return mode_class(mode) == "other" ? "other" : mode;
}

Json row_axis() {
  return {{"title", nullptr}, {"labelLimit", 260}, {"ticks", false}, {"domain", false}, {"labelPadding", 8}};
}

Json value_axis(const std::string& title) {
  return {{"title", title}, {"tickCount", 6}};
}

}  // namespace

Json bars_spec(const std::vector<Bar>& bars) {
  Json values = Json::array();
  Json order = Json::array();
  for (const Bar& bar : bars) {
    Json datum{{"row", bar.row},
               {"mode", mode_group(bar.mode)},
               {"name", bar.mode},
               {"speed", bar.speed.value},
               {"interval", interval_text(bar.speed)}};
    add_interval(datum, bar.speed.ci95);
    values.push_back(std::move(datum));
    if (std::find(order.begin(), order.end(), bar.row) == order.end()) order.push_back(bar.row);
  }
  const Json modes = {reports::kBareMetal, reports::kStock, reports::kUnlocked, "other"};
  const Json tooltip = {{{"field", "row"}, {"title", "row"}},
                        {{"field", "name"}, {"title", "mode"}},
                        {{"field", "speed"}, {"type", "quantitative"}, {"title", "tokens/s"}, {"format", ",.4r"}},
                        {{"field", "interval"}, {"title", "95 %"}}};
  Json colour = mode_colour(values);
  Json spec = start();
  spec["height"] = {{"step", 9}};
  spec["data"] = {{"values", std::move(values)}};
  spec["encoding"] = {{"y",
                       {{"field", "row"},
                        {"type", "nominal"},
                        {"sort", std::move(order)},
                        {"scale", {{"paddingInner", 0.35}, {"paddingOuter", 0.2}}},
                        {"axis", row_axis()}}},
                      {"yOffset", {{"field", "mode"}, {"sort", modes}}},
                      {"tooltip", tooltip}};
  spec["layer"] =
      Json::array({{{"mark", {{"type", "bar"}, {"cornerRadiusEnd", 1.5}}},
                    {"encoding",
                     {{"x", {{"field", "speed"}, {"type", "quantitative"}, {"axis", value_axis("tokens per second")}}},
                      {"color", std::move(colour)}}}},
                   {{"mark", {{"type", "rule"}, {"color", "var(--ink)"}, {"strokeWidth", 1.4}}},
                    {"encoding", {{"x", {{"field", "lo"}, {"type", "quantitative"}}}, {"x2", {{"field", "hi"}}}}}}});
  return spec;
}

Json ratios_spec(const std::vector<Ratio>& ratios, const RatioStyle& style) {
  Json values = Json::array();
  Json order = Json::array();
  for (const Ratio& ratio : ratios) {
    Json datum{{"row", ratio.row}, {"group", ratio.group}, {"ratio", ratio.value}, {"note", ratio.note}};
    add_interval(datum, ratio.interval);
    values.push_back(std::move(datum));
    if (std::find(order.begin(), order.end(), ratio.row) == order.end()) order.push_back(ratio.row);
  }
  Json spec = start();
  spec["height"] = {{"step", style.groups.size() > 1 ? 13 : 22}};
  spec["data"] = {{"values", std::move(values)}};
  const Json x = {{"field", "ratio"},
                  {"type", "quantitative"},
                  {"scale", {{"type", "log"}, {"nice", false}, {"padding", 12}}},
                  {"axis", {{"title", style.title}, {"values", ratio_ticks(ratios)}, {"format", ".4~g"}}}};
  Json layers = Json::array();
  if (style.margin > 0) {
    layers.push_back({{"data", {{"values", Json::array({{{"a", 1 - style.margin}, {"b", 1 / (1 - style.margin)}}})}}},
                      {"mark", {{"type", "rect"}, {"color", "var(--line)"}, {"opacity", 0.55}}},
                      {"encoding", {{"x", {{"field", "a"}, {"type", "quantitative"}}}, {"x2", {{"field", "b"}}}}}});
  }
  layers.push_back({{"data", {{"values", Json::array({{{"one", 1}}})}}},
                    {"mark", {{"type", "rule"}, {"color", "var(--soft)"}, {"strokeDash", {3, 3}}}},
                    {"encoding", {{"x", {{"field", "one"}, {"type", "quantitative"}}}}}});
  const Json y = {{"field", "row"}, {"type", "nominal"}, {"sort", std::move(order)}, {"axis", row_axis()}};
  const Json offset = {{"field", "group"}, {"sort", style.groups}};
  const Json colour = {{"field", "group"},
                       {"type", "nominal"},
                       {"scale", {{"domain", style.groups}, {"range", style.colours}}},
                       {"legend", {{"title", nullptr}, {"orient", "top"}}}};
  const Json tooltip = {{{"field", "row"}, {"title", "row"}},
                        {{"field", "group"}, {"title", "what"}},
                        {{"field", "ratio"}, {"type", "quantitative"}, {"title", "ratio"}, {"format", ".4r"}},
                        {{"field", "lo"}, {"type", "quantitative"}, {"title", "from"}, {"format", ".4r"}},
                        {{"field", "hi"}, {"type", "quantitative"}, {"title", "to"}, {"format", ".4r"}},
                        {{"field", "note"}, {"title", "note"}}};
  Json with_offset{{"y", y}, {"color", colour}, {"tooltip", tooltip}};
  if (style.groups.size() > 1) with_offset["yOffset"] = offset;
  Json line = with_offset;
  line["x"] = {{"field", "lo"}, {"type", "quantitative"}, {"scale", {{"type", "log"}, {"nice", false}}}};
  line["x2"] = {{"field", "hi"}};
  Json dot = with_offset;
  dot["x"] = x;
  layers.push_back({{"mark", {{"type", "rule"}, {"strokeWidth", 2}}}, {"encoding", std::move(line)}});
  layers.push_back(
      {{"mark", {{"type", "point"}, {"filled", true}, {"size", 55}, {"opacity", 1}}}, {"encoding", std::move(dot)}});
  spec["layer"] = std::move(layers);
  return spec;
}

Json arms_spec(const std::vector<ArmPoint>& arms) {
  Json values = Json::array();
  Json order = Json::array();
  for (const ArmPoint& arm : arms) {
    Json datum{{"arm", arm.arm},
               {"mode", mode_group(arm.mode)},
               {"speed", arm.speed.value},
               {"interval", interval_text(arm.speed)}};
    add_interval(datum, arm.speed.ci95);
    values.push_back(std::move(datum));
    order.push_back(arm.arm);
  }
  Json colour = mode_colour(values);
  Json spec = start();
  spec["height"] = {{"step", 20}};
  spec["params"] = Json::array({{{"name", "chosen"}, {"value", ""}}});
  spec["data"] = {{"values", std::move(values)}};
  const Json chosen = "datum.arm === chosen";
  spec["encoding"] = {
      {"y", {{"field", "arm"}, {"type", "nominal"}, {"sort", std::move(order)}, {"axis", row_axis()}}},
      {"color", std::move(colour)},
      {"opacity", {{"condition", {{"test", "chosen === '' || datum.arm === chosen"}, {"value", 1}}}, {"value", 0.4}}},
      {"tooltip",
       {{{"field", "arm"}, {"title", "arm"}},
        {{"field", "speed"}, {"type", "quantitative"}, {"title", "tokens/s"}, {"format", ",.4r"}},
        {{"field", "interval"}, {"title", "95 %"}}}}};
  spec["layer"] =
      Json::array({{{"mark", {{"type", "rule"}, {"strokeWidth", 2}}},
                    {"encoding", {{"x", {{"field", "lo"}, {"type", "quantitative"}}}, {"x2", {{"field", "hi"}}}}}},
                   {{"mark", {{"type", "point"}, {"filled", true}}},
                    {"encoding",
                     {{"x",
                       {{"field", "speed"},
                        {"type", "quantitative"},
                        {"scale", {{"zero", true}}},
                        {"axis", value_axis("tokens per second")}}},
                      {"size", {{"condition", {{"test", chosen}, {"value", 190}}}, {"value", 50}}}}}}});
  return spec;
}

Json history_spec(const std::vector<HistoryPoint>& points, const std::vector<HistorySegment>& segments,
                  const std::vector<HistoryChange>& changes, bool by_date) {
  constexpr std::size_t kMostSettings = 4;  // with a colour of their own
  const auto setting_name = [](std::size_t setting) {
    return setting == 0                  ? std::string("newest setting")
           : setting + 1 < kMostSettings ? fmt::format("setting {}", setting + 1)
                                         : std::string("older ones");
  };
  Json values = Json::array();
  Json names = Json::object();
  Json places = Json::array();
  std::size_t settings = 0;
  for (const HistoryPoint& point : points) {
    Json datum{{"order", point.order},   {"setting", setting_name(point.setting)},
               {"line", point.setting},  {"label", point.label},
               {"build", point.build},   {"system", point.system},
               {"date", point.date},     {"speed", point.speed.value},
               {"trials", point.trials}, {"interval", interval_text(point.speed)}};
    if (!point.link.empty()) datum["link"] = point.link;
    add_interval(datum, point.speed.ci95);
    names[std::to_string(point.order)] = point.label.empty() ? "(no name)" : point.label;
    places.push_back(point.order);
    settings = std::max(settings, point.setting + 1);
    values.push_back(std::move(datum));
  }
  Json domain = Json::array();
  Json colours = Json::array();
  for (std::size_t i = 0; i < std::min(settings, kMostSettings); ++i) {
    domain.push_back(setting_name(i));
    colours.push_back(i == 0 ? "var(--unlocked)" : i == 1 ? "var(--stock)" : i == 2 ? "var(--bare)" : "var(--other)");
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
  Json kinds = Json::array();
  for (const char* kind : {"slower", "faster"}) {
    const bool slower = std::string_view(kind) == "slower";
    const auto is_of = [&](const HistoryChange& change) { return change.slower == slower; };
    if (std::any_of(changes.begin(), changes.end(), is_of)) kinds.push_back(kind);
  }
  for (const HistoryChange& change : changes) {
    if (change.order >= points.size()) continue;
    lines.push_back({{"order", change.order},
                     {"date", date_of(change.order)},
                     {"kind", change.slower ? "slower" : "faster"},
                     {"text", change.text}});
  }
  Json spec = start();
  spec["height"] = 320;
  Json x;
  if (by_date) {
    x = {{"field", "date"},
         {"type", "temporal"},
         {"axis", {{"title", nullptr}, {"labelOverlap", true}, {"tickCount", 8}}}};
  } else {
    // Labels are looked up: a text as a place would be sorted, and each would take a line of its own.
    x = {{"field", "order"},
         {"type", "quantitative"},
         {"scale", {{"nice", false}, {"padding", 14}}},
         {"axis",
          {{"title", nullptr},
           {"values", std::move(places)},
           {"labelAngle", -35},
           {"labelOverlap", "greedy"},
           {"labelLimit", 120},
           {"grid", false},
           {"labelExpr", names.dump(-1, ' ', false, Json::error_handler_t::replace) + "[datum.value]"}}}};
  }
  const Json y = {{"field", "speed"},
                  {"type", "quantitative"},
                  {"scale", {{"zero", false}, {"padding", 16}}},
                  {"axis", {{"title", "tokens per second"}, {"tickCount", 6}}}};
  Json colour = {
      {"field", "setting"},
      {"type", "nominal"},
      {"scale", {{"domain", domain}, {"range", colours}}},
      {"legend", settings > 1
                     ? Json{{"title", nullptr}, {"orient", "top"}, {"symbolType", "circle"}, {"symbolOpacity", 1}}
                     : Json()}};
  Json layers = Json::array();
  if (!lines.empty()) {
    layers.push_back(
        {{"data", {{"values", std::move(lines)}}},
         {"mark", {{"type", "rule"}, {"strokeWidth", 2}, {"strokeDash", {5, 3}}}},
         {"encoding",
          {{"x", x},
           {"stroke",
            {{"field", "kind"},
             {"type", "nominal"},
             {"scale", {{"domain", {"slower", "faster"}}, {"range", {"var(--bad)", "var(--good)"}}}},
             {"legend", {{"title", nullptr}, {"orient", "top"}, {"symbolType", "stroke"}, {"values", kinds}}}}},
           {"tooltip", Json::array({{{"field", "text"}, {"title", "change"}}})}}}});
  }
  if (!levels.empty()) {
    const Json from =
        by_date ? Json{{"field", "date"}, {"type", "temporal"}} : Json{{"field", "from"}, {"type", "quantitative"}};
    layers.push_back({{"data", {{"values", std::move(levels)}}},
                      {"mark", {{"type", "rule"}, {"strokeWidth", 7}, {"opacity", 0.22}}},
                      {"encoding",
                       {{"x", from},
                        {"x2", {{"field", by_date ? "until" : "to"}}},
                        {"y", {{"field", "level"}, {"type", "quantitative"}}},
                        {"color", colour}}}});
  }
  layers.push_back({{"mark", {{"type", "line"}, {"color", "var(--soft)"}, {"strokeWidth", 1}}},
                    {"encoding",
                     {{"x", x},
                      {"y", y},
                      {"detail", {{"field", "line"}, {"type", "nominal"}}},
                      {"order", {{"field", "order"}, {"type", "quantitative"}}}}}});
  layers.push_back(
      {{"mark", {{"type", "rule"}, {"strokeWidth", 1.5}}},
       {"encoding",
        {{"x", x}, {"y", {{"field", "lo"}, {"type", "quantitative"}}}, {"y2", {{"field", "hi"}}}, {"color", colour}}}});
  layers.push_back(
      {{"mark", {{"type", "point"}, {"filled", true}, {"size", 60}, {"opacity", 1}, {"cursor", "pointer"}}},
       {"encoding",
        {{"x", x},
         {"y", y},
         {"color", colour},
         {"tooltip",
          {{{"field", "label"}, {"title", "point"}},
           {{"field", "build"}, {"title", "build"}},
           {{"field", "system"}, {"title", "system"}},
           {{"field", "date"}, {"title", "measured"}},
           {{"field", "speed"}, {"type", "quantitative"}, {"title", "tokens/s"}, {"format", ",.4r"}},
           {{"field", "interval"}, {"title", "95 %"}},
           {{"field", "trials"}, {"title", "trials"}}}}}}});
  spec["data"] = {{"values", std::move(values)}};
  spec["layer"] = std::move(layers);
  return spec;
}

}  // namespace capbench::site
