// Every report in every format over a store that was really measured.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "reports/read_ablation.h"
#include "reports/render.h"
#include "reports/test_formats.h"

namespace capbench::reports {
namespace {

using ::testing::HasSubstr;

// A copy, since SQLite writes beside the file it reads.
Result<schema::Store> open_published(const std::string& finding = "vulkan-h200") {
  const std::filesystem::path copy = std::filesystem::path(::testing::TempDir()) / (finding + ".db");
  std::filesystem::copy_file("reports/published/" + finding + "/results.db", copy,
                             std::filesystem::copy_options::overwrite_existing);
  std::filesystem::permissions(copy, std::filesystem::perms::owner_all);
  return schema::Store::open(copy, schema::OpenMode::kCreate);
}

TEST(Render, EveryReportInEveryFormat) {
  auto store = open_published();
  ASSERT_TRUE(store.ok()) << to_string(store.error());
  for (const ReportKind& kind : report_kinds()) {
    for (const std::string_view format : report_formats()) {
      const auto text = render(*store, {}, kind.name, format);
      ASSERT_TRUE(text.ok()) << kind.name << format;
      EXPECT_FALSE(text->empty) << kind.name << format;
      EXPECT_TRUE(text->text.ends_with('\n')) << kind.name << format;
    }
    schema::TrialFilter none;
    none.suite = "no such suite";
    const auto nothing = render(*store, none, kind.name, "md");
    ASSERT_TRUE(nothing.ok());
    EXPECT_TRUE(nothing->empty);
  }
  testing::expect_keeps_to_schema(render(*store, {}, "ablation", "json")->text, "reports/json/ablation.schema.json");
}

std::size_t column_of(const std::vector<std::string>& header, const std::string& name) {
  return static_cast<std::size_t>(std::find(header.begin(), header.end(), name) - header.begin());
}

using Rows = std::vector<std::pair<std::string, std::string>>;  // model, test; each once, in order of first use

void add_once(Rows& rows, const std::string& model, const std::string& test) {
  const std::pair row(model, test);
  if (std::find(rows.begin(), rows.end(), row) == rows.end()) rows.push_back(row);
}

Rows rows_of_csv(const std::string& text) {
  Rows rows;
  const auto lines = testing::parse_csv(text);
  const std::size_t model = column_of(lines.front(), "model");
  const std::size_t test = column_of(lines.front(), "test");
  for (std::size_t i = 1; i < lines.size(); ++i) {
    if (model >= lines[i].size()) return {};
    add_once(rows, lines[i][model], test < lines[i].size() ? lines[i][test] : "");
  }
  return rows;
}

Rows rows_of_json(const std::string& text) {
  Rows rows;
  const auto document = nlohmann::json::parse(text);
  for (const auto& row : document.at("rows")) {
    const bool has_test = row.contains("test") && row["test"].is_string();
    add_once(rows, row["model"], has_test ? row["test"].get<std::string>() : "");
  }
  return rows;
}

// Where each model is first named; npos if it is not.
std::vector<std::size_t> places_of(const std::string& text, const Rows& rows) {
  std::vector<std::size_t> places;
  for (const auto& [model, test] : rows) {
    const std::size_t place = text.find(model + ", workload");
    if (places.empty() || places.back() != place) places.push_back(place);
  }
  return places;
}

// One selection and one order, whatever the format; and the filter leaves the same rows in each.
TEST(Render, EveryFormatIsSortedAndFilteredAlike) {
  auto store = open_published("m1-ultra-2026-08");
  ASSERT_TRUE(store.ok()) << to_string(store.error());
  for (const char* suite : {"", "2026-08-10-m1-ultra-gemma4"}) {
    schema::TrialFilter filter;
    filter.suite = suite;
    for (const ReportKind& kind : report_kinds()) {
      const Rows rows = rows_of_json(render(*store, filter, kind.name, "json")->text);
      ASSERT_FALSE(rows.empty()) << kind.name;
      EXPECT_EQ(rows_of_csv(render(*store, filter, kind.name, "csv")->text), rows) << kind.name << suite;
      for (const char* format : {"md", "html", "latex"}) {
        const std::string text = render(*store, filter, kind.name, format)->text;
        const std::vector<std::size_t> places = places_of(text, rows);
        EXPECT_TRUE(std::is_sorted(places.begin(), places.end())) << kind.name << format;
        EXPECT_NE(places.back(), std::string::npos) << kind.name << format;
        EXPECT_EQ(text.find("tinyllama-1.1b, workload") == std::string::npos, *suite != 0) << kind.name << format;
      }
    }
  }
}

TEST(Render, NamesWhatItDoesNotKnow) {
  auto store = open_published();
  ASSERT_TRUE(store.ok());
  EXPECT_THAT(to_string(render(*store, {}, "ablaton", "md").error()), HasSubstr("speedup, ablation"));
  EXPECT_THAT(to_string(render(*store, {}, "ablation", "pdf").error()), HasSubstr("md, csv"));
}

TEST(PublishedAblation, StepsDownOneAtATimeCannotSeeRedundancy) {
  auto store = open_published();
  ASSERT_TRUE(store.ok());
  const auto report = read_ablation(*store, {});
  ASSERT_TRUE(report.ok()) << to_string(report.error());
  ASSERT_EQ(report->rows.size(), 2U);
  const AblationRow& row = report->rows[0].test == "pp512" ? report->rows[0] : report->rows[1];
  ASSERT_EQ(row.families.size(), 2U);
  for (const AblationFamily& family : row.families) {
    ASSERT_TRUE(family.dependence) << family.problem;
    EXPECT_FALSE(family.dependence->sees_redundancy);
    EXPECT_EQ(family.factors.size(), 4U);
    EXPECT_EQ(family.levels.cells.size(), 5U);
    // Losing both matrix extensions is shown to cost; which of them counts is not.
    ASSERT_EQ(family.dependence->cuts.size(), 1U);
    EXPECT_EQ(family.dependence->cuts[0].factors.size(), 2U);
  }
  // A twin's shape is known, so what is read is exact: 7.3 % of the arithmetic rate at the most.
  for (const AblationArm& arm : row.arms) {
    ASSERT_TRUE(arm.roofline.percent) << arm.name;
    EXPECT_FALSE(arm.roofline.approximate);
    EXPECT_LT(*arm.roofline.percent, 8);
  }
}

}  // namespace
}  // namespace capbench::reports
