#include "harness/stats/flags.h"

#include <gtest/gtest.h>

namespace capbench::stats {
namespace {

TEST(Flags, ATrialAfterAColdStartIsOutlying) {
  // An idle GPU's clocks: every sample of the first process is slow, and alike.
  const std::vector<Trial> trials = {
      {0, {11129, 11130, 11128}}, {1, {34364, 34300, 34400}}, {2, {34350, 34360, 34370}}};
  const auto flags = flag_trials(trials);
  ASSERT_EQ(flags.size(), 1U);
  EXPECT_EQ(flags[0].trial, 0U);
  EXPECT_EQ(flags[0].name, "outlying trial");
  EXPECT_EQ(flags[0].why, "67.6 % below the median of the arm's trials");
}

TEST(Flags, TenPercentIsNotYetOutlying) {
  const std::vector<Trial> trials = {{0, {100}}, {1, {100}}, {2, {110}}};
  EXPECT_TRUE(flag_trials(trials).empty());
  EXPECT_EQ(flag_trials(std::vector<Trial>{{0, {100}}, {1, {100}}, {2, {110.1}}}).size(), 1U);
}

TEST(Flags, ANoisyArmHidesWhatIsWithinFiveDeviations) {
  // Trial medians 80 .. 120: the median absolute deviation is 10, so 50 on either side is ordinary.
  const std::vector<Trial> trials = {{0, {80}}, {1, {90}}, {2, {100}}, {3, {110}}, {4, {120}}};
  EXPECT_TRUE(flag_trials(trials).empty());
}

TEST(Flags, TwoTrialsCannotTellWhichIsOutlying) {
  EXPECT_TRUE(flag_trials(std::vector<Trial>{{0, {10}}, {1, {100}}}).empty());
}

TEST(Flags, ASlowFirstSampleIsNamed) {
  const auto flags = flag_trials(std::vector<Trial>{{0, {60, 100, 101, 99, 100}}});
  ASSERT_EQ(flags.size(), 1U);
  EXPECT_EQ(flags[0].name, "outlying first sample");
  EXPECT_EQ(flags[0].why, "40.0 % below the median of the trial's others");
}

TEST(Flags, OnlyAMonotoneFallOrRiseIsDrift) {
  const auto falling = flag_trials(std::vector<Trial>{{0, {100, 97, 97, 93, 88}}});
  ASSERT_EQ(falling.size(), 1U);
  EXPECT_EQ(falling[0].name, "drift");
  EXPECT_EQ(falling[0].why, "from 100 to 88 tokens/s, falling at every sample");
  EXPECT_EQ(flag_trials(std::vector<Trial>{{0, {88, 93, 97, 100}}}).size(), 1U);
  EXPECT_TRUE(flag_trials(std::vector<Trial>{{0, {100, 97, 98, 93, 88}}}).empty());
  EXPECT_TRUE(flag_trials(std::vector<Trial>{{0, {100, 99, 98, 97, 96}}}).empty());
  EXPECT_TRUE(flag_trials(std::vector<Trial>{{0, {100, 94, 88}}}).empty());
}

TEST(Flags, EmptyTrialsAreSkipped) {
  EXPECT_TRUE(flag_trials({}).empty());
  EXPECT_TRUE(flag_trials(std::vector<Trial>{{0, {}}, {1, {5}}}).empty());
}

}  // namespace
}  // namespace capbench::stats
