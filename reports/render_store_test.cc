// Every report in every format over a store that was really measured.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "reports/read_ablation.h"
#include "reports/render.h"
#include "reports/test_formats.h"

namespace capbench::reports {
namespace {

using ::testing::HasSubstr;

// A copy, since SQLite writes beside the file it reads.
Result<schema::Store> open_published() {
  const std::filesystem::path copy = std::filesystem::path(::testing::TempDir()) / "h200.db";
  std::filesystem::copy_file("reports/published/vulkan-h200/results.db", copy,
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
