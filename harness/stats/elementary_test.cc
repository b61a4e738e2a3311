#include "harness/stats/elementary.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numbers>

#include "harness/stats/random.h"

namespace capbench::stats {
namespace {

std::int64_t units_apart(double a, double b) {
  return std::llabs(std::bit_cast<std::int64_t>(a) - std::bit_cast<std::int64_t>(b));
}

TEST(Elementary, AgreesWithTheCLibraryToAUnit) {
  Random random(1);
  for (int i = 0; i < 100000; ++i) {
    const double x = std::exp((random.unit() - 0.5) * (i % 2 == 0 ? 1400 : 1));
    // One unit of ours and one of theirs.
    ASSERT_LE(units_apart(log_of(x), std::log(x)), 2) << x;
    const double y = (random.unit() - 0.5) * (i % 2 == 0 ? 1400 : 1);
    ASSERT_LE(units_apart(exp_of(y), std::exp(y)), 2) << y;
    const double turn = random.unit();
    ASSERT_NEAR(cos_of_turn(turn), std::cos(2 * std::numbers::pi * turn), 2e-15) << turn;
    const double z = (random.unit() - 0.3) * 20;
    ASSERT_NEAR(normal_tail(z) / (0.5 * std::erfc(z / std::numbers::sqrt2)), 1, 1e-12) << z;
  }
}

TEST(Elementary, OfTheEnds) {
  EXPECT_EQ(log_of(1), 0);
  EXPECT_EQ(exp_of(0), 1);
  EXPECT_EQ(log_of(0x1p-1074), std::log(0x1p-1074));
  EXPECT_EQ(exp_of(1000), std::numeric_limits<double>::infinity());
  EXPECT_EQ(exp_of(-1000), 0);
  EXPECT_TRUE(std::isnan(exp_of(std::numeric_limits<double>::quiet_NaN())));
  EXPECT_EQ(cos_of_turn(0), 1);
  EXPECT_EQ(cos_of_turn(0.25), 0);
  EXPECT_EQ(cos_of_turn(0.5), -1);
  EXPECT_EQ(normal_tail(0), 0.5);
}

// Not close: equal. Where these fail the compiler fuses or reorders operations, and nothing else here is the same
// either.
TEST(Elementary, IsTheSameToTheLastBitEverywhere) {
  std::uint64_t digest = 0xCBF29CE484222325U;
  const auto add = [&](double value) { digest = (digest ^ std::bit_cast<std::uint64_t>(value)) * 0x100000001B3U; };
  Random random(2);
  for (int i = 0; i < 10000; ++i) {
    const double x = random.unit() * 50;
    add(log_of(x + 1e-3));
    add(exp_of(x - 25));
    add(normal_tail(x / 5 - 3));
    add(cos_of_turn(x / 50));
  }
  EXPECT_EQ(digest, 7158122186760227462U);
}

}  // namespace
}  // namespace capbench::stats
