#include "harness/design/until.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "harness/stats/distribution.h"
#include "harness/stats/random.h"

namespace capbench::design {
namespace {

suite::Protocol protocol(std::int64_t trials, double half_width, std::int64_t max_trials) {
  suite::Protocol result;
  result.trials = trials;
  result.until = suite::Until{half_width, max_trials};
  return result;
}

TEST(StoppingRule, LooksFirstAfterEightBlocksAndTakesWiderIntervalsForFewComparisons) {
  const StoppingRule few = stopping_rule(protocol(5, 0.02, 30), 1);
  EXPECT_EQ(few.half_width, 0.02);
  EXPECT_EQ(few.first_look, 8);
  EXPECT_EQ(few.cap, 30);
  EXPECT_EQ(few.confidence, 0.97);
  EXPECT_EQ(stopping_rule(protocol(5, 0.02, 30), 3).confidence, 0.97);
  EXPECT_EQ(stopping_rule(protocol(5, 0.02, 30), 4).confidence, 0.95);
  EXPECT_EQ(stopping_rule(protocol(12, 0.02, 30), 4).first_look, 12);
  EXPECT_EQ(stopping_rule(protocol(8, 0.02, 8), 4).cap, 8);
  EXPECT_EQ(rule_text(few),
            "blocks are added until the 97 % interval of every comparison of the table is within 2 % of its middle, "
            "looked at after 8 blocks and after each further one, at most 30 blocks; not stopped for significance");
}

TEST(HalfWidth, IsOfTheLogarithm) {
  EXPECT_NEAR(*relative_half_width({"", 0.5, 2.0}), 1.0, 1e-12);
  EXPECT_NEAR(*relative_half_width({"", 10.0, 10.0 * 1.01 * 1.01}), 0.01, 1e-12);
  EXPECT_EQ(*relative_half_width({"", 3.0, 3.0}), 0);
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const double infinity = std::numeric_limits<double>::infinity();
  for (const Width& bad : {Width{"", std::nullopt, 1.0}, Width{"", 1.0, std::nullopt}, Width{"", 0.0, 1.0},
                           Width{"", -1.0, 1.0}, Width{"", nan, 1.0}, Width{"", 1.0, infinity}, Width{"", 2.0, 1.0}}) {
    EXPECT_FALSE(relative_half_width(bad).has_value());
  }
}

TEST(Decide, StopsOnlyWhenEveryComparisonIsNarrow) {
  const StoppingRule rule = stopping_rule(protocol(5, 0.01, 20), 4);
  const std::vector<Width> narrow(4, {"a", 0.995, 1.005});
  std::vector<Width> one_wide = narrow;
  one_wide[2] = {"unlocked - coopmat2, pp512", 0.97, 1.03};
  EXPECT_EQ(decide(rule, 7, narrow).next, Next::kGoOn);
  EXPECT_EQ(decide(rule, 8, narrow).next, Next::kStopNarrow);
  EXPECT_EQ(decide(rule, 8, narrow).text, "8 blocks: all 4 comparisons within 1 %; done");
  const Decision wide = decide(rule, 8, one_wide);
  EXPECT_EQ(wide.next, Next::kGoOn);
  EXPECT_EQ(wide.wide, 1U);
  EXPECT_EQ(wide.text,
            "8 blocks: 1 of 4 comparisons wider than 1 %, the widest unlocked - coopmat2, pp512 (3.05 %); going on");
  EXPECT_EQ(decide(rule, 20, one_wide).next, Next::kStopCap);
  EXPECT_EQ(decide(rule, 25, one_wide).next, Next::kStopCap);
  EXPECT_EQ(decide(rule, 20, narrow).next, Next::kStopNarrow);
}

TEST(Decide, WithoutAnIntervalGoesOnToTheCap) {
  const StoppingRule rule = stopping_rule(protocol(5, 0.01, 20), 4);
  std::vector<Width> missing(4, {"a", 0.999, 1.001});
  missing[0] = {"wide", 0.5, 2.0};
  missing[3] = {"b", std::nullopt, std::nullopt};
  const Decision decision = decide(rule, 8, missing);
  EXPECT_EQ(decision.next, Next::kGoOn);
  EXPECT_EQ(decision.widest, "b");
  EXPECT_NE(decision.text.find("no interval"), std::string::npos);
  EXPECT_EQ(decide(rule, 8, {}).next, Next::kGoOn);
  EXPECT_EQ(decide(rule, 20, {}).next, Next::kStopCap);
  EXPECT_EQ(decide(rule, 20, {}).text, "20 blocks: no comparison yet; stopped at the cap of 20");
}

// What looking does to coverage: noise between trials of 1 %, arms that do not differ, the Hodges-Lehmann interval by
// Mann-Whitney inversion.
struct Simulated {
  double coverage = 0;
  double blocks = 0;  // mean
};

// Box and Muller.
double normal(stats::Random& random) {
  const double radius = std::sqrt(-2 * std::log(1 - random.unit()));
  return radius * std::cos(6.283185307179586 * random.unit());
}

Width hodges_lehmann(const std::vector<double>& a, const std::vector<double>& b, std::uint64_t rank) {
  std::vector<double> shifts;
  for (const double x : a) {
    for (const double y : b) shifts.push_back(x - y);
  }
  if (rank == 0) return {};
  const auto k = static_cast<std::ptrdiff_t>(rank) - 1;
  std::nth_element(shifts.begin(), shifts.begin() + k, shifts.end());
  const double lo = shifts[static_cast<std::size_t>(k)];
  std::nth_element(shifts.begin(), shifts.end() - 1 - k, shifts.end());
  const double hi = *(shifts.end() - 1 - k);
  return {"", std::exp(lo), std::exp(hi)};
}

Simulated simulate(const StoppingRule& rule, std::size_t arms, int tables, std::uint64_t seed) {
  stats::Random random(seed);
  std::vector<std::uint64_t> ranks;  // by number of blocks
  for (std::size_t n = 0; n <= static_cast<std::size_t>(rule.cap); ++n) {
    ranks.push_back(n == 0 ? 0 : stats::mann_whitney_rank(n, n, (1 - rule.confidence) / 2));
  }
  Simulated result;
  std::size_t intervals = 0;
  std::size_t covering = 0;
  for (int table = 0; table < tables; ++table) {
    std::vector<std::vector<double>> logs(arms + 1);  // the last is the reference
    std::vector<Width> widths;
    std::int64_t blocks = 0;
    do {
      ++blocks;
      for (auto& arm : logs) arm.push_back(0.01 * normal(random));
      if (blocks < rule.first_look) continue;
      widths.clear();
      for (std::size_t i = 0; i < arms; ++i) {
        widths.push_back(hodges_lehmann(logs[i], logs[arms], ranks[static_cast<std::size_t>(blocks)]));
      }
    } while (decide(rule, blocks, widths).next == Next::kGoOn);
    result.blocks += static_cast<double>(blocks) / tables;
    for (const Width& width : widths) {
      ++intervals;
      if (*width.lo <= 1 && 1 <= *width.hi) ++covering;
    }
  }
  result.coverage = static_cast<double>(covering) / static_cast<double>(intervals);
  return result;
}

TEST(Coverage, StaysAtNinetyFivePercentWhateverTheTable) {
  for (const std::size_t arms : {1U, 3U, 6U}) {
    const Simulated simulated = simulate(stopping_rule(protocol(5, 0.01, 20), arms), arms, 1200, 11 + arms);
    EXPECT_GE(simulated.coverage, 0.94) << arms << " comparisons, " << simulated.blocks << " blocks";
    // It is adaptive: neither always the first look nor always the cap.
    EXPECT_GT(simulated.blocks, 8.2) << arms;
    EXPECT_LT(simulated.blocks, 19.8) << arms;
  }
}

// The reason for the rule: stopping each pair by itself from an early look on loses coverage.
TEST(Coverage, IsLostByAnEarlyLookAtOnePair) {
  StoppingRule naive = stopping_rule(protocol(5, 0.01, 20), 1);
  naive.first_look = 5;
  naive.confidence = 0.95;
  const double lost = simulate(naive, 1, 4000, 3).coverage;
  const double kept = simulate(stopping_rule(protocol(5, 0.01, 20), 1), 1, 4000, 3).coverage;
  EXPECT_LT(lost, kept - 0.01);
}

}  // namespace
}  // namespace capbench::design
