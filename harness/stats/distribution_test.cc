#include "harness/stats/distribution.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

namespace capbench::stats {
namespace {

TEST(StudentT, QuantilesMatchThePrintedTable) {
  struct Row {
    double df, p, t;
  };
  // Any printed table of t; the first three rows also have closed forms.
  const std::vector<Row> rows = {{1, 0.975, 12.7062},  {2, 0.975, 4.30265},  {2, 0.95, 2.91999},   {4, 0.975, 2.77645},
                                 {5, 0.995, 4.03214},  {8, 0.975, 2.30600},  {10, 0.975, 2.22814}, {10, 0.90, 1.37218},
                                 {30, 0.975, 2.04227}, {120, 0.975, 1.97993}};
  for (const Row& row : rows) EXPECT_NEAR(student_t_quantile(row.p, row.df), row.t, 6e-6 * row.t) << row.df;
  EXPECT_NEAR(student_t_quantile(0.975, 1), std::tan(0.475 * std::acos(-1.0)), 1e-9);
}

TEST(StudentT, DistributionAndQuantileAreInverse) {
  for (const double df : {1.0, 2.5, 4.37, 9.0, 200.0}) {
    for (const double p : {0.001, 0.025, 0.3, 0.5, 0.8, 0.99}) {
      EXPECT_NEAR(student_t_cdf(student_t_quantile(p, df), df), p, 1e-12) << df << " " << p;
    }
  }
}

TEST(IncompleteBeta, MatchesClosedForms) {
  for (const double x : {0.01, 0.3, 0.5, 0.9}) {
    EXPECT_NEAR(incomplete_beta(1, 1, x), x, 1e-13);
    EXPECT_NEAR(incomplete_beta(2, 3, x), x * x * (6 - 8 * x + 3 * x * x), 1e-13);
    EXPECT_NEAR(incomplete_beta(0.5, 0.5, x), 2 / std::acos(-1.0) * std::asin(std::sqrt(x)), 1e-13);
  }
}

TEST(Normal, QuantilesMatchThePrintedTable) {
  EXPECT_NEAR(normal_quantile(0.975), 1.959963985, 1e-9);
  EXPECT_NEAR(normal_quantile(0.01), -2.326347874, 1e-9);
}

// Critical values of U for a two-sided 5 % test, from the printed table: reject when U is at most this.
TEST(MannWhitney, RanksMatchThePrintedTable) {
  struct Row {
    std::size_t m, n;
    std::uint64_t critical;
  };
  const std::vector<Row> rows = {{4, 4, 0},  {5, 5, 2},   {7, 7, 8},    {7, 8, 10},
                                 {8, 8, 13}, {8, 10, 17}, {10, 10, 23}, {20, 20, 127}};
  for (const Row& row : rows) {
    EXPECT_EQ(mann_whitney_rank(row.m, row.n, 0.025), row.critical + 1) << row.m << " " << row.n;
    EXPECT_EQ(mann_whitney_rank(row.n, row.m, 0.025), row.critical + 1);
  }
  EXPECT_EQ(mann_whitney_rank(3, 3, 0.025), 0U);
}

TEST(MannWhitney, AgreesWithCountingEveryArrangement) {
  // 4 and 3 values: all 35 ways to give 7 ranks to the two sides.
  std::vector<int> counts(13);
  for (unsigned mask = 0; mask < 128; ++mask) {
    std::size_t u = 0;
    std::size_t first = 0;
    std::size_t second = 0;
    for (unsigned bit = 0; bit < 7; ++bit) {
      if ((mask >> bit & 1U) != 0) {
        ++first;
        u += second;
      } else {
        ++second;
      }
    }
    if (first == 4) ++counts[u];
  }
  for (const double tail : {0.02, 0.03, 0.06, 0.2, 0.45}) {
    double below = 0;
    std::uint64_t rank = 0;
    while (below + counts[static_cast<std::size_t>(rank)] / 35.0 <= tail) {
      below += counts[static_cast<std::size_t>(rank++)] / 35.0;
    }
    EXPECT_EQ(mann_whitney_rank(4, 3, tail), rank) << tail;
  }
}

TEST(MannWhitney, TheApproximationMeetsTheExactDistribution) {
  const auto exact = static_cast<double>(mann_whitney_rank(50, 50, 0.025));
  const auto beyond = static_cast<double>(mann_whitney_rank(51, 50, 0.025));
  EXPECT_GT(beyond, exact);
  EXPECT_NEAR(beyond / 51, exact / 50, 0.1);
}

TEST(MedianRank, MatchesTheSignTestTable) {
  // Two-sided 5 % sign test: reject when the smaller count is at most 0 for n = 6..8, 1 for 9..11, 2 for 12..14, 5
  // for 20.
  EXPECT_EQ(median_rank(5, 0.025), 0U);
  EXPECT_EQ(median_rank(6, 0.025), 1U);
  EXPECT_EQ(median_rank(8, 0.025), 1U);
  EXPECT_EQ(median_rank(9, 0.025), 2U);
  EXPECT_EQ(median_rank(12, 0.025), 3U);
  EXPECT_EQ(median_rank(20, 0.025), 6U);
}

}  // namespace
}  // namespace capbench::stats
