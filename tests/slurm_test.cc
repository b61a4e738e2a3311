// The quickstart suite as a job array of a real Slurm: one task is killed in the middle, and the merge is whole.
#include "tests/support/slurm.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <thread>
#include <tuple>

#include "base/file.h"
#include "schema/store.h"
#include "tests/support/command.h"

namespace capbench::testing {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

using Cell = std::tuple<std::string, std::string, std::string, std::int64_t>;

class Matrix : public ::testing::Test {
 protected:
  void SetUp() override {
    if (llama_dir().empty()) GTEST_SKIP() << kNoLlama;
    if (const std::string missing = Slurm::missing(); !missing.empty()) GTEST_SKIP() << missing;
    std::string why;
    slurm_ = Slurm::start(why);
    if (slurm_ == nullptr) GTEST_SKIP() << "Slurm cannot start here: " << why;
  }

  // The quickstart's arms, protocol and workload's shape, with a model and a number of tokens that are soon done.
  fs::path write_quickstart() {
    auto text = read_file("suites/quickstart.json");
    EXPECT_TRUE(text.ok());
    json suite = json::parse(*text);
    suite["runtime"]["executable"] = (llama_dir() / "llama-bench").string();
    suite["models"] = json::array({{{"name", "twin"}, {"like", "tiny"}, {"seed", 1}}});
    suite["workloads"][0]["r"] = 2;
    return sandbox_.write("quickstart.json", suite.dump(2));
  }

  CommandResult bash(const fs::path& script, std::map<std::string, std::string> more) {
    Command command;
    command.argv = {"/bin/bash", script.string()};
    command.env = sandbox_.env();
    for (const auto& [name, value] : slurm_->env()) command.env[name] = value;
    command.env["CAPBENCH"] = capbench_program();
    command.env["CAPBENCH_SHARDS"] = (sandbox_.dir / "shards").string();
    for (const auto& [name, value] : more) command.env[name] = value;
    return run_command(command);
  }

  // Trials that are ok, and how often each.
  static std::multiset<Cell> cells(const fs::path& db) {
    std::multiset<Cell> found;
    if (!fs::exists(db)) return found;
    auto store = schema::Store::open(db, schema::OpenMode::kReadOnly);
    if (!store) return found;  // being made just now
    auto views = store->trials({});
    if (!views) return found;
    for (const schema::TrialView& view : *views) {
      if (view.trial.status == "ok" && view.trial.block >= 0) {
        found.emplace(view.trial.model, view.trial.workload, view.trial.arm, view.trial.block);
      }
    }
    return found;
  }

  template <class Done>
  static bool wait_for(std::chrono::seconds limit, const Done& done) {
    const auto end = std::chrono::steady_clock::now() + limit;
    while (std::chrono::steady_clock::now() < end) {
      if (done()) return true;
      std::this_thread::sleep_for(std::chrono::milliseconds(100));
    }
    return false;
  }

  std::string log(const std::string& suffix) {
    std::string text;
    for (const auto& entry : fs::directory_iterator(sandbox_.dir / "shards")) {
      if (!entry.path().filename().string().ends_with(suffix)) continue;
      text += entry.path().filename().string() + ":\n" + read_file(entry.path()).value() + "\n";
    }
    return text;
  }

  Sandbox sandbox_;
  std::unique_ptr<Slurm> slurm_;
};

TEST_F(Matrix, AnArrayWithAKilledTaskMergesToTheFullTable) {
  const fs::path suite = write_quickstart();
  const auto emitted = sandbox_.capbench({"plan", suite.string(), "--emit", "slurm", "--shards", "3"});
  ASSERT_EQ(emitted.exit_status, 0) << emitted.err;
  const fs::path script = sandbox_.write("matrix.sh", emitted.out);

  const auto submitted = bash(script, {});
  ASSERT_EQ(submitted.exit_status, 0) << submitted.out << submitted.err;
  std::string array;
  std::string merge;
  {
    const std::string& text = submitted.out;  // "array job 1 (3 shards), then merge job 2; ..."
    const std::size_t at = text.find("array job ") + 10;
    array = text.substr(at, text.find(' ', at) - at);
    const std::size_t then = text.find("merge job ") + 10;
    merge = text.substr(then, text.find(';', then) - then);
  }

  // The second task has stored something and is not done: Slurm kills it and puts it back.
  const fs::path second = sandbox_.dir / "shards/shard-2.db";
  ASSERT_TRUE(wait_for(std::chrono::seconds(120), [&] { return !cells(second).empty(); })) << log(".log");
  ASSERT_EQ(slurm_->state(array + "_2"), "RUNNING");
  const std::size_t before = cells(second).size();
  ASSERT_EQ(slurm_->client({"scontrol", "requeue", array + "_2"}).exit_status, 0);
  // Slurm would wait two minutes before it starts a requeued task.
  ASSERT_TRUE(wait_for(std::chrono::seconds(30), [&] { return slurm_->state(array + "_2") == "PENDING"; }));
  EXPECT_LT(cells(second).size(), 6U) << "it was killed in the middle";
  EXPECT_GE(cells(second).size(), before) << "what it had measured is kept";
  ASSERT_TRUE(wait_for(std::chrono::seconds(30), [&] {
    return slurm_->client({"scontrol", "update", "JobId=" + array + "_2", "StartTime=now"}).exit_status == 0;
  }));

  ASSERT_TRUE(wait_for(std::chrono::seconds(240),
                       [&] {
                         const std::string state = slurm_->state(merge);
                         return state == "COMPLETED" || state == "FAILED";
                       }))
      << slurm_->client({"squeue"}).out << log(".log");
  EXPECT_EQ(slurm_->state(merge), "COMPLETED") << log(".log");

  // One run of the whole, side by side.
  const std::string whole = (sandbox_.dir / "whole.db").string();
  const auto run = sandbox_.capbench({"run", suite.string(), "--db", whole, "--quiet"});
  ASSERT_EQ(run.exit_status, 0) << run.err;
  const fs::path merged = sandbox_.dir / "shards/merged.db";
  EXPECT_EQ(cells(whole).size(), 15U);
  EXPECT_EQ(cells(merged), cells(whole)) << log(".log");

  const auto report = sandbox_.capbench({"report", "speedup", "--db", merged.string(), "--format", "json"});
  ASSERT_EQ(report.exit_status, 0) << report.err;
  const json rows = json::parse(report.out)["rows"];
  ASSERT_EQ(rows.size(), 2U) << "one machine, two tests";
  for (const json& row : rows) {
    EXPECT_EQ(row["treatment"], "proven");
    for (const char* mode : {"bare-metal", "stock", "unlocked"}) {
      EXPECT_EQ(row["modes"][mode]["n_trials"], 5) << row["test"] << mode;
    }
  }

  // A second merge adds nothing.
  const auto again = bash(script, {{"CAPBENCH_MERGE", "1"}});
  EXPECT_EQ(again.exit_status, 0) << again.out << again.err;
  EXPECT_EQ(cells(merged), cells(whole));
}

TEST_F(Matrix, AShardThatLeftNothingIsNamedByTheMerge) {
  const fs::path suite = write_quickstart();
  const auto emitted = sandbox_.capbench({"plan", suite.string(), "--emit", "slurm", "--shards", "2"});
  ASSERT_EQ(emitted.exit_status, 0) << emitted.err;
  const fs::path script = sandbox_.write("matrix.sh", emitted.out);
  const auto first = bash(script, {{"SLURM_ARRAY_TASK_ID", "1"}});
  ASSERT_EQ(first.exit_status, 0) << first.err;
  const auto merged = bash(script, {{"CAPBENCH_MERGE", "1"}});
  EXPECT_EQ(merged.exit_status, 1);
  EXPECT_NE(merged.err.find("shard 2 of 2 left no bundle"), std::string::npos) << merged.err;
  EXPECT_EQ(cells(sandbox_.dir / "shards/merged.db").size(), 6U) << "the first shard's two blocks are there";
}

}  // namespace
}  // namespace capbench::testing
