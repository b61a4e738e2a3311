#include "harness/stats/change_points.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>

#include "base/digest.h"
#include "harness/stats/change_points_study.h"
#include "harness/stats/elementary.h"
#include "harness/stats/random.h"
#include "harness/stats/simulation.h"

namespace capbench::stats {
namespace {

using study::Kind;
using study::KnownSeries;
using study::Scores;

std::vector<double> around(Random& random, double level, double noise, std::size_t n) {
  std::vector<double> out;
  for (std::size_t i = 0; i < n; ++i) out.push_back(level * exp_of(noise * simulation::normal(random)));
  return out;
}

TEST(ChangePoints, OneStepAndWhatIsSaidOfIt) {
  Random random(3);
  std::vector<double> speeds = around(random, 1000, 0.01, 40);
  const std::vector<double> after = around(random, 940, 0.01, 30);
  speeds.insert(speeds.end(), after.begin(), after.end());
  const auto found = find_change_points(speeds);
  ASSERT_TRUE(found.ok());
  ASSERT_EQ(found->size(), 1U);
  const ChangePoint& point = (*found)[0];
  EXPECT_NEAR(static_cast<double>(point.index), 40, 2);
  EXPECT_LE(point.first, 40U);
  EXPECT_GE(point.last, 40U);
  EXPECT_EQ(point.begin, 0U);
  EXPECT_EQ(point.end, 70U);
  EXPECT_NEAR(point.before, 1000, 8);
  EXPECT_NEAR(point.after, 940, 8);
  EXPECT_LT(point.lo, 0.94);
  EXPECT_GT(point.hi, 0.94);
  EXPECT_NEAR(point.noise, 0.01, 0.004);
  EXPECT_LE(point.p, 0.004);
}

TEST(ChangePoints, ShortSegmentsInALongSeries) {
  Random random(4);
  std::vector<double> speeds = around(random, 1000, 0.01, 500);
  for (std::size_t i = 200; i < 210; ++i) speeds[i] *= 0.9;
  const auto found = find_change_points(speeds);
  ASSERT_TRUE(found.ok());
  ASSERT_EQ(found->size(), 2U);
  EXPECT_EQ((*found)[0].index, 200U);
  EXPECT_EQ((*found)[1].index, 210U);
}

TEST(ChangePoints, LoneSlowPointsAndDriftAreNone) {
  Random random(5);
  std::vector<double> speeds = around(random, 1000, 0.005, 120);
  for (const std::size_t i : {3U, 40U, 41U, 77U, 119U}) speeds[i] *= 0.8;
  EXPECT_TRUE(find_change_points(speeds)->empty());
  std::vector<double> drifting = around(random, 1000, 0.005, 100);
  for (std::size_t i = 0; i < drifting.size(); ++i) drifting[i] *= 1 + 0.0005 * static_cast<double>(i);
  EXPECT_TRUE(find_change_points(drifting)->empty());
  EXPECT_TRUE(find_change_points(std::vector<double>(200, 1000.0))->empty());
}

TEST(ChangePoints, ShortOrNoSeries) {
  EXPECT_TRUE(find_change_points({})->empty());
  EXPECT_TRUE(find_change_points(std::vector<double>{5})->empty());
  std::vector<double> speeds = {100, 101, 100.5, 99.5, 100.2, 100.7, 99.8, 80, 80.4, 79.8, 80.1, 80.3, 79.9, 80.2};
  const auto found = find_change_points(speeds);
  ASSERT_TRUE(found.ok());
  ASSERT_EQ(found->size(), 1U);
  EXPECT_EQ((*found)[0].index, 7U);
  // Four points after a step are too few.
  speeds.resize(11);
  EXPECT_TRUE(find_change_points(speeds)->empty());
}

TEST(ChangePoints, RefusesWhatIsNoSpeed) {
  for (const double bad : {0.0, -1.0, std::nan(""), HUGE_VAL}) {
    const std::vector<double> speeds = {1, 2, bad};
    const auto found = find_change_points(speeds);
    ASSERT_FALSE(found.ok());
    EXPECT_EQ(found.error().what, "point 2 of the series");
  }
  ChangePointOptions options;
  options.min_segment = 3;
  EXPECT_FALSE(find_change_points({}, options).ok());
  options = {};
  options.level = 0.5;
  EXPECT_FALSE(find_change_points({}, options).ok());
}

TEST(ChangePoints, TheSameBytesEverywhere) {
  Random random(6);
  Kind kind;
  kind.points = 700;
  kind.steps = 12;
  const KnownSeries series = study::make_series(random, kind);
  std::string text;
  for (const ChangePoint& point : *find_change_points(series.speeds)) {
    text += fmt::format("{} {} {} {:a} {:a} {:a} {:a}\n", point.index, point.first, point.last, point.ratio, point.lo,
                        point.hi, point.p);
  }
  EXPECT_EQ(sha256(text), "59abd7f376d9383b9c6c123a32acc543aef19ad7fdb4e588238d04a7d22ab0f0") << text;
}

// The bounds of scripts/bench detect, on fewer series.
TEST(ChangePoints, FindsWhatIsThereAndLittleElse) {
  Scores ours;
  Scores theirs;
  Scores still;
  const int rounds = simulation::repetitions(1);
  for (const std::size_t points : {30U, 100U, 300U, 1000U}) {
    Random random(20261201 + points);
    for (std::size_t i = 0; i < 8000 / points * static_cast<std::size_t>(rounds); ++i) {
      Kind kind;
      kind.points = points;
      constexpr double kNoises[] = {0.005, 0.01, 0.02, 0.05};
      kind.noise = kNoises[i % 4];
      kind.skewed = i % 3 == 1;
      kind.drift = i % 3 == 2 ? 0.02 : 0;
      kind.steps = static_cast<std::size_t>(random.below(std::max<std::size_t>(2, points / 25) + 1));
      const KnownSeries series = study::make_series(random, kind);
      ours += study::score(series, study::ours(series.speeds));
      theirs += study::score(series, study::otava(series.speeds));
      kind.steps = 0;
      kind.drift = 0;
      const KnownSeries flat = study::make_series(random, kind);
      still += study::score(flat, study::ours(flat.speeds));
    }
  }
  EXPECT_GE(ours.precision(), 0.95);
  EXPECT_GE(ours.recall(), 0.95);
  EXPECT_LE(still.false_alarms_per_1000(), 1);
  EXPECT_GT(ours.large, 200U);
  // The baseline is worth beating, and beaten.
  EXPECT_GT(theirs.recall(), 0.8);
  EXPECT_GT(ours.precision(), theirs.precision());
  EXPECT_GT(ours.recall(), theirs.recall());
}

TEST(Study, ScoresAreCountedOnce) {
  KnownSeries series;
  series.noise = 0.01;
  series.speeds.resize(100);
  series.steps = {{20, 0.05}, {60, -0.02}};
  const std::vector<std::size_t> found = {19, 22, 61, 80};
  const Scores scores = study::score(series, found);
  EXPECT_EQ(scores.found, 4U);
  EXPECT_EQ(scores.right, 2U);  // 22 is near a step that 19 has taken
  EXPECT_EQ(scores.large, 1U);
  EXPECT_EQ(scores.large_found, 1U);
  EXPECT_DOUBLE_EQ(scores.false_alarms_per_1000(), 20);
}

TEST(Study, OtavaFindsAPlainStepAndKeepsQuiet) {
  Random random(9);
  std::vector<double> speeds = around(random, 1000, 0.01, 60);
  EXPECT_TRUE(study::otava(speeds).empty());
  for (std::size_t i = 30; i < 60; ++i) speeds[i] *= 0.9;
  EXPECT_EQ(study::otava(speeds), std::vector<std::size_t>{30});
}

}  // namespace
}  // namespace capbench::stats
