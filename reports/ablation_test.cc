#include "reports/ablation.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "reports/ablation_document.h"
#include "reports/test_ablation.h"
#include "reports/test_trials.h"

namespace capbench::reports {
namespace {

using schema::TrialView;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

const AblationRow& row_of(const AblationReport& report, const std::string& test) {
  const auto found =
      std::find_if(report.rows.begin(), report.rows.end(), [&](const AblationRow& row) { return row.test == test; });
  EXPECT_NE(found, report.rows.end()) << test;
  return *found;
}

const AblationArm& arm_of(const AblationRow& row, const std::string& name) {
  const auto found =
      std::find_if(row.arms.begin(), row.arms.end(), [&](const AblationArm& arm) { return arm.name == name; });
  EXPECT_NE(found, row.arms.end()) << name;
  return *found;
}

const AblationFactor& factor_of(const AblationRow& row, const std::string& name) {
  for (const AblationFamily& family : row.families) {
    for (const AblationFactor& factor : family.factors) {
      if (factor.factor.name == name) return factor;
    }
  }
  ADD_FAILURE() << "no factor " << name;
  static const AblationFactor kNone;
  return kNone;
}

TEST(Ablation, FindsTheStandInsOfAFullFactorial) {
  const AblationReport report = build_ablation(testing::ablation_trials(), testing::ablation_background());
  ASSERT_EQ(report.rows.size(), 2U);
  const AblationRow& row = row_of(report, "pp512");
  ASSERT_FALSE(row.families.empty());
  const AblationFactor& matrix = factor_of(row, "vulkan.cooperative_matrix");
  EXPECT_EQ(matrix.depends, "yes");
  EXPECT_THAT(matrix.stand_ins, ElementsAre("cooperative_matrix2"));
  ASSERT_TRUE(matrix.removing && matrix.removing->alone);
  EXPECT_NEAR(matrix.removing->alone->ratio, 1, 0.01);  // alone it costs nothing
  const AblationFactor& dot = factor_of(row, "vulkan.integer_dot_product");
  EXPECT_EQ(dot.depends, "no");
  EXPECT_THAT(dot.condition, HasSubstr("only without"));
  ASSERT_TRUE(dot.adding && dot.adding->alone);
  EXPECT_NEAR(dot.adding->alone->ratio, 15500.0 / 9000, 0.02);
  EXPECT_EQ(dot.expected.verdict, "may");
  EXPECT_EQ(dot.agreement, "agrees");

  const AblationFactor& generation = factor_of(row_of(report, "tg128"), "vulkan.cooperative_matrix");
  EXPECT_EQ(generation.depends, "no");
  EXPECT_EQ(generation.agreement, "allowed");
}

TEST(Ablation, ArmsThatWereToldTheSameGiveTheFloor) {
  const AblationRow row = row_of(build_ablation(testing::ablation_trials(), testing::ablation_background()), "pp512");
  ASSERT_TRUE(row.floor);
  EXPECT_GT(row.floors.size(), 1U);
  EXPECT_GE(row.margin, 0.02);
  for (const stats::NoiseFloor& floor : row.floors) EXPECT_LE(floor.floor, row.floor->floor);
}

TEST(Ablation, ComparesEachArmWithStockAndBareMetal) {
  const AblationRow row = row_of(build_ablation(testing::ablation_trials(), testing::ablation_background()), "pp512");
  const AblationArm& unlocked = arm_of(row, "unlocked");
  ASSERT_TRUE(unlocked.numbers.against_reference && unlocked.numbers.against_reference->alone);
  EXPECT_NEAR(unlocked.numbers.against_reference->alone->ratio, 32000.0 / 9000, 0.02);
  ASSERT_TRUE(unlocked.numbers.against_bare_metal && unlocked.numbers.against_bare_metal->alone);
  EXPECT_NEAR(unlocked.numbers.against_bare_metal->alone->ratio, 1, 0.01);
  ASSERT_TRUE(unlocked.numbers.gap && unlocked.numbers.gap->share);
  EXPECT_NEAR(*unlocked.numbers.gap->share, 1, 0.01);
  EXPECT_EQ(unlocked.repetitions, 5U);
  // 2 x 1.1e9 parameters x 32,000 tokens/s of 989.4e12 operations/s; the size alone is known.
  ASSERT_TRUE(unlocked.roofline.percent);
  EXPECT_NEAR(*unlocked.roofline.percent, 7.1, 0.1);
  EXPECT_TRUE(unlocked.roofline.approximate);
}

TEST(Ablation, MarksSharesOfFiguresThatWereNotCompared) {
  auto trials = testing::ablation_trials();
  for (TrialView& view : trials) {
    for (schema::ResultRecord& result : view.trial.results) result.gpu_info = "Apple M4 Max";
  }
  const AblationReport report = build_ablation(trials, testing::ablation_background());
  const RooflineShare& prompt = arm_of(row_of(report, "pp512"), "stock").roofline;
  ASSERT_TRUE(prompt.percent);
  EXPECT_FALSE(prompt.compared);
  const std::string text = document_markdown(ablation_document(report));
  EXPECT_THAT(text, HasSubstr("\\!?|"));  // over 100 %, of such a figure
  EXPECT_THAT(text, HasSubstr("?: the device's figure"));
  const RooflineShare& generation = arm_of(row_of(report, "tg128"), "stock").roofline;
  ASSERT_TRUE(generation.percent);
  EXPECT_TRUE(generation.compared);
  EXPECT_THAT(
      document_markdown(ablation_document(build_ablation(testing::ablation_trials(), testing::ablation_background()))),
      Not(HasSubstr("?: the")));
}

TEST(Ablation, EveryArmOfTheSuiteIsARowWhateverBecameOfIt) {
  const AblationReport report = build_ablation(testing::ablation_trials(), testing::ablation_background());
  const AblationRow& row = row_of(report, "pp512");
  EXPECT_EQ(row.arms.size(), 15U);
  EXPECT_EQ(arm_of(row, "fails").status, "failed");
  EXPECT_TRUE(arm_of(row, "fails").finding);
  EXPECT_EQ(arm_of(row, "never run").status, "not run");
  EXPECT_EQ(arm_of(row, "no such device").status, "no device, as expected");
  EXPECT_FALSE(arm_of(row, "no such device").finding);
  EXPECT_EQ(arm_of(row, "wrong output").quality, "wrong");
  const std::string text = document_markdown(ablation_document(report));
  EXPECT_THAT(text, HasSubstr("not run"));
  EXPECT_THAT(text, HasSubstr("exited 134: std::bad_alloc"));
  EXPECT_THAT(row.notes, Contains(HasSubstr("wrong output: the output failed its quality check")));
  EXPECT_THAT(text, Not(HasSubstr("7.117x")));  // a wrong answer's speed is no speedup
}

TEST(Ablation, WrongOutputTakesPartInNoComparisonOfFactors) {
  const AblationRow row = row_of(build_ablation(testing::ablation_trials(), testing::ablation_background()), "pp512");
  // Only the arm with the wrong output, and two without results, ask for it: no factor of those that count.
  EXPECT_THAT(row.notes, Contains(HasSubstr("GGML_VK_DISABLE_FUSION differs only in arms without usable results")));
  for (const AblationFamily& family : row.families) {
    if (!family.dependence) continue;
    for (const stats::ArmClaim& claim : family.dependence->arms) {
      if (row.arms.at(family.levels.cells.at(claim.cell).arm).name != "wrong output") continue;
      EXPECT_FALSE(claim.over_unlocked && claim.over_unlocked->alone);
    }
  }
}

// As in evidence of one process an arm, where the shim changed two answers at once.
std::vector<TrialView> two_answers_at_once() {
  std::vector<TrialView> trials;
  for (const char* mode : {"stock", "unlocked"}) {
    TrialView view = testing::trial(mode, 0);
    testing::add_result(view, "pp100", {mode == std::string("stock") ? 430.0 : 4790.0, 431, 432, 433, 429});
    if (mode == std::string("unlocked")) view.trial.results.clear();
    if (mode == std::string("unlocked")) testing::add_result(view, "pp100", {4790, 4785, 4780, 4795, 4788});
    view.trial.started_at = mode == std::string("stock") ? "2026-08-09T10:00:00.000Z" : "2026-08-09T11:28:00.000Z";
    const bool unlocked = mode == std::string("unlocked");
    testing::observe(view, "metal.apple_family", unlocked ? "1009" : "", unlocked ? "1009" : "1005");
    testing::observe(view, "metal.max_threadgroup_memory", "", unlocked ? "65536" : "32768");
    trials.push_back(view);
  }
  return trials;
}

TEST(Ablation, CannotTellWhichOfTwoThatChangedTogether) {
  const AblationReport report = build_ablation(two_answers_at_once(), testing::ablation_background());
  ASSERT_EQ(report.rows.size(), 1U);
  const AblationRow& row = report.rows.front();
  for (const char* name : {"metal.apple_family", "metal.max_threadgroup_memory"}) {
    EXPECT_EQ(factor_of(row, name).depends, "cannot tell which") << name;
  }
  EXPECT_FALSE(factor_of(row, "metal.max_threadgroup_memory").factor.requested);
  EXPECT_THAT(row.notes, Contains(HasSubstr("88 minutes apart")));
  EXPECT_THAT(row.flags, Contains("single-process"));
  EXPECT_THAT(document_markdown(ablation_document(report)), HasSubstr("cannot tell which"));
}

TEST(Ablation, AnEmptyCellIsNamed) {
  auto trials = testing::ablation_trials();
  const std::string gone = "layer: matrix=on matrix2=off dot=on";
  for (TrialView& view : trials) {
    if (view.trial.arm == gone) testing::fail(view, "timeout", "ran longer than 600 s");
  }
  const AblationReport report = build_ablation(trials, testing::ablation_background());
  const AblationRow& row = row_of(report, "pp512");
  EXPECT_EQ(arm_of(row, gone).status, "timeout");
  EXPECT_THAT(document_markdown(ablation_document(report)), HasSubstr("matrix=on matrix2=off dot=on"));
  EXPECT_THAT(row.notes, Contains(HasSubstr(gone)));
}

TEST(Ablation, SamplesThatAreNoMeasurementAreNamed) {
  auto trials = testing::ablation_trials();
  for (TrialView& view : trials) {
    if (view.trial.arm == "unlocked") view.trial.results[0].samples_ns = {0, -5, 10};
  }
  const AblationRow row = row_of(build_ablation(trials, testing::ablation_background()), "pp512");
  EXPECT_EQ(arm_of(row, "unlocked").status, "no samples");
  EXPECT_THAT(row.notes, Contains(HasSubstr("unlocked: 8 trials no samples")));
}

TEST(Ablation, OneTrialAnArmShowsNothing) {
  auto trials = testing::ablation_trials();
  trials.erase(std::remove_if(trials.begin(), trials.end(), [](const TrialView& view) { return view.trial.block > 0; }),
               trials.end());
  const AblationRow row = row_of(build_ablation(trials, testing::ablation_background()), "pp512");
  for (const AblationFamily& family : row.families) {
    for (const AblationFactor& factor : family.factors) EXPECT_THAT(factor.depends, HasSubstr("cannot tell"));
  }
  EXPECT_FALSE(row.floor);
  EXPECT_THAT(row.notes, Contains(HasSubstr("one process an arm")));
}

TEST(Ablation, ArmsThatRanOtherFilesAreNamed) {
  auto trials = testing::ablation_trials();
  AblationBackground background = testing::ablation_background();
  const auto member = [](const char* role, const char* name, char digest) {
    schema::ClosureMember out;
    out.role = role;
    out.artifact.name = name;
    out.artifact.sha256 = std::string(64, digest);
    return out;
  };
  background.closures["closure"] = {member("executable", "llama-bench", 'a'), member("library", "libggml.so", 'b')};
  background.closures["with shim"] = {member("executable", "llama-bench", 'a'), member("library", "libggml.so", 'b'),
                                      member("shim", "libcapshim_vulkan.so", 'c')};
  background.closures["other"] = {member("executable", "llama-bench", 'a'), member("library", "libggml.so", 'd'),
                                  member("driver", "libextra.so", 'e')};
  for (TrialView& view : trials) {
    if (view.trial.mode == "layer") view.trial.closure_id = "with shim";
    if (view.trial.arm == "unlocked") view.trial.closure_id = "other";
  }
  const AblationRow row = row_of(build_ablation(trials, background), "pp512");
  EXPECT_THAT(row.flags, Contains("closures-differ"));
  EXPECT_THAT(row.notes, Contains("arms differ in more than the treatment: unlocked ran another library libggml.so; "
                                  "libextra.so besides, compared with bare-metal"));
  EXPECT_THAT(row.notes, Not(Contains(HasSubstr("libcapshim"))));
}

// Two arms that a variable tells apart and nothing that was seen: whether anybody read it is not known.
TEST(Ablation, AVariableThatShowsInNothingIsSaidTo) {
  const auto report_with = [](const std::string& seen) {
    std::vector<TrialView> trials;
    AblationBackground background = testing::ablation_background();
    suite::Arm plain = testing::layer_arm("stock", {});
    plain.mode = "stock";
    suite::Arm switched = testing::layer_arm("switched", {});
    switched.env = {{"NOBODY_READS_THIS", "1"}};
    for (std::int64_t block = 0; block < 8; ++block) {
      trials.push_back(testing::ablation_trial(plain, block, 100, 50));
      trials.push_back(testing::ablation_trial(switched, block, 100, 50));
      testing::observe(trials[trials.size() - 2], "ggml.kernels", "", "a", "ggml log");
      testing::observe(trials.back(), "ggml.kernels", "", seen, "ggml log");
    }
    for (auto& [id, suite] : background.suites) suite.arms = {plain, switched};
    return build_ablation(trials, background);
  };
  const std::string note =
      "NOBODY_READS_THIS: nothing that was observed differs between its levels, so whether anything read it is not "
      "known";
  EXPECT_THAT(row_of(report_with("a"), "pp512").notes, Contains(note));
  EXPECT_THAT(row_of(report_with("b"), "pp512").notes, Not(Contains(note)));
}

// Flags and columns that are not there need no explanation.
TEST(Ablation, ExplainsWhatIsThere) {
  std::vector<TrialView> trials = testing::ablation_trials();
  for (TrialView& view : trials) testing::fail(view, "not_run", "the machine was busy");
  const std::string text = document_markdown(ablation_document(build_ablation(trials, testing::ablation_background())));
  for (const char* word : {"gap %:", "roof %:", "x stock and % bare"}) {
    EXPECT_THAT(text, Not(HasSubstr(word)));
  }
}

TEST(Ablation, WarmUpTrialsAreNotAnalysed) {
  auto trials = testing::ablation_trials();
  const AblationReport before = build_ablation(trials, testing::ablation_background());
  TrialView warm = trials.front();
  warm.trial.block = -1;
  warm.trial.results[0].samples_ns = {1000000000, 1000000000, 1000000000, 1000000000};
  trials.push_back(warm);
  const AblationReport after = build_ablation(trials, testing::ablation_background());
  EXPECT_EQ(arm_of(before.rows[0], "bare-metal").numbers.median->median,
            arm_of(after.rows[0], "bare-metal").numbers.median->median);
  EXPECT_EQ(arm_of(after.rows[0], "bare-metal").n_tried, 8U);
}

TEST(Ablation, AColdFirstProcessIsFlagged) {
  auto trials = testing::ablation_trials();
  for (TrialView& view : trials) {
    if (view.trial.arm != "bare-metal" || view.trial.block != 0) continue;
    for (std::int64_t& ns : view.trial.results[0].samples_ns) ns = ns * 34 / 10;
  }
  const AblationRow row = row_of(build_ablation(trials, testing::ablation_background()), "pp512");
  EXPECT_THAT(row.flags, Contains("cold-first-process"));
  EXPECT_THAT(row.notes, Contains(HasSubstr("bare-metal: trial")));
}

TEST(Ablation, WithoutASuiteTheTrialsOwnWordsSuffice) {
  AblationBackground background = testing::ablation_background();
  background.suites.clear();
  const AblationRow row = row_of(build_ablation(testing::ablation_trials(), background), "pp512");
  EXPECT_EQ(factor_of(row, "vulkan.cooperative_matrix").depends, "yes");
  EXPECT_EQ(row.arms.size(), 14U);  // the arm that never ran is not known
}

TEST(Ablation, NothingGivesAnEmptyReport) {
  const AblationReport report = build_ablation({}, {});
  EXPECT_TRUE(report.rows.empty());
  EXPECT_THAT(document_markdown(ablation_document(report)), HasSubstr("No trials to report."));
}

}  // namespace
}  // namespace capbench::reports
