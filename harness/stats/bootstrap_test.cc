#include "harness/stats/bootstrap.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "harness/stats/random.h"

namespace capbench::stats {
namespace {

// All n^n resamples, counted.
std::map<std::pair<std::size_t, std::size_t>, double> counted(std::size_t n) {
  std::map<std::pair<std::size_t, std::size_t>, double> chances;
  std::vector<std::size_t> draw(n);
  const double each = std::pow(static_cast<double>(n), -static_cast<double>(n));
  for (;;) {
    std::vector<std::size_t> sorted = draw;
    std::sort(sorted.begin(), sorted.end());
    chances[{sorted[(n - 1) / 2], sorted[n / 2]}] += each;
    std::size_t i = 0;
    while (i < n && ++draw[i] == n) draw[i++] = 0;
    if (i == n) return chances;
  }
}

TEST(Bootstrap, ChancesOfAResampledMedianAreThoseOfAllResamples) {
  for (std::size_t n = 1; n <= 7; ++n) {
    const auto expected = counted(n);
    double total = 0;
    for (const MedianOutcome& outcome : resampled_median_outcomes(n)) {
      total += outcome.chance;
      const auto found = expected.find({outcome.low, outcome.high});
      EXPECT_NEAR(outcome.chance, found == expected.end() ? 0 : found->second, 1e-12)
          << n << ": " << outcome.low << ", " << outcome.high;
    }
    EXPECT_NEAR(total, 1, 1e-12) << n;
  }
  double total = 0;
  for (const MedianOutcome& outcome : resampled_median_outcomes(32)) total += outcome.chance;
  EXPECT_NEAR(total, 1, 1e-9);
}

std::vector<Trial> some_trials(std::size_t n_trials, std::size_t n_samples) {
  Random random(5);
  std::vector<Trial> trials;
  for (std::size_t i = 0; i < n_trials; ++i) {
    Trial trial{static_cast<std::int64_t>(i), {}};
    const double center = 100 + 5 * random.unit();
    for (std::size_t j = 0; j < n_samples; ++j) trial.samples.push_back(center + 3 * random.unit());
    trials.push_back(std::move(trial));
  }
  return trials;
}

// Quantiles of the replicates against those of a bootstrap written the plain way.
TEST(Bootstrap, TheFastWayAgreesWithThePlainOne) {
  for (const std::size_t n_samples : {1U, 5U, 10U, 40U}) {
    const auto trials = some_trials(6, n_samples);
    constexpr std::uint32_t kRounds = 12000;
    auto fast = resampled_medians(trials, kRounds, 1);
    Random random(2);
    std::vector<double> plain;
    for (std::uint32_t round = 0; round < kRounds; ++round) {
      std::vector<double> medians;
      for (std::size_t i = 0; i < trials.size(); ++i) {
        const auto& source = trials[static_cast<std::size_t>(random.below(trials.size()))].samples;
        std::vector<double> drawn;
        for (std::size_t j = 0; j < source.size(); ++j) {
          drawn.push_back(source[static_cast<std::size_t>(random.below(source.size()))]);
        }
        medians.push_back(median(drawn));
      }
      plain.push_back(median(medians));
    }
    std::sort(fast.begin(), fast.end());
    std::sort(plain.begin(), plain.end());
    double distance = 0;  // Kolmogorov and Smirnov's
    for (std::size_t i = 0; i < fast.size(); i += 20) {
      const auto rank = std::upper_bound(plain.begin(), plain.end(), fast[i] + 1e-9) - plain.begin();
      const auto own = std::upper_bound(fast.begin(), fast.end(), fast[i] + 1e-9) - fast.begin();
      distance = std::max(distance, std::fabs(static_cast<double>(rank - own)) / kRounds);
    }
    EXPECT_LT(distance, 1.95 * std::sqrt(2.0 / kRounds)) << n_samples << " samples";  // 0.1 % level
  }
}

TEST(Bootstrap, OfOneSampleIsThatSample) {
  const auto replicates = resampled_medians(std::vector<Trial>{{0, {7}}}, 100, 1);
  EXPECT_TRUE(std::all_of(replicates.begin(), replicates.end(), [](double value) { return value == 7; }));
}

}  // namespace
}  // namespace capbench::stats
