#include "harness/stats/table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>

#include "harness/stats/simulation.h"

namespace capbench::stats {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;

Arm arm(Random& random, const std::string& name, double speed, std::size_t n_trials,
        const simulation::Noise& noise = {}) {
  return {name, simulation::trials(random, speed, noise, n_trials), ""};
}

const ArmRow& row(const Table& table, const std::string& name) {
  for (const ArmRow& one : table.rows) {
    if (one.arm == name) return one;
  }
  ADD_FAILURE() << name;
  return table.rows.front();
}

TEST(Table, HasMediansRatiosAndGaps) {
  Random random(1);
  const std::vector<stats::Test> tests = {
      {"pp512", {arm(random, "bare", 4872, 8), arm(random, "stock", 432, 8), arm(random, "half", 1450, 8)}}};
  const auto table = make_table(tests, {"stock", "bare"});
  ASSERT_TRUE(table.ok());
  ASSERT_EQ(table->rows.size(), 3U);
  EXPECT_EQ(table->comparisons, 4U);  // both against stock, and stock and half against bare metal
  const ArmRow& half = row(*table, "half");
  EXPECT_NEAR(half.against_reference->alone->ratio, 1450.0 / 432, 0.1);
  EXPECT_EQ(half.against_reference->alone->method, "hodges-lehmann");
  EXPECT_EQ(half.against_reference->alone->label, "Hodges-Lehmann, Mann-Whitney, blocks removed");
  EXPECT_THAT(half.against_reference->simultaneous->label, HasSubstr("simultaneous over 4 comparisons"));
  EXPECT_LE(*half.against_reference->simultaneous->lo, *half.against_reference->alone->lo);
  EXPECT_GE(*half.against_reference->simultaneous->hi, *half.against_reference->alone->hi);
  EXPECT_NEAR(half.against_bare_metal->alone->ratio, 1450.0 / 4872, 0.01);
  ASSERT_TRUE(half.gap.has_value());
  EXPECT_NEAR(*half.gap->share, 0.5, 0.01);  // 1450 is halfway on the logarithmic scale
  EXPECT_EQ(half.gap->method, "fieller");
  EXPECT_LT(*half.gap->lo, 0.5);
  EXPECT_GT(*half.gap->hi, 0.5);
  EXPECT_FALSE(row(*table, "stock").against_reference.has_value());
  EXPECT_FALSE(row(*table, "bare").gap.has_value());
  EXPECT_NEAR(row(*table, "stock").against_bare_metal->alone->ratio, 432.0 / 4872, 0.01);
}

TEST(Table, TheNumberOfTrialsDecidesTheMethod) {
  Random random(2);
  const auto methods = [&](std::size_t n_trials) {
    const std::vector<stats::Test> tests = {
        {"t", {arm(random, "a", 100, n_trials), arm(random, "b", 90, n_trials), arm(random, "c", 100, n_trials)}}};
    const auto found = compare(tests, std::vector<Comparison>{{0, 0, 1}});
    EXPECT_TRUE(found.ok());
    const Compared& one = found->front();
    return one.alone->label + (one.can_claim ? " | " + one.simultaneous->method : " | no claim");
  };
  EXPECT_EQ(methods(1), "within one process | no claim");
  EXPECT_EQ(methods(2), "min-max of 2 trials | no claim");
  EXPECT_EQ(methods(3), "Welch t on log trial medians, blocks removed, weak: 3 trials | welch-t");
  EXPECT_EQ(methods(6), "Welch t on log trial medians, blocks removed, weak: 6 trials | welch-t");
  EXPECT_EQ(methods(7), "Hodges-Lehmann, Mann-Whitney, blocks removed | hodges-lehmann");
}

TEST(Table, LargeTablesUseRanksOnlyWhereTheyAreRobust) {
  Random random(3);
  const auto method = [&](std::size_t n_trials) {
    std::vector<stats::Test> tests(1);
    std::vector<Comparison> comparisons;
    for (std::size_t i = 0; i < 44; ++i) {
      tests[0].arms.push_back(arm(random, std::to_string(i), 100, n_trials));
      if (i > 0) comparisons.push_back({0, i, 0});
    }
    return compare(tests, comparisons)->front().simultaneous->method;
  };
  EXPECT_EQ(method(5), "moderated-t");
  EXPECT_EQ(method(8), "moderated-t");
  EXPECT_EQ(method(12), "hodges-lehmann");
}

TEST(Table, FifteenArmsOfFiveTrialsShowAnEffectOfFivePercent) {
  // No test that cannot reject: ranks of 5 against 5 have p of 0.008 at best, times 15.
  Random random(4);
  std::vector<stats::Test> tests(1);
  std::vector<Comparison> comparisons;
  for (std::size_t i = 0; i < 16; ++i) {
    tests[0].arms.push_back(arm(random, std::to_string(i), i == 15 ? 95 : 100, 5));
    if (i > 0) comparisons.push_back({0, i, 0});
  }
  const auto found = compare(tests, comparisons);
  EXPECT_LT(*found->back().simultaneous->hi, 1);
  EXPECT_GT(*found->front().simultaneous->hi, 1);
}

TEST(Table, BlocksThatMoveAllArmsDoNotWidenIntervals) {
  const auto width = [](double block) {
    Random random(5);
    const simulation::Noise noise{.between = 0.005, .within = 0.005, .skewed = false, .block = block};
    const auto blocks = simulation::block_effects(random, noise, 8);
    std::vector<stats::Test> tests(1);
    for (const double speed : {100.0, 700.0, 90.0, 20.0}) {
      tests[0].arms.push_back({"x", simulation::trials(random, speed, noise, blocks), ""});
    }
    const auto found = compare(tests, std::vector<Comparison>{{0, 1, 0}});
    return *found->front().alone->hi / *found->front().alone->lo - 1;
  };
  EXPECT_NEAR(width(0.10), width(0), 0.02 * width(0));
  // A missing trial leaves the others' blocks known.
  Random random(6);
  const simulation::Noise noise{.between = 0.001, .within = 0.001, .skewed = false, .block = 0.2};
  const auto blocks = simulation::block_effects(random, noise, 8);
  std::vector<stats::Test> tests(1);
  for (const double speed : {100.0, 700.0, 90.0, 20.0}) {
    tests[0].arms.push_back({"x", simulation::trials(random, speed, noise, blocks), ""});
  }
  tests[0].arms[0].trials.erase(tests[0].arms[0].trials.begin());
  const auto found = compare(tests, std::vector<Comparison>{{0, 1, 0}});
  EXPECT_NEAR(*found->front().alone->shift, 7, 0.03);
}

TEST(Table, BadArmsAreNamedAndKeepTheirRows) {
  Random random(7);
  std::vector<stats::Test> tests = {
      {"pp512",
       {arm(random, "stock", 100, 5), arm(random, "zero", 100, 5), arm(random, "negative", 100, 5),
        arm(random, "nan", 100, 5), arm(random, "infinite", 100, 5), arm(random, "one", 100, 1),
        Arm{"failed", {}, "5 trials failed"}, Arm{"empty", {}, ""}, Arm{"hollow", {{0, {}}}, ""},
        arm(random, "good", 120, 5)}},
      {"tg128", {arm(random, "good", 10, 5)}}};
  tests[0].arms[1].trials[3].samples[2] = 0;
  tests[0].arms[2].trials[3].samples[2] = -1;
  tests[0].arms[3].trials[3].samples[2] = std::numeric_limits<double>::quiet_NaN();
  tests[0].arms[4].trials[3].samples[2] = std::numeric_limits<double>::infinity();
  const auto table = make_table(tests, {"stock", ""}, {.resample = true});
  ASSERT_TRUE(table.ok());
  ASSERT_EQ(table->rows.size(), 11U);
  for (const char* name : {"zero", "negative", "nan", "infinite"}) {
    EXPECT_THAT(row(*table, name).problem,
                HasSubstr(std::string("arm `") + name + "`, trial 3: a sample is not a positive"));
    EXPECT_EQ(row(*table, name).against_reference->problem, row(*table, name).problem);
    EXPECT_FALSE(row(*table, name).against_reference->alone.has_value());
  }
  EXPECT_EQ(row(*table, "failed").problem, "arm `failed`: 5 trials failed");
  EXPECT_EQ(row(*table, "empty").problem, "arm `empty`: it has no trials");
  EXPECT_THAT(row(*table, "hollow").problem, HasSubstr("trial 0: it has no samples"));
  EXPECT_EQ(row(*table, "one").problem, "");
  EXPECT_FALSE(row(*table, "one").against_reference->can_claim);
  EXPECT_TRUE(row(*table, "good").against_reference->can_claim);
  EXPECT_EQ(table->comparisons, 1U);
  EXPECT_THAT(table->notes, Contains("test `tg128`: no arm `stock`"));
}

TEST(Table, AnySamplesThatPassTheCheckGiveFiniteNumbers) {
  std::vector<stats::Test> tests(1);
  for (const double speed : {1e-100, 1e100, 1.0, 5e-324, 1.7e308}) {
    Arm one{std::to_string(tests[0].arms.size()), {}, ""};
    for (std::int64_t block = 0; block < 8; ++block) one.trials.push_back({block, {speed, speed, speed, speed}});
    tests[0].arms.push_back(one);
  }
  const auto table = make_table(tests, {tests[0].arms[0].name, tests[0].arms[1].name}, {.resample = true});
  ASSERT_TRUE(table.ok());
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(table->rows[i].problem, "");
    if (!table->rows[i].against_reference) continue;
    EXPECT_TRUE(std::isfinite(*table->rows[i].against_reference->simultaneous->lo));
    EXPECT_TRUE(std::isfinite(*table->rows[i].against_reference->simultaneous->hi));
  }
  EXPECT_THAT(table->rows[3].problem, HasSubstr("a sample is not a positive"));
  EXPECT_THAT(table->rows[4].problem, HasSubstr("a sample is not a positive"));
}

TEST(Table, RefusesBadOptionsAndIndices) {
  EXPECT_FALSE(make_table({}, {}, {.confidence = 0.999}).ok());
  EXPECT_FALSE(make_table({}, {}, {.bootstrap_rounds = 1}).ok());
  EXPECT_FALSE(make_table({}, {}, {.threads = 0}).ok());
  EXPECT_EQ(make_table({}, {})->rows.size(), 0U);
  Random random(8);
  const std::vector<stats::Test> tests = {{"t", {arm(random, "a", 1, 3), arm(random, "b", 1, 3)}}};
  EXPECT_FALSE(compare(tests, std::vector<Comparison>{{1, 0, 1}}).ok());
  EXPECT_FALSE(compare(tests, std::vector<Comparison>{{0, 2, 1}}).ok());
  EXPECT_FALSE(compare(tests, std::vector<Comparison>{{0, 0, 0}}).ok());
}

TEST(Gap, NeedsAGap) {
  Random random(9);
  const auto a = simulation::trials(random, 100, {}, 5);
  const auto same = simulation::trials(random, 100, {}, 5);
  const auto none = gap_closed(a, a, same);
  ASSERT_TRUE(none.ok());
  EXPECT_EQ(none->label, "no interval: bare metal is not shown to differ from stock");
  EXPECT_FALSE(none->lo.has_value());
  EXPECT_EQ(gap_closed(a, a, a)->label, "no interval: bare metal and stock have the same median");
  EXPECT_FALSE(gap_closed(a, a, a)->share.has_value());
  EXPECT_FALSE(gap_closed({}, a, a).ok());
}

TEST(Gap, OfFewTrialsIsLabelled) {
  Random random(10);
  const auto stock = simulation::trials(random, 100, {}, 5);
  const auto half = simulation::trials(random, 200, {}, 5);
  const auto bare = simulation::trials(random, 400, {}, 5);
  const auto of = [&](std::size_t n) {
    return gap_closed(std::span(half).first(n), std::span(stock).first(n), std::span(bare).first(n)).value();
  };
  EXPECT_EQ(of(1).label, "within one process");
  EXPECT_EQ(of(2).label, "min-max of 2 trials");
  EXPECT_EQ(of(5).label, "Fieller on log trial medians, blocks removed, weak: 5 trials");
  for (const std::size_t n : {1U, 2U, 5U}) {
    EXPECT_NEAR(*of(n).share, 0.5, 0.03);
    EXPECT_LE(*of(n).lo, *of(n).share);
    EXPECT_GE(*of(n).hi, *of(n).share);
  }
  EXPECT_EQ(gap_closed(std::vector<Trial>{{0, {2}}}, std::vector<Trial>{{0, {1}}}, std::vector<Trial>{{0, {4}}})->label,
            "no interval: single samples");
}

TEST(GeometricMean, IsOfRatiosWhateverTheirCorrelation) {
  Random random(11);
  const auto pair = [&](double ratio, std::size_t n) {
    return RatioPair{"m", simulation::trials(random, 100 * ratio, {}, n), simulation::trials(random, 100, {}, n)};
  };
  const auto mean = geometric_mean(std::vector{pair(2, 5), pair(8, 5)});
  ASSERT_TRUE(mean.ok());
  EXPECT_NEAR(mean->ratio, 4, 0.1);
  EXPECT_EQ(mean->estimator, "geometric mean of 2 ratios of medians of trial medians");
  EXPECT_LT(*mean->lo, 4.05);
  EXPECT_GT(*mean->hi, 3.95);
  const auto single = geometric_mean(std::vector{pair(2, 5), pair(8, 1)});
  EXPECT_EQ(single->label, "no interval: an arm has 1 trial");
  EXPECT_FALSE(geometric_mean({}).ok());
  EXPECT_THAT(geometric_mean(std::vector{RatioPair{"pp512", {}, {}}}).error().what, HasSubstr("`pp512`, numerator"));
}

TEST(Table, IsTheSameWhateverTheThreadsAndToTheLastByte) {
  Random random(12);
  std::vector<stats::Test> tests;
  for (const char* name : {"pp512", "tg128"}) {
    tests.push_back({name, {}});
    for (int i = 0; i < 6; ++i) {
      const auto n_trials = static_cast<std::size_t>(3 + 2 * i);
      tests.back().arms.push_back(arm(random, i == 0 ? "stock" : std::to_string(i), 100 + i, n_trials));
    }
  }
  const auto digest = [&](unsigned threads, std::uint64_t seed) {
    const auto table = make_table(tests, {"stock", "5"}, {.seed = seed, .threads = threads, .resample = true}).value();
    std::uint64_t hash = 0xCBF29CE484222325U;
    const auto add = [&](const std::optional<double>& value) {
      hash = (hash ^ std::bit_cast<std::uint64_t>(value.value_or(0))) * 0x100000001B3U;
    };
    const auto add_interval = [&](const std::optional<RatioInterval>& interval) {
      if (!interval) return;
      for (const auto& value : {interval->lo, interval->hi, interval->shift}) add(value);
      add(interval->ratio);
    };
    for (const ArmRow& one : table.rows) {
      add(one.median->lo);
      add(one.median->hi);
      if (one.gap) {
        add(one.gap->lo);
        add(one.gap->hi);
      }
      for (const auto& compared : {one.against_reference, one.against_bare_metal}) {
        if (!compared) continue;
        add_interval(compared->alone);
        add_interval(compared->simultaneous);
        add_interval(compared->resampled);
      }
    }
    return hash;
  };
  const std::uint64_t one = digest(1, 1);
  EXPECT_EQ(digest(2, 1), one);
  EXPECT_EQ(digest(7, 1), one);
  EXPECT_NE(digest(1, 2), one);
  // On every platform.
  EXPECT_EQ(one, 7489327520528363319U);
}

}  // namespace
}  // namespace capbench::stats
