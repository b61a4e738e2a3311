#include "harness/stats/random.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <vector>

namespace capbench::stats {
namespace {

// The published reference implementations of splitmix64 and xoshiro256**, worked by hand in Python's integers.
TEST(Random, IsTheDocumentedGenerator) {
  Random random(1);
  EXPECT_EQ(random.next(), 12966619160104079557U);
  EXPECT_EQ(random.next(), 9600361134598540522U);
  EXPECT_EQ(random.next(), 10590380919521690900U);
}

TEST(Random, BelowIsUniformAndInRange) {
  Random random(7);
  std::vector<int> counts(6);
  for (int i = 0; i < 60000; ++i) {
    const std::uint64_t value = random.below(6);
    ASSERT_LT(value, 6U);
    ++counts[static_cast<std::size_t>(value)];
  }
  for (const int count : counts) EXPECT_NEAR(count, 10000, 400);
  EXPECT_EQ(random.below(1), 0U);
}

TEST(Random, BelowRejectsTheSurplusOfLargeBounds) {
  // With bound 3/4 of 2^64 a plain modulo would give the lowest third twice as often.
  Random random(3);
  const std::uint64_t bound = std::uint64_t{3} << 62U;
  int low = 0;
  for (int i = 0; i < 30000; ++i) low += random.below(bound) < (std::uint64_t{1} << 62U) ? 1 : 0;
  EXPECT_NEAR(low, 10000, 400);
}

TEST(Random, UnitStaysBelowOne) {
  Random random(11);
  double sum = 0;
  for (int i = 0; i < 10000; ++i) {
    const double value = random.unit();
    ASSERT_GE(value, 0);
    ASSERT_LT(value, 1);
    sum += value;
  }
  EXPECT_NEAR(sum / 10000, 0.5, 0.02);
}

TEST(Random, ShuffleGivesEveryOrderEquallyOften) {
  Random random(5);
  std::map<std::vector<int>, int> counts;
  for (int i = 0; i < 24000; ++i) {
    std::vector<int> items(4);
    std::iota(items.begin(), items.end(), 0);
    shuffle(std::span<int>(items), random);
    ++counts[items];
  }
  ASSERT_EQ(counts.size(), 24U);
  for (const auto& [order, count] : counts) EXPECT_NEAR(count, 1000, 150);
}

}  // namespace
}  // namespace capbench::stats
