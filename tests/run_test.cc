// The main job with the real llama-bench and a small twin: run, resume, kill, interrupt, report.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <random>
#include <set>
#include <thread>
#include <tuple>

#include "base/file.h"
#include "harness/stats/summary.h"
#include "schema/store.h"
#include "tests/support/command.h"
#include "tests/support/suites.h"

namespace capbench::testing {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

class RealRun : public ::testing::Test {
 protected:
  void SetUp() override {
    if (llama_dir().empty()) GTEST_SKIP() << kNoLlama;
  }

  Sandbox sandbox_;
  std::string db_ = (sandbox_.dir / "r.db").string();

  SuiteOptions options() const {
    SuiteOptions o;
    o.executable = (llama_dir() / "llama-bench").string();
    return o;
  }

  CommandResult run(const std::string& suite, std::vector<std::string> more = {}) {
    std::vector<std::string> arguments{"run", suite, "--db", db_};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return sandbox_.capbench(arguments);
  }

  schema::Store store() {
    auto opened = schema::Store::open(db_, schema::OpenMode::kReadOnly);
    EXPECT_TRUE(opened.ok()) << to_string(opened.error());
    return std::move(*opened);
  }

  std::vector<schema::TrialView> trials() {
    auto views = store().trials({});
    EXPECT_TRUE(views.ok());
    return *std::move(views);
  }

  // No llama-bench that uses this test's model is left.
  bool nothing_left_behind() {
    for (int i = 0; i < 300; ++i) {
      bool found = false;
      for (const auto& entry : fs::directory_iterator("/proc")) {
        const auto command = read_file(entry.path() / "cmdline");
        found = found || (command.ok() && command->find("llama-bench") != std::string::npos &&
                          command->find(sandbox_.dir.string()) != std::string::npos &&
                          command->find("capbench run") == std::string::npos);
      }
      if (!found) return true;
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    return false;
  }
};

TEST_F(RealRun, ThreeModesAreProvenAndTheReportIsRight) {
  SuiteOptions o = options();
  o.trials = 3;
  o.repetitions = 3;
  o.prompt = "64";
  o.gen = "16";
  const std::string suite = write_suite(sandbox_, o);
  const auto result = run(suite);
  ASSERT_EQ(result.exit_status, 0) << result.err;
  EXPECT_EQ(result.out, "");

  // Every arm proven, and every digest of the closure there.
  schema::Store opened = store();
  std::map<std::pair<std::string, std::string>, std::vector<stats::Trial>> samples;  // (test, mode)
  for (const schema::TrialView& view : *opened.trials({})) {
    EXPECT_EQ(view.trial.status, "ok") << view.trial.reason;
    EXPECT_EQ(view.trial.treatment, "proven");
    const auto closure = opened.closure(view.trial.closure_id);
    ASSERT_TRUE(closure.ok() && closure->has_value());
    std::map<std::string, int> roles;
    for (const auto& member : (*closure)->members) ++roles[member.role];
    EXPECT_EQ(roles["executable"], 1);
    EXPECT_EQ(roles["model"], 1);
    EXPECT_GE(roles["library"], 5);
    EXPECT_EQ(roles["shim"], view.trial.mode == "bare-metal" ? 0 : 1);
    // From the raw output, independently of the harness's own parser.
    const auto raw = opened.blob(view.trial.stdout_sha256);
    ASSERT_TRUE(raw.ok());
    std::string_view rest = *raw;
    while (!rest.empty()) {
      const json row = json::parse(rest.substr(0, rest.find('\n')));
      rest.remove_prefix(rest.find('\n') + 1);
      stats::Trial trial;
      const double tokens = row["n_prompt"].get<double>() + row["n_gen"].get<double>();
      for (const double ns : row["samples_ns"]) trial.samples.push_back(1e9 * tokens / ns);
      ASSERT_EQ(trial.samples.size(), 3U);
      samples[{row["n_prompt"] > 0 ? "pp64" : "tg16", view.trial.mode}].push_back(trial);
    }
  }
  ASSERT_EQ(samples.size(), 6U);

  const auto report = sandbox_.capbench({"report", "speedup", "--db", db_, "--format", "json"});
  ASSERT_EQ(report.exit_status, 0) << report.err;
  const json document = json::parse(report.out);
  EXPECT_EQ(document["report"], "speedup");
  ASSERT_EQ(document["rows"].size(), 2U);
  const auto middle = [](std::vector<double> values) {
    std::sort(values.begin(), values.end());
    return values[values.size() / 2];  // three of them
  };
  for (const json& row : document["rows"]) {
    for (const char* key : {"suite", "machine", "build", "workload", "model", "test", "guest", "modes", "speedup",
                            "percent_of_bare_metal", "treatment", "quality", "flags"}) {
      EXPECT_TRUE(row.contains(key)) << key;
    }
    EXPECT_EQ(row["guest"], "stand-in");
    EXPECT_EQ(row["treatment"], "proven");
    EXPECT_EQ(row["quality"], "unchecked");
    for (const char* mode : {"bare-metal", "stock", "unlocked"}) {
      std::vector<double> medians;
      for (const auto& trial : samples[{row["test"], mode}]) medians.push_back(middle(trial.samples));
      EXPECT_EQ(row["modes"][mode]["median_ts"].get<double>(), middle(medians)) << row["test"] << mode;
      EXPECT_EQ(row["modes"][mode]["n_trials"], 3);
      EXPECT_EQ(row["modes"][mode]["n_samples"], 9);
    }
    // The x64 library is several times slower than anything with AVX2.
    if (row["test"] == "pp64") {
      EXPECT_GT(row["speedup"]["ratio"].get<double>(), 1.5);
    }
  }
  for (const char* format : {"md", "csv", "html"}) {
    const auto other = sandbox_.capbench({"report", "speedup", "--db", db_, "--format", format});
    EXPECT_EQ(other.exit_status, 0);
    EXPECT_NE(other.out.find("pp64"), std::string::npos) << format;
  }

  // Everything is there: resuming runs nothing.
  const auto again = run(suite, {"--resume"});
  EXPECT_EQ(again.exit_status, 0);
  EXPECT_EQ(trials().size(), 9U);
}

TEST_F(RealRun, KilledAtFiftyRandomMomentsLosesAndRepeatsNothing) {
  SuiteOptions o = options();
  o.trials = 40;
  o.prompt = "8";
  o.gen = "2";
  o.repetitions = 1;
  const std::string suite = write_suite(sandbox_, o);
  ASSERT_EQ(
      sandbox_.capbench({"models", "synth", "--like", "tiny", "--out", (sandbox_.dir / "m.gguf").string()}).exit_status,
      0);
  std::mt19937 random(2026);  // NOLINT: the same moments every time
  int killed = 0;
  for (int round = 0; round < 400 && killed < 50; ++round) {
    const auto command = sandbox_.capbench_command({"run", suite, "--db", db_, "--resume", "--quiet"});
    const pid_t pid = start_command(command, sandbox_.dir / "out", sandbox_.dir / "err");
    std::this_thread::sleep_for(std::chrono::milliseconds(random() % 500));
    if (::kill(pid, SIGKILL) == 0) ++killed;
    wait_command(pid);
    ASSERT_TRUE(nothing_left_behind()) << "round " << round;
    if (!fs::exists(db_)) continue;
    ASSERT_TRUE(store().check_integrity().ok()) << "round " << round;
  }
  EXPECT_EQ(killed, 50);
  const auto last = run(suite, {"--resume", "--quiet"});
  EXPECT_EQ(last.exit_status, 0) << last.err;
  std::set<std::tuple<std::string, std::int64_t>> seen;
  for (const auto& view : trials()) {
    EXPECT_EQ(view.trial.status, "ok") << view.trial.reason;
    EXPECT_TRUE(seen.emplace(view.trial.arm, view.trial.block).second) << view.trial.arm << view.trial.block;
  }
  EXPECT_EQ(seen.size(), 120U);
  EXPECT_EQ(store().runs("")->size(), 1U);
  EXPECT_TRUE(store().check_integrity().ok());
}

TEST_F(RealRun, CtrlCEndsCleanlyAndResumeGoesOn) {
  SuiteOptions o = options();
  o.trials = 6;
  o.repetitions = 20;
  o.prompt = "64";
  const std::string suite = write_suite(sandbox_, o);
  const pid_t pid =
      start_command(sandbox_.capbench_command({"run", suite, "--db", db_}), sandbox_.dir / "out", sandbox_.dir / "err");
  std::this_thread::sleep_for(std::chrono::milliseconds(2500));
  ::kill(pid, SIGINT);
  const int status = wait_command(pid);
  ASSERT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 130);
  EXPECT_TRUE(nothing_left_behind());
  EXPECT_NE(read_file(sandbox_.dir / "err")->find("--resume"), std::string::npos);
  EXPECT_EQ(store().runs("")->front().state, "interrupted");
  const auto resumed = run(suite, {"--resume"});
  EXPECT_EQ(resumed.exit_status, 0) << resumed.err;
  std::map<std::tuple<std::string, std::int64_t>, int> ok;
  for (const auto& view : trials()) {
    if (view.trial.status == "ok") ++ok[{view.trial.arm, view.trial.block}];
  }
  EXPECT_EQ(ok.size(), 18U);
  for (const auto& [cell, count] : ok) EXPECT_EQ(count, 1);
}

TEST_F(RealRun, ASecondHarnessIsRefusedOrWaits) {
  SuiteOptions o = options();
  o.trials = 3;
  o.repetitions = 20;
  const std::string suite = write_suite(sandbox_, o);
  const pid_t pid =
      start_command(sandbox_.capbench_command({"run", suite, "--db", db_}), sandbox_.dir / "out", sandbox_.dir / "err");
  std::this_thread::sleep_for(std::chrono::milliseconds(1500));
  const auto refused = sandbox_.capbench({"run", suite, "--db", (sandbox_.dir / "other.db").string(), "--no-wait"});
  EXPECT_EQ(refused.exit_status, 3) << refused.err;
  EXPECT_NE(refused.err.find("another capbench run"), std::string::npos);
  ::kill(pid, SIGTERM);
  EXPECT_EQ(WEXITSTATUS(wait_command(pid)), 130);
}

TEST_F(RealRun, OddNamesArePassedOn) {
  SuiteOptions o = options();
  o.trials = 1;
  const fs::path folder = sandbox_.dir / "a b, \xc3\xa9 'q'";
  fs::create_directories(folder);
  ASSERT_EQ(sandbox_.capbench({"models", "synth", "--like", "tiny", "--out", (folder / "m.gguf").string()}).exit_status,
            0);
  write_suite(sandbox_, [&] {
    o.model = R"("file": "m.gguf")";
    return o;
  }());
  fs::copy_file(sandbox_.dir / "suite.json", folder / "suite.json");
  fs::copy_file(cpu_shim(), folder / "libcapshim_cpu.so");
  const auto result = sandbox_.capbench({"run", (folder / "suite.json").string(), "--db", (folder / "r.db").string()},
                                        {{"CAPBENCH_SHIM_DIR", folder.string()}});
  EXPECT_EQ(result.exit_status, 0) << result.err;
}

TEST_F(RealRun, OnlyThenTheRest) {
  const std::string suite = write_suite(sandbox_, options());
  EXPECT_EQ(run(suite, {"--only", "*/stock"}).exit_status, 0);
  EXPECT_EQ(trials().size(), 2U);
  EXPECT_EQ(run(suite, {"--resume"}).exit_status, 0);
  EXPECT_EQ(trials().size(), 6U);
  // A trial taken out of the reports stays in the store.
  const std::string id = trials().front().trial.id;
  EXPECT_EQ(sandbox_.capbench({"exclude", id.substr(0, 12), "--why", "a backup ran", "--db", db_}).exit_status, 0);
  EXPECT_EQ(trials().size(), 6U);
  EXPECT_EQ(trials().front().trial.status, "excluded");
}

TEST_F(RealRun, DoctorFindsWhatTheSuiteNeeds) {
  const auto found = sandbox_.capbench({"doctor", write_suite(sandbox_, options())});
  EXPECT_EQ(found.exit_status, 0) << found.out;
  SuiteOptions o = options();
  o.executable = "./no-bench";
  const auto missing = sandbox_.capbench({"doctor", write_suite(sandbox_, o)});
  EXPECT_EQ(missing.exit_status, 3);
  EXPECT_NE(missing.out.find("MISSING"), std::string::npos);
  EXPECT_NE(missing.out.find("scripts/setup"), std::string::npos);
}

}  // namespace
}  // namespace capbench::testing
