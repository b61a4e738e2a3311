#include "harness/stats/power.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>

#include "harness/stats/simulation.h"

namespace capbench::stats {
namespace {

constexpr double kMedianOfFive = 0.2868;  // variance of the median of five normal values

double deviation(double between, double within) {
  return std::sqrt(between * between + kMedianOfFive * within * within);
}

std::size_t recommended(double between, double within, std::size_t comparisons, double effect = 0.03,
                        double margin = 0) {
  const auto found = recommended_trials({deviation(between, within), 0},
                                        {.effect = effect, .margin = margin, .comparisons = comparisons});
  EXPECT_TRUE(found.ok());
  return found->value_or(0);
}

TEST(Power, RecommendsWhatSimulationsNeeded) {
  // For one comparison and the last step over eight, by simulation with ranks, between and within processes in %:
  // 0.3/0.2 4 and 6, 1/0.2 5 and 7, 1/1 6 and 8, 3/1 25 and 38 trials.
  EXPECT_NEAR(static_cast<double>(recommended(0.003, 0.002, 1)), 4, 1);
  EXPECT_NEAR(static_cast<double>(recommended(0.01, 0.002, 1)), 5, 1);
  EXPECT_NEAR(static_cast<double>(recommended(0.01, 0.002, 8)), 7, 1);
  EXPECT_NEAR(static_cast<double>(recommended(0.01, 0.01, 1)), 6, 1);
  EXPECT_NEAR(static_cast<double>(recommended(0.01, 0.01, 8)), 8, 1);
  EXPECT_NEAR(static_cast<double>(recommended(0.03, 0.01, 1)), 25, 2);
  EXPECT_NEAR(static_cast<double>(recommended(0.03, 0.01, 8)), 38, 3);
}

TEST(Power, AsksMoreForSmallerEffectsLargerTablesAndShorterPilots) {
  EXPECT_GT(recommended(0.01, 0.01, 1, 0.01), 3 * recommended(0.01, 0.01, 1, 0.03));
  EXPECT_GT(recommended(0.01, 0.01, 1, 0.03, 0.02), 20U);  // over a margin of 2 % it is an effect of 1 %
  EXPECT_GT(recommended(0.01, 0.01, 100), recommended(0.01, 0.01, 8));
  const PilotNoise known{0.01, 0};
  const PilotNoise guessed{0.01, 4};
  EXPECT_GT(**recommended_trials(guessed, {}), **recommended_trials(known, {}));
  EXPECT_EQ(*recommended_trials({5, 0}, {}), std::nullopt);
  EXPECT_EQ(**recommended_trials({0, 0}, {}), 3U);
}

TEST(Power, TheDetectableEffectIsTheOneRecommendedFor) {
  const PilotNoise noise{0.012, 0};
  for (const double effect : {0.01, 0.03, 0.1}) {
    const PowerQuestion question{.effect = effect, .comparisons = 15};
    const std::size_t trials = **recommended_trials(noise, question);
    EXPECT_LE(**detectable_effect(noise, trials, question), effect);
    if (trials == 3) continue;
    EXPECT_GT(**detectable_effect(noise, trials - 1, question), effect);
  }
  EXPECT_EQ(*detectable_effect(noise, 2, {}), std::nullopt);
}

TEST(Power, RefusesWhatMakesNoSense) {
  EXPECT_FALSE(recommended_trials({-1, 0}, {}).ok());
  EXPECT_FALSE(recommended_trials({std::nan(""), 0}, {}).ok());
  EXPECT_FALSE(recommended_trials({0.01, 0}, {.effect = 0.02, .margin = 0.02}).ok());
  EXPECT_FALSE(recommended_trials({0.01, 0}, {.effect = 1}).ok());
  EXPECT_FALSE(recommended_trials({0.01, 0}, {.power = 1}).ok());
  EXPECT_FALSE(recommended_trials({0.01, 0}, {.confidence = 1}).ok());
  EXPECT_FALSE(recommended_trials({0.01, 0}, {.comparisons = 0}).ok());
  EXPECT_FALSE(pilot_noise(std::vector<Arm>{{"a", {{0, {1}}}, ""}}).ok());
  EXPECT_FALSE(pilot_noise(std::vector<Arm>{{"a", {{0, {1}}, {1, {0}}}, ""}}).ok());
}

// A pilot of 5 trials in every arm, then an experiment with as many trials as it recommends, in which one of 9 arms is
// 3 % slower than the first. Found: its simultaneous interval leaves out 1. One standard error of 100 is 3 %.
TEST(PowerSimulation, APlantedEffectIsFoundNineTimesInTen) {
  struct Case {
    const char* name;
    simulation::Noise noise;
  };
  const Case cases[] = {
      {"0.3/0.2", {.between = 0.003, .within = 0.002}},
      {"1/1", {}},
      {"1/1 skewed", {.skewed = true}},
      {"1/0.2, blocks of 2 %", {.between = 0.01, .within = 0.002, .block = 0.02}},
  };
  constexpr std::size_t kArms = 9;
  for (const Case& one : cases) {
    Random random(31);
    const int experiments = simulation::repetitions(100);
    int found = 0;
    double mean_trials = 0;
    for (int i = 0; i < experiments; ++i) {
      const auto table = [&](std::size_t n_trials, double last) {
        stats::Test test{"pp512", {}};
        const auto blocks = simulation::block_effects(random, one.noise, n_trials);
        for (std::size_t arm = 0; arm < kArms; ++arm) {
          test.arms.push_back({"x", simulation::trials(random, arm + 1 == kArms ? last : 100, one.noise, blocks), ""});
        }
        return test;
      };
      const stats::Test pilot = table(5, 100);
      const auto noise = pilot_noise(pilot.arms);
      ASSERT_TRUE(noise.ok());
      const std::size_t trials = **recommended_trials(*noise, {.comparisons = kArms - 1});
      mean_trials += static_cast<double>(trials) / experiments;
      const std::vector<stats::Test> tests = {table(trials, 97)};
      std::vector<Comparison> comparisons;
      for (std::size_t arm = 1; arm < kArms; ++arm) comparisons.push_back({0, arm, 0});
      const auto compared = compare(tests, comparisons);
      ASSERT_TRUE(compared.ok());
      found += *compared->back().simultaneous->hi < 1 ? 1 : 0;
    }
    EXPECT_GE(found, 0.9 * experiments - 3 * std::sqrt(0.09 * experiments)) << one.name;
    std::printf("%-25s found %.1f %% of %d planted 3 %% effects with %.1f trials on average\n", one.name,
                100.0 * found / experiments, experiments, mean_trials);
  }
}

}  // namespace
}  // namespace capbench::stats
