#include "harness/stats/factorial.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>

#include "harness/stats/simulation.h"

namespace capbench::stats {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

const simulation::Noise kQuiet{.between = 0.002, .within = 0.002, .skewed = false, .block = 0.05};

FactorialAnalysis only(const FactorialData& data) {
  auto found = analyse_factorial(std::vector{data});
  EXPECT_TRUE(found.ok()) << (found.ok() ? "" : to_string(found.error()));
  return found->front();
}

const Effect& named(const std::vector<Effect>& effects, const std::string& name) {
  for (const Effect& effect : effects) {
    if (effect.name == name) return effect;
  }
  ADD_FAILURE() << name;
  return effects.front();
}

// a doubles, b gives half as much again, and both together a tenth more than that.
double speed(std::size_t cell) {
  const bool a = (cell & 1U) != 0;
  const bool b = (cell & 2U) != 0;
  return 100.0 * (a ? 2 : 1) * (b ? 1.5 : 1) * (a && b ? 1.1 : 1);
}

TEST(Factorial, EffectsAreRatiosOnTheLogScale) {
  Random random(1);
  const FactorialData data = simulation::factorial(random, "pp512", {"a", "b", "c"}, speed, kQuiet, 5);
  const FactorialAnalysis found = only(data);
  EXPECT_EQ(found.kind, DesignKind::kFullFactorial);
  ASSERT_EQ(found.main.size(), 3U);
  EXPECT_NEAR(named(found.main, "a").alone->ratio, 2 * std::sqrt(1.1), 0.01);
  EXPECT_NEAR(named(found.main, "b").alone->ratio, 1.5 * std::sqrt(1.1), 0.01);
  EXPECT_NEAR(named(found.main, "c").alone->ratio, 1, 0.005);
  EXPECT_NEAR(named(found.interactions, "a x b").alone->ratio, 1.1, 0.01);
  EXPECT_NEAR(named(found.interactions, "a x c").alone->ratio, 1, 0.01);
  EXPECT_EQ(found.averaged_family, 6U);
  for (const auto* list : {&found.main, &found.interactions, &found.removing, &found.adding, &found.simple}) {
    for (const Effect& effect : *list) {
      EXPECT_TRUE(effect.can_claim);
      EXPECT_LE(*effect.simultaneous->lo, *effect.alone->lo);
      EXPECT_LT(*effect.simultaneous->hi / *effect.simultaneous->lo, 1.06) << effect.name;  // blocks of 5 % are gone
    }
  }
  EXPECT_NEAR(named(found.removing, "a").alone->ratio, 2.2, 0.02);
  EXPECT_NEAR(loss_of(*named(found.removing, "a").alone).value, 1 - 1 / 2.2, 0.005);
  EXPECT_LT(*loss_of(*named(found.removing, "a").alone).lo, 1 - 1 / 2.2);
  EXPECT_EQ(named(found.removing, "a").setting, "b on, c on");
  EXPECT_NEAR(named(found.adding, "a").alone->ratio, 2, 0.02);
  EXPECT_EQ(named(found.adding, "a").setting, "b off, c off");
  EXPECT_EQ(found.simple.size(), 12U);
  EXPECT_EQ(found.simple_family, 12U + 4);  // and four arms against unlocked that differ in more than one factor
}

TEST(Factorial, IntervalsOfMainEffectsHoldTheTruth) {
  Random random(2);
  const int tables = simulation::repetitions(300);
  int alone = 0;
  int together = 0;
  for (int i = 0; i < tables; ++i) {
    const simulation::Noise noise{.between = 0.01, .within = 0.01, .skewed = true, .block = 0.02};
    const FactorialAnalysis found = only(simulation::factorial(
        random, "t", {"a", "b"}, [](std::size_t) { return 100.0; }, noise, 5));
    bool all = true;
    for (const auto* list : {&found.main, &found.interactions}) {
      for (const Effect& effect : *list) {
        alone += *effect.alone->lo <= 1 && 1 <= *effect.alone->hi ? 1 : 0;
        all &= *effect.simultaneous->lo <= 1 && 1 <= *effect.simultaneous->hi;
      }
    }
    together += all ? 1 : 0;
  }
  std::printf("main effects and interactions: alone %.1f %%, together %.1f %% of %d tables\n",
              100.0 * alone / (3.0 * tables), 100.0 * together / tables, tables);
  EXPECT_NEAR(alone / (3.0 * tables), 0.95, 0.03);  // one standard error of 300: 1.3 %
  EXPECT_GT(1.0 * together / tables, 0.95 - 3 * 0.0126);
}

TEST(Factorial, AFractionHasMainEffectsWithTheirAliases) {
  // Half of 2^4, d = abc: two-factor interactions come in pairs.
  Random random(3);
  FactorialData data = simulation::factorial(random, "pp512", {"a", "b", "c", "d"}, speed, kQuiet, 5);
  std::vector<Cell> half;
  for (const Cell& cell : data.cells) {
    if ((cell.levels[0] ^ cell.levels[1] ^ cell.levels[2]) == cell.levels[3]) half.push_back(cell);
  }
  data.cells = half;
  data.aliases = {{"a x b", {"c x d"}}, {"a x c", {"b x d"}}, {"a x d", {"b x c"}}};
  const FactorialAnalysis found = only(data);
  EXPECT_EQ(found.kind, DesignKind::kOther);
  EXPECT_NEAR(named(found.main, "a").alone->ratio, 2 * std::sqrt(1.1), 0.01);
  EXPECT_EQ(named(found.main, "a").problem, "");
  EXPECT_NEAR(named(found.interactions, "a x b").alone->ratio, 1.1, 0.01);
  EXPECT_THAT(named(found.interactions, "a x b").aliases, ElementsAre("c x d"));
  EXPECT_NEAR(named(found.interactions, "c x d").alone->ratio, 1.1, 0.01);  // its alias's effect
  EXPECT_THAT(named(found.interactions, "c x d").aliases, ElementsAre("a x b"));
  EXPECT_TRUE(found.simple.empty());
}

TEST(Factorial, AnEmptyCellLeavesTheMatchedSettings) {
  Random random(4);
  FactorialData data = simulation::factorial(random, "pp512", {"a", "b", "c"}, speed, kQuiet, 5);
  data.cells[0].trials.clear();
  data.cells[0].why_empty = "5 trials failed";
  const FactorialAnalysis found = only(data);
  EXPECT_THAT(found.notes, Contains("empty cell (a off, b off, c off): arm `stock`: 5 trials failed"));
  const Effect& a = named(found.main, "a");
  EXPECT_EQ(a.problem, "over 3 of 4 settings of the other factors: cells are missing");
  EXPECT_NEAR(a.alone->ratio, std::cbrt(2.2 * 2.2 * 2), 0.02);
  EXPECT_TRUE(found.adding.empty());
  EXPECT_EQ(found.removing.size(), 3U);
}

TEST(Factorial, FewTrialsHaveValuesWithoutClaims) {
  Random random(5);
  const FactorialAnalysis one = only(simulation::factorial(random, "pp512", {"a", "b"}, speed, kQuiet, 1));
  EXPECT_EQ(named(one.main, "a").alone->label, "no interval: an arm has 1 trial");
  EXPECT_FALSE(named(one.main, "a").can_claim);
  EXPECT_EQ(named(one.removing, "a").alone->label, "within one process");
  EXPECT_EQ(one.simple_family, 0U);
}

TEST(Factorial, KindsAreToldFromTheCells) {
  const auto kind = [](std::size_t n_factors, const std::vector<std::vector<std::size_t>>& cells) {
    FactorialData data;
    for (std::size_t f = 0; f < n_factors; ++f)
      data.factors.push_back({std::string(1, static_cast<char>('a' + f)), {"0", "1"}});
    for (const auto& levels : cells) data.cells.push_back({"x", levels, {}, ""});
    return to_text(design_kind(data));
  };
  EXPECT_EQ(kind(3, {{0, 0, 0}, {1, 0, 0}, {0, 1, 0}, {0, 0, 1}}), "one at a time");
  EXPECT_EQ(kind(3, {{1, 1, 1}, {1, 1, 0}, {0, 1, 1}, {1, 0, 1}, {0, 0, 0}}), "leave one out");
  EXPECT_EQ(kind(3, {{1, 1, 1}, {1, 1, 0}, {0, 0, 1}, {0, 0, 0}}), "one at a time and leave one out");
  EXPECT_EQ(kind(2, {{0, 0}, {1, 0}, {0, 1}, {1, 1}}), "full factorial");
  EXPECT_EQ(kind(2, {{0, 0}, {1, 0}, {0, 1}}), "one at a time");
  EXPECT_EQ(kind(2, {{1, 1}, {1, 0}, {0, 1}}), "leave one out");
  EXPECT_EQ(kind(2, {{0, 0}, {1, 1}}), "other");
  EXPECT_EQ(kind(4, {{0, 0, 0, 0}, {1, 1, 0, 0}, {1, 1, 1, 1}}), "other");
  EXPECT_EQ(kind(1, {{0}, {1}}), "one at a time and leave one out");
}

TEST(Factorial, FactorsThatChangeTogetherAreNoted) {
  Random random(6);
  FactorialData data = simulation::factorial(random, "pp512", {"a", "b"}, speed, kQuiet, 5);
  data.cells = {data.cells[0], data.cells[3]};
  const FactorialAnalysis found = only(data);
  EXPECT_THAT(found.notes, Contains("`a` and `b` only ever change together"));
  EXPECT_EQ(named(found.main, "a").problem, "no cells tell it from the other factors");
  EXPECT_FALSE(named(found.main, "a").alone.has_value());
}

}  // namespace
}  // namespace capbench::stats
