#include "harness/verify/reproduced.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "harness/verify/test_bundle.h"

namespace capbench::verify {
namespace {

using ::testing::HasSubstr;

// `n` trials around `speed`, their medians `spread` apart (relative, from the lowest to the highest).
std::vector<stats::Trial> trials(double speed, std::size_t n, double spread) {
  std::vector<stats::Trial> made;
  for (std::size_t i = 0; i < n; ++i) {
    const double at = n == 1 ? 0 : static_cast<double>(i) / static_cast<double>(n - 1) - 0.5;
    const double median = speed * (1 + spread * at);
    made.push_back({static_cast<std::int64_t>(i), {median * 0.99, median, median * 1.01}});
  }
  return made;
}

MeasuredRatio ratio(const std::string& machine, double times, std::size_t n = 5, double spread = 0.01) {
  MeasuredRatio made;
  made.key = {"kind", "model", "workload", "treatment"};
  made.label = "unlocked over stock, tiny pp64";
  made.machine_id = machine;
  made.arm = trials(100 * times, n, spread);
  made.reference = trials(100, n, spread);
  return made;
}

Party party(const std::string& signer, std::vector<MeasuredRatio> ratios) {
  return {"bundle of " + signer, signer, std::move(ratios)};
}

TEST(CompareRatios, FindsEqualRatiosEquivalent) {
  const auto found = compare_ratios(ratio("a", 10), ratio("b", 10.1), 0.05);
  ASSERT_TRUE(found.ok());
  EXPECT_NEAR(found->quotient, 10 / 10.1, 1e-6);
  ASSERT_TRUE(found->lo && found->hi);
  EXPECT_LT(*found->lo, found->quotient);
  EXPECT_GT(*found->hi, found->quotient);
  EXPECT_TRUE(found->equivalent);
}

TEST(CompareRatios, GivesTheIntervalOfWelchsTest) {
  // By hand: medians 99.5, 100, 100.5 in every arm. The variance of the logs is s^2 = ((ln 0.995)^2 + (ln 1.005)^2 less
  // what their mean leaves) / 2, each of four means has s^2/3, and 4 equal variances have 4*2 degrees of freedom.
  const auto found = compare_ratios(ratio("a", 2, 3), ratio("b", 2, 3), 0.05);
  ASSERT_TRUE(found.ok());
  const double low = std::log(0.995);
  const double high = std::log(1.005);
  const double mean = (low + high) / 3;
  const double variance = ((low - mean) * (low - mean) + mean * mean + (high - mean) * (high - mean)) / 2;
  constexpr double kT = 1.8595480375;  // 95 % quantile of t with 8 degrees of freedom
  ASSERT_TRUE(found->hi);
  EXPECT_NEAR(std::log(*found->hi), kT * std::sqrt(4 * variance / 3), 1e-8);
}

TEST(CompareRatios, NeverLetsAWideIntervalQualify) {
  // The very same ratio, but nobody could tell: the noise is larger than the margin.
  const auto noisy = compare_ratios(ratio("a", 10, 5, 0.5), ratio("b", 10, 5, 0.5), 0.05);
  ASSERT_TRUE(noisy.ok());
  EXPECT_NEAR(noisy->quotient, 1, 1e-9);
  EXPECT_FALSE(noisy->equivalent);
  // Two trials have no interval, however close they are.
  const auto few = compare_ratios(ratio("a", 10, 2, 0.001), ratio("b", 10, 5, 0.001), 0.05);
  ASSERT_TRUE(few.ok());
  EXPECT_FALSE(few->lo || few->hi);
  EXPECT_FALSE(few->equivalent);
  // Noise on one side alone is enough, too.
  EXPECT_FALSE(compare_ratios(ratio("a", 10), ratio("b", 10, 3, 0.4), 0.05)->equivalent);
}

TEST(CompareRatios, FindsDifferentRatiosNotEquivalent) {
  EXPECT_FALSE(compare_ratios(ratio("a", 10), ratio("b", 11), 0.05)->equivalent);
  EXPECT_TRUE(compare_ratios(ratio("a", 10), ratio("b", 11), 0.2)->equivalent);
}

TEST(CompareRatios, RefusesWhatIsNoMarginAndNoMeasurement) {
  EXPECT_FALSE(compare_ratios(ratio("a", 10), ratio("b", 10), 0).ok());
  EXPECT_FALSE(compare_ratios(ratio("a", 10), ratio("b", 10), NAN).ok());
  MeasuredRatio bad = ratio("a", 10);
  bad.arm[0].samples[0] = -1;
  EXPECT_FALSE(compare_ratios(bad, ratio("b", 10), 0.05).ok());
}

TEST(FindReproduction, TakesAnotherSignerOnAnotherMachine) {
  const Party mine = party("jo", {ratio("a", 10)});
  const Party other = party("kim", {ratio("b", 10.05)});
  const Reproduction found = find_reproduction(mine, std::vector{other});
  EXPECT_TRUE(found.reproduced) << found.why;
  ASSERT_EQ(found.rows.size(), 1U);
  EXPECT_EQ(found.rows[0].by, "bundle of kim");
}

TEST(FindReproduction, TakesNobodyElse) {
  const Party mine = party("jo", {ratio("a", 10)});
  EXPECT_FALSE(find_reproduction(mine, {}).reproduced);
  // The same signer with another machine.
  Party same = party("jo", {ratio("b", 10)});
  same.bundle_id = "another bundle of jo";
  EXPECT_FALSE(find_reproduction(mine, std::vector{same}).reproduced);
  // Another signer with the same machine.
  EXPECT_FALSE(find_reproduction(mine, std::vector{party("kim", {ratio("a", 10)})}).reproduced);
  // Nobody knows who.
  EXPECT_FALSE(find_reproduction(mine, std::vector{party("", {ratio("b", 10)})}).reproduced);
  EXPECT_FALSE(find_reproduction(party("", {ratio("a", 10)}), std::vector{party("kim", {ratio("b", 10)})}).reproduced);
  // A machine of another kind.
  MeasuredRatio elsewhere = ratio("b", 10);
  elsewhere.key.machine_kind = "another kind";
  EXPECT_FALSE(find_reproduction(mine, std::vector{party("kim", {elsewhere})}).reproduced);
  // Wide intervals.
  const Reproduction wide = find_reproduction(mine, std::vector{party("kim", {ratio("b", 10, 5, 0.5)})});
  EXPECT_FALSE(wide.reproduced);
  EXPECT_THAT(wide.why, HasSubstr("of 1 ratios 0 are shown"));
}

TEST(FindReproduction, WantsEveryRatio) {
  MeasuredRatio second = ratio("a", 3);
  second.key.workload = "another test";
  const Party mine = party("jo", {ratio("a", 10), second});
  const Party kim = party("kim", {ratio("b", 10)});
  const Reproduction half = find_reproduction(mine, std::vector{kim});
  EXPECT_FALSE(half.reproduced);
  EXPECT_THAT(half.why, HasSubstr("1 were measured by nobody else"));
  MeasuredRatio theirs = ratio("c", 3);
  theirs.key.workload = "another test";
  EXPECT_TRUE(find_reproduction(mine, std::vector{kim, party("li", {theirs})}).reproduced);
}

TEST(MeasuredRatios, AreThoseOfTheArmsOverStock) {
  bundle::Bundle bundle = testing::real_bundle();
  std::vector<MeasuredRatio> ratios = measured_ratios(bundle);
  ASSERT_EQ(ratios.size(), 4U);  // bare-metal and unlocked, of two tests
  for (const MeasuredRatio& one : ratios) {
    EXPECT_THAT(one.label, HasSubstr(" over stock, tiny "));
    EXPECT_EQ(one.arm.size(), 2U);
    EXPECT_EQ(one.reference.size(), 2U);
    EXPECT_EQ(one.key.model.size(), 64U);
  }
  // The machine's name is not its kind, and names of the suite are nobody else's.
  bundle::Bundle other = testing::real_bundle();
  other.runs[0].machine_id = other.environments[0].machine_id = "another";
  testing::rename(other);
  EXPECT_EQ(measured_ratios(other)[0].key, ratios[0].key);
  // What is not proven or not checked is no claim.
  for (schema::TrialRecord& trial : bundle.trials) trial.quality = "unchecked";
  EXPECT_TRUE(measured_ratios(bundle).empty());
}

}  // namespace
}  // namespace capbench::verify
