#include "reports/paper/figures.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "harness/stats/factorial.h"
#include "reports/text.h"

namespace capbench::reports::paper {
namespace {

using Json = nlohmann::ordered_json;

constexpr int kWidestLabel = 600;      // pixels, of a panel's name
constexpr std::size_t kMostName = 44;  // characters of a name in a figure

// The colours of the HTML reports' bars, told apart in grey as well.
const Json kModes = {"bare-metal", "stock", "unlocked"};
const Json kColours = {"#767676", "#b4552d", "#1f6f8b"};

Json base_specification(const char* description) {
  return {
      {"$schema", "https://vega.github.io/schema/vega-lite/v6.json"},
      {"description", description},
      {"background", "white"},
      {"config",
       {{"font", "sans-serif"},
        {"axis", {{"labelLimit", 260}, {"titleFontWeight", "normal"}}},
        {"header", {{"labelAnchor", "start"}, {"labelAlign", "left"}}}}},
  };
}

// One panel below the other, each with these layers; the axis named is each panel's own.
void add_panels(Json& figure, const char* own_axis, int step, Json layers) {
  figure["facet"] = {{"row",
                      {{"field", "panel"},
                       {"type", "nominal"},
                       {"title", nullptr},
                       {"sort", nullptr},
                       {"header", {{"labelOrient", "top"}, {"labelAngle", 0}, {"labelLimit", kWidestLabel}}}}}};
  figure["resolve"] = {{"scale", {{own_axis, "independent"}}}};
  figure["spec"] = {{"width", 380}, {"height", {{"step", step}}}, {"layer", std::move(layers)}};
}

std::string shortened(const std::string& text) {
  std::string out;
  std::size_t left = kMostName;
  for (const char c : one_line(text)) {
    const bool starts_character = (static_cast<unsigned char>(c) & 0xC0U) != 0x80U;
    if (starts_character && left-- == 0) return out + "\xE2\x80\xA6";
    out += c;
  }
  return out;
}

// Rows that differ in more than model and test say in what.
template <class Row>
std::string panel_of(const Row& row, const std::vector<Row>& rows) {
  const auto differs = [&](auto member) {
    return std::any_of(rows.begin(), rows.end(), [&](const Row& other) { return other.*member != row.*member; });
  };
  std::string panel = fmt::format("{}{}, {}", row.model, row.model_kind == "twin" ? " (twin)" : "", subject_test(row));
  if (differs(&Row::workload)) panel += ", " + row.workload;
  if (differs(&Row::machine)) panel += ", " + row.machine;
  if (differs(&Row::suite)) panel += ", " + row.suite;
  return one_line(panel);
}

}  // namespace

std::string speedup_figure(const SpeedupReport& report) {
  Json values = Json::array();
  for (const SpeedupRow& row : report.rows) {
    for (const ModeSummary& mode : row.modes) {
      if (!is_core_mode(mode.mode) || !mode.stats) continue;
      const Estimate& median = mode.stats->median;
      Json entry = {{"panel", panel_of(row, report.rows)}, {"mode", mode.mode}, {"speed", median.value}};
      if (median.ci95) {
        entry["low"] = median.ci95->low;
        entry["high"] = median.ci95->high;
      }
      values.push_back(std::move(entry));
    }
  }
  if (values.empty()) return "";
  Json figure = base_specification("Tokens per second by mode, with the interval of each median");
  const Json row = {{"field", "mode"}, {"type", "nominal"}, {"title", nullptr}, {"sort", kModes}};
  figure["data"] = {{"values", std::move(values)}};
  add_panels(
      figure, "x", 16,
      Json::array(
          {{{"mark", {{"type", "bar"}, {"height", {{"band", 0.7}}}}},
            {"encoding",
             {{"y", row},
              {"x", {{"field", "speed"}, {"type", "quantitative"}, {"title", "tokens per second"}}},
              {"color",
               {{"field", "mode"}, {"legend", nullptr}, {"scale", {{"domain", kModes}, {"range", kColours}}}}}}}},
           {{"transform", Json::array({{{"filter", "isValid(datum.low)"}}})},
            {"mark", {{"type", "rule"}, {"strokeWidth", 1.5}}},
            {"encoding",
             {{"y", row}, {"x", {{"field", "low"}, {"type", "quantitative"}}}, {"x2", {{"field", "high"}}}}}}}));
  return figure.dump(1) + "\n";
}

std::string ablation_figure(const AblationReport& report) {
  Json values = Json::array();
  for (const AblationRow& row : report.rows) {
    for (const AblationFamily& family : row.families) {
      for (const AblationFactor& factor : family.factors) {
        const stats::RatioInterval* ratio = stats::deciding(factor.removing);
        if (ratio == nullptr) continue;
        const stats::Loss loss = stats::loss_of(*ratio);
        Json entry = {{"panel", panel_of(row, report.rows)},
                      {"factor", shortened(factor.factor.label)},
                      {"cost", 100 * loss.value},
                      {"margin", 100 * row.margin},
                      {"depends", factor.depends}};
        if (loss.lo && loss.hi) {
          entry["low"] = 100 * *loss.lo;
          entry["high"] = 100 * *loss.hi;
        }
        values.push_back(std::move(entry));
      }
    }
  }
  if (values.empty()) return "";
  Json figure = base_specification("What removing each factor from everything unlocked costs, with its interval");
  const Json row = {{"field", "factor"}, {"type", "nominal"}, {"title", nullptr}, {"sort", nullptr}};
  const Json words = {"yes", "no", "cannot tell", "cannot tell which"};
  figure["data"] = {{"values", std::move(values)}};
  add_panels(
      figure, "y", 18,
      Json::array(
          {{{"mark", {{"type", "rule"}, {"strokeDash", {3, 3}}, {"color", "#767676"}}},
            {"encoding", {{"x", {{"field", "margin"}, {"type", "quantitative"}, {"aggregate", "max"}}}}}},
           {{"transform", Json::array({{{"filter", "isValid(datum.low)"}}})},
            {"mark", {{"type", "rule"}, {"strokeWidth", 1.5}}},
            {"encoding",
             {{"y", row}, {"x", {{"field", "low"}, {"type", "quantitative"}}}, {"x2", {{"field", "high"}}}}}},
           {{"mark", {{"type", "point"}, {"filled", true}, {"size", 60}, {"opacity", 1}}},
            {"encoding",
             {{"y", row},
              {"x", {{"field", "cost"}, {"type", "quantitative"}, {"title", "removing it costs, % of speed"}}},
              {"shape",
               {{"field", "depends"}, {"type", "nominal"}, {"title", "depends on"}, {"scale", {{"domain", words}}}}},
              {"color",
               {{"field", "depends"},
                {"type", "nominal"},
                {"title", "depends on"},
                {"scale", {{"domain", words}, {"range", {"#b4552d", "#1f6f8b", "#767676", "#767676"}}}}}}}}}}));
  return figure.dump(1) + "\n";
}

}  // namespace capbench::reports::paper
