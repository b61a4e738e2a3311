// What a design can answer, and the largest one that fits a time.
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <string>
#include <vector>

#include "base/file.h"
#include "harness/design/expand.h"
#include "harness/design/fit.h"
#include "harness/design/problems.h"
#include "harness/suite/suite.h"

namespace capbench::design {
namespace {

using Severity = DesignProblem::Severity;
using suite::DesignKind;

std::string factors(int count) {
  std::string text = "[";
  for (int i = 0; i < count; ++i) {
    text +=
        (i == 0 ? "" : ", ") + std::string(R"({"name": "x.f)") + std::to_string(i) + R"(", "levels": ["off", "on"]})";
  }
  return text + "]";
}

suite::Suite parsed(const std::string& rest, const std::string& protocol) {
  const auto suite = suite::parse_suite(
      R"({"capbench": 1, "name": "s", "models": [{"name": "m", "file": "x"}], "workloads": [{"name": "w", "p": 512, "n": 128}],
          "protocol": {)" +
      protocol + "}, " + rest + "}");
  EXPECT_TRUE(suite.ok()) << to_string(suite.error());
  return *suite;
}
suite::Suite designed(const std::string& kind, int count, const std::string& protocol) {
  return parsed(R"("design": {"kind": )" + kind + R"(, "factors": )" + factors(count) + "}", protocol);
}
const std::string kTwoArms = R"("arms": [{"name": "a", "mode": "x"}, {"name": "b", "mode": "x", "env": {"A": "1"}}])";

std::string text_of(const std::vector<DesignProblem>& problems) {
  std::string text;
  for (const DesignProblem& problem : problems) {
    text += (problem.severity == Severity::kRefuse ? "refused: " : "label: ") + to_string(problem.error) + "\n";
  }
  return text;
}

TEST(DesignProblems, NoneForAFullFactorialWithEnoughTrials) {
  EXPECT_EQ(text_of(design_problems(designed(R"("full-factorial")", 4, R"("trials": 8)"))), "");
}

TEST(DesignProblems, OneTrialIsAllowedAndLabelled) {
  EXPECT_EQ(text_of(design_problems(designed(R"("full-factorial")", 2, R"("trials": 1)"))),
            "label: $.protocol.trials: one process per arm: only the spread within it can be given, not an interval; "
            "try: \"trials\": 8\n");
}

TEST(DesignProblems, TwoTrialsAreRefusedForADesignAndLabelledForArmsWrittenByHand) {
  EXPECT_EQ(
      text_of(design_problems(designed(R"("full-factorial")", 2, R"("trials": 2)"))),
      "refused: $.protocol.trials: two trials give a lowest and a highest, and no interval; try: \"trials\": 8\n");
  EXPECT_EQ(text_of(design_problems(parsed(kTwoArms, R"("trials": 2)"))),
            "label: $.protocol.trials: two trials give a lowest and a highest, and no interval; try: \"trials\": 8\n");
}

TEST(DesignProblems, FewTrialsAreWeakAndSayWhatToExpect) {
  // Welch at 1 % with df = 8 and 3 x 2 comparisons: t(1 - 0.05/12) = 3.479 (tables: 3.355 at 0.995, 3.833 at 0.9975).
  EXPECT_EQ(text_of(design_problems(designed(R"("full-factorial")", 2, R"("trials": 5)"))),
            "label: $.protocol.trials: 5 trials per arm: weak intervals, within 2.2 % at 1 % between processes with 6 "
            "comparisons at once; try: \"trials\": 8\n");
}

TEST(DesignProblems, SoManyComparisonsThatNoIntervalExistsAreRefused) {
  // 64 arms, 63 x 2 comparisons: 2 / C(14, 7) = 1/1716 > 0.05/126, but 2 / C(16, 8) = 1/6435 < 0.05/126.
  EXPECT_EQ(text_of(design_problems(designed(R"("full-factorial")", 6, R"("trials": 7)"))),
            "refused: $.protocol.trials: with 126 comparisons at once no interval exists for 7 trials per arm, so "
            "nothing could be found; try: \"trials\": 8\n");
  EXPECT_EQ(text_of(design_problems(designed(R"("full-factorial")", 6, R"("trials": 8)"))), "");
}

TEST(DesignProblems, AdaptiveTrialsBeginWithEight) {
  EXPECT_EQ(text_of(design_problems(designed(R"("full-factorial")", 2, R"("trials": 2, "until": {})"))), "");
}

TEST(DesignProblems, SayWhatADesignCannotSee) {
  EXPECT_EQ(text_of(design_problems(designed(R"(["leave-one-out", "one-at-a-time"])", 4, R"("trials": 8)"))),
            "label: $.design.kind: capabilities that stand in for each other cannot be seen: no arm leaves out two at "
            "once; try: \"kind\": \"full-factorial\"\n");
  EXPECT_EQ(text_of(design_problems(designed(R"("fractional")", 4, R"("trials": 8)"))),
            "label: $.design.kind: two-factor interactions are not all free; estimated together: f0 x f1 = f2 x f3; f0 "
            "x f2 = f1 x f3; f0 x f3 = f1 x f2; try: \"kind\": \"full-factorial\"\n");
  EXPECT_EQ(text_of(design_problems(designed(R"("fractional")", 5, R"("trials": 8)"))), "");
  EXPECT_EQ(text_of(design_problems(designed(R"("leave-one-out")", 1, R"("trials": 8)"))), "");
}

TEST(DesignProblems, ArmsOnTwoMachinesAndAnOrderThatDrifts) {
  EXPECT_EQ(text_of(design_problems(parsed(
                R"("targets": {"far": {"kind": "ssh"}},
                   "arms": [{"name": "a", "mode": "x"}, {"name": "b", "mode": "x", "target": "far"}])",
                R"("trials": 8, "order": "as-written")"))),
            "label: $.arms: \"b\" is on machine \"far\" and \"a\" on \"local\": arms of different machines are never "
            "compared; try: the same \"machine\" in their targets if it is one host\n"
            "label: $.protocol.order: arms run in the same order in every block, so a drift within blocks looks like "
            "an effect; try: \"order\": \"random-blocks\"\n");
}

// What capbench ships can answer, and says what it cannot.
TEST(DesignProblems, NoSuiteOfTheFolderIsRefused) {
  int count = 0;
  for (const auto& entry : std::filesystem::directory_iterator("suites")) {
    if (entry.path().extension() != ".json") continue;
    const auto text = read_file(entry.path());
    ASSERT_TRUE(text.ok());
    const auto suite = suite::parse_suite(*text);
    ASSERT_TRUE(suite.ok()) << entry.path() << ": " << to_string(suite.error());
    ++count;
    for (const DesignProblem& problem : design_problems(*suite)) {
      EXPECT_EQ(problem.severity, Severity::kLabel) << entry.path() << ": " << to_string(problem.error);
    }
  }
  EXPECT_GE(count, 15);
}

TEST(ShippedSuites, MakeTheArmsThatTheirDescriptionsPromise) {
  const auto arms_of = [](const std::string& file) {
    const auto text = read_file(file);
    EXPECT_TRUE(text.ok()) << file;
    const auto suite = suite::parse_suite(*text);
    EXPECT_TRUE(suite.ok()) << file << ": " << to_string(suite.error());
    std::vector<std::string> names;
    for (const suite::Arm& arm : suite->arms) names.push_back(arm.name);
    return names;
  };
  using Names = std::vector<std::string>;
  const Names factorial = arms_of("suites/vulkan-factorial.json");
  ASSERT_EQ(factorial.size(), 19U);
  EXPECT_EQ(factorial[0], "stock");
  EXPECT_EQ(factorial[1], "f: coopmat=off coopmat2=off int-dot=off float16=on");
  EXPECT_EQ(Names(factorial.begin() + 15, factorial.end()),
            (Names{"unlocked", "placebo", "bare-metal", "bare-metal-with-shim"}));
  const Names mac = arms_of("suites/mac-ablation-preference-on.json");
  ASSERT_EQ(mac.size(), 15U);
  EXPECT_EQ(mac[0], "stock");
  EXPECT_EQ(mac[1], "lowered");
  EXPECT_EQ(mac[2], "f: apple=1005 threadgroup=65536");
  EXPECT_EQ(Names(mac.begin() + 12, mac.end()), (Names{"unlocked", "bare-metal", "cpu-only"}));
  EXPECT_EQ(arms_of("suites/mac-ablation-preference-off.json"), mac);
  EXPECT_EQ(arms_of("suites/mac-stand-in.json").size(), 10U);
  EXPECT_EQ(arms_of("suites/mac-lume.json"), (Names{"bare-metal", "stock", "unlocked", "cpu-only"}));
  EXPECT_EQ(arms_of("suites/mac-tart.json"), arms_of("suites/mac-lume.json"));
  EXPECT_EQ(arms_of("suites/mac-lume-30b.json"), arms_of("suites/mac-lume.json"));
  EXPECT_EQ(arms_of("suites/mac-mlx.json"), (Names{"bare-metal", "stock", "unlocked"}));
  EXPECT_EQ(arms_of("suites/vulkan-factorial-llvmpipe.json").size(), 10U);
  EXPECT_EQ(
      arms_of("suites/cpu-isa.json"),
      (Names{"stock", "stock, isa=sse42", "stock, isa=sandybridge", "stock, isa=haswell", "stock, isa=alderlake",
             "stock, isa=skylakex", "stock, isa=icelake", "stock, isa=zen4", "unlocked", "placebo", "bare-metal"}));
}

TEST(FewestTrials, AreTheSmallestWithARankInterval) {
  // 2 / C(2T, T): 7: 1/1716, 8: 1/6435, 9: 1/24310.
  EXPECT_EQ(fewest_trials(1), 7);
  EXPECT_EQ(fewest_trials(85), 7);
  EXPECT_EQ(fewest_trials(86), 8);
  EXPECT_EQ(fewest_trials(321), 8);
  EXPECT_EQ(fewest_trials(322), 9);
  EXPECT_FALSE(can_answer(2, 1));
  EXPECT_TRUE(can_answer(3, 1000));
  EXPECT_FALSE(can_answer(7, 86));
  EXPECT_TRUE(can_answer(8, 86));
}

TEST(Duration, IsThatOfTheLongestMachine) {
  const suite::Suite suite = parsed(
      R"("targets": {"far": {"kind": "ssh"}}, "arms": [{"name": "a", "mode": "x"}, {"name": "b", "mode": "x", "target": "far"},
         {"name": "c", "mode": "x", "target": "far"}])",
      R"("trials": 8, "cooldown_s": 1, "preload_s": 2, "warmup_trials": 1)");
  EXPECT_EQ(duration_s(suite, 7), 17 * 10);
  suite::Suite until = suite;
  until.protocol.until = suite::Until{0.01, 20};
  EXPECT_EQ(duration_s(until, 7), 41 * 10);
  until.protocol.verbose_trial = true;
  EXPECT_EQ(duration_s(until, 7), 43 * 10);
}

TEST(Fit, TakesTheWholeDesignIfItFits) {
  const suite::Suite suite = designed(R"("full-factorial")", 6, R"("trials": 8)");
  const auto fitted = largest_design_that_fits(suite, 2, 1024);
  ASSERT_TRUE(fitted.ok());
  EXPECT_EQ(fitted->suite, suite);
  EXPECT_EQ(fitted->seconds, 1024);
  EXPECT_TRUE(fitted->left_out.empty());
}

TEST(Fit, GoesDownTheLadder) {
  const suite::Suite suite = designed(R"("full-factorial")", 6, R"("trials": 8)");
  const auto fit = [&](double seconds) {
    auto fitted = largest_design_that_fits(suite, 1, seconds);
    EXPECT_TRUE(fitted.ok()) << to_string(fitted.error());
    EXPECT_LE(fitted->seconds, seconds);
    EXPECT_EQ(duration_s(fitted->suite, 1), fitted->seconds);
    return *std::move(fitted);
  };
  const Fitted fraction = fit(511);  // 64 arms x 8 take 512
  EXPECT_EQ(fraction.suite.design->kinds, std::vector<DesignKind>{DesignKind::kFractional});
  EXPECT_EQ(fraction.suite.arms.size(), 16U);
  ASSERT_EQ(fraction.left_out.size(), 1U);
  EXPECT_TRUE(fraction.left_out[0].starts_with(
      "full-factorial: 64 arms, 9 min; fractional in its place, 16 arms: two-factor interactions are not all free; "))
      << fraction.left_out[0];
  const Fitted both = fit(127);
  EXPECT_EQ(both.suite.design->kinds, (std::vector<DesignKind>{DesignKind::kOneAtATime, DesignKind::kLeaveOneOut}));
  EXPECT_EQ(both.suite.arms.size(), 14U);
  const Fitted leave = fit(111);
  EXPECT_EQ(leave.suite.design->kinds, std::vector<DesignKind>{DesignKind::kLeaveOneOut});
  EXPECT_EQ(leave.suite.arms.size(), 8U);
  EXPECT_EQ(leave.suite.protocol.trials, 8);
  const Fitted fewer = fit(63);
  EXPECT_EQ(fewer.suite.protocol.trials, 7);
  ASSERT_EQ(fewer.left_out.size(), 2U);
  EXPECT_EQ(fewer.left_out[1], "1 of 8 blocks");
  const Fitted weak = fit(24);
  EXPECT_EQ(weak.suite.protocol.trials, 3);
  EXPECT_EQ(weak.left_out[1], "5 of 8 blocks; with 3 the intervals are weak");
  const auto nothing = largest_design_that_fits(suite, 1, 23);
  ASSERT_FALSE(nothing.ok());
  EXPECT_EQ(to_string(nothing.error()),
            "a time of 23 s: the least that can answer takes 24 s (8 arms, 3 blocks); try: more time, fewer factors, "
            "models or workloads");
}

TEST(Fit, EverySmallerSuiteIsOneThatParsesToItself) {
  const suite::Suite suite = designed(R"("full-factorial")", 6, R"("trials": 20)");
  for (double seconds = 24; seconds < 1300; seconds += 37) {
    const auto fitted = largest_design_that_fits(suite, 1, seconds);
    ASSERT_TRUE(fitted.ok()) << seconds;
    const auto again = suite::parse_suite(suite::canonical_json(fitted->suite));
    ASSERT_TRUE(again.ok()) << to_string(again.error());
    EXPECT_EQ(*again, fitted->suite);
    for (const DesignProblem& problem : design_problems(*again)) EXPECT_EQ(problem.severity, Severity::kLabel);
  }
}

TEST(Fit, NeverCutsToBlocksWithoutAnInterval) {
  // 126 comparisons: 7 blocks have none, 8 and 6 have.
  suite::Suite suite = designed(R"("full-factorial")", 6, R"("trials": 8)");
  suite.arms = designed(R"("full-factorial")", 6, R"("trials": 8)").arms;
  suite.design.reset();
  suite.designed_arms = 0;
  const auto fitted = largest_design_that_fits(suite, 1, 500);
  ASSERT_TRUE(fitted.ok());
  EXPECT_EQ(fitted->suite.protocol.trials, 6);
}

TEST(Fit, OfLevelsIsOneAtATime) {
  const suite::Suite suite = parsed(
      R"("design": {"kind": "full-factorial", "factors": [{"name": "x.a", "levels": ["1", "2", "3", "4"]},
                                                          {"name": "x.b", "levels": ["1", "2", "3"]}]})",
      R"("trials": 8)");
  const auto fitted = largest_design_that_fits(suite, 1, 60);
  ASSERT_TRUE(fitted.ok());
  EXPECT_EQ(fitted->suite.design->kinds, std::vector<DesignKind>{DesignKind::kOneAtATime});
  EXPECT_EQ(fitted->suite.arms.size(), 7U);
}

TEST(Fit, WithoutADesignCutsBlocksAndTheWishForMore) {
  const suite::Suite suite = parsed(kTwoArms, R"("trials": 8, "until": {"max_trials": 20})");
  const auto capped = largest_design_that_fits(suite, 1, 25);
  ASSERT_TRUE(capped.ok());
  EXPECT_EQ(capped->suite.protocol.until->max_trials, 12);
  EXPECT_EQ(capped->left_out, std::vector<std::string>{"8 of 20 blocks"});
  const auto fixed = largest_design_that_fits(suite, 1, 10);
  ASSERT_TRUE(fixed.ok());
  EXPECT_FALSE(fixed->suite.protocol.until.has_value());
  EXPECT_EQ(fixed->suite.protocol.trials, 5);
  EXPECT_EQ(fixed->left_out, std::vector<std::string>{"15 of 20 blocks, and adding blocks until intervals are narrow; "
                                                      "with 5 the intervals are weak"});
}

TEST(Fit, KeepsArmsWrittenByHandAndControls) {
  const suite::Suite suite = parsed(
      R"("arms": [{"name": "mine", "mode": "x", "env": {"A": "1"}}],
         "design": {"kind": "full-factorial", "controls": ["bare-metal"], "factors": )" +
          factors(5) + "}",
      R"("trials": 8)");
  const auto fitted = largest_design_that_fits(suite, 1, 34.0 * 8 - 1);
  ASSERT_TRUE(fitted.ok());
  EXPECT_EQ(fitted->suite.arms.front().name, "mine");
  EXPECT_EQ(fitted->suite.arms.back().name, "bare-metal");
  EXPECT_EQ(fitted->suite.arms.size(), 17U + 2U);
}

TEST(Fit, RefusesNoTime) {
  const suite::Suite suite = parsed(kTwoArms, R"("trials": 8)");
  EXPECT_FALSE(largest_design_that_fits(suite, 0, 10).ok());
  EXPECT_FALSE(largest_design_that_fits(suite, 1, 0).ok());
  EXPECT_FALSE(largest_design_that_fits(suite, HUGE_VAL, 10).ok());
  EXPECT_FALSE(largest_design_that_fits(suite, -1, 10).ok());
}

}  // namespace
}  // namespace capbench::design
