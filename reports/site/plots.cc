#include "reports/site/plots.h"

#include <initializer_list>
#include <string>

namespace capbench::site {
namespace {

using Json = nlohmann::ordered_json;

// As in the style sheet: texts are measured before they are drawn.
constexpr std::string_view kFont =
    "system-ui, -apple-system, \"Segoe UI\", Roboto, \"Noto Sans\", \"DejaVu Sans\", sans-serif";

Json start(Json height, std::vector<std::string_view> parameters) {
  Json spec{{"$schema", "https://vega.github.io/schema/vega-lite/v6.json"},
            {"width", "container"},
            {"height", std::move(height)}};
  Json params = Json::array();
  // Each figure gives a value to each.
  for (const std::string_view name : parameters) params.push_back({{"name", name}, {"value", nullptr}});
  spec["params"] = std::move(params);
  const Json text_size = 12;
  spec["config"] = {{"background", "transparent"},
                    {"font", kFont},
                    {"view", {{"stroke", nullptr}}},
                    {"axis",
                     {{"labelColor", "var(--ink)"},
                      {"titleColor", "var(--soft)"},
                      {"gridColor", "var(--line)"},
                      {"domainColor", "var(--line)"},
                      {"tickColor", "var(--line)"},
                      {"labelFontSize", text_size},
                      {"titleFontSize", text_size},
                      {"titleFontWeight", "normal"}}},
                    {"legend",
                     {{"labelColor", "var(--ink)"},
                      {"titleColor", "var(--soft)"},
                      {"labelFontSize", text_size},
                      {"symbolType", "circle"},
                      {"rowPadding", 4}}}};
  return spec;
}

Json expr(std::string_view text) {
  return {{"expr", text}};
}

Json quantity(std::string_view field) {
  return {{"field", field}, {"type", "quantitative"}};
}

// Rows stand in the order of their `place`; a narrow figure cuts their names.
Json rows(std::string_view field) {
  return {{"field", field},
          {"type", "nominal"},
          {"sort", {{"field", "place"}, {"op", "min"}}},
          {"axis",
           {{"title", nullptr},
            {"labelLimit", expr("max(90, containerSize()[0] * (containerSize()[0] < 560 ? 0.5 : 0.4))")},
            {"ticks", false},
            {"domain", false},
            {"labelPadding", 8}}}};
}

Json speed_axis() {
  return {{"title", "tokens per second"}, {"tickCount", 6}};
}

// Only what is there is in the key.
Json key(std::string_view values) {
  return {{"title", nullptr},
          {"orient", "top"},
          {"values", expr(values)},
          {"columns", expr("containerSize()[0] < 560 ? 1 : 0")}};
}

// A mode has the same colour everywhere.
Json mode_colour() {
  return {
      {"field", "mode"},
      {"type", "nominal"},
      {"scale", {{"domain", kModes}, {"range", {"var(--bare)", "var(--stock)", "var(--unlocked)", "var(--other)"}}}},
      {"legend", key("modes")}};
}

// An object of names and texts.
Json tip() {
  return {{"field", "tip"}, {"type", "nominal"}};
}

// What a mark is to those who do not see it: its tip, in a sentence. Marks without one say nothing of their own.
Json mark(std::string_view type, std::initializer_list<std::string_view> said, Json more) {
  Json made{{"type", type}};
  std::string sentence;
  for (const std::string_view part : said) {
    sentence += (sentence.empty() ? "datum.tip['" : " + ', ' + datum.tip['") + std::string(part) + "']";
  }
  if (sentence.empty()) {
    made["aria"] = false;
  } else {
    made["description"] = expr(sentence);
  }
  made.update(more);
  return made;
}

Json silent(std::string_view type, Json more) {
  return mark(type, {}, std::move(more));
}

// Bars of tokens per second, one for each mode of each row, with their intervals.
Json bars() {
  Json spec = start({{"step", kBarStep}}, {"modes"});
  spec["data"] = {{"name", "rows"}};
  Json y = rows("row");
  y["scale"] = {{"paddingInner", 1 - kBarShare}, {"paddingOuter", 0.2}};
  Json x = quantity("speed");
  x["axis"] = speed_axis();
  // Bars stand beside one another: two of one mode in one row would be added up.
  x["stack"] = nullptr;
  Json lo = quantity("lo");
  spec["encoding"] = {{"y", std::move(y)},
                      {"yOffset", {{"field", "mode"}, {"sort", nullptr}, {"scale", {{"domain", expr("modes")}}}}}};
  spec["layer"] =
      Json::array({{{"mark", mark("bar", {"title", "mode", "tokens/s", "95 %"}, {{"cornerRadiusEnd", 1.5}})},
                    {"encoding", {{"x", std::move(x)}, {"color", mode_colour()}, {"tooltip", tip()}}}},
                   {{"mark", silent("rule", {{"color", "var(--ink)"}, {"strokeWidth", 1.4}})},
                    {"encoding", {{"x", std::move(lo)}, {"x2", {{"field", "hi"}}}}}}});
  return spec;
}

// Ratios with their intervals on a logarithmic axis, a line at 1 and a band around it.
Json ratios() {
  Json spec = start({{"step", kRatioStep}}, {"groups", "ticks", "title"});
  spec["data"] = {{"name", "rows"}};
  Json x = quantity("ratio");
  x["scale"] = {{"type", "log"}, {"nice", false}, {"padding", 12}};
  x["axis"] = {{"title", {{"signal", "title"}}}, {"values", expr("ticks")}, {"format", ".4~g"}, {"grid", true}};
  // Drawn once, not for each row.
  const Json once{{"values", Json::array({Json::object()})}};
  const Json offset{{"field", "group"}, {"sort", nullptr}, {"scale", {{"domain", expr("groups")}}}};
  const Json colour{
      {"field", "group"},
      {"type", "nominal"},
      {"scale",
       {{"domain", {kProven, kUnproven, kWithAll, kWithNone, kOnAverage}},
        {"range", {"var(--unlocked)", "var(--other)", "var(--unlocked)", "var(--stock)", "var(--other)"}}}},
      {"legend", key("groups")}};
  Json line{
      {"y", rows("row")}, {"yOffset", offset}, {"color", colour}, {"x", quantity("lo")}, {"x2", {{"field", "hi"}}}};
  Json dot{{"y", rows("row")}, {"yOffset", offset}, {"color", colour}, {"x", std::move(x)}, {"tooltip", tip()}};
  spec["layer"] = Json::array(
      {{{"data", {{"name", "bands"}}},
        {"mark", silent("rect", {{"color", "var(--line)"}, {"opacity", 0.55}})},
        {"encoding", {{"x", quantity("from")}, {"x2", {{"field", "to"}}}}}},
       {{"data", once},
        {"mark", silent("rule", {{"color", "var(--soft)"}, {"strokeDash", {3, 3}}})},
        {"encoding", {{"x", {{"datum", 1}, {"type", "quantitative"}}}}}},
       {{"mark", silent("rule", {{"strokeWidth", 2}})}, {"encoding", std::move(line)}},
       {{"mark", mark("point", {"title", "what", "ratio", "95 %"}, {{"filled", true}, {"size", 55}, {"opacity", 1}})},
        {"encoding", std::move(dot)}}});
  return spec;
}

// Arms as points with intervals; the one named by the parameter `chosen` stands out.
Json arms() {
  Json spec = start({{"step", kArmStep}}, {"modes", "chosen"});
  spec["data"] = {{"name", "rows"}};
  const Json chosen = "datum.arm === chosen";
  Json x = quantity("speed");
  x["scale"] = {{"zero", true}};
  x["axis"] = speed_axis();
  spec["encoding"] = {
      {"y", rows("name")},
      {"color", mode_colour()},
      {"opacity", {{"condition", {{"test", "!chosen || datum.arm === chosen"}, {"value", 1}}}, {"value", 0.4}}}};
  spec["layer"] = Json::array({{{"mark", silent("rule", {{"strokeWidth", 2}})},
                                {"encoding", {{"x", quantity("lo")}, {"x2", {{"field", "hi"}}}}}},
                               {{"mark", mark("point", {"title", "tokens/s", "95 %"}, {{"filled", true}})},
                                {"encoding",
                                 {{"x", std::move(x)},
                                  {"size", {{"condition", {{"test", chosen}, {"value", 190}}}, {"value", 50}}},
                                  {"tooltip", tip()}}}}});
  return spec;
}

// A series: points with intervals, joined within one setting; segments between changes; changes as lines.
Json history(bool by_date) {
  Json spec = start(kHistoryHeight, {"names", "places", "settings", "kinds"});
  Json x = by_date ? Json{{"field", "date"},
                          {"type", "temporal"},
                          {"axis", {{"title", nullptr}, {"labelOverlap", true}, {"tickCount", 8}}}}
                   : quantity("order");
  if (!by_date) {
    // Names are looked up: a text as a place would be sorted, and each would take a line of its own.
    x["scale"] = {{"nice", false}, {"padding", 14}};
    x["axis"] = {{"title", nullptr},
                 {"values", expr("places")},
                 {"labelAngle", -35},
                 {"labelOverlap", "greedy"},
                 {"labelLimit", 120},
                 {"grid", false},
                 {"labelExpr", "names[datum.value]"}};
  }
  const Json from = by_date ? Json{{"field", "date"}, {"type", "temporal"}} : quantity("from");
  Json y = quantity("speed");
  y["scale"] = {{"zero", false}, {"padding", 16}};
  y["axis"] = speed_axis();
  Json setting = key("settings");
  setting["symbolType"] = "circle";
  setting["symbolOpacity"] = 1;
  const Json colour{{"field", "setting"},
                    {"type", "nominal"},
                    {"scale",
                     {{"domain", {kNewestSetting, kSecondSetting, kThirdSetting, kOlderSettings}},
                      {"range", {"var(--unlocked)", "var(--stock)", "var(--bare)", "var(--other)"}}}},
                    {"legend", std::move(setting)}};
  Json kind = key("kinds");
  kind["symbolType"] = "stroke";
  const Json stroke{{"field", "kind"},
                    {"type", "nominal"},
                    {"scale", {{"domain", {kSlower, kFaster}}, {"range", {"var(--bad)", "var(--good)"}}}},
                    {"legend", std::move(kind)}};
  Json layers = Json::array();
  layers.push_back({{"data", {{"name", "changes"}}},
                    {"mark", mark("rule", {"change"}, {{"strokeWidth", 2}, {"strokeDash", {5, 3}}})},
                    {"encoding", {{"x", x}, {"stroke", stroke}, {"tooltip", tip()}}}});
  layers.push_back(
      {{"data", {{"name", "levels"}}},
       {"mark", silent("rule", {{"strokeWidth", 7}, {"opacity", 0.22}})},
       {"encoding",
        {{"x", from}, {"x2", {{"field", by_date ? "until" : "to"}}}, {"y", quantity("level")}, {"color", colour}}}});
  layers.push_back(
      {{"mark", silent("line", {{"color", "var(--soft)"}, {"strokeWidth", 1}})},
       {"encoding",
        {{"x", x}, {"y", y}, {"detail", {{"field", "line"}, {"type", "nominal"}}}, {"order", quantity("order")}}}});
  layers.push_back({{"mark", silent("rule", {{"strokeWidth", 1.5}})},
                    {"encoding", {{"x", x}, {"y", quantity("lo")}, {"y2", {{"field", "hi"}}}, {"color", colour}}}});
  layers.push_back({{"mark", mark("point", {"title", "tokens/s", "95 %", "trials"},
                                  {{"filled", true}, {"size", 60}, {"opacity", 1}, {"cursor", "pointer"}})},
                    {"encoding", {{"x", x}, {"y", y}, {"color", colour}, {"tooltip", tip()}}}});
  spec["data"] = {{"name", "points"}};
  spec["layer"] = std::move(layers);
  return spec;
}

}  // namespace

std::vector<Plot> plots() {
  return {{kBarsPlot, bars()},
          {kRatiosPlot, ratios()},
          {kArmsPlot, arms()},
          {kHistoryPlot, history(false)},
          {kHistoryDatesPlot, history(true)}};
}

}  // namespace capbench::site
