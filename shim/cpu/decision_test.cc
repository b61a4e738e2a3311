#include "shim/cpu/decision.h"

#include <gtest/gtest.h>

namespace capbench::shim::cpu {
namespace {

constexpr FeatureSet kZen5 = kAllFeatures & ~(kAmxTile | kAmxInt8);

std::size_t level(std::string_view name) {
  return name == kBest ? kBestLevel : find_variant(name);
}

Request guest(std::string_view name) {
  return {level(name), std::nullopt};
}
Request set(std::string_view name) {
  return {std::nullopt, level(name)};
}
Request both(std::string_view below, std::string_view above) {
  return {level(below), level(above)};
}

Answer answer(const Policy& policy, std::string_view variant) {
  return answer_for(policy, find_variant(variant));
}

// The variant that ggml loads under the policy if each library's own score follows `cpuid`.
std::string_view loaded(const Policy& policy, FeatureSet cpuid) {
  std::string_view best;
  int best_score = 0;
  for (std::size_t i = 0; i < kVariantCount; ++i) {
    const int full = score(kVariants[i].features);
    const int own = is_subset(kVariants[i].features, cpuid) ? full : 0;
    const Answer given = answer_for(policy, i);
    const int value = given == Answer::kHidden ? 0 : given == Answer::kRaised && own == 0 ? full : own;
    if (value > best_score) {
      best_score = value;
      best = kVariants[i].name;
    }
  }
  return best;
}

TEST(Decision, WithoutSettingsEveryAnswerIsTheLibrarysOwn) {
  const Policy policy = make_policy({}, {kZen5, 0});
  EXPECT_FALSE(policy.active);
  EXPECT_EQ(policy.reported, policy.device);
  for (std::size_t i = 0; i <= kVariantCount; ++i) EXPECT_EQ(answer_for(policy, i), Answer::kOwn);
}

TEST(Decision, AStandInGuestHidesWhatItsLevelDoesNotHave) {
  const Policy policy = make_policy(guest("x64"), {kZen5, 0});
  EXPECT_EQ(answer(policy, "x64"), Answer::kOwn);
  EXPECT_EQ(answer(policy, "sse42"), Answer::kHidden);
  EXPECT_EQ(answer(policy, "zen4"), Answer::kHidden);
  EXPECT_EQ(best_variant(policy.reported), "x64");
  EXPECT_EQ(best_variant(policy.device), "zen4");
}

TEST(Decision, TheShimBringsBackUpToItsLevel) {
  EXPECT_EQ(loaded(make_policy(both("x64", "haswell"), {kZen5, 0}), kZen5), "haswell");
  EXPECT_EQ(loaded(make_policy(both("x64", "best"), {kZen5, 0}), kZen5), "zen4");
  EXPECT_EQ(loaded(make_policy(both("haswell", "sse42"), {kZen5, 0}), kZen5), "sse42");
}

TEST(Decision, TheShimAloneLowers) {
  EXPECT_EQ(loaded(make_policy(set("alderlake"), {kZen5, 0}), kZen5), "alderlake");
  EXPECT_EQ(loaded(make_policy(set("cascadelake"), {kZen5, 0}), kZen5), "cascadelake");
}

TEST(Decision, NeitherRoleGoesAboveTheHardware) {
  const FeatureSet haswell = kVariants[find_variant("haswell")].features;
  for (const Request& request : {guest("zen4"), set("zen4"), both("x64", "zen4"), both("best", "best")}) {
    const Policy policy = make_policy(request, {haswell, 0});
    EXPECT_EQ(best_variant(policy.reported), "haswell");
    EXPECT_EQ(answer(policy, "skylakex"), Answer::kHidden);
    // Even if CPUID claims what the kernel has not enabled, and ggml, which does not look at that, scores it.
    EXPECT_EQ(loaded(policy, kZen5), "haswell");
  }
}

TEST(Decision, EveryLevelInEveryRoleLoadsWhatIsExpected) {
  for (const FeatureSet hardware : {kZen5, kVariants[find_variant("alderlake")].features, FeatureSet{0}}) {
    for (const std::string_view name : kCpuIsaLevels) {
      const std::string_view expected = expected_variant(name, hardware);
      EXPECT_EQ(loaded(make_policy(guest(name), {hardware, 0}), hardware), expected);
      EXPECT_EQ(loaded(make_policy(set(name), {hardware, 0}), hardware), expected);
      EXPECT_EQ(loaded(make_policy(both("x64", name), {hardware, 0}), hardware), expected);
    }
  }
}

TEST(Decision, InAMaskedGuestTheShimRaisesWhatHasRun) {
  const FeatureSet masked = 0;
  const FeatureSet haswell = kVariants[find_variant("haswell")].features;
  EXPECT_EQ(features_to_try(set("haswell"), masked, kZen5), haswell);
  const Policy policy = make_policy(set("haswell"), {masked, haswell});
  EXPECT_EQ(answer(policy, "haswell"), Answer::kRaised);
  EXPECT_EQ(answer(policy, "skylakex"), Answer::kHidden);
  EXPECT_EQ(best_variant(policy.device), "x64");
  EXPECT_EQ(loaded(policy, masked), "haswell");
  // Without FMA shown, nothing that needs it is raised.
  EXPECT_EQ(loaded(make_policy(set("haswell"), {masked, haswell & ~kFma}), masked), "ivybridge");
}

TEST(Decision, OnlyWhatIsAskedForAndEnabledIsTried) {
  EXPECT_EQ(features_to_try(set("best"), kZen5, kAllFeatures), kAmxTile | kAmxInt8);
  EXPECT_EQ(features_to_try(set("best"), kZen5, kZen5), 0U);
  EXPECT_EQ(features_to_try(set("zen4"), kZen5, kAllFeatures), 0U);
  EXPECT_EQ(features_to_try(guest("best"), 0, kAllFeatures), 0U);
  EXPECT_EQ(features_to_try({}, 0, kAllFeatures), 0U);
  EXPECT_EQ(features_to_try(both("x64", "haswell"), 0, kSse42 | kBmi2), kSse42 | kBmi2);
}

TEST(Decision, AStandInGuestNeverRaises) {
  const Policy policy = make_policy(guest("best"), {kSse42, kZen5});
  EXPECT_EQ(policy.reported, kSse42);
}

TEST(Decision, UnknownLibrariesShowOnlyUnderBest) {
  const Machine machine{kZen5, 0};
  EXPECT_EQ(answer_for(make_policy(guest("x64"), machine), kVariantCount), Answer::kHidden);
  EXPECT_EQ(answer_for(make_policy(set("sapphirerapids"), machine), kVariantCount), Answer::kHidden);
  EXPECT_EQ(answer_for(make_policy(both("best", "haswell"), machine), kVariantCount), Answer::kHidden);
  EXPECT_EQ(answer_for(make_policy(both("x64", "best"), machine), kVariantCount), Answer::kOwn);
  EXPECT_EQ(answer_for(make_policy(guest("best"), machine), kVariantCount), Answer::kOwn);
}

TEST(Decision, ReadsItsLevelFromTheSettings) {
  const Request request = request_of(read_roles("cpu.isa=x64", "metal.apple_family=1009,cpu.isa=best"));
  EXPECT_EQ(request.guest, level("x64"));
  EXPECT_EQ(request.set, kBestLevel);
  EXPECT_FALSE(request_of(read_roles(nullptr, "metal.apple_family=1009")).any());
}

}  // namespace
}  // namespace capbench::shim::cpu
