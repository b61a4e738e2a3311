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

// What a row is about, each once, in order of first use.
using Rows = std::vector<std::vector<std::string>>;
constexpr const char* kAbout[] = {"suite", "workload", "model", "test"};

void add_once(Rows& rows, std::vector<std::string> row) {
  if (std::find(rows.begin(), rows.end(), row) == rows.end()) rows.push_back(std::move(row));
}

Rows rows_of_csv(const std::string& text) {
  Rows rows;
  const auto lines = testing::parse_csv(text);
  for (std::size_t i = 1; i < lines.size(); ++i) {
    std::vector<std::string> row;
    for (const char* name : kAbout) {
      const std::size_t column = column_of(lines.front(), name);
      row.push_back(column < lines[i].size() ? lines[i][column] : "");
    }
    add_once(rows, std::move(row));
  }
  return rows;
}

Rows rows_of_json(const std::string& text) {
  Rows rows;
  const auto document = nlohmann::json::parse(text);
  for (const auto& entry : document.at("rows")) {
    std::vector<std::string> row;
    for (const char* name : kAbout) {
      const bool said = entry.contains(name) && entry.at(name).is_string();
      row.push_back(said ? entry.at(name).get<std::string>() : "");
    }
    add_once(rows, std::move(row));
  }
  return rows;
}

// One selection and one order, whatever the format; and the filter leaves the same rows in each.
TEST(Render, EveryFormatIsSortedAndFilteredAlike) {
  constexpr const char* kEarlier = "2026-08-09-m1-ultra";
  constexpr const char* kLater = "2026-08-10-m1-ultra-gemma4";
  auto store = open_published("m1-ultra-2026-08");
  ASSERT_TRUE(store.ok()) << to_string(store.error());
  for (const char* suite : {"", kLater}) {
    schema::TrialFilter filter;
    filter.suite = suite;
    for (const ReportKind& kind : report_kinds()) {
      if (kind.name == "compare") continue;  // pairs of trials, with tests of its own
      const Rows rows = rows_of_json(render(*store, filter, kind.name, "json")->text);
      ASSERT_FALSE(rows.empty()) << kind.name;
      EXPECT_EQ(rows.front()[0], *suite == 0 ? kEarlier : kLater) << kind.name;
      EXPECT_EQ(rows_of_csv(render(*store, filter, kind.name, "csv")->text), rows) << kind.name << suite;
      for (const char* format : {"md", "html", "latex"}) {
        const std::string text = render(*store, filter, kind.name, format)->text;
        const std::size_t later = text.find(kLater);
        ASSERT_NE(later, std::string::npos) << kind.name << format;
        const std::size_t earlier = text.find(kEarlier);
        EXPECT_EQ(earlier == std::string::npos, *suite != 0) << kind.name << format;
        if (*suite == 0) {
          EXPECT_LT(earlier, later) << kind.name << format;
        }
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
