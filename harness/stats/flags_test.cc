#include "harness/stats/flags.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace capbench::stats {
namespace {

std::size_t count(const std::vector<Flag>& flags, const std::string& name) {
  return static_cast<std::size_t>(
      std::count_if(flags.begin(), flags.end(), [&](const Flag& flag) { return flag.name == name; }));
}

TEST(Flags, ATrialAfterAColdStartIsOutlying) {
  // An idle GPU's clocks: every sample of the first process is slow, and alike.
  const std::vector<Trial> trials = {
      {0, {11129, 11130, 11128}}, {1, {34364, 34300, 34400}}, {2, {34350, 34360, 34370}}};
  const auto flags = flag_trials(trials);
  ASSERT_EQ(flags.size(), 2U);
  EXPECT_EQ(flags[0].trial, 0U);
  EXPECT_EQ(flags[0].name, "outlying trial");
  EXPECT_EQ(flags[0].why, "67.6 % below the median of the arm's trials");
  EXPECT_EQ(flags[1].trial, 0U);
  EXPECT_EQ(flags[1].name, "cold first process");
  EXPECT_EQ(flags[1].why,
            "every sample of the first process is slow: 3.1 times slower than the median of the arm's trials");
}

TEST(Flags, AColdFirstProcessIsTheFirstToRun) {
  // As one H200 ran them, the first in the list not the first in time.
  std::vector<Trial> trials = {{3, {30954, 30900, 31011, 30870, 30950}},
                               {0, {9240, 9251, 9238, 9239, 9240}},
                               {2, {30999, 30960, 31001, 30910, 30930}},
                               {1, {30954, 30900, 31011, 30870, 30950}},
                               {4, {31100, 30900, 31011, 30870, 30950}}};
  auto flags = flag_trials(trials);
  ASSERT_EQ(flags.size(), 2U);
  EXPECT_EQ(flags[1].trial, 1U);
  EXPECT_EQ(flags[1].name, "cold first process");
  // The same process later is outlying only, and so is a first one with a fast sample or one that is fast.
  trials[1].block = 9;
  EXPECT_EQ(flag_trials(trials).size(), 1U);
  trials[1].block = 0;
  trials[1].samples.back() = 30000;
  EXPECT_EQ(flag_trials(trials)[0].name, "outlying trial");
  EXPECT_NE(flag_trials(trials)[1].name, "cold first process");
  trials[1].samples = {40000, 40000, 40000, 40000, 40000};
  EXPECT_EQ(flag_trials(trials).size(), 1U);
}

TEST(Flags, ATrendNeedNotBeSteady) {
  const auto flags = flag_trials(std::vector<Trial>{{0, {100, 101, 98, 97, 96, 97, 94, 93, 92, 90}}});
  ASSERT_EQ(flags.size(), 1U);
  EXPECT_EQ(flags[0].name, "trend");
  EXPECT_EQ(flags[0].why, "falls by 9.3 % from first to last sample");
  EXPECT_TRUE(flag_trials(std::vector<Trial>{{0, {100, 101, 98, 101, 98, 101, 98, 99, 100, 100}}}).empty());
  EXPECT_TRUE(flag_trials(std::vector<Trial>{{0, {100, 100.1, 99.8, 99.7, 99.6, 99.7, 99.4, 99.3, 99.2, 99}}}).empty());
}

TEST(Flags, KendallsTestIsExact) {
  // Tables of Kendall's S, two-sided 1 %: n = 5 cannot (2/120 of the orders are that extreme), 6: 15, 8: 22, 10: 29.
  EXPECT_EQ(kendall_critical(5, 0.01), 11);
  EXPECT_EQ(kendall_critical(5, 0.02), 10);
  EXPECT_EQ(kendall_critical(6, 0.01), 15);
  EXPECT_EQ(kendall_critical(8, 0.01), 22);
  EXPECT_EQ(kendall_critical(10, 0.01), 29);
  EXPECT_NEAR(static_cast<double>(kendall_critical(51, 0.01)), static_cast<double>(kendall_critical(50, 0.01)), 15);
}

TEST(Flags, VariationOverFivePercentIsNoisy) {
  const auto samples = flag_trials(std::vector<Trial>{{0, {100, 90, 104, 93, 101}}});
  ASSERT_EQ(samples.size(), 1U);
  EXPECT_EQ(samples[0].name, "noisy samples");
  EXPECT_EQ(samples[0].why, "the samples vary by 6.0 % (standard deviation over mean)");
  EXPECT_TRUE(flag_trials(std::vector<Trial>{{0, {100, 96, 104, 98, 101}}}).empty());
  const auto trials = flag_trials(std::vector<Trial>{{0, {100}}, {1, {91}}, {2, {106}}, {3, {93}}, {4, {104}}});
  ASSERT_EQ(trials.size(), 1U);
  EXPECT_EQ(trials[0].name, "noisy trials");
  EXPECT_EQ(trials[0].trial, kWholeArm);
  // What one wild trial does to the variation is said of that trial.
  const auto wild = flag_trials(std::vector<Trial>{{0, {100}}, {1, {101}}, {2, {50}}, {3, {99}}});
  ASSERT_EQ(wild.size(), 1U);
  EXPECT_EQ(wild[0].name, "outlying trial");
}

TEST(Flags, TenPercentIsNotYetOutlying) {
  const std::vector<Trial> trials = {{0, {100}}, {1, {100}}, {2, {110}}};
  EXPECT_EQ(count(flag_trials(trials), "outlying trial"), 0U);
  EXPECT_EQ(count(flag_trials(std::vector<Trial>{{0, {100}}, {1, {100}}, {2, {110.1}}}), "outlying trial"), 1U);
}

TEST(Flags, ANoisyArmHidesWhatIsWithinFiveDeviations) {
  // Trial medians 80 .. 120: the median absolute deviation is 10, so 50 on either side is ordinary.
  const std::vector<Trial> trials = {{0, {80}}, {1, {90}}, {2, {100}}, {3, {110}}, {4, {120}}};
  const auto flags = flag_trials(trials);
  ASSERT_EQ(flags.size(), 1U);
  EXPECT_EQ(flags[0].name, "noisy trials");
  EXPECT_EQ(flags[0].why, "the trial medians vary by 15.8 % (standard deviation over mean)");
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
  EXPECT_EQ(count(flag_trials(std::vector<Trial>{{0, {100, 97, 98, 93, 88}}}), "drift"), 0U);
  EXPECT_TRUE(flag_trials(std::vector<Trial>{{0, {100, 99, 98, 97, 96}}}).empty());
  EXPECT_EQ(count(flag_trials(std::vector<Trial>{{0, {100, 94, 88}}}), "drift"), 0U);
}

TEST(Flags, EmptyTrialsAreSkipped) {
  EXPECT_TRUE(flag_trials({}).empty());
  EXPECT_TRUE(flag_trials(std::vector<Trial>{{0, {}}, {1, {5}}}).empty());
}

}  // namespace
}  // namespace capbench::stats
