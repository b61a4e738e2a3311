#include "harness/stats/noise.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "harness/stats/simulation.h"

namespace capbench::stats {
namespace {

using ::testing::HasSubstr;

Arm arm(const std::string& name, const std::vector<double>& medians) {
  Arm out{name, {}, ""};
  for (std::size_t i = 0; i < medians.size(); ++i) out.trials.push_back({static_cast<std::int64_t>(i), {medians[i]}});
  return out;
}

TEST(Noise, OfIdenticalArmsIsAQuantileOfAllPairs) {
  const std::vector<std::vector<Arm>> groups = {{arm("a", {100}), arm("b", {99}), arm("c", {95})}, {arm("d", {7})}};
  const auto found = floor_of_identical_arms(groups);
  ASSERT_TRUE(found.ok());
  EXPECT_EQ(found->n_pairs, 3U);
  EXPECT_NEAR(found->floor, 0.05, 1e-12);  // the largest of three
  EXPECT_EQ(found->source, "identical arms");
  EXPECT_EQ(found->label, "95 % of 3 A/A pairs (3 identical arms) differ by at most 5 %: the largest of them");
  const auto half = floor_of_identical_arms(groups, {.quantile = 0.5, .splits_per_arm = 1, .seed = 1});
  EXPECT_NEAR(half->floor, 1 - 95.0 / 99, 1e-12);  // the second of 1, 4.04 and 5 %
}

TEST(Noise, OfSplitsIsThatOfWholeArms) {
  // Normal noise of 1 %: medians of 8 differ by 1 % sqrt(2 * 1.3 / 8) or so; 95 % by less than twice that.
  Random random(3);
  std::vector<Arm> arms;
  std::vector<std::vector<Arm>> twins;
  for (int i = 0; i < 60; ++i) {
    const simulation::Noise noise{.between = 0.01, .within = 0};
    arms.push_back({"x", simulation::trials(random, 100, noise, 8), ""});
    twins.push_back({{"x", simulation::trials(random, 100, noise, 8), ""},
                     {"y", simulation::trials(random, 100, noise, 8), ""},
                     {"z", simulation::trials(random, 100, noise, 8), ""}});
  }
  const auto splits = floor_of_random_splits(arms);
  const auto identical = floor_of_identical_arms(twins);
  ASSERT_TRUE(splits.ok() && identical.ok());
  EXPECT_EQ(splits->n_pairs, 60U * 200);
  EXPECT_EQ(splits->source, "random splits");
  EXPECT_THAT(splits->label, HasSubstr("95 % of 12000 A/A pairs (random splits of 60 arms) differ by at most "));
  EXPECT_NEAR(splits->floor, identical->floor, 0.3 * identical->floor);
  EXPECT_NEAR(identical->floor, 0.011, 0.003);
  EXPECT_EQ(floor_of_random_splits(arms)->floor, splits->floor);
}

TEST(Noise, EntersTheMargin) {
  EXPECT_EQ(margin_of(std::nullopt), 0.02);
  NoiseFloor floor;
  floor.floor = 0.01;
  EXPECT_EQ(margin_of(floor), 0.02);
  floor.floor = 0.15;
  EXPECT_EQ(margin_of(floor), 0.15);
  floor.floor = 0.999;
  EXPECT_EQ(margin_of(floor), 0.9);
}

TEST(Noise, WithoutPairsThereIsNone) {
  EXPECT_EQ(floor_of_identical_arms(std::vector<std::vector<Arm>>{{arm("a", {1})}}).error().cause,
            "no two arms are declared identical");
  EXPECT_EQ(floor_of_random_splits(std::vector{arm("a", {1})}).error().cause, "no arm has two trials");
  EXPECT_THAT(floor_of_random_splits(std::vector{arm("a", {1, 0})}).error().what, HasSubstr("arm `a`, trial 1"));
  EXPECT_THAT(floor_of_identical_arms(std::vector<std::vector<Arm>>{{arm("a", {}), arm("b", {1})}}).error().cause,
              HasSubstr("no trials"));
  EXPECT_FALSE(floor_of_random_splits(std::vector{arm("a", {1, 2})}, {.quantile = 1.5}).ok());
  EXPECT_FALSE(floor_of_random_splits(std::vector{arm("a", {1, 2})}, {.splits_per_arm = 0}).ok());
}

}  // namespace
}  // namespace capbench::stats
