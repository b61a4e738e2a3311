// `capbench watch`: each listed build is measured once, compared with the one before, and commented on.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <chrono>
#include <filesystem>
#include <string>
#include <thread>

#include "base/file.h"
#include "schema/identity.h"
#include "schema/store.h"
#include "tests/support/command.h"
#include "tests/support/suites.h"

namespace capbench::testing {
namespace {

namespace fs = std::filesystem;

class Watching : public ::testing::Test {
 protected:
  Watching() {
    SuiteOptions options;
    options.with_shim_arms = false;
    options.trials = 5;
    suite_ = write_suite(sandbox_, options);
  }

  // A stand-in for llama-bench, since real builds of other speeds are not to be had: it prints rows of build `number`
  // whose samples take `ms` each, with a little noise of its own.
  void add_build(int number, int ms, const std::string& before = "") {
    const fs::path program = sandbox_.dir / fmt::format("builds/b{}/llama-bench", number);
    fs::create_directories(program.parent_path());
    // No other program is started, for what a process maps is a part of what ran.
    const auto row = [&](int n_prompt, int n_gen) {
      return fmt::format(
          "printf '{{\"build_commit\":\"c{}\",\"build_number\":{},\"model_type\":\"t\",\"n_prompt\":{},\"n_gen\":{},"
          "\"n_depth\":0,\"samples_ns\":[%s,%s]}}\\n' $ns $((ns + 900))\n",
          1000000 + number, number, n_prompt, n_gen);
    };
    sandbox_.write(
        fs::relative(program, sandbox_.dir).string(),
        fmt::format("#!/bin/sh\n{}\nns=$(({} * 1000000 + $$ % 13 * 1000))\n{}{}", before, ms, row(16, 0), row(0, 4)));
  }

  CommandResult watch(const std::vector<std::string>& more = {}) {
    std::vector<std::string> arguments{"watch", suite_,     "--db",
                                       db_,     "--builds", "ls -d " + (sandbox_.dir / "builds").string() + "/b*"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return sandbox_.capbench(arguments);
  }

  std::size_t trials() {
    auto store = schema::Store::open(db_, schema::OpenMode::kReadOnly);
    EXPECT_TRUE(store.ok());
    return store->trials({})->size();
  }

  std::string comment(int number) {
    const auto text = read_file(fs::path(db_ + ".comments") / fmt::format("b{}.md", number));
    return text.ok() ? *text : "";
  }

  Sandbox sandbox_;
  std::string suite_;
  std::string db_ = (sandbox_.dir / "watch.db").string();
};

TEST_F(Watching, MeasuresEachBuildOnceAndSaysWhichIsSlower) {
  add_build(101, 10);
  add_build(102, 10);
  const auto first = watch();
  EXPECT_EQ(first.exit_status, 0) << first.out << first.err;
  EXPECT_EQ(trials(), 10U);
  EXPECT_NE(comment(101).find("first build"), std::string::npos) << comment(101);
  EXPECT_FALSE(comment(102).empty());

  // Nothing new: nothing is run, nothing is said again.
  const auto again = watch();
  EXPECT_EQ(again.exit_status, 0) << again.err;
  EXPECT_EQ(trials(), 10U);
  EXPECT_EQ(again.out, "");

  add_build(103, 13);
  const auto slower = watch();
  EXPECT_EQ(slower.exit_status, 1) << slower.out << slower.err;
  EXPECT_EQ(trials(), 15U);
  EXPECT_NE(slower.out.find("b103\t2 slower\t"), std::string::npos) << slower.out;
  EXPECT_NE(comment(103).find("pp16"), std::string::npos) << comment(103);
  EXPECT_NE(comment(103).find("103"), std::string::npos) << comment(103);
}

TEST_F(Watching, GoesOnAfterAKillInTheMiddle) {
  add_build(101, 10);
  add_build(102, 10, "sleep 0.2");
  const auto command = sandbox_.capbench_command(
      {"watch", suite_, "--db", db_, "--builds", "ls -d " + (sandbox_.dir / "builds").string() + "/b*"});
  const pid_t pid = start_command(command, sandbox_.dir / "out", sandbox_.dir / "err");
  for (int i = 0; i < 300 && comment(101).empty(); ++i) std::this_thread::sleep_for(std::chrono::milliseconds(50));
  std::this_thread::sleep_for(std::chrono::milliseconds(500));
  ASSERT_EQ(::kill(pid, SIGKILL), 0);
  wait_command(pid);
  EXPECT_LT(trials(), 10U);
  const auto rest = watch();
  EXPECT_EQ(rest.exit_status, 0) << rest.err;
  EXPECT_EQ(trials(), 10U);
  EXPECT_FALSE(comment(102).empty());
}

// Killed after a build's run began and before its first trial: the run is of no build yet, and those before it are not
// measured again in it.
TEST_F(Watching, ARunWithoutTrialsIsNotTakenForAnotherBuilds) {
  add_build(101, 10);
  ASSERT_EQ(watch().exit_status, 0);
  ASSERT_EQ(trials(), 5U);
  {
    auto store = schema::Store::open(db_, schema::OpenMode::kCreate);
    ASSERT_TRUE(store.ok());
    schema::RunRecord run = store->runs("")->at(0);
    run.started_at = "2199-01-01T00:00:00.000Z";
    run.state = "running";
    run.id = schema::run_id(run);
    ASSERT_TRUE(store->put_run(run).ok());
  }
  EXPECT_EQ(watch().exit_status, 0);
  EXPECT_EQ(trials(), 5U);
  add_build(102, 10);
  EXPECT_EQ(watch().exit_status, 0);
  EXPECT_EQ(trials(), 10U);
  EXPECT_EQ(schema::Store::open(db_, schema::OpenMode::kReadOnly)->runs("")->size(), 2U);
}

TEST_F(Watching, ASecondOneBesideItDoesNothing) {
  add_build(101, 10, "sleep 0.5");
  const auto command = sandbox_.capbench_command(
      {"watch", suite_, "--db", db_, "--builds", "ls -d " + (sandbox_.dir / "builds").string() + "/b*"});
  const pid_t pid = start_command(command, sandbox_.dir / "out", sandbox_.dir / "err");
  for (int i = 0; i < 200 && !fs::exists(db_); ++i) std::this_thread::sleep_for(std::chrono::milliseconds(20));
  const auto second = watch();
  EXPECT_EQ(second.exit_status, 0);
  EXPECT_NE(second.err.find("another watch"), std::string::npos) << second.err;
  EXPECT_EQ(WEXITSTATUS(wait_command(pid)), 0);
  EXPECT_EQ(trials(), 5U);
}

TEST_F(Watching, ABuildThatIsNotThereLeavesTheOthers) {
  add_build(102, 10);
  fs::create_directories(sandbox_.dir / "builds/b101");
  const auto result = watch();
  EXPECT_NE(result.exit_status, 0);
  EXPECT_NE(result.err.find("b101"), std::string::npos) << result.err;
  EXPECT_EQ(trials(), 5U);
}

TEST_F(Watching, WrongUseIsSaidAtOnce) {
  const auto failing = sandbox_.capbench({"watch", suite_, "--db", db_, "--builds", "echo broken >&2; exit 3"});
  EXPECT_EQ(failing.exit_status, 3);
  EXPECT_NE(failing.err.find("exited 3: broken"), std::string::npos) << failing.err;
  SuiteOptions named;
  named.executable = "/bin/true";
  const std::string suite = write_suite(sandbox_, named);
  const auto wrong = sandbox_.capbench({"watch", suite, "--db", db_, "--builds", "echo /x"});
  EXPECT_EQ(wrong.exit_status, 2);
  EXPECT_NE(wrong.err.find("executable"), std::string::npos) << wrong.err;
}

}  // namespace
}  // namespace capbench::testing
