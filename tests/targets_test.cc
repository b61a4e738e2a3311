// Suites on other machines: a real OpenSSH server on loopback that this test starts, links that are cut, several
// machines side by side, and what must hold before a trial.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>
#include <thread>

#include "base/file.h"
#include "harness/target/testing/sshd.h"
#include "schema/store.h"
#include "tests/support/command.h"
#include "tests/support/suites.h"

namespace capbench::testing {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using target::testing::Sshd;

// Members of a suite that these tests vary.
struct Parts {
  std::string executable;
  std::string targets = "{}";
  std::string arms;
  std::string workload = R"("p": 64, "n": 16, "r": 3, "t": 1)";
  std::string model = R"("like": "tiny")";
  std::string protocol = R"("trials": 3, "time_limit_s": 120)";
  std::string more;  // with a leading comma
};

class Targets : public ::testing::Test {
 protected:
  Sandbox sandbox_;
  std::string db_ = (sandbox_.dir / "r.db").string();

  std::string suite(const Parts& parts) const {
    return sandbox_
        .write("suite.json", fmt::format(R"({{"capbench": 1, "name": "targets",
      "runtime": {{"kind": "llama-bench", "executable": "{}"}},
      "models": [{{"name": "model", {}}}], "workloads": [{{"name": "work", {}}}],
      "targets": {}, "arms": [{}], "protocol": {{{}}}{}}})",
                                         parts.executable, parts.model, parts.workload, parts.targets, parts.arms,
                                         parts.protocol, parts.more))
        .string();
  }

  static std::string three_arms(const std::string& target) {
    return fmt::format(
        R"({{"name": "bare-metal", "mode": "bare-metal", "target": "{0}"}},
      {{"name": "stock", "mode": "stock", "target": "{0}", "guest": {{"cpu.isa": "x64"}}}},
      {{"name": "unlocked", "mode": "unlocked", "target": "{0}", "guest": {{"cpu.isa": "x64"}}, "set": {{"cpu.isa": "best"}}}})",
        target);
  }

  std::vector<schema::TrialView> trials(const std::string& db) const {
    auto store = schema::Store::open(db, schema::OpenMode::kReadOnly);
    EXPECT_TRUE(store.ok()) << to_string(store.error());
    auto views = store->trials({});
    EXPECT_TRUE(views.ok());
    return *std::move(views);
  }

  std::map<std::string, int> statuses(const std::string& db) const {
    std::map<std::string, int> counts;
    for (const auto& view : trials(db)) ++counts[view.trial.status];
    return counts;
  }

  // A program of the test's own, which logs when it runs.
  std::string logging_bench(const std::string& log, double sleep_s) const {
    return sandbox_
        .write("bench", stand_in_bench(fmt::format("echo \"+ $$ $(date +%s%N)\" >>{}; sleep {}", log, sleep_s),
                                       fmt::format("echo \"- $$ $(date +%s%N)\" >>{}", log)))
        .string();
  }
};

class OverSsh : public Targets {
 protected:
  void SetUp() override {
    if (llama_dir().empty()) GTEST_SKIP() << kNoLlama;
    fs::create_directories(sandbox_.dir / "sshd");
    auto started = Sshd::start((sandbox_.dir / "sshd").string());
    if (!started) GTEST_SKIP() << to_string(started.error());
    sshd_ = std::move(*started);
  }

  Parts parts() const {
    Parts p;
    p.executable = (llama_dir() / "llama-bench").string();
    p.targets = fmt::format(R"({{"box": {}}})", sshd_->spec_json());
    p.arms = three_arms("box");
    return p;
  }

  // Processes of the server's jobs that are left.
  bool nothing_left_behind() const {
    for (int i = 0; i < 1000; ++i) {
      bool found = false;
      for (const auto& entry : fs::directory_iterator("/proc")) {
        const auto command = read_file(entry.path() / "cmdline");
        found = found || (command.ok() && command->starts_with(sshd_->work_dir()));
      }
      if (!found) return true;
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
    return false;
  }

  std::unique_ptr<Sshd> sshd_;
};

TEST_F(OverSsh, TheSameSuiteGivesTheSameTable) {
  Parts here = parts();
  here.protocol = R"("trials": 2, "time_limit_s": 120)";
  here.targets = "{}";
  here.arms = three_arms("local");
  const std::string local_db = (sandbox_.dir / "local.db").string();
  const auto local = sandbox_.capbench({"run", suite(here), "--db", local_db});
  ASSERT_EQ(local.exit_status, 0) << local.err;
  Parts there = parts();
  there.protocol = here.protocol;
  const auto remote = sandbox_.capbench({"run", suite(there), "--db", db_});
  ASSERT_EQ(remote.exit_status, 0) << remote.err;
  const auto views = trials(db_);
  ASSERT_EQ(views.size(), 6U);
  for (const auto& view : views) {
    EXPECT_EQ(view.trial.status, "ok") << view.trial.reason;
    EXPECT_EQ(view.trial.treatment, "proven") << view.trial.arm;
    EXPECT_EQ(view.trial.target, "box");
    EXPECT_FALSE(view.trial.closure_id.empty());
    EXPECT_FALSE(view.executable_sha256.empty());
    EXPECT_GT(view.trial.max_rss_bytes, 1 << 20);
    EXPECT_FALSE(view.trial.hygiene.empty());
  }
  // The same program, libraries and model, by their digests, as here.
  EXPECT_EQ(views[0].executable_sha256, trials(local_db)[0].executable_sha256);
  const auto table = [&](const std::string& db) {
    const auto report = sandbox_.capbench({"report", "speedup", "--db", db, "--format", "json"});
    EXPECT_EQ(report.exit_status, 0) << report.err;
    std::map<std::string, double> ratios;
    const json document = json::parse(report.out);
    for (const json& row : document["rows"]) {
      EXPECT_EQ(row["treatment"], "proven");
      ratios[row["test"].get<std::string>()] = row["speedup"]["ratio"].get<double>();
    }
    return ratios;
  };
  const auto a = table(local_db);
  const auto b = table(db_);
  ASSERT_EQ(a.size(), 2U);
  ASSERT_EQ(b.size(), 2U);
  // Times differ from run to run on a busy machine; that the shim works there as here does not.
  for (const auto& [test, ratio] : a) {
    EXPECT_GT(ratio, 1.3) << test;
    EXPECT_GT(b.at(test), 1.3) << test;
  }
}

TEST_F(OverSsh, ACutLinkFailsOneTrialAndResumeGoesOn) {
  Parts p = parts();
  p.workload = R"("p": 64, "n": 16, "r": 100, "t": 1)";  // long enough to be cut in the middle
  p.protocol = R"("trials": 1, "time_limit_s": 300)";
  p.arms = R"({"name": "bare-metal", "mode": "bare-metal", "target": "box"},
              {"name": "again", "mode": "other", "target": "box"})";
  const std::string file = suite(p);
  const fs::path err = sandbox_.dir / "err";
  const pid_t pid = start_command(sandbox_.capbench_command({"run", file, "--db", db_}), sandbox_.dir / "out", err);
  // Cut once the program runs there.
  bool runs = false;
  for (int i = 0; i < 6000 && !runs; ++i) {
    for (const auto& entry : fs::directory_iterator("/proc")) {
      const auto command = read_file(entry.path() / "cmdline");
      runs = runs || (command.ok() && command->starts_with(sshd_->work_dir()) &&
                      command->find("llama-bench") != std::string::npos);
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  ASSERT_TRUE(runs);
  sshd_->cut();
  const int status = wait_command(pid);
  ASSERT_TRUE(WIFEXITED(status));
  const std::string told = *read_file(err);
  EXPECT_EQ(WEXITSTATUS(status), 3) << told;
  EXPECT_NE(told.find("--resume"), std::string::npos) << told;
  auto views = trials(db_);
  ASSERT_EQ(views.size(), 1U);
  EXPECT_EQ(views[0].trial.status, "failed");
  EXPECT_NE(views[0].trial.reason.find("the target was lost"), std::string::npos) << views[0].trial.reason;
  EXPECT_TRUE(nothing_left_behind());

  sshd_->restore();
  const auto resumed = sandbox_.capbench({"run", file, "--db", db_, "--resume"});
  EXPECT_EQ(resumed.exit_status, 0) << resumed.err;
  EXPECT_EQ(statuses(db_), (std::map<std::string, int>{{"failed", 1}, {"ok", 2}}));
}

TEST_F(OverSsh, KilledInTheMiddleNothingIsLostAndNothingRunsOn) {
  Parts p = parts();
  p.workload = R"("p": 64, "n": 16, "r": 30, "t": 1)";
  p.protocol = R"("trials": 3, "time_limit_s": 120)";
  p.arms = R"({"name": "bare-metal", "mode": "bare-metal", "target": "box"})";
  const std::string file = suite(p);
  std::size_t kept = 0;
  for (int round = 0; round < 2; ++round) {
    std::vector<std::string> arguments{"run", file, "--db", db_};
    if (round > 0) arguments.emplace_back("--resume");
    const pid_t pid = start_command(sandbox_.capbench_command(arguments), sandbox_.dir / "out", sandbox_.dir / "err");
    std::this_thread::sleep_for(std::chrono::milliseconds(2500 + round * 1500));
    ::kill(pid, SIGKILL);
    wait_command(pid);
    EXPECT_TRUE(nothing_left_behind());
    if (fs::exists(db_)) {
      const std::size_t now = trials(db_).size();
      EXPECT_GE(now, kept);
      kept = now;
    }
  }
  const auto resumed = sandbox_.capbench({"run", file, "--db", db_, "--resume"});
  EXPECT_EQ(resumed.exit_status, 0) << resumed.err;
  std::set<std::int64_t> blocks;
  for (const auto& view : trials(db_)) {
    if (view.trial.status != "ok") continue;
    EXPECT_TRUE(blocks.insert(view.trial.block).second);
  }
  EXPECT_EQ(blocks.size(), 3U);
}

TEST_F(OverSsh, DoctorSeesWhetherATargetAnswers) {
  const std::string file = suite(parts());
  const auto present = sandbox_.capbench({"doctor", file});
  EXPECT_NE(present.out.find("ok       target box"), std::string::npos) << present.out;
  sshd_->cut();
  const auto silent = sandbox_.capbench({"doctor", file});
  EXPECT_EQ(silent.exit_status, 3) << silent.out;
  EXPECT_NE(silent.out.find("MISSING  target box"), std::string::npos) << silent.out;
}

TEST_F(OverSsh, WhatTheSuiteRequiresIsChecked) {
  Parts p = parts();
  json spec = json::parse(sshd_->spec_json());
  spec["require"] = {{"os", "macos"}, {"vcpu", ">=4096"}};
  p.targets = fmt::format(R"({{"box": {}}})", spec.dump());
  const auto result = sandbox_.capbench({"run", suite(p), "--db", db_});
  EXPECT_EQ(result.exit_status, 3) << result.err;
  EXPECT_NE(result.err.find("box"), std::string::npos) << result.err;
  EXPECT_NE(result.err.find("4096"), std::string::npos) << result.err;
  EXPECT_FALSE(fs::exists(db_) && !trials(db_).empty());
}

// Four machines, each played by a `command` target in a mount namespace with a machine id of its own: the machines run
// side by side, and each runs strictly one trial at a time.
TEST_F(Targets, MachinesRunSideBySideAndEachOneTrialAtATime) {
  const CommandResult can =
      run_command({{"/usr/bin/env", "unshare", "-m", "mount", "--bind", "/etc/machine-id", "/etc/machine-id"}, {}});
  if (can.exit_status != 0) GTEST_SKIP() << "no mount namespaces here: " << can.err;
  std::string targets;
  std::string arms;
  for (const char* name : {"m1", "m2", "m3", "m4"}) {
    const std::string log = (sandbox_.dir / (std::string("log-") + name)).string();
    const std::string bench = sandbox_
                                  .write(std::string("bench-") + name,
                                         stand_in_bench(fmt::format("echo \"+ $(date +%s%N)\" >>{}; sleep 0.2", log),
                                                        fmt::format("echo \"- $(date +%s%N)\" >>{}", log)))
                                  .string();
    const std::string id =
        sandbox_.write(std::string("id-") + name, fmt::format("{:0>32}\n", std::string(name).substr(1))).string();
    const std::string shell =
        sandbox_
            .write(std::string("sh-") + name,
                   fmt::format("#!/bin/sh\nexec unshare -m /bin/sh -c 'mount --bind {} /etc/machine-id && exec /bin/sh "
                               "-c \"$1\"' sh \"$1\"\n",
                               id))
            .string();
    targets += fmt::format(R"({}"{}": {{"kind": "command", "machine": "{}", "executable": "{}", "work_dir": "{}",
        "run": ["{}", "{{script}}"]}})",
                           targets.empty() ? "" : ", ", name, name, bench, (sandbox_.dir / name).string(), shell);
    for (const char* arm : {"a", "b"}) {
      arms += fmt::format(R"({}{{"name": "{}-{}", "mode": "other", "target": "{}"}})", arms.empty() ? "" : ", ", name,
                          arm, name);
    }
  }
  Parts p;
  p.targets = "{" + targets + "}";
  p.arms = arms;
  p.workload = R"("p": 16, "n": 4, "r": 2)";
  p.protocol = R"("trials": 3, "time_limit_s": 60, "hygiene": {"gate": "off"})";
  const auto result = sandbox_.capbench({"run", suite(p), "--db", db_});
  ASSERT_EQ(result.exit_status, 0) << result.err;
  EXPECT_EQ(statuses(db_), (std::map<std::string, int>{{"ok", 24}}));

  std::vector<std::pair<long long, long long>> spans;  // of all machines
  bool overlap = false;
  for (const char* name : {"m1", "m2", "m3", "m4"}) {
    std::ifstream log(sandbox_.dir / (std::string("log-") + name));
    std::string sign;
    long long time = 0;
    long long begun = 0;
    int inside = 0;
    int n = 0;
    while (log >> sign >> time) {
      inside += sign == "+" ? 1 : -1;
      EXPECT_TRUE(inside == 0 || inside == 1) << name;
      if (sign == "+") {
        begun = time;
      } else {
        spans.emplace_back(begun, time);
        ++n;
      }
    }
    EXPECT_EQ(n, 6) << name;
  }
  for (std::size_t i = 0; i < spans.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      overlap = overlap || (spans[i].first < spans[j].second && spans[j].first < spans[i].second);
    }
  }
  EXPECT_TRUE(overlap);
}

TEST_F(Targets, OneMachineUnderTwoNamesIsRefused) {
  const std::string bench = logging_bench((sandbox_.dir / "log").string(), 0);
  const std::string shell = sandbox_.write("sh.sh", "#!/bin/sh\nexec /bin/sh -c \"$1\"\n").string();
  Parts p;
  for (const char* name : {"one", "two"}) {
    p.targets = (p.targets == "{}" ? "{" : p.targets + ", ") +
                fmt::format(R"("{0}": {{"kind": "command", "machine": "{0}", "executable": "{1}", "work_dir": "{2}",
        "run": ["{3}", "{{script}}"]}})",
                            name, bench, (sandbox_.dir / name).string(), shell);
    p.arms +=
        fmt::format(R"({}{{"name": "{}", "mode": "other", "target": "{}"}})", p.arms.empty() ? "" : ", ", name, name);
  }
  p.targets += "}";
  p.workload = R"("p": 16, "n": 4, "r": 2)";
  p.protocol = R"("trials": 1)";
  const auto result = sandbox_.capbench({"run", suite(p), "--db", db_});
  EXPECT_EQ(result.exit_status, 2) << result.err;
  EXPECT_NE(result.err.find("one"), std::string::npos) << result.err;
  EXPECT_NE(result.err.find("\"machine\""), std::string::npos) << result.err;
}

TEST_F(Targets, AGateRefusesWarnsOrIsOff) {
  const std::string bench = logging_bench((sandbox_.dir / "log").string(), 0);
  Parts p;
  p.executable = bench;
  p.arms = R"({"name": "only", "mode": "other"})";
  p.workload = R"("p": 16, "n": 4, "r": 2)";
  p.protocol = R"("trials": 1, "hygiene": {"gate": "refuse", "min_memory_free_percent": 100})";
  auto result = sandbox_.capbench({"run", suite(p), "--db", db_});
  EXPECT_EQ(result.exit_status, 1) << result.err;
  auto views = trials(db_);
  ASSERT_EQ(views.size(), 1U);
  EXPECT_EQ(views[0].trial.status, "not_run");
  EXPECT_NE(views[0].trial.reason.find("memory"), std::string::npos) << views[0].trial.reason;
  EXPECT_NE(views[0].trial.hygiene.find("min_memory_free_percent"), std::string::npos);
  EXPECT_FALSE(fs::exists(sandbox_.dir / "log"));  // nothing was started

  const std::string waited = (sandbox_.dir / "wait.db").string();
  p.protocol = R"("trials": 1, "hygiene": {"gate": "wait", "wait_s": 2, "min_memory_free_percent": 100})";
  result = sandbox_.capbench({"run", suite(p), "--db", waited});
  EXPECT_EQ(result.exit_status, 1) << result.err;
  views = trials(waited);
  ASSERT_EQ(views.size(), 1U);
  EXPECT_EQ(views[0].trial.status, "not_run");
  EXPECT_NE(views[0].trial.reason.find("(waited 2 s)"), std::string::npos) << views[0].trial.reason;

  const std::string other = (sandbox_.dir / "warn.db").string();
  p.protocol = R"("trials": 1, "hygiene": {"gate": "warn", "min_memory_free_percent": 100})";
  result = sandbox_.capbench({"run", suite(p), "--db", other});
  EXPECT_EQ(result.exit_status, 0) << result.err;
  views = trials(other);
  ASSERT_EQ(views.size(), 1U);
  const auto& flags = views[0].trial.flags;
  EXPECT_NE(std::find(flags.begin(), flags.end(), "min_memory_free_percent"), flags.end());

  const std::string off = (sandbox_.dir / "off.db").string();
  p.protocol = R"("trials": 1, "hygiene": {"gate": "off"})";
  result = sandbox_.capbench({"run", suite(p), "--db", off});
  EXPECT_EQ(result.exit_status, 0) << result.err;
  EXPECT_EQ(trials(off)[0].trial.hygiene, "");
}

// Any Google Benchmark program: its repetitions are samples, its benchmarks tests.
TEST_F(Targets, AGoogleBenchmarkIsMeasuredToo) {
  const std::string program = fs::absolute("tests/small_benchmark").string();
  ASSERT_TRUE(fs::exists(program));
  const std::string file = sandbox_
                               .write("gb.json", fmt::format(R"({{"capbench": 1, "name": "gb",
      "runtime": {{"kind": "google-benchmark", "executable": "{}"}},
      "workloads": [{{"name": "small", "filter": "add_up/100/", "r": 3}}],
      "arms": [{{"name": "a", "mode": "before"}}, {{"name": "b", "mode": "after"}}], "protocol": {{"trials": 2}}}})",
                                                             program))
                               .string();
  const auto result = sandbox_.capbench({"run", file, "--db", db_});
  ASSERT_EQ(result.exit_status, 0) << result.err;
  const auto views = trials(db_);
  ASSERT_EQ(views.size(), 4U);
  for (const auto& view : views) {
    EXPECT_EQ(view.trial.status, "ok") << view.trial.reason;
    ASSERT_EQ(view.trial.results.size(), 1U);
    EXPECT_EQ(view.trial.results[0].test.substr(0, 10), "add_up/100");
    EXPECT_EQ(view.trial.results[0].samples_ns.size(), 3U);
    EXPECT_EQ(view.trial.model_kind, "none");
  }
  EXPECT_EQ(sandbox_.capbench({"report", "speedup", "--db", db_}).exit_status, 0);
}

TEST_F(Targets, WarmUpTrialsAreKeptAndCountNowhere) {
  Parts p;
  p.executable = logging_bench((sandbox_.dir / "log").string(), 0);
  p.arms = R"({"name": "bare-metal", "mode": "bare-metal"})";
  p.workload = R"("p": 16, "n": 4, "r": 2)";
  p.protocol = R"("trials": 2, "warmup_trials": 1)";
  const auto result = sandbox_.capbench({"run", suite(p), "--db", db_});
  ASSERT_EQ(result.exit_status, 0) << result.err;
  int warm = 0;
  for (const auto& view : trials(db_)) {
    const auto& flags = view.trial.flags;
    const bool flagged = std::find(flags.begin(), flags.end(), "warm-up") != flags.end();
    EXPECT_EQ(flagged, view.trial.block < 0);
    warm += flagged ? 1 : 0;
  }
  EXPECT_EQ(warm, 1);
  const auto report = sandbox_.capbench({"report", "speedup", "--db", db_, "--format", "json"});
  ASSERT_EQ(report.exit_status, 0) << report.err;
  const json document = json::parse(report.out);
  ASSERT_FALSE(document["rows"].empty());
  for (const json& row : document["rows"]) EXPECT_EQ(row["modes"]["bare-metal"]["n_trials"], 2);
}

TEST_F(Targets, AVerboseTrialRecordsWhatFlashAttentionCameTo) {
  if (llama_dir().empty()) GTEST_SKIP() << kNoLlama;
  Parts p;
  p.executable = (llama_dir() / "llama-bench").string();
  p.arms = R"({"name": "auto", "mode": "bare-metal"}, {"name": "without", "mode": "other", "args": ["-fa", "off"]})";
  p.workload = R"("p": 16, "n": 4, "r": 2, "t": 1)";
  p.protocol = R"("trials": 1, "verbose_trial": true, "hygiene": {"gate": "off"})";
  const std::string file = suite(p);
  const auto plan = sandbox_.capbench({"plan", file});
  EXPECT_NE(plan.out.find("one verbose trial of every cell first"), std::string::npos) << plan.out;
  const auto result = sandbox_.capbench({"run", file, "--db", db_});
  ASSERT_EQ(result.exit_status, 0) << result.err;
  std::map<std::string, std::string> came_to;
  const auto views = trials(db_);
  ASSERT_EQ(views.size(), 4U);
  for (const auto& view : views) {
    const bool is_verbose = view.trial.block < 0;
    EXPECT_EQ(view.trial.flags, is_verbose ? std::vector<std::string>{"verbose"} : std::vector<std::string>{});
    ASSERT_EQ(view.trial.results.size(), 2U);
    EXPECT_EQ(view.trial.results[0].samples_ns.size(), is_verbose ? 1U : 2U);
    for (const auto& capability : view.trial.capabilities) {
      if (capability.name != "ggml.flash_attn") continue;
      EXPECT_TRUE(is_verbose);
      came_to[view.trial.arm] = capability.observed;
    }
  }
  EXPECT_EQ(came_to, (std::map<std::string, std::string>{{"auto", "on"}, {"without", "off"}}));
  const auto report = sandbox_.capbench({"report", "capabilities", "--db", db_});
  EXPECT_NE(report.out.find("flash_attn"), std::string::npos) << report.out;
}

TEST_F(Targets, AdaptiveTrialsStopWhenEveryIntervalIsNarrow) {
  Parts p;
  p.executable = logging_bench((sandbox_.dir / "log").string(), 0);
  p.arms = R"({"name": "stock", "mode": "other"}, {"name": "b", "mode": "other"})";
  p.workload = R"("p": 16, "n": 4, "r": 2)";
  p.protocol = R"("trials": 2, "until": {"ci_half_width": 0.5, "max_trials": 12}, "hygiene": {"gate": "off"})";
  const auto result = sandbox_.capbench({"run", suite(p), "--db", db_});
  ASSERT_EQ(result.exit_status, 0) << result.err;
  // The stand-in prints the same figures every time, so the first look is the last.
  EXPECT_EQ(trials(db_).size(), 16U) << result.err;
}

TEST_F(Targets, AnArmThatIsExpectedToFailMustFail) {
  Parts p;
  p.executable = sandbox_
                     .write("bench", "#!/bin/sh\nfor a in \"$@\"; do if [ \"$a\" = --die ]; then exit 7; fi; done\n" +
                                         print_rows())
                     .string();
  p.workload = R"("p": 16, "n": 4, "r": 2)";
  p.protocol = R"("trials": 1)";
  p.arms =
      R"({"name": "fine", "mode": "other"}, {"name": "dies", "mode": "other", "args": ["--die"], "expect": "fails"})";
  auto result = sandbox_.capbench({"run", suite(p), "--db", db_});
  EXPECT_EQ(result.exit_status, 0) << result.err;
  p.arms = R"({"name": "lives", "mode": "other", "expect": "fails"})";
  result = sandbox_.capbench({"run", suite(p), "--db", (sandbox_.dir / "2.db").string()});
  EXPECT_EQ(result.exit_status, 1) << result.err;
}

class Quality : public Targets {
 protected:
  void SetUp() override {
    if (llama_dir().empty()) GTEST_SKIP() << kNoLlama;
    if (!fs::exists(llama_dir() / "llama-perplexity")) GTEST_SKIP() << "no llama-perplexity beside llama-bench";
  }
};

// The corrupt arm computes at full speed what is wrong. It is refused, and its speed is in no table.
TEST_F(Quality, AWrongOutputArmIsRefused) {
  Parts p;
  p.executable = (llama_dir() / "llama-bench").string();
  // Another build beside which llama-perplexity computes garbage.
  fs::create_directories(sandbox_.dir / "broken");
  sandbox_.write("broken/llama-bench", fmt::format("#!/bin/sh\nexec '{}' \"$@\"\n", p.executable));
  sandbox_.write("broken/llama-perplexity",
                 fmt::format("#!/bin/sh\nLD_PRELOAD='{}' CAPBENCH_TEST_CORRUPT=noise:40 exec '{}' \"$@\"\n",
                             fs::absolute("harness/quality/testing/libcorrupt_logits.so").string(),
                             (llama_dir() / "llama-perplexity").string()));
  p.arms = R"({"name": "bare-metal", "mode": "bare-metal"},
      {"name": "haswell", "mode": "stock", "guest": {"cpu.isa": "haswell"}},
      {"name": "corrupt", "mode": "broken", "executable": "./broken/llama-bench"})";
  p.protocol = R"("trials": 2, "time_limit_s": 300)";
  p.workload = R"("p": 16, "n": 4, "r": 2, "t": 1)";
  p.more = R"(, "quality": {})";
  const auto result = sandbox_.capbench({"run", suite(p), "--db", db_});
  EXPECT_EQ(result.exit_status, 1) << result.err;
  std::map<std::string, std::set<std::string>> by_arm;
  for (const auto& view : trials(db_)) by_arm[view.trial.arm].insert(view.trial.status + "/" + view.trial.quality);
  EXPECT_EQ(by_arm["bare-metal"], std::set<std::string>{"ok/passed"}) << result.err;
  EXPECT_EQ(by_arm["haswell"], std::set<std::string>{"ok/passed"}) << result.err;
  EXPECT_EQ(by_arm["corrupt"], std::set<std::string>{"wrong_output/wrong"}) << result.err;
  auto store = schema::Store::open(db_, schema::OpenMode::kReadOnly);
  ASSERT_TRUE(store.ok());
  const auto checks = store->quality("");
  ASSERT_TRUE(checks.ok());
  EXPECT_EQ(checks->size(), 3U);
  // Going on does not ask again.
  const auto resumed = sandbox_.capbench({"run", suite(p), "--db", db_, "--resume"});
  EXPECT_EQ(store->quality("")->size(), 3U) << resumed.err;
}

}  // namespace
}  // namespace capbench::testing
