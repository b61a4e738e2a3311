// With a published store: what only a store knows reaches the rows.
#include "reports/read_speedup.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

namespace capbench::reports {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

schema::Store published_store() {
  // A copy: readers of a store leave files beside it.
  const auto copy = std::filesystem::path(::testing::TempDir()) / "published.db";
  std::filesystem::copy_file("reports/published/vulkan-h200/results.db", copy,
                             std::filesystem::copy_options::overwrite_existing);
  auto store = schema::Store::open(copy, schema::OpenMode::kReadOnly);
  if (!store.ok()) ADD_FAILURE() << to_string(store.error());
  return std::move(store).value();
}

TEST(ReadSpeedup, HasDeviceTimeVersionAndDescription) {
  schema::Store store = published_store();
  const auto report = read_speedup(store, {});
  ASSERT_TRUE(report.ok()) << to_string(report.error());
  ASSERT_EQ(report->rows.size(), 2U);
  for (const SpeedupRow& row : report->rows) {
    EXPECT_EQ(row.device, "NVIDIA H200");
    EXPECT_THAT(row.capbench, ElementsAre("0.1.0"));
    EXPECT_THAT(row.suite_description, HasSubstr("Vulkan GPU"));
    EXPECT_EQ(row.measured_first.substr(0, 10), "2026-11-30");
    EXPECT_LT(row.measured_first, row.measured_last);
    ASSERT_GT(row.modes.size(), 3U);
    EXPECT_EQ(arm_name(row, row.modes[3]), "layer: all on");
    EXPECT_TRUE(row.modes[3].over_bare_metal.has_value());
  }
}

TEST(ReadSpeedup, OfNoTrialsHasNoRows) {
  schema::Store store = published_store();
  schema::TrialFilter filter;
  filter.suite = "no such suite";
  const auto report = read_speedup(store, filter);
  ASSERT_TRUE(report.ok()) << to_string(report.error());
  EXPECT_TRUE(report->rows.empty());
}

TEST(SuiteDescription, IsEmptyWhereThereIsNone) {
  EXPECT_EQ(suite_description(R"({"description":"what it says"})"), "what it says");
  for (const char* json : {"", "{", "[]", "{}", R"({"description":7})", "\xff"}) EXPECT_EQ(suite_description(json), "");
}

}  // namespace
}  // namespace capbench::reports
