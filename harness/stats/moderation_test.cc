#include "harness/stats/moderation.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

#include "harness/stats/simulation.h"

namespace capbench::stats {
namespace {

TEST(Moderation, DigammaAndTrigammaHaveTheirKnownValues) {
  constexpr double kEuler = 0.57721566490153286;
  EXPECT_NEAR(digamma(1), -kEuler, 1e-12);
  EXPECT_NEAR(digamma(0.5), -kEuler - 2 * std::numbers::ln2, 1e-12);
  EXPECT_NEAR(trigamma(1), std::numbers::pi * std::numbers::pi / 6, 1e-12);
  EXPECT_NEAR(trigamma(0.5), std::numbers::pi * std::numbers::pi / 2, 1e-12);
}

std::vector<Spread> spreads(Random& random, const std::vector<double>& deviations, std::size_t n_trials) {
  std::vector<Spread> out;
  for (const double deviation : deviations) {
    std::vector<double> logs;
    for (std::size_t i = 0; i < n_trials; ++i) logs.push_back(deviation * simulation::normal(random));
    out.push_back(spread_of(logs));
  }
  return out;
}

TEST(Moderation, AlikeArmsLearnFromEachOther) {
  Random random(3);
  double df = 0;
  double least = 1;
  for (int i = 0; i < 200; ++i) {
    const auto before = spreads(random, std::vector<double>(16, 0.01), 5);
    const auto after = moderate(before);
    for (std::size_t arm = 0; arm < after.size(); ++arm) {
      EXPECT_GE(after[arm].variance, before[arm].variance);
      EXPECT_LE(after[arm].df, 64 + 1e-9);
      df += after[arm].df / 3200;
      least = std::min(least, after[arm].variance / 1e-4);
    }
  }
  EXPECT_GT(df, 30);      // alone: 4
  EXPECT_GT(least, 0.1);  // alone the least of 3,200 variances would be 0.02 of the true one
}

TEST(Moderation, ANoisyArmKeepsItsOwnVariance) {
  Random random(4);
  std::vector<double> deviations(15, 0.01);
  deviations.push_back(0.2);
  const auto before = spreads(random, deviations, 5);
  const auto after = moderate(before);
  EXPECT_EQ(after.back().variance, before.back().variance);
  EXPECT_LT(after.back().df, 12);
}

TEST(Moderation, FewArmsAndFlatOnesStayAsTheyAre) {
  Random random(5);
  const auto few = spreads(random, {0.01, 0.01, 0.01}, 5);
  const auto after = moderate(few);
  for (std::size_t i = 0; i < few.size(); ++i) {
    EXPECT_EQ(after[i].variance, few[i].variance);
    EXPECT_EQ(after[i].df, few[i].df);
  }
  auto flat = spreads(random, std::vector<double>(5, 0.0), 4);
  flat.push_back(Spread{});
  const auto still = moderate(flat);
  EXPECT_EQ(still[0].variance, 0);
  EXPECT_EQ(still.back().df, 0);
  EXPECT_EQ(moderate({}).size(), 0U);
}

}  // namespace
}  // namespace capbench::stats
