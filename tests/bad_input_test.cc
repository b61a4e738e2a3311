// Every kind of bad input gets one clear error with a remedy and the documented exit status, and what was measured
// stays.
#include <fcntl.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "base/file.h"
#include "schema/store.h"
#include "tests/support/command.h"
#include "tests/support/suites.h"

namespace capbench::testing {
namespace {

namespace fs = std::filesystem;

class BadInput : public ::testing::Test {
 protected:
  Sandbox sandbox_;
  std::string db_ = (sandbox_.dir / "r.db").string();

  CommandResult run(const std::string& suite, std::vector<std::string> more = {}) {
    std::vector<std::string> arguments{"run", suite, "--db", db_};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return sandbox_.capbench(arguments);
  }

  // A suite whose llama-bench is this script.
  std::string suite_with_bench(const std::string& script, double time_limit_s = 60) {
    sandbox_.write("bench", script);
    SuiteOptions options;
    options.executable = "./bench";
    options.trials = 2;
    options.time_limit_s = time_limit_s;
    options.with_shim_arms = false;
    return write_suite(sandbox_, options);
  }

  std::vector<schema::TrialView> trials() {
    auto store = schema::Store::open(db_, schema::OpenMode::kReadOnly);
    EXPECT_TRUE(store.ok()) << to_string(store.error());
    auto views = store->trials({});
    EXPECT_TRUE(views.ok());
    return *views;
  }

  // One error, one line, with a remedy; nothing on stdout.
  static void expect_one_error(const CommandResult& result, int status, const std::string& part) {
    EXPECT_EQ(result.exit_status, status) << result.err;
    EXPECT_EQ(result.out, "");
    EXPECT_EQ(result.err.rfind("capbench: ", 0), 0U) << result.err;
    EXPECT_EQ(std::count(result.err.begin(), result.err.end(), '\n'), 1) << result.err;
    EXPECT_NE(result.err.find("; try: "), std::string::npos) << result.err;
    EXPECT_NE(result.err.find(part), std::string::npos) << result.err;
  }

  // Every trial of the run has this status, its reason holds `part` and a remedy, and the run went on after the first.
  void expect_trials(const CommandResult& result, const std::string& status, const std::string& part) {
    EXPECT_EQ(result.exit_status, 1) << result.err;
    const auto views = trials();
    ASSERT_EQ(views.size(), 2U);
    for (const schema::TrialView& view : views) {
      EXPECT_EQ(view.trial.status, status) << view.trial.reason;
      EXPECT_NE(view.trial.reason.find(part), std::string::npos) << view.trial.reason;
      EXPECT_NE(view.trial.reason.find("; try: "), std::string::npos) << view.trial.reason;
    }
  }
};

TEST_F(BadInput, MissingSuite) {
  expect_one_error(run((sandbox_.dir / "none.json").string()), 2, "none.json");
}

TEST_F(BadInput, NothingToImport) {
  const auto import = [&](const fs::path& path) { return sandbox_.capbench({"import", path.string(), "--db", db_}); };
  const auto expect = [&](const CommandResult& result, const std::string& part) {
    EXPECT_EQ(result.exit_status, 2) << result.err;
    EXPECT_EQ(result.out, "");
    EXPECT_NE(result.err.find(part), std::string::npos) << result.err;
    EXPECT_NE(result.err.find("; try: "), std::string::npos) << result.err;
    EXPECT_EQ(result.err.find("trials added"), std::string::npos) << result.err;
    EXPECT_FALSE(fs::exists(db_));  // no empty store is left behind
  };
  fs::create_directory(sandbox_.dir / "folder");
  expect(import(sandbox_.dir / "folder"), "holds no files");
  expect(import("/dev/null"), "/dev/null: the file is empty");
  expect(import(sandbox_.write("empty.json", "")), "empty.json: the file is empty");
  fs::create_symlink("nowhere", sandbox_.dir / "dangling");
  expect(import(sandbox_.dir / "dangling"), "No such file");
}

TEST_F(BadInput, UnknownKeyInTheSuite) {
  SuiteOptions options;
  options.more = R"(, "repetitons": 3)";
  const auto result = run(write_suite(sandbox_, options));
  expect_one_error(result, 2, "$.workloads[0].repetitons");
}

TEST_F(BadInput, NegativeRepetitions) {
  SuiteOptions options;
  options.repetitions = -3;
  const auto result = run(write_suite(sandbox_, options));
  expect_one_error(result, 2, "$.workloads[0].r: -3");
}

TEST_F(BadInput, UnknownCapabilityAndLevel) {
  std::string text = *read_file(write_suite(sandbox_, {}));
  const std::string suite = sandbox_.write("bench", stand_in_bench("", "")).string();
  const auto with = [&](const std::string& from, const std::string& to) {
    std::string changed = text;
    changed.replace(changed.find(from), from.size(), to);
    changed.replace(changed.find(R"("executable": "")"), 16, R"("executable": "./bench")");
    return sandbox_.write("changed.json", changed).string();
  };
  expect_one_error(run(with(R"("guest": {"cpu.isa": "x64"})", R"("guest": {"cpu.iso": "x64"})")), 2, "cpu.iso");
  expect_one_error(run(with(R"("guest": {"cpu.isa": "x64"})", R"("guest": {"cpu.isa": "pentium"})")), 2, "pentium");
}

TEST_F(BadInput, NestedJsonIsAFailedTrialAndTheRunGoesOn) {
  const auto result =
      run(suite_with_bench("#!/bin/sh\nprintf '{\"n_prompt\":16,\"n_gen\":0,\"samples_ns\":[1,2],\"x\":'\nhead -c "
                           "1000000 /dev/zero | tr '\\0' '['\n"));
  expect_trials(result, "failed", "nested deeper");
}

TEST_F(BadInput, StderrThatTakesNothing) {
  const std::string suite = suite_with_bench(stand_in_bench("", ""));
  for (const char* where : {"2>/dev/full", "2>&-", "2>&1 | head -c 1"}) {
    const std::string db = (sandbox_.dir / "quiet.db").string();
    fs::remove(db);
    Command command = sandbox_.capbench_command({});
    command.argv = {"/bin/sh", "-c", capbench_program() + " run " + suite + " --db " + db + " " + where};
    EXPECT_EQ(run_command(command).exit_status, 0) << where;
    auto store = schema::Store::open(db, schema::OpenMode::kReadOnly);
    ASSERT_TRUE(store.ok());
    EXPECT_EQ(store->trials({})->size(), 2U) << where;
    EXPECT_EQ(store->runs("")->at(0).state, "complete") << where;
  }
}

// One trial, so that no next one is there to notice the signal.
TEST_F(BadInput, InterruptedInTheLastTrial) {
  sandbox_.write("bench", "#!/bin/sh\nsleep 30\n");
  SuiteOptions options;
  options.executable = "./bench";
  options.trials = 1;
  options.with_shim_arms = false;
  const Command command = sandbox_.capbench_command({"run", write_suite(sandbox_, options), "--db", db_});
  const pid_t pid = start_command(command, sandbox_.dir / "out", sandbox_.dir / "err");
  for (int i = 0; i < 500 && !fs::exists(db_); ++i) ::usleep(10'000);
  ::usleep(1'000'000);
  ::kill(pid, SIGINT);
  const int status = wait_command(pid);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 130) << status;
  auto store = schema::Store::open(db_, schema::OpenMode::kReadOnly);
  ASSERT_TRUE(store.ok());
  EXPECT_EQ(store->runs("")->at(0).state, "interrupted");
}

// Ctrl-Z for longer than the time limit, while the trial ends in time.
TEST_F(BadInput, ASuspendedHarnessBelievesTheClockOfTheTrial) {
  const Command command = sandbox_.capbench_command(
      {"run", suite_with_bench(stand_in_bench("touch \"${0%/*}/started\"; sleep 0.5", ""), 2), "--db", db_});
  const pid_t pid = start_command(command, sandbox_.dir / "out", sandbox_.dir / "err");
  for (int i = 0; i < 1000 && !fs::exists(sandbox_.dir / "started"); ++i) ::usleep(10'000);
  ::kill(pid, SIGSTOP);
  ::usleep(3'000'000);
  ::kill(pid, SIGCONT);
  EXPECT_EQ(wait_command(pid), 0);
  for (const schema::TrialView& view : trials()) EXPECT_EQ(view.trial.status, "ok") << view.trial.reason;
}

TEST_F(BadInput, ResumingAPartKeepsTheWholePlan) {
  const std::string suite = suite_with_bench(stand_in_bench("", ""));
  ASSERT_EQ(run(suite, {"--only", "*/bare-metal"}).exit_status, 0);
  const auto with_more = [&] {
    auto store = schema::Store::open(db_, schema::OpenMode::kReadOnly);
    return store->runs("")->at(0);
  };
  EXPECT_EQ(with_more().state, "complete");
  EXPECT_EQ(with_more().planned_trials, 2U);
  ASSERT_EQ(run(suite, {"--resume"}).exit_status, 0);
  EXPECT_EQ(with_more().planned_trials, 2U);
}

TEST_F(BadInput, OutputGoesThroughLinksAndDevices) {
  ASSERT_EQ(run(suite_with_bench(stand_in_bench("", ""))).exit_status, 0);
  const fs::path file = sandbox_.dir / "report.md";
  sandbox_.write("report.md", "old");
  fs::permissions(file, fs::perms::owner_read | fs::perms::owner_write);
  const fs::path link = sandbox_.dir / "link.md";
  fs::create_symlink(file, link);
  ASSERT_EQ(sandbox_.capbench({"report", "speedup", "--db", db_, "--out", link.string()}).exit_status, 0);
  EXPECT_TRUE(fs::is_symlink(link));
  EXPECT_NE(*read_file(file), "old");
  EXPECT_EQ(fs::status(file).permissions(), fs::perms::owner_read | fs::perms::owner_write);
  const fs::path null = sandbox_.dir / "null";
  fs::create_symlink("/dev/null", null);
  EXPECT_EQ(sandbox_.capbench({"report", "speedup", "--db", db_, "--out", null.string()}).exit_status, 0);
  EXPECT_TRUE(fs::is_character_file("/dev/null"));
  EXPECT_TRUE(fs::is_symlink(null));
}

// What was measured is not replaced by what is printed of it, in whichever way the store is named.
TEST_F(BadInput, OutputDoesNotReplaceAStore) {
  { ASSERT_TRUE(schema::Store::open(db_, schema::OpenMode::kCreate).ok()); }
  const std::string other = (sandbox_.dir / "other.db").string();
  std::string rows;
  for (const char* number : {"5000", "5001"}) {
    rows += fmt::format(R"({{"build_commit":"abc{0}","build_number":{0},"model_filename":"m.gguf","n_prompt":512,)"
                        R"("n_gen":0,"test_time":"2025-11-30T01:02:03Z","samples_ns":[2000000,2000000]}})"
                        "\n",
                        number);
  }
  ASSERT_EQ(sandbox_.capbench({"import", sandbox_.write("rows.jsonl", rows).string(), "--db", other}).exit_status, 0);
  const std::string before = *read_file(db_);
  const std::string link = (sandbox_.dir / "link").string();
  fs::create_symlink(db_, link);
  const std::vector<std::vector<std::string>> commands = {
      {"export"},
      {"export", "--format", "llama-bench-sqlite"},
      {"report", "speedup"},
      {"report", "speedup", "--format", "html"},
      {"check", "--baseline", "5000"},
  };
  for (const std::vector<std::string>& command : commands) {
    for (const std::string& target : {db_, link, other, db_ + "-wal"}) {
      std::vector<std::string> arguments = command;
      arguments.insert(arguments.end(), {"--db", other, "--out", target});
      const auto result = sandbox_.capbench(arguments);
      expect_one_error(result, 2, "store of results");
    }
  }
  expect_one_error(sandbox_.capbench({"models", "synth", "--like", "tinyllama-1.1b", "--out", db_}), 2,
                   "store of results");
  EXPECT_EQ(*read_file(db_), before);
  EXPECT_FALSE(fs::exists(db_ + "-wal"));
}

TEST_F(BadInput, SeedThatDoesNotFit) {
  const std::string suite = suite_with_bench(stand_in_bench("", ""));
  for (const char* seed : {"-1", "18446744073709551616", "1.5", ""}) {
    EXPECT_EQ(run(suite, {"--seed", seed}).exit_status, 2) << seed;
  }
  EXPECT_EQ(run(suite, {"--seed", "18446744073709551615"}).exit_status, 0);
}

TEST_F(BadInput, APipeThatNobodyWritesTo) {
  const fs::path pipe = sandbox_.dir / "suite.json";
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  EXPECT_EQ(sandbox_.capbench({"plan", pipe.string()}).exit_status, 2);
}

TEST_F(BadInput, NoSuchSubcommand) {
  expect_one_error(sandbox_.capbench({"nosuch", "--help"}), 2, "nosuch");
}

TEST_F(BadInput, MissingModel) {
  sandbox_.write("bench", stand_in_bench("", ""));
  SuiteOptions options;
  options.executable = "./bench";
  options.model = R"("file": "absent.gguf")";
  expect_one_error(run(write_suite(sandbox_, options)), 2, "absent.gguf");
}

TEST_F(BadInput, ModelThatIsNotGguf) {
  sandbox_.write("bench", stand_in_bench("", ""));
  sandbox_.write("text.gguf", "This is no model, but long enough to be read as the head of one.");
  SuiteOptions options;
  options.executable = "./bench";
  options.model = R"("file": "text.gguf")";
  expect_one_error(run(write_suite(sandbox_, options)), 2, "text.gguf");
}

TEST_F(BadInput, TruncatedModel) {
  sandbox_.write("bench", stand_in_bench("", ""));
  const fs::path model = sandbox_.dir / "short.gguf";
  ASSERT_EQ(sandbox_.capbench({"models", "synth", "--like", "tiny", "--out", model.string()}).exit_status, 0);
  fs::resize_file(model, fs::file_size(model) - 1000);
  SuiteOptions options;
  options.executable = "./bench";
  options.model = R"("file": "short.gguf")";
  expect_one_error(run(write_suite(sandbox_, options)), 2, "short.gguf");
}

TEST_F(BadInput, ModelThatDiffersFromItsPin) {
  sandbox_.write("bench", stand_in_bench("", ""));
  const fs::path model = sandbox_.dir / "m.gguf";
  ASSERT_EQ(sandbox_.capbench({"models", "synth", "--like", "tiny", "--out", model.string()}).exit_status, 0);
  SuiteOptions options;
  options.executable = "./bench";
  options.model = R"("file": "m.gguf", "sha256": ")" + std::string(64, 'a') + "\"";
  expect_one_error(run(write_suite(sandbox_, options)), 2, "pins");
}

TEST_F(BadInput, ModelsThatWereNotFetchedYet) {
  const std::filesystem::path models = sandbox_.dir / "cache/capbench/models";
  sandbox_.write("bench", "#!/bin/sh\nexit 1\n");
  SuiteOptions options;
  options.executable = "./bench";
  options.with_shim_arms = false;
  options.model = R"("catalog": "tinyllama-1.1b")";
  expect_one_error(run(write_suite(sandbox_, options)), 3, "try: `capbench models fetch tinyllama-1.1b`");
  // The remedy puts it where it was missed: no host has that address, so it gets no further than the folder.
  EXPECT_NE(sandbox_.capbench({"models", "fetch", "tinyllama-1.1b", "--from", "nowhere"}).exit_status, 0);
  EXPECT_TRUE(std::filesystem::is_directory(models));
  // A model that is a folder comes with its publisher's tool.
  const std::string suite = sandbox_
                                .write("mlx.json", R"({"capbench": 1, "name": "m",
      "runtime": {"kind": "mlx-lm", "executable": "./bench"}, "models": [{"name": "m", "catalog": "llama-3.2-3b-mlx"}],
      "workloads": [{"name": "w", "p": 16, "n": 4, "r": 1}], "arms": [{"name": "a", "mode": "bare-metal"}]})")
                                .string();
  expect_one_error(run(suite), 3, "hf download mlx-community/");
  std::filesystem::create_directories(models / "llama-3.2-3b-mlx/.cache");
  sandbox_.write("cache/capbench/models/llama-3.2-3b-mlx/weights", "w");
  EXPECT_EQ(run(suite).exit_status, 1) << "its trials fail, but they ran";
  const auto several = sandbox_.capbench({"models", "fetch", "tinyllama-1.1b", "gemma-4-12b", "--out", "x"});
  expect_one_error(several, 2, "--out");
  expect_one_error(sandbox_.capbench({"models", "fetch", "nothing-of-that-name"}), 2, "nothing-of-that-name");
}

TEST_F(BadInput, MissingLlamaBench) {
  SuiteOptions options;
  options.executable = "./absent-bench";
  expect_one_error(run(write_suite(sandbox_, options)), 3, "absent-bench");
}

TEST_F(BadInput, LlamaBenchExits1) {
  const auto result = run(suite_with_bench("#!/bin/sh\necho 'error: the reason' >&2\nexit 1\n"));
  expect_trials(result, "failed", "exited 1");
  EXPECT_NE(trials()[0].trial.reason.find("the reason"), std::string::npos);
}

TEST_F(BadInput, LlamaBenchHangs) {
  expect_trials(run(suite_with_bench("#!/bin/sh\nsleep 600\n", 0.3)), "timeout", "0.3 s");
}

TEST_F(BadInput, LlamaBenchPrintsHalfALine) {
  expect_trials(run(suite_with_bench(stand_in_bench("", R"(printf '{"n_prompt": 16, "samp')"))), "failed",
                "ends in the middle");
  // The whole rows before it were measured, and stay.
  EXPECT_EQ(trials()[0].trial.results.size(), 2U);
}

TEST_F(BadInput, LlamaBenchPrintsNothing) {
  expect_trials(run(suite_with_bench("#!/bin/sh\nexit 0\n")), "failed", "printed nothing");
}

TEST_F(BadInput, LlamaBenchPrintsRubbish) {
  expect_trials(run(suite_with_bench("#!/bin/sh\nhead -c 100000 /dev/urandom\n")), "failed", "not JSON");
}

TEST_F(BadInput, LlamaBenchPrintsImpossibleSamples) {
  expect_trials(run(suite_with_bench("#!/bin/sh\necho '{\"n_prompt\":16,\"n_gen\":0,\"samples_ns\":[-5,0]}'\n")),
                "failed", "-5");
}

TEST_F(BadInput, LlamaBenchLeavesATestOut) {
  expect_trials(run(suite_with_bench("#!/bin/sh\necho '{\"n_prompt\":16,\"n_gen\":0,\"samples_ns\":[5,6]}'\n")),
                "failed", "tg4");
}

TEST_F(BadInput, LlamaBenchIsKilledByASignal) {
  expect_trials(run(suite_with_bench(stand_in_bench("", "kill -SEGV $$"))), "killed", "SIGSEGV");
  EXPECT_EQ(trials()[0].trial.signal, SIGSEGV);
}

TEST_F(BadInput, ProgramThatCannotBeExecuted) {
  expect_trials(run(suite_with_bench("#!/no/such/shell\n")), "failed", "could not be started");
}

TEST_F(BadInput, AFailingArmDoesNotEndTheRun) {
  // Fails only where the shim's variable is set.
  sandbox_.write("bench", stand_in_bench("[ -z \"$CAPSHIM_SET\" ] || exit 1", ""));
  SuiteOptions options;
  options.executable = "./bench";
  const auto result = run(write_suite(sandbox_, options));
  EXPECT_EQ(result.exit_status, 1);
  const auto views = trials();
  ASSERT_EQ(views.size(), 6U);
  for (const auto& view : views)
    EXPECT_EQ(view.trial.status == "failed", view.trial.arm == "unlocked") << view.trial.arm;
}

TEST_F(BadInput, AShimThatIsNotThereIsAnInvalidTreatment) {
  sandbox_.write("bench", stand_in_bench("", ""));
  SuiteOptions options;
  options.executable = "./bench";
  std::string text = *read_file(write_suite(sandbox_, options));
  const std::string from = R"("name": "unlocked",)";
  text.replace(text.find(from), from.size(), from + R"( "shim": "no-such-shim.so",)");
  run(sandbox_.write("suite.json", text).string());
  int seen = 0;
  for (const auto& view : trials()) {
    if (view.trial.arm != "unlocked") continue;
    ++seen;
    EXPECT_EQ(view.trial.status, "invalid_treatment") << view.trial.reason;
  }
  EXPECT_EQ(seen, 2);
}

TEST_F(BadInput, UnwritableDatabase) {
  const std::string suite = suite_with_bench(stand_in_bench("", ""));
  expect_one_error(sandbox_.capbench({"run", suite, "--db", "/proc/none/r.db"}), 2, "/proc/none");
  expect_one_error(sandbox_.capbench({"run", suite, "--db", sandbox_.dir.string()}), 2, sandbox_.dir.string());
}

TEST_F(BadInput, ForeignDatabase) {
  const std::string suite = suite_with_bench(stand_in_bench("", ""));
  sandbox_.write("r.db", "This is a text file and no database; it must stay as it is.");
  expect_one_error(run(suite), 2, "r.db");
  EXPECT_EQ(*read_file(db_), "This is a text file and no database; it must stay as it is.");
}

TEST_F(BadInput, NewerDatabase) {
  const std::string suite = suite_with_bench(stand_in_bench("", ""));
  ASSERT_EQ(run(suite).exit_status, 0);
  // user_version stands at byte 60 of the file's head, big-endian.
  {
    std::fstream file(db_, std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(60);
    file.write("\0\0\x7f\xff", 4);
  }
  const auto result = run(suite);
  expect_one_error(result, 2, "newer");
  expect_one_error(sandbox_.capbench({"report", "speedup", "--db", db_}), 2, "newer");
}

TEST_F(BadInput, ReportWithoutAStore) {
  expect_one_error(sandbox_.capbench({"report", "speedup", "--db", (sandbox_.dir / "none.db").string()}), 2, "none.db");
  EXPECT_FALSE(fs::exists(sandbox_.dir / "none.db"));
}

TEST_F(BadInput, UnknownCommandLine) {
  EXPECT_EQ(sandbox_.capbench({"rum"}).exit_status, 2);
  EXPECT_EQ(sandbox_.capbench({}).exit_status, 2);
  EXPECT_EQ(sandbox_.capbench({"run", "x.json", "--seed", "abc"}).exit_status, 2);
  EXPECT_EQ(sandbox_.capbench({"report", "speedup", "--format", "pdf"}).exit_status, 2);
  EXPECT_EQ(sandbox_.capbench({"--help"}).exit_status, 0);
}

TEST_F(BadInput, OnlyThatMatchesNothing) {
  const std::string suite = suite_with_bench(stand_in_bench("", ""));
  ASSERT_EQ(run(suite).exit_status, 0);  // the twin is written, so that only the error is left to print
  expect_one_error(run(suite, {"--only", "nothing"}), 2, "--only nothing");
}

TEST_F(BadInput, ResumeWithAnotherProgramIsRefused) {
  const std::string suite = suite_with_bench(stand_in_bench("", ""));
  ASSERT_EQ(run(suite, {"--only", "*/bare-metal"}).exit_status, 0);
  sandbox_.write("bench", stand_in_bench("# another program", ""));
  const auto result = run(suite, {"--resume"});
  EXPECT_EQ(result.exit_status, 2);
  EXPECT_NE(result.err.find("not the program"), std::string::npos) << result.err;
}

// A full disk in the middle of a run: what was stored stays, the error says so, and once there is space the run goes
// on.
TEST_F(BadInput, FullDisk) {
  const fs::path mount = sandbox_.dir / "small";
  fs::create_directories(mount);
  if (::geteuid() != 0 || ::mount("tmpfs", mount.c_str(), "tmpfs", 0, "size=2m") != 0) {
    GTEST_SKIP() << "mounting a small file system needs root";
  }
  // Each trial brings 300 kB that do not compress.
  sandbox_.write("bench", stand_in_bench("head -c 300000 /dev/urandom >&2", ""));
  SuiteOptions options;
  options.executable = "./bench";
  options.trials = 20;
  options.with_shim_arms = false;
  const std::string suite = write_suite(sandbox_, options);
  db_ = (mount / "r.db").string();
  const auto result = run(suite, {"--quiet"});
  EXPECT_EQ(result.exit_status, 3) << result.err;
  EXPECT_NE(result.err.find("; try: "), std::string::npos) << result.err;
  const std::size_t kept = trials().size();
  EXPECT_GT(kept, 0U);
  EXPECT_LT(kept, 20U);
  ASSERT_EQ(::mount("tmpfs", mount.c_str(), "tmpfs", MS_REMOUNT, "size=64m"), 0);
  EXPECT_EQ(run(suite, {"--resume", "--quiet"}).exit_status, 0);
  EXPECT_EQ(trials().size(), 20U);
  auto store = schema::Store::open(db_, schema::OpenMode::kReadOnly);
  ASSERT_TRUE(store.ok());
  EXPECT_TRUE(store->check_integrity().ok());
  store = Error{};  // closed before the file system goes
  ::umount2(mount.c_str(), MNT_DETACH);
}

}  // namespace
}  // namespace capbench::testing
