#include "harness/stats/summary.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace capbench::stats {
namespace {

TEST(Median, OfOddIsTheMiddleAndOfEvenTheMeanOfTheTwoMiddle) {
  EXPECT_EQ(median(std::vector<double>{3, 1, 2}), 2);
  EXPECT_EQ(median(std::vector<double>{4, 1, 2, 10}), 3);
  EXPECT_EQ(median(std::vector<double>{7}), 7);
  EXPECT_TRUE(std::isnan(median({})));
}

TEST(TokensPerSecond, IsOfRatesNotOfTimes) {
  EXPECT_EQ(tokens_per_second(512, 1'000'000'000), 512);
  const std::vector<std::int64_t> ns = {1'000'000'000, 4'000'000'000};
  const std::vector<double> rates = tokens_per_second(100, ns);
  EXPECT_EQ(median(rates), 62.5);  // the median of the times would read 40
}

TEST(TokensPerSecond, OfNoTimeOrNoTokensIsNoNumber) {
  EXPECT_TRUE(std::isnan(tokens_per_second(512, 0)));
  EXPECT_TRUE(std::isnan(tokens_per_second(512, -1)));
  EXPECT_TRUE(std::isnan(tokens_per_second(0, 1)));
}

TEST(Spread, MatchesHandWorkedValues) {
  const std::vector<double> values = {2, 4, 4, 4, 5, 5, 7, 9};
  EXPECT_NEAR(*coefficient_of_variation(values), std::sqrt(32.0 / 7) / 5, 1e-15);
  EXPECT_EQ(median_absolute_deviation(values), 0.5);
  EXPECT_FALSE(coefficient_of_variation(std::vector<double>{1}).has_value());
}

TEST(Summary, HeadlineIsTheMedianOfTrialMediansNotThePooledMedian) {
  const std::vector<Trial> trials = {{0, {1, 2, 3}}, {1, {10, 11, 12}}, {2, {4, 100, 100}}};
  const auto summary = summarize(trials);
  ASSERT_TRUE(summary.ok());
  EXPECT_EQ(summary->median, 11);
  EXPECT_EQ(summary->estimator, "median of trial medians");
  EXPECT_EQ(summary->min, 1);
  EXPECT_EQ(summary->max, 100);
  EXPECT_EQ(summary->n_trials, 3U);
  EXPECT_EQ(summary->n_samples, 9U);
  EXPECT_TRUE(summary->cv_trials.has_value());
}

TEST(Summary, OfOneTrialIsTheMedianOfItsSamples) {
  const auto summary = summarize(std::vector<Trial>{{0, {5, 3}}});
  ASSERT_TRUE(summary.ok());
  EXPECT_EQ(summary->median, 4);
  EXPECT_EQ(summary->estimator, "median of samples");
  EXPECT_FALSE(summary->cv_trials.has_value());
}

TEST(Summary, RefusesWhatIsNoMeasurement) {
  const double infinity = std::numeric_limits<double>::infinity();
  EXPECT_FALSE(summarize({}).ok());
  EXPECT_FALSE(summarize(std::vector<Trial>{{0, {}}}).ok());
  for (const double bad : {0.0, -1.0, infinity, std::nan("")}) {
    const auto summary = summarize(std::vector<Trial>{{0, {1}}, {1, {1, bad}}});
    ASSERT_FALSE(summary.ok()) << bad;
    EXPECT_EQ(summary.error().what, "arm, trial 1");
  }
}

}  // namespace
}  // namespace capbench::stats
