#include "reports/capabilities.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "reports/capabilities_formats.h"
#include "reports/test_ablation.h"
#include "reports/test_trials.h"

namespace capbench::reports {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(Capabilities, MergesSourcesThatAgreeAndKeepsThoseThatDoNot) {
  auto trials = testing::arm("unlocked", 100, 2);
  for (schema::TrialView& view : trials) {
    testing::observe(view, "vulkan.a", "on", "on", "probe");
    testing::observe(view, "vulkan.a", "on", "on", "ggml log");
    testing::observe(view, "ggml.cores", "", "none", "ggml log");
  }
  trials[0].trial.id = "first";
  trials[1].trial.id = "second";
  testing::observe(trials[1], "vulkan.a", "on", "off", "shim banner");
  trials[1].trial.treatment = "invalid";
  const CapabilityReport report = build_capabilities(trials);
  ASSERT_EQ(report.rows.size(), 1U);
  ASSERT_EQ(report.rows[0].arms.size(), 1U);
  const CapabilityArm& arm = report.rows[0].arms[0];
  EXPECT_EQ(arm.n_trials, 2U);
  EXPECT_EQ(arm.treatment, "invalid");
  ASSERT_EQ(arm.lines.size(), 3U);
  EXPECT_EQ(arm.lines[0].observed, "off");
  EXPECT_FALSE(arm.lines[0].agrees);
  EXPECT_EQ(arm.lines[0].n_trials, 1U);
  EXPECT_THAT(arm.lines[1].sources, ElementsAre("ggml log", "probe"));
  EXPECT_EQ(arm.lines[1].n_trials, 2U);
  EXPECT_TRUE(arm.lines[2].derived);
  EXPECT_THAT(document_markdown(capabilities_document(report)), HasSubstr("was asked to be on and seen as off"));
}

TEST(Capabilities, OnlyTheLatestAttemptThatRan) {
  auto trials = testing::arm("stock", 100, 1);
  testing::observe(trials[0], "vulkan.a", "", "on");
  trials.push_back(trials[0]);
  trials[1].trial.attempt = 2;
  trials[1].trial.capabilities[0].observed = "off";
  auto never = testing::arm("unlocked", 100, 1);
  testing::fail(never[0], "not_run", "out of time");
  testing::append(trials, never);
  const CapabilityReport report = build_capabilities(trials);
  ASSERT_EQ(report.rows.size(), 1U);
  ASSERT_EQ(report.rows[0].arms.size(), 1U);
  ASSERT_EQ(report.rows[0].arms[0].lines.size(), 1U);
  EXPECT_EQ(report.rows[0].arms[0].lines[0].observed, "off");
  EXPECT_TRUE(build_capabilities({}).rows.empty());
}

}  // namespace
}  // namespace capbench::reports
