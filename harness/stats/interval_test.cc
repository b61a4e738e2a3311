#include "harness/stats/interval.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "harness/stats/hodges_lehmann.h"
#include "harness/stats/random.h"

namespace capbench::stats {
namespace {

// Trials of one sample each, so that a trial's median is the value.
std::vector<Trial> trials_of(const std::vector<double>& medians) {
  std::vector<Trial> trials;
  trials.reserve(medians.size());
  for (const double value : medians) trials.push_back({static_cast<std::int64_t>(trials.size()), {value}});
  return trials;
}

TEST(RatioInterval, OfOneProcessEachIsABootstrapOverSamples) {
  const std::vector<Trial> a = {{0, {100, 102, 104, 106, 108}}};
  const std::vector<Trial> b = {{0, {50, 51, 52, 53, 54}}};
  const auto interval = ratio_interval(a, b);
  ASSERT_TRUE(interval.ok());
  EXPECT_EQ(interval->ratio, 2);
  EXPECT_EQ(interval->label, "within one process");
  EXPECT_EQ(interval->method, "bootstrap");
  EXPECT_EQ(interval->estimator, "ratio of medians of samples");
  EXPECT_GT(*interval->lo, 100.0 / 54 - 1e-9);
  EXPECT_LT(*interval->lo, 2);
  EXPECT_GT(*interval->hi, 2);
  EXPECT_LT(*interval->hi, 108.0 / 50 + 1e-9);
  const auto again = ratio_interval(a, b);
  EXPECT_EQ(*again->lo, *interval->lo);
  EXPECT_EQ(*again->hi, *interval->hi);
}

TEST(RatioInterval, OfSingleSamplesIsNone) {
  const auto interval = ratio_interval(trials_of({10}), trials_of({5}));
  ASSERT_TRUE(interval.ok());
  EXPECT_EQ(interval->ratio, 2);
  EXPECT_FALSE(interval->lo.has_value());
  EXPECT_FALSE(interval->hi.has_value());
  EXPECT_EQ(interval->method, "none");
}

TEST(RatioInterval, OfTwoTrialsIsTheRangeOfRatios) {
  const auto interval = ratio_interval(trials_of({10, 12}), trials_of({4, 5}));
  ASSERT_TRUE(interval.ok());
  EXPECT_EQ(*interval->lo, 2);
  EXPECT_EQ(*interval->hi, 3);
  EXPECT_EQ(interval->label, "min-max of 2 trials");
}

TEST(RatioInterval, OfFiveTrialsIsWelchsT) {
  // Logs 1..5 against 0, 0, 0, 0, 0: mean 3, variance of the mean 2.5/5, 4 degrees of freedom since the other side is
  // still.
  std::vector<double> medians;
  for (int i = 1; i <= 5; ++i) medians.push_back(std::exp(i));
  const auto interval = ratio_interval(trials_of(medians), trials_of({1, 1, 1, 1, 1}));
  ASSERT_TRUE(interval.ok());
  const double half = 2.7764451052 * std::sqrt(0.5);
  EXPECT_NEAR(std::log(*interval->lo), 3 - half, 1e-9);
  EXPECT_NEAR(std::log(*interval->hi), 3 + half, 1e-9);
  EXPECT_NEAR(*interval->shift, std::exp(3.0), 1e-9);
  EXPECT_EQ(interval->label, "Welch t on log trial medians, weak: 5 trials");
  EXPECT_FALSE(interval->widened);
}

TEST(RatioInterval, WelchsDegreesOfFreedomWithUnequalArms) {
  // Variances of the means: 1/3 for 0, 1, 2 and 1/6 for 0, 1, 1, 2.
  const auto exponentials = [](std::initializer_list<double> logs) {
    std::vector<double> values;
    for (const double value : logs) values.push_back(std::exp(value));
    return trials_of(values);
  };
  const auto interval = ratio_interval(exponentials({0, 1, 2}), exponentials({0, 1, 1, 2}));
  ASSERT_TRUE(interval.ok());
  EXPECT_EQ(interval->label, "Welch t on log trial medians, weak: 3 trials");
  // df = (1/2)^2 / ((1/9)/2 + (1/36)/3) = 3.857, so between the quantiles of the printed table.
  const double half = std::log(*interval->hi);
  EXPECT_NEAR(half, -std::log(*interval->lo), 1e-12);
  EXPECT_GT(half, 2.7764 * std::sqrt(0.5));  // 4 degrees of freedom
  EXPECT_LT(half, 3.1825 * std::sqrt(0.5));  // 3 degrees of freedom
}

TEST(RatioInterval, OfSevenOrMoreTrialsInvertsMannWhitney) {
  const std::vector<double> a = {200, 201, 204, 209, 216, 225, 236, 249};
  const std::vector<double> b = {100, 103, 106, 109, 112, 115, 118};
  const auto interval = ratio_interval(trials_of(a), trials_of(b));
  ASSERT_TRUE(interval.ok());
  std::vector<double> ratios;
  for (const double x : a) {
    for (const double y : b) ratios.push_back(std::log(x) - std::log(y));
  }
  std::sort(ratios.begin(), ratios.end());
  EXPECT_NEAR(*interval->lo, std::exp(ratios[10]), 1e-12);  // critical U of 7 and 8 is 10
  EXPECT_NEAR(*interval->hi, std::exp(ratios[56 - 11]), 1e-12);
  EXPECT_NEAR(*interval->shift, std::exp((ratios[27] + ratios[28]) / 2), 1e-12);
  EXPECT_EQ(interval->label, "Hodges-Lehmann, Mann-Whitney");
  EXPECT_EQ(interval->n_trials_a, 8U);
  EXPECT_EQ(interval->n_trials_b, 7U);
}

TEST(RatioInterval, TheArmWithFewerTrialsDecides) {
  const std::vector<double> many = {10, 11, 12, 13, 14, 15, 16, 17};
  EXPECT_EQ(ratio_interval(trials_of(many), trials_of({5, 6}))->method, "min-max");
  EXPECT_EQ(ratio_interval(trials_of({5, 6, 7}), trials_of(many))->method, "welch-t");
  const auto one = ratio_interval(trials_of({5}), trials_of(many));
  EXPECT_EQ(one->method, "bootstrap");
  EXPECT_EQ(one->estimator, "ratio of medians of trial medians");
  EXPECT_LT(*one->lo, one->ratio);
}

TEST(RatioInterval, IsWidenedToHoldTheRatioOfMedians) {
  // One arm's median sits far from its mean log: 3 trials, two of them equal.
  const auto interval = ratio_interval(trials_of({1, 1, 1, 1, 1, 1.2}), trials_of({1, 1, 1, 1, 1, 1}));
  ASSERT_TRUE(interval.ok());
  EXPECT_LE(*interval->lo, interval->ratio);
  const auto far = ratio_interval(trials_of({1, 1.0001, 1.2, 1.2, 1.2001, 1.2002}), trials_of({1, 1, 1, 1, 1, 1}),
                                  {.confidence = 0.5, .bootstrap_rounds = 1000, .seed = 1});
  ASSERT_TRUE(far.ok());
  EXPECT_TRUE(far->widened);
  EXPECT_EQ(*far->hi, far->ratio);
}

TEST(RatioInterval, OfIdenticalTrialsIsAPointAndNotWidened) {
  for (const std::size_t n : {2U, 5U, 8U}) {
    const auto interval = ratio_interval(trials_of(std::vector<double>(n, 30)), trials_of(std::vector<double>(n, 7)));
    ASSERT_TRUE(interval.ok());
    EXPECT_NEAR(*interval->lo, 30.0 / 7, 1e-12);
    EXPECT_NEAR(*interval->hi, 30.0 / 7, 1e-12);
    EXPECT_FALSE(interval->widened);
  }
}

TEST(RatioInterval, SwappingTheArmsInvertsIt) {
  Random random(4);
  for (const std::size_t n : {2U, 4U, 9U}) {
    std::vector<double> a;
    std::vector<double> b;
    for (std::size_t i = 0; i < n; ++i) {
      a.push_back(100 + random.unit());
      b.push_back(50 + random.unit());
    }
    const auto forward = ratio_interval(trials_of(a), trials_of(b));
    const auto backward = ratio_interval(trials_of(b), trials_of(a));
    EXPECT_NEAR(*forward->lo * *backward->hi, 1, 1e-12) << n;
    EXPECT_NEAR(*forward->hi * *backward->lo, 1, 1e-12) << n;
  }
}

TEST(RatioInterval, RefusesBadInput) {
  const std::vector<Trial> good = trials_of({1, 2});
  EXPECT_FALSE(ratio_interval({}, good).ok());
  EXPECT_FALSE(ratio_interval(good, {}).ok());
  EXPECT_FALSE(ratio_interval(good, trials_of({1, std::numeric_limits<double>::infinity()})).ok());
  EXPECT_FALSE(ratio_interval(good, good, {.confidence = 1, .bootstrap_rounds = 1000, .seed = 1}).ok());
  EXPECT_FALSE(ratio_interval(good, good, {.confidence = 0.95, .bootstrap_rounds = 1, .seed = 1}).ok());
  EXPECT_EQ(ratio_interval(good, {}).error().what, "denominator");
}

TEST(MedianInterval, FollowsTheSameRules) {
  EXPECT_EQ(median_interval(trials_of({10}))->method, "none");
  EXPECT_EQ(median_interval(std::vector<Trial>{{0, {10, 11, 12}}})->method, "bootstrap");
  const auto two = median_interval(trials_of({12, 10}));
  EXPECT_EQ(*two->lo, 10);
  EXPECT_EQ(*two->hi, 12);
  EXPECT_EQ(two->median, 11);
  const auto three = median_interval(trials_of({std::exp(1.0), std::exp(2.0), std::exp(3.0)}));
  EXPECT_EQ(three->label, "t on log trial medians, weak: 3 trials");
  EXPECT_NEAR(std::log(*three->hi), 2 + 4.3026527 / std::sqrt(3.0), 1e-6);
  const auto nine = median_interval(trials_of({1, 2, 3, 4, 5, 6, 7, 8, 9}));
  EXPECT_EQ(*nine->lo, 2);
  EXPECT_EQ(*nine->hi, 8);
  EXPECT_EQ(nine->method, "order-statistics");
}

TEST(HodgesLehmann, SelectsLikeSortingAllDifferences) {
  Random random(9);
  for (int round = 0; round < 50; ++round) {
    std::vector<double> a;
    std::vector<double> b;
    const std::size_t m = 1 + random.below(9);
    const std::size_t n = 1 + random.below(9);
    // Few distinct values, so that ties and zeros occur.
    for (std::size_t i = 0; i < m; ++i) a.push_back(static_cast<double>(random.below(7)) - 3);
    for (std::size_t i = 0; i < n; ++i) b.push_back(static_cast<double>(random.below(7)) - 3);
    std::sort(a.begin(), a.end());
    std::sort(b.begin(), b.end());
    std::vector<double> differences;
    for (const double x : a) {
      for (const double y : b) differences.push_back(x - y);
    }
    std::sort(differences.begin(), differences.end());
    for (std::size_t k = 1; k <= differences.size(); ++k) {
      ASSERT_EQ(kth_difference(a, b, k), differences[k - 1]);
    }
    ASSERT_EQ(hodges_lehmann_shift(a, b), median(differences));
  }
}

}  // namespace
}  // namespace capbench::stats
