#include "reports/speedup.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "reports/test_trials.h"

namespace capbench::reports {
namespace {

using schema::TrialView;
using testing::add_result;
using testing::append;
using testing::arm;
using ::testing::Contains;
using ::testing::ElementsAre;
using testing::fail;
using ::testing::Not;
using testing::trial;

// Three modes, `n` trials each: bare-metal 1000, stock 100, unlocked 900.
std::vector<TrialView> three_modes(int n = 8) {
  auto trials = arm("bare-metal", 1000, n);
  append(trials, arm("stock", 100, n));
  append(trials, arm("unlocked", 900, n));
  return trials;
}

SpeedupRow only_row(const std::vector<TrialView>& trials) {
  const SpeedupReport report = build_speedup(trials);
  EXPECT_EQ(report.rows.size(), 1U);
  return report.rows.empty() ? SpeedupRow{} : report.rows.front();
}

const ModeSummary& mode(const SpeedupRow& row, const std::string& name) {
  return *std::find_if(row.modes.begin(), row.modes.end(), [&](const auto& m) { return m.mode == name; });
}

template <class Change>
std::vector<TrialView> with_copy(std::vector<TrialView> trials, Change change) {
  std::vector<TrialView> copies = trials;
  for (TrialView& copy : copies) change(copy);
  append(trials, copies);
  return trials;
}

TEST(Speedup, FasterThanBareMetalIsFlagged) {
  EXPECT_THAT(only_row(three_modes()).flags, Not(Contains("over-bare-metal")));
  auto trials = arm("bare-metal", 1000, 8);
  append(trials, arm("stock", 100, 8));
  append(trials, arm("unlocked", 1100, 8));
  const SpeedupRow row = only_row(trials);
  ASSERT_TRUE(row.percent_of_bare_metal && row.percent_of_bare_metal->ci95);
  EXPECT_GT(row.percent_of_bare_metal->ci95->low, 100);
  EXPECT_THAT(row.flags, Contains("over-bare-metal"));
  // An interval that holds 100 says nothing of the kind.
  auto close = arm("bare-metal", 1000, 8);
  append(close, arm("stock", 100, 8));
  append(close, arm("unlocked", 1002, 8));
  EXPECT_THAT(only_row(close).flags, Not(Contains("over-bare-metal")));
}

TEST(Speedup, ComparesTheThreeModes) {
  const SpeedupRow row = only_row(three_modes());
  ASSERT_EQ(row.modes.size(), 3U);
  EXPECT_EQ(mode(row, kStock).stats->n_trials, 8U);
  EXPECT_EQ(mode(row, kStock).stats->n_samples, 24U);
  EXPECT_LT(mode(row, kStock).stats->min_ts, mode(row, kStock).stats->median.value);
  EXPECT_GT(mode(row, kStock).stats->max_ts, mode(row, kStock).stats->median.value);
  ASSERT_TRUE(row.speedup && row.percent_of_bare_metal);
  EXPECT_NEAR(row.speedup->value, 9, 1e-6);
  EXPECT_NEAR(row.percent_of_bare_metal->value, 90, 1e-5);
  EXPECT_EQ(row.speedup->estimator, "ratio of medians of trial medians");
  EXPECT_EQ(row.speedup->interval, "Hodges-Lehmann, Mann-Whitney");
  EXPECT_LT(row.speedup->ci95->low, 9);
  EXPECT_GT(row.speedup->ci95->high, 9);
  EXPECT_GT(row.percent_of_bare_metal->ci95->low, 85);
  EXPECT_LT(row.percent_of_bare_metal->ci95->high, 95);
  EXPECT_EQ(row.treatment, "proven");
  EXPECT_EQ(row.quality, "unchecked");
  EXPECT_EQ(row.guest, "vm");
  EXPECT_TRUE(row.flags.empty());
  EXPECT_TRUE(row.notes.empty());
}

TEST(Speedup, MedianIsTheMedianOfTrialMedians) {
  std::vector<TrialView> trials;
  const std::vector<std::vector<double>> samples = {{100, 100, 100, 100, 100}, {200}, {400, 500, 600}};
  for (std::size_t i = 0; i < samples.size(); ++i) {
    trials.push_back(trial("stock", static_cast<std::int64_t>(i)));
    add_result(trials.back(), "pp100", samples[i]);
  }
  EXPECT_NEAR(mode(only_row(trials), kStock).stats->median.value, 200, 1e-6);
}

TEST(Speedup, OrderOfTrialsDoesNotMatter) {
  auto trials = testing::golden_trials();
  const SpeedupReport before = build_speedup(trials);
  std::shuffle(trials.begin(), trials.end(), std::mt19937(3));
  const SpeedupReport after = build_speedup(trials);
  ASSERT_EQ(before.rows.size(), after.rows.size());
  for (std::size_t i = 0; i < before.rows.size(); ++i) {
    EXPECT_EQ(before.rows[i].test, after.rows[i].test);
    EXPECT_EQ(before.rows[i].speedup->value, after.rows[i].speedup->value);
    EXPECT_EQ(before.rows[i].notes, after.rows[i].notes);
  }
}

TEST(Speedup, NeverPoolsWhatDiffers) {
  const std::vector<std::pair<const char*, void (*)(TrialView&)>> changes = {
      {"suite", [](TrialView& v) { v.trial.suite_id = "suite-2"; }},
      {"machine", [](TrialView& v) { v.machine_id = "machine-2"; }},
      {"executable", [](TrialView& v) { v.executable_sha256 = std::string(64, 'f'); }},
      {"build", [](TrialView& v) { v.trial.results[0].build = "def5678 (1001)"; }},
      {"workload", [](TrialView& v) { v.trial.workload = "w2"; }},
      {"model", [](TrialView& v) { v.trial.model = "m2"; }},
      {"model kind", [](TrialView& v) { v.trial.model_kind = "twin"; }},
      {"test", [](TrialView& v) { v.trial.results[0].test = "pp100 @ d512"; }},
  };
  for (const auto& [what, change] : changes) {
    const auto trials = with_copy(three_modes(), [&, change = change](TrialView& copy) {
      change(copy);
      copy.trial.run_id = "run-2";
    });
    const SpeedupReport report = build_speedup(trials);
    ASSERT_EQ(report.rows.size(), 2U) << what;
    for (const SpeedupRow& row : report.rows) EXPECT_EQ(mode(row, kStock).stats->n_trials, 8U) << what;
  }
}

TEST(Speedup, NeverPoolsDevicesOfOneArm) {
  auto trials = three_modes();
  for (TrialView& view : trials) view.trial.results[0].cpu_info = "cpu A";
  EXPECT_EQ(only_row(trials).device, "cpu A");
  const auto both = with_copy(trials, [](TrialView& copy) {
    copy.trial.results[0].cpu_info = "cpu B";
    copy.trial.run_id = "run-2";
  });
  const SpeedupReport report = build_speedup(both);
  ASSERT_EQ(report.rows.size(), 2U);
  EXPECT_EQ(report.rows[0].device, "cpu A");
  EXPECT_EQ(report.rows[1].device, "cpu B");
  for (const SpeedupRow& row : report.rows) EXPECT_EQ(mode(row, kStock).stats->n_trials, 8U);
}

TEST(Speedup, AGuestsDeviceMayHaveAnotherName) {
  auto trials = three_modes();
  for (TrialView& view : trials) {
    view.trial.results[0].gpu_info = view.trial.guest.empty() ? "GPU" : "virtual GPU";
    view.trial.results[0].backends = "MTL";
  }
  const SpeedupRow row = only_row(trials);
  EXPECT_EQ(row.device, "GPU (bare-metal); virtual GPU (stock, unlocked)");
  EXPECT_THAT(row.flags, ElementsAre("device-differs"));
  EXPECT_TRUE(row.speedup && row.percent_of_bare_metal);
}

TEST(Speedup, SaysWhenAndWithWhatItWasMeasured) {
  auto trials = three_modes(2);
  for (std::size_t i = 0; i < trials.size(); ++i) trials[i].trial.started_at = "2026-11-2" + std::to_string(i);
  Background background;
  background.capbench_by_run["run-1"] = "0.1.0";
  background.description_by_suite["suite-1"] = "what it is";
  const SpeedupRow row = build_speedup(trials, background).rows.at(0);
  EXPECT_EQ(row.measured_first, "2026-11-20");
  EXPECT_EQ(row.measured_last, "2026-11-25");
  EXPECT_THAT(row.capbench, ElementsAre("0.1.0"));
  EXPECT_EQ(row.suite_description, "what it is");
  EXPECT_EQ(measured_text({&row}), "2026-11-20 to 2026-11-25, with capbench 0.1.0");
  // What was read from others' files was not run here.
  trials.front().trial.source_sha256 = std::string(64, 'a');
  const SpeedupRow imported = build_speedup(trials, background).rows.at(0);
  EXPECT_EQ(measured_text({&imported}), "2026-11-20 to 2026-11-25, imported with capbench 0.1.0");
}

TEST(Speedup, PoolsRunsOfOneSuiteOnOneMachine) {
  const auto trials = with_copy(three_modes(), [](TrialView& copy) { copy.trial.run_id = "run-2"; });
  const SpeedupRow row = only_row(trials);
  EXPECT_EQ(mode(row, kUnlocked).stats->n_trials, 16U);
  EXPECT_THAT(row.runs, ElementsAre("run-1", "run-2"));
}

TEST(Speedup, AHostsArmStandsInTheRowOfEveryGuest) {
  auto trials = three_modes();
  for (const char* name : {"stock", "unlocked"}) {
    auto more = arm(name, 500, 8);
    for (TrialView& view : more) {
      view.trial.guest = "stand-in";
      view.trial.arm += "-in";
    }
    append(trials, more);
  }
  const SpeedupReport report = build_speedup(trials);
  ASSERT_EQ(report.rows.size(), 2U);
  EXPECT_EQ(report.rows[0].guest, "stand-in");
  EXPECT_EQ(report.rows[1].guest, "vm");
  for (const SpeedupRow& row : report.rows) {
    EXPECT_NEAR(mode(row, kBareMetal).stats->median.value, 1000, 1e-4);
    EXPECT_FALSE(row.arms_shown);
  }
  EXPECT_NEAR(report.rows[0].speedup->value, 1, 1e-6);
}

TEST(Speedup, SeveralArmsOfOneModeGiveARowForEachCombination) {
  auto trials = three_modes();
  auto more = arm("stock", 50, 8);
  for (TrialView& view : more) view.trial.arm = "stock-slow";
  append(trials, more);
  const SpeedupReport report = build_speedup(trials);
  ASSERT_EQ(report.rows.size(), 2U);
  EXPECT_TRUE(report.rows[0].arms_shown);
  EXPECT_EQ(mode(report.rows[0], kStock).arm, "stock");
  EXPECT_EQ(mode(report.rows[1], kStock).arm, "stock-slow");
  EXPECT_NEAR(report.rows[0].speedup->value, 9, 1e-6);
  EXPECT_NEAR(report.rows[1].speedup->value, 18, 1e-5);
}

TEST(Speedup, ListsTheSuitesOwnModes) {
  auto trials = three_modes();
  append(trials, arm("half", 300, 8));
  const SpeedupRow row = only_row(trials);
  ASSERT_EQ(row.modes.size(), 4U);
  EXPECT_EQ(row.modes[3].mode, "half");
  EXPECT_NEAR(row.modes[3].stats->median.value, 300, 1e-5);
  ASSERT_TRUE(row.modes[3].over_bare_metal.has_value());
  EXPECT_NEAR(row.modes[3].over_bare_metal->value, 0.3, 1e-6);
  EXPECT_FALSE(row.modes[2].over_bare_metal.has_value());
}

TEST(Speedup, OnlyTheLatestAttemptIsLookedAt) {
  auto trials = three_modes();
  TrialView cut_short = trials[8];
  ASSERT_EQ(cut_short.trial.mode, "stock");
  fail(cut_short, "killed", "the harness was stopped");
  trials[8].trial.attempt = 2;
  trials.push_back(cut_short);
  const SpeedupRow row = only_row(trials);
  EXPECT_EQ(mode(row, kStock).stats->n_trials, 8U);
  EXPECT_TRUE(row.not_ok.empty());

  // The other way round the later failure is what happened.
  trials.back().trial.attempt = 3;
  const SpeedupRow failed = only_row(trials);
  EXPECT_EQ(mode(failed, kStock).stats->n_trials, 7U);
  ASSERT_EQ(failed.not_ok.size(), 1U);
}

TEST(Speedup, TrialsThatAreNotOkAreCountedAndNamed) {
  auto trials = three_modes(5);
  fail(trials[5], "timeout", "ran longer than 600 s");
  trials[5].trial.id = "0123";
  const SpeedupRow one = only_row(trials);
  EXPECT_EQ(mode(one, kStock).stats->n_trials, 4U);
  EXPECT_THAT(one.notes, ElementsAre("stock: 1 of 5 trials not ok: timeout"));
  ASSERT_EQ(one.not_ok.size(), 1U);
  EXPECT_EQ(one.not_ok[0].status, "timeout");
  EXPECT_THAT(one.not_ok[0].trials, ElementsAre("0123"));
  EXPECT_EQ(one.not_ok[0].reason, "ran longer than 600 s");
  EXPECT_THAT(one.flags, Contains("trials-not-ok"));

  fail(trials[6], "timeout", "");
  fail(trials[7], "no_device", "");
  EXPECT_THAT(only_row(trials).notes, ElementsAre("stock: 3 of 5 trials not ok: 1 no device, 2 timeout"));
}

TEST(Speedup, AnExcludedTrialWithResultsDoesNotCount) {
  auto trials = three_modes();
  trials[8].trial.status = "excluded";
  trials[8].trial.reason = "ok; the lid was closed";
  const SpeedupRow row = only_row(trials);
  EXPECT_EQ(mode(row, kStock).stats->n_trials, 7U);
  EXPECT_EQ(row.treatment, "proven");
  ASSERT_EQ(row.trials.size(), 24U);
  const auto excluded = std::find_if(row.trials.begin(), row.trials.end(), [](const auto& t) { return !t.counted; });
  EXPECT_EQ(excluded->status, "excluded");
  EXPECT_TRUE(excluded->median_ts.has_value());
}

TEST(Speedup, AFailureBelongsToEveryTestItCouldHaveHad) {
  std::vector<TrialView> trials = three_modes(2);
  for (TrialView& view : trials) testing::add_generation(view, 32, {10, 11, 12});
  fail(trials[2], "failed", "exited 1");
  trials[2].executable_sha256.clear();  // it never started
  trials[3].trial.status = "timeout";   // it got as far as the first test
  trials[3].trial.results.resize(1);
  const SpeedupReport report = build_speedup(trials);
  ASSERT_EQ(report.rows.size(), 2U);
  for (const SpeedupRow& row : report.rows) {
    EXPECT_FALSE(mode(row, kStock).stats.has_value());
    EXPECT_FALSE(row.speedup.has_value());
    EXPECT_TRUE(row.percent_of_bare_metal.has_value());
    EXPECT_THAT(row.notes, ElementsAre("stock: no trial counts", "stock: 2 of 2 trials not ok: 1 failed, 1 timeout"));
  }
}

TEST(Speedup, WhereNothingRanThereStillIsARow) {
  auto trials = three_modes(2);
  for (TrialView& view : trials) fail(view, "failed", "exited 1");
  const SpeedupRow row = only_row(trials);
  EXPECT_EQ(row.test, "");
  EXPECT_EQ(row.not_ok.size(), 3U);
  EXPECT_EQ(row.treatment, "unproven");
  for (const ModeSummary& summary : row.modes) EXPECT_FALSE(summary.stats.has_value());
}

// A mean is of the build and the tests that its source states, and says nothing of others.
TEST(Speedup, ATrialOfMeansStandsWhereItBelongs) {
  const auto means_of = [](TrialView view, const std::string& build) {
    schema::StatedResultRecord stated;
    stated.test = view.trial.results.at(0).test;
    stated.build = build;
    stated.mean_ts = 25.125;
    stated.stddev_ts = 0.25;
    view.trial.results.clear();
    view.trial.stated = {stated};
    view.executable_sha256.clear();
    return view;
  };
  const auto lone = [] {
    TrialView view = arm("stock", 100, 1).at(0);
    view.trial.block = 7;
    view.trial.id = "lone";
    return view;
  };
  std::vector<TrialView> trials = three_modes(3);
  const std::string build = trials[0].trial.results.at(0).build;
  trials.push_back(means_of(lone(), build));
  const SpeedupRow row = only_row(trials);
  ASSERT_EQ(row.not_ok.size(), 1U);
  EXPECT_EQ(row.not_ok[0].status, kMeanOnly);
  EXPECT_EQ(row.not_ok[0].reason, row.test + " 25.12 \xC2\xB1 0.25 tokens/s");
  EXPECT_THAT(row.flags, Contains("mean only"));
  EXPECT_THAT(row.flags, Not(Contains("trials-not-ok")));

  trials.back() = means_of(lone(), "another build");
  const SpeedupReport report = build_speedup(trials);
  ASSERT_EQ(report.rows.size(), 2U);
  for (const SpeedupRow& one : report.rows) {
    EXPECT_EQ(one.not_ok.size(), one.test.empty() ? 1U : 0U);
    EXPECT_EQ(one.build, one.test.empty() ? "another build" : build);
  }
}

TEST(Speedup, MissingModesStayMissing) {
  auto trials = arm("stock", 100, 8);
  append(trials, arm("unlocked", 900, 8));
  const SpeedupRow row = only_row(trials);
  EXPECT_FALSE(mode(row, kBareMetal).stats.has_value());
  EXPECT_FALSE(row.percent_of_bare_metal.has_value());
  EXPECT_TRUE(row.speedup.has_value());
  EXPECT_THAT(row.notes, ElementsAre("bare-metal: not measured"));
  EXPECT_EQ(only_row(arm("bare-metal", 1000, 8)).guest, "");
}

TEST(Speedup, TreatmentIsProvenOnlyIfEveryCountedTrialIs) {
  auto trials = three_modes();
  trials[0].trial.treatment = "unproven";
  EXPECT_EQ(only_row(trials).treatment, "unproven");
  EXPECT_EQ(mode(only_row(trials), kBareMetal).treatment, "unproven");
  EXPECT_EQ(mode(only_row(trials), kStock).treatment, "proven");
}

TEST(Speedup, OneInvalidTrialMakesTheTreatmentInvalidAndDoesNotCount) {
  auto trials = three_modes();
  trials[16].trial.treatment = "invalid";
  trials[16].trial.status = "invalid_treatment";
  EXPECT_EQ(only_row(trials).treatment, "invalid");
  EXPECT_EQ(mode(only_row(trials), kUnlocked).stats->n_trials, 7U);
  trials[16].trial.status = "ok";  // a store that contradicts itself
  EXPECT_EQ(only_row(trials).treatment, "invalid");
  EXPECT_EQ(mode(only_row(trials), kUnlocked).stats->n_trials, 7U);
  EXPECT_THAT(only_row(trials).notes, ElementsAre("unlocked: 1 of 8 trials not ok: invalid treatment"));
}

TEST(Speedup, QualityIsThatOfStockAndUnlocked) {
  auto trials = three_modes();
  for (std::size_t i = 8; i < trials.size(); ++i) trials[i].trial.quality = "passed";
  EXPECT_EQ(only_row(trials).quality, "passed");
  trials[20].trial.quality = "unchecked";
  EXPECT_EQ(only_row(trials).quality, "unchecked");
  trials[20].trial.quality = "wrong";
  EXPECT_EQ(only_row(trials).quality, "wrong");
  trials[20].trial.quality = "passed";
  trials[21].trial.status = "wrong_output";
  EXPECT_EQ(only_row(trials).quality, "wrong");
}

TEST(Speedup, SamplesThatAreNoMeasurementDoNotCount) {
  auto trials = three_modes();
  trials[8].trial.results[0].samples_ns[1] = 0;
  trials[9].trial.results[0].samples_ns.clear();
  const SpeedupRow row = only_row(trials);
  EXPECT_EQ(mode(row, kStock).stats->n_trials, 6U);
  EXPECT_THAT(row.notes, ElementsAre("stock: 2 of 8 trials not ok: no samples"));
}

TEST(Speedup, FlagsFollowTheRules) {
  EXPECT_THAT(only_row(three_modes(1)).flags, ElementsAre("single-process"));
  EXPECT_EQ(only_row(three_modes(1)).speedup->interval, "within one process");
  EXPECT_THAT(only_row(three_modes(3)).flags, ElementsAre("few-trials"));

  auto trials = three_modes();
  for (TrialView& view : trials) {
    view.machine_is_virtual = true;
    view.trial.model_kind = "twin";
  }
  trials[1].trial.flags = {"battery"};
  add_result(trials[8], "pp100", {100, 100, 100});  // a second result of the same name
  trials[8].trial.results[0].samples_ns = {1000000000, 1500000000, 2000000000, 2500000000};
  trials[9].trial.closure_id = "closure-1";
  trials[10].trial.closure_id = "closure-2";
  const SpeedupReport report = build_speedup(trials);
  ASSERT_EQ(report.rows.size(), 2U);
  EXPECT_THAT(report.rows[0].flags,
              ElementsAre("battery", "closure-differs", "drift", "machine-is-virtual", "outlying-trial", "twin"));
  EXPECT_EQ(report.rows[1].test, "pp100 #2");
  EXPECT_THAT(report.rows[1].flags, Contains("repeated-test"));
  EXPECT_THAT(report.rows[1].flags, Not(Contains("drift")));
}

TEST(Speedup, OfNoTrialsIsEmpty) {
  EXPECT_TRUE(build_speedup({}).rows.empty());
}

}  // namespace
}  // namespace capbench::reports
