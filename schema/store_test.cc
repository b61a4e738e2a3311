#include "schema/store.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cmath>
#include <thread>

#include "base/digest.h"
#include "base/file.h"
#include "schema/test_postgres.h"
#include "schema/test_records.h"

namespace capbench::schema {
namespace {

using testing::Folder;
using testing::must;
using testing::Setting;

// Fails the test with the error's text.
::testing::AssertionResult good(const Status& status) {
  if (status) return ::testing::AssertionSuccess();
  return ::testing::AssertionFailure() << to_string(status.error());
}

std::string why(const Status& status) {
  return status ? "no error" : to_string(status.error());
}

bool says(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

TrialFilter filter(const std::string& suite, const std::string& run_id, bool with_results = true) {
  return {suite, run_id, with_results};
}

class StoreTest : public ::testing::TestWithParam<Backend> {
 protected:
  StoreTest() : place_(GetParam()), store_(must(Store::open(place_.path(), OpenMode::kCreate))) {}
  void SetUp() override { ASSERT_TRUE(good(testing::put(store_, setting_))); }

  Status put(const TrialRecord& trial) {
    return store_.put_trial(trial, testing::raw_stdout(trial.block), testing::raw_stderr());
  }
  std::vector<TrialView> all() { return *store_.trials({}); }

  testing::Place place_;
  Setting setting_;
  Store store_;
};

TEST_P(StoreTest, GivesBackEveryMemberOfATrial) {
  const TrialRecord trial = testing::trial(setting_, "stock", 0);
  ASSERT_TRUE(good(put(trial)));
  const auto views = all();
  ASSERT_EQ(views.size(), 1U);
  EXPECT_EQ(testing::describe(views[0].trial), testing::describe(trial));
  EXPECT_EQ(views[0].suite_name, "quickstart");
  EXPECT_EQ(views[0].machine_id, "machine-a");
  EXPECT_EQ(views[0].machine_label, "machine-a, 2 cores");
  EXPECT_TRUE(views[0].machine_is_virtual);
  EXPECT_EQ(views[0].executable_sha256, sha256("bench"));
  EXPECT_EQ(*store_.blob(trial.stdout_sha256), testing::raw_stdout(0));
  EXPECT_EQ(*store_.blob(trial.stderr_sha256), testing::raw_stderr());
  EXPECT_TRUE(good(store_.check_integrity()));
}

TEST_P(StoreTest, KeepsWhatTheProbePrinted) {
  TrialRecord trial = testing::trial(setting_, "stock", 0);
  ASSERT_TRUE(good(store_.put_trial(trial, testing::raw_stdout(0), testing::raw_stderr(), "{\"probe\":1}\n")));
  const auto views = all();
  ASSERT_EQ(views.size(), 1U);
  EXPECT_EQ(views[0].trial.probe_sha256, sha256("{\"probe\":1}\n"));
  EXPECT_EQ(*store_.blob(views[0].trial.probe_sha256), "{\"probe\":1}\n");
  trial.id = sha256("another");
  trial.block = 1;
  trial.probe_sha256 = sha256("something else");
  EXPECT_FALSE(store_.put_trial(trial, testing::raw_stdout(0), testing::raw_stderr(), "{\"probe\":1}\n").ok());
}

TEST_P(StoreTest, GivesBackATrialThatNeverStarted) {
  TrialRecord trial;
  trial.run_id = setting_.run.id;
  trial.suite_id = setting_.suite.id;
  trial.arm = "stock";
  trial.status = "not_run";
  trial.reason = "the run was interrupted";
  trial.signal = 9;
  trial = testing::named(trial);
  ASSERT_TRUE(good(store_.put_trial(trial, "", "")));
  const auto views = all();
  ASSERT_EQ(views.size(), 1U);
  EXPECT_EQ(testing::describe(views[0].trial), testing::describe(trial));
  EXPECT_EQ(views[0].machine_id, "machine-a");  // the run's
  EXPECT_EQ(views[0].executable_sha256, "");
}

TEST_P(StoreTest, GivesBackSuiteClosureEnvironmentAndRun) {
  EXPECT_EQ(*store_.suite_json(setting_.suite.id), setting_.suite.json);
  EXPECT_EQ(*store_.suite_json("absent"), std::nullopt);
  const auto closure = *store_.closure(setting_.closure.id);
  ASSERT_TRUE(closure.has_value());
  ASSERT_EQ(closure->members.size(), 3U);
  for (std::size_t i = 0; i < 3; ++i) {
    const ClosureMember& want = setting_.closure.members[i];
    const ClosureMember& have = closure->members[i];
    EXPECT_EQ(have.role, want.role);
    EXPECT_EQ(have.path, want.path);
    EXPECT_EQ(have.artifact.sha256, want.artifact.sha256);
    EXPECT_EQ(have.artifact.size, want.artifact.size);
    EXPECT_EQ(have.artifact.name, want.artifact.name);
  }
  EXPECT_FALSE(store_.closure("absent")->has_value());
  const auto environment = *store_.environment(setting_.environment.id);
  ASSERT_TRUE(environment.has_value());
  EXPECT_EQ(environment->json, setting_.environment.json);
  EXPECT_EQ(environment->machine_label, setting_.environment.machine_label);
  EXPECT_TRUE(environment->is_virtual);
  EXPECT_FALSE(store_.environment("absent")->has_value());
  const auto runs = *store_.runs(setting_.suite.id);
  ASSERT_EQ(runs.size(), 1U);
  EXPECT_EQ(runs[0].id, setting_.run.id);
  EXPECT_EQ(runs[0].seed, 18446744073709551615U);
  EXPECT_EQ(runs[0].machine_id, "machine-a");
  EXPECT_EQ(runs[0].started_at, setting_.run.started_at);
  EXPECT_EQ(runs[0].harness_version, "0.1.0");
  EXPECT_EQ(runs[0].state, "running");
  EXPECT_EQ(runs[0].planned_trials, 15U);
  EXPECT_TRUE(store_.runs("absent")->empty());
}

TEST_P(StoreTest, PuttingTwiceChangesNothing) {
  const TrialRecord trial = testing::trial(setting_, "stock", 0);
  ASSERT_TRUE(good(put(trial)));
  ASSERT_TRUE(good(testing::put(store_, setting_)));
  ASSERT_TRUE(good(put(trial)));
  EXPECT_EQ(all().size(), 1U);
  EXPECT_EQ(store_.runs("")->size(), 1U);
}

TEST_P(StoreTest, ASecondRunPutUpdatesStateAndPlan) {
  RunRecord run = setting_.run;
  run.state = "complete";
  run.planned_trials = 30;
  ASSERT_TRUE(good(store_.put_run(run)));
  EXPECT_EQ(store_.runs("")->at(0).state, "complete");
  EXPECT_EQ(store_.runs("")->at(0).planned_trials, 30U);
  run.seed = 4;
  EXPECT_TRUE(says(why(store_.put_run(run)), "a different one under this id"));
  run = setting_.run;
  run.state = "dancing";
  EXPECT_TRUE(says(why(store_.put_run(run)), "breaks a rule"));
  EXPECT_EQ(store_.runs("")->at(0).state, "complete");
}

TEST_P(StoreTest, RefusesTwoThingsUnderOneId) {
  SuiteRecord suite = setting_.suite;
  suite.json = "{}";
  EXPECT_TRUE(says(why(store_.put_suite(suite)), "a different one under this id"));
  EnvironmentRecord environment = setting_.environment;
  environment.json = "{}";
  EXPECT_TRUE(says(why(store_.put_environment(environment)), "a different one under this id"));
  ClosureRecord closure = setting_.closure;
  closure.id = sha256("other");
  closure.members[0].artifact.size = 6;
  EXPECT_TRUE(says(why(store_.put_closure(closure)), "artifact"));
  EXPECT_FALSE(store_.closure(closure.id)->has_value());  // nothing of it stays
}

TEST_P(StoreTest, ATrialNeedsItsReferences) {
  for (auto change :
       {+[](TrialRecord& t) { t.run_id = "gone"; }, +[](TrialRecord& t) { t.suite_id = "gone"; },
        +[](TrialRecord& t) { t.environment_id = "gone"; }, +[](TrialRecord& t) { t.closure_id = "gone"; }}) {
    TrialRecord trial = testing::trial(setting_, "stock", 0);
    change(trial);
    EXPECT_TRUE(says(why(put(trial)), "gone is not in the store; try: put the"));
  }
  RunRecord run = setting_.run;
  run.id = "other";
  run.suite_id = "gone";
  EXPECT_TRUE(says(why(store_.put_run(run)), "suite gone is not in the store"));
  EXPECT_TRUE(all().empty());
}

TEST_P(StoreTest, APlaceHoldsOneTrialAnAttempt) {
  TrialRecord trial = testing::trial(setting_, "stock", 0);
  ASSERT_TRUE(good(put(trial)));
  trial.status = "failed";
  trial = testing::named(trial);
  EXPECT_TRUE(says(why(put(trial)), "its place (stock, default, tiny, block 0, attempt 1) is taken by trial"));
  trial.attempt = 2;
  EXPECT_TRUE(good(put(testing::named(trial))));
  EXPECT_EQ(all().size(), 2U);
}

TEST_P(StoreTest, RefusesWhatNoTrialMayHold) {
  TrialRecord trial = testing::trial(setting_, "stock", 0);
  trial.results[0].median_ts = std::nan("");
  EXPECT_TRUE(says(why(put(trial)), "not a number"));
  trial = testing::trial(setting_, "stock", 0);
  trial.results[0].samples_ns[1] = -1;
  EXPECT_TRUE(says(why(put(trial)), "negative"));
  trial = testing::trial(setting_, "stock", 0);
  trial.results[0].fields = "{\"a\":";
  EXPECT_TRUE(says(why(put(trial)), "not JSON"));
  trial = testing::trial(setting_, "stock", 0);
  trial.id = "";
  EXPECT_TRUE(says(why(put(trial)), "no id"));
  trial = testing::trial(setting_, "stock", 0);
  trial.status = "splendid";
  EXPECT_TRUE(says(why(put(trial)), "breaks a rule"));
  EXPECT_TRUE(all().empty());
}

TEST_P(StoreTest, RawOutputIsWhatItsDigestSays) {
  TrialRecord trial = testing::trial(setting_, "stock", 0);
  EXPECT_TRUE(says(why(store_.put_trial(trial, "other bytes", testing::raw_stderr())),
                   "its stdout is not what its digest says"));
  EXPECT_TRUE(says(why(store_.put_trial(trial, testing::raw_stdout(0), "")), "its stderr is missing"));
  EXPECT_TRUE(all().empty());
  trial.stdout_sha256 = "";  // computed
  trial.stderr_sha256 = "";  // withheld
  ASSERT_TRUE(good(store_.put_trial(trial, testing::raw_stdout(0), "")));
  EXPECT_EQ(all()[0].trial.stdout_sha256, sha256(testing::raw_stdout(0)));
  EXPECT_EQ(all()[0].trial.stderr_sha256, "");
  // A digest without bytes is enough once the store holds them; no bytes at all are bytes too.
  trial = testing::trial(setting_, "unlocked", 0);
  trial.stderr_sha256 = sha256("");
  ASSERT_TRUE(good(store_.put_trial(trial, "", "")));
  EXPECT_EQ(*store_.blob(sha256("")), "");
  EXPECT_TRUE(says(to_string(store_.blob(sha256("absent")).error()), "not in this store"));
}

TEST_P(StoreTest, ExclusionMarksAndKeepsTheReason) {
  TrialRecord trial = testing::trial(setting_, "stock", 0);
  ASSERT_TRUE(good(put(trial)));
  ASSERT_TRUE(good(store_.exclude_trial(trial.id.substr(0, 8), "the fan stopped")));
  EXPECT_EQ(all()[0].trial.status, "excluded");
  EXPECT_EQ(all()[0].trial.reason, "was ok: the fan stopped");
  EXPECT_EQ(all()[0].trial.id, trial.id);
  EXPECT_EQ(all()[0].trial.results.size(), 2U);
  ASSERT_TRUE(good(store_.exclude_trial(trial.id, "and the window was open")));
  EXPECT_EQ(all()[0].trial.reason, "was ok: the fan stopped; and the window was open");
  ASSERT_TRUE(good(put(trial)));  // a merge does not bring it back
  EXPECT_EQ(all()[0].trial.status, "excluded");
  TrialRecord failed = testing::trial(setting_, "stock", 1);
  failed.status = "failed";
  failed.reason = "exited 1";
  failed = testing::named(failed);
  ASSERT_TRUE(good(put(failed)));
  ASSERT_TRUE(good(store_.exclude_trial(failed.id, "power cut")));
  EXPECT_EQ(all()[1].trial.reason, "was failed (exited 1): power cut");
}

TEST_P(StoreTest, ExclusionNeedsOneTrial) {
  for (const char* id : {"abc1", "abc2", "abc"}) {
    TrialRecord trial = testing::trial(setting_, id, 0);
    trial.id = id;
    ASSERT_TRUE(good(put(trial)));
  }
  EXPECT_TRUE(says(why(store_.exclude_trial("ab", "x")), "several trials begin so"));
  EXPECT_TRUE(says(why(store_.exclude_trial("abd", "x")), "no such trial"));
  EXPECT_TRUE(says(why(store_.exclude_trial("%", "x")), "no such trial"));
  EXPECT_TRUE(says(why(store_.exclude_trial("", "x")), "no id given"));
  for (const TrialView& view : all()) EXPECT_EQ(view.trial.status, "ok");
  EXPECT_TRUE(good(store_.exclude_trial("abc", "a whole id is not a prefix")));
}

TEST_P(StoreTest, FiltersAndSorts) {
  Setting other;
  other.suite = testing::suite("other");
  other.run = testing::run(other.suite, other.environment);
  other.run.started_at = "2026-11-29T00:00:00.000Z";
  ASSERT_TRUE(good(testing::put(store_, other)));
  for (const std::int64_t block : {2, 0, 1}) ASSERT_TRUE(good(put(testing::trial(setting_, "stock", block))));
  TrialRecord again = testing::trial(setting_, "stock", 1);
  again.attempt = 2;
  ASSERT_TRUE(good(put(testing::named(again))));
  ASSERT_TRUE(good(put(testing::trial(other, "stock", 7))));
  std::string order;
  for (const TrialView& view : all())
    order += std::to_string(view.trial.block) + "." + std::to_string(view.trial.attempt) + " ";
  EXPECT_EQ(order, "7.1 0.1 1.1 1.2 2.1 ");
  EXPECT_EQ(store_.trials(filter("other", ""))->size(), 1U);
  EXPECT_EQ(store_.trials(filter(other.suite.id, ""))->size(), 1U);
  EXPECT_EQ(store_.trials(filter("quickstart", other.run.id))->size(), 0U);
  EXPECT_EQ(store_.trials(filter("", setting_.run.id))->size(), 4U);
  EXPECT_EQ(store_.trials(filter("absent", ""))->size(), 0U);
  const auto bare = *store_.trials(filter("other", "", false));
  EXPECT_TRUE(bare[0].trial.results.empty());
  EXPECT_TRUE(bare[0].trial.capabilities.empty());
  EXPECT_EQ(bare[0].trial.flags.size(), 2U);
  EXPECT_EQ(store_.runs("")->at(0).id, setting_.run.id);  // newest first
}

TEST_P(StoreTest, KeepsBytesThatAreNotText) {
  TrialRecord trial = testing::trial(setting_, "stock", 0);
  trial.reason = std::string("a\0b\xFF", 4);
  trial.argv = {"llama-bench",
                "m\xFF"
                "del"};
  ASSERT_TRUE(good(put(trial)));
  // PostgreSQL keeps text only.
  EXPECT_EQ(all()[0].trial.reason, GetParam() == Backend::kSqlite ? trial.reason
                                                                  : "a\xEF\xBF\xBD"
                                                                    "b\xEF\xBF\xBD");
  EXPECT_EQ(all()[0].trial.argv[1],
            "m\xEF\xBF\xBD"
            "del");
}

TEST_P(StoreTest, KeepsLargeOutput) {
  TrialRecord trial = testing::trial(setting_, "stock", 0);
  std::string raw(8U << 20U, '\0');
  for (std::size_t i = 0; i < raw.size(); ++i) raw[i] = static_cast<char>((i * 2654435761U) >> 13U);
  trial.stdout_sha256 = sha256(raw);
  ASSERT_TRUE(good(store_.put_trial(trial, raw, testing::raw_stderr())));
  EXPECT_EQ(*store_.blob(trial.stdout_sha256), raw);
}

TEST_P(StoreTest, ReadersSeeWholeTrialsWhileOthersWrite) {
  constexpr int kTrials = 60;
  std::atomic<bool> done = false;
  std::atomic<int> reads = 0;
  std::atomic<int> torn = 0;
  const auto read = [&] {
    auto reader = Store::open(place_.path(), OpenMode::kReadOnly);
    std::size_t before = 0;
    while (!done) {
      const auto views = reader->trials({});
      if (!views || views->size() < before) {
        ++torn;
        continue;
      }
      before = views->size();
      for (const TrialView& view : *views) {
        if (view.trial.results.size() != 2 || view.trial.capabilities.size() != 2 || view.trial.flags.size() != 2)
          ++torn;
      }
      ++reads;
    }
  };
  const auto write = [&](const std::string& arm) {
    auto writer = Store::open(place_.path(), OpenMode::kCreate);
    for (int block = 0; block < kTrials; ++block) {
      const TrialRecord trial = testing::trial(setting_, arm, block);
      EXPECT_TRUE(good(writer->put_trial(trial, testing::raw_stdout(block), testing::raw_stderr())));
    }
  };
  std::thread reader_a(read);
  std::thread reader_b(read);
  std::thread writer_a(write, "stock");
  std::thread writer_b(write, "unlocked");
  writer_a.join();
  writer_b.join();
  done = true;
  reader_a.join();
  reader_b.join();
  EXPECT_EQ(all().size(), std::size_t{2 * kTrials});
  EXPECT_EQ(torn, 0);
  EXPECT_GT(reads, 2);
  EXPECT_TRUE(good(store_.check_integrity()));
}

INSTANTIATE_TEST_SUITE_P(Both, StoreTest, ::testing::ValuesIn(testing::backends()),
                         [](const auto& one) { return testing::backend_name(one.param); });

TEST(StoreOnPostgres, IsTestedHere) {
  if (!testing::Postgres::missing().empty()) GTEST_SKIP() << testing::Postgres::missing();
  EXPECT_EQ(testing::backends().size(), 2U);
}

TEST(StoreFile, ReadingChangesNoByteAndLeavesNoFile) {
  const Folder folder;
  const auto path = folder / "results.db";
  {
    Store store = must(Store::open(path, OpenMode::kCreate));
    ASSERT_TRUE(good(testing::put(store, Setting())));
  }
  const std::string before = *read_file(path);
  const auto time_before = std::filesystem::last_write_time(path);
  {
    Store first = must(Store::open(path, OpenMode::kReadOnly));
    Store second = must(Store::open(path, OpenMode::kReadOnly));
    EXPECT_EQ(first.runs("")->size(), 1U);
    EXPECT_EQ(second.runs("")->size(), 1U);
    EXPECT_TRUE(says(why(first.put_suite(testing::suite("new"))), "opened for reading only"));
    EXPECT_TRUE(says(why(first.exclude_trial("a", "b")), "opened for reading only"));
  }
  EXPECT_EQ(*read_file(path), before);
  EXPECT_EQ(std::filesystem::last_write_time(path), time_before);
  std::size_t files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder.path()))
    files += entry.is_regular_file() ? 1U : 0U;
  EXPECT_EQ(files, 1U);
}

TEST(StoreFile, AReaderDoesNotDisturbAWriter) {
  const Folder folder;
  const auto path = folder / "results.db";
  const Setting setting;
  Store writer = must(Store::open(path, OpenMode::kCreate));
  ASSERT_TRUE(good(testing::put(writer, setting)));
  { EXPECT_EQ(must(Store::open(path, OpenMode::kReadOnly)).runs("")->size(), 1U); }
  ASSERT_TRUE(
      good(writer.put_trial(testing::trial(setting, "stock", 0), testing::raw_stdout(0), testing::raw_stderr())));
  EXPECT_EQ(must(Store::open(path, OpenMode::kReadOnly)).trials({})->size(), 1U);
}

TEST(StoreFile, DefaultPlaceFollowsXdg) {
  EXPECT_EQ(default_store_path("/data", "/home/a"), "/data/capbench/results.db");
  EXPECT_EQ(default_store_path("", "/home/a"), "/home/a/.local/share/capbench/results.db");
  EXPECT_EQ(default_store_path("relative", "/home/a"), "/home/a/.local/share/capbench/results.db");
  EXPECT_EQ(default_store_path(nullptr, "/home/a"), "/home/a/.local/share/capbench/results.db");
  EXPECT_EQ(default_store_path(nullptr, nullptr), "capbench-results.db");
}

}  // namespace
}  // namespace capbench::schema
