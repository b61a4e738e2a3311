// A store copied from one engine to the other and back is the same store.
#include "schema/copy.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

#include "base/digest.h"
#include "schema/import_writer.h"
#include "schema/inbox.h"
#include "schema/store.h"
#include "schema/test_postgres.h"
#include "schema/test_records.h"

namespace capbench::schema {
namespace {

using std::chrono::milliseconds;
using ::testing::HasSubstr;
using testing::must;
using testing::Place;
using testing::Setting;

const auto kQuiet = [](std::string_view, std::int64_t) {};

std::string why(const Status& status) {
  return status ? "" : to_string(status.error());
}

TrialRecord numbered(const Setting& setting, std::int64_t block) {
  TrialRecord trial = testing::trial(setting, block % 2 == 0 ? "stock" : "unlocked", block);
  for (ResultRecord& result : trial.results) {
    result.fields =
        R"({"build_commit":"0ad4a86","n_threads":)" + std::to_string(block % 3) + R"(,"n_prompt":512,"avg_ts":12.5})";
  }
  if (block % 5 == 0) {
    StatedResultRecord stated;
    stated.test = "tg64";
    stated.n_gen = 64;
    stated.mean_ts = 31.0625;
    if (block % 10 == 0) stated.stddev_ts = 0.1;
    trial.stated = {stated};
  }
  return testing::named(trial);
}

// Something in every table.
void fill(Store& store, const Setting& setting, std::int64_t trials = 40) {
  const std::string bytes = "what a file held\n";
  const SourceRecord source{sha256(bytes), "llama-bench-json", "results.json", bytes.size(), {"a note"}};
  {
    ImportWriter writer = must(ImportWriter::begin(store));
    ASSERT_EQ(why(writer.put_suite(setting.suite)), "");
    ASSERT_EQ(why(writer.put_environment(setting.environment)), "");
    ASSERT_EQ(why(writer.put_closure(setting.closure)), "");
    ASSERT_EQ(why(writer.put_run(setting.run)), "");
    ASSERT_TRUE(must(writer.put_source(source)));
    ASSERT_EQ(why(writer.put_part(source.sha256, bytes)), "");
    ASSERT_EQ(why(writer.put_quarantine({source.sha256, 3, "a reason", std::string("x\0y", 3)})), "");
    for (std::int64_t block = 0; block < trials; ++block) {
      const TrialRecord trial = numbered(setting, block);
      ASSERT_EQ(why(writer.put_trial(trial, testing::raw_stdout(block), testing::raw_stderr())), "");
    }
    QualityRecord check;
    check.run_id = setting.run.id;
    check.arm = "stock";
    check.model = "twin";
    check.kind = "output";
    check.status = "passed";
    check.figures = "{}";
    check.checked_at = "2026-11-30T10:00:00.000Z";
    ASSERT_EQ(why(writer.put_quality(check, "quality", "")), "");
    for (const char* name : {"stands", "withdrawn"}) {
      BundleRecord bundle{sha256(name),
                          sha256("archive"),
                          7,
                          "SHA256:abc",
                          "consistent",
                          "{\"checks\":[]}",
                          "2026-11-30T10:00:00.000Z",
                          sha256("secret"),
                          "",
                          ""};
      ASSERT_EQ(why(writer.put_bundle(bundle, "archive")), "");
      const std::int64_t block = name[0] == 's' ? 1 : 2;
      ASSERT_EQ(why(writer.put_bundle_trial(bundle.id, numbered(setting, block).id)), "");
    }
    const std::string subject = R"({"test":"pp512"})";
    ASSERT_EQ(why(writer.put_triage({sha256(subject), "2026-11-30T10:00:00.000Z", "noise", "because", subject})), "");
    ASSERT_EQ(why(writer.finish()), "");
  }
  must(store.withdraw_bundle(sha256("withdrawn"), "a mistake"));
  ASSERT_EQ(why(store.exclude_trial(numbered(setting, 3).id, "a backup ran")), "");
  Inbox inbox(store);
  for (const char* name : {"waits", "refused", "gone"}) ASSERT_TRUE(must(inbox.put(sha256(name), "", name)));
  ASSERT_TRUE(must(inbox.refuse(sha256("refused"), "{\"why\":\"no\"}")));
  ASSERT_TRUE(must(inbox.withdraw(sha256("gone"), "{}")));
}

// What the store says of itself.
std::string described(Store& store) {
  std::string text;
  for (const TrialView& view : must(store.trials({}))) text += testing::describe(view.trial) + "\n";
  for (const BundleRecord& b : must(store.bundles({}))) text += b.id + b.tier + b.withdrawn_at + b.why + "\n";
  for (const BundleTrialRecord& b : must(store.bundle_trials({}))) text += b.bundle_id + b.trial_id + "\n";
  for (const TriageRecord& t : must(store.triage())) text += t.regression_id + t.state + "\n";
  for (const InboxEntry& e : must(Inbox(store).pending(100))) text += e.id + e.received_at + "\n";
  return text;
}

class CopyTest : public ::testing::TestWithParam<std::pair<Backend, Backend>> {
 protected:
  Place from_place_{GetParam().first};
  Place to_place_{GetParam().second};
  Store from_ = must(Store::open(from_place_.path(), OpenMode::kCreate));
  Store to_ = must(Store::open(to_place_.path(), OpenMode::kCreate));
  Setting setting_;
};

TEST_P(CopyTest, KeepsEverythingAndTheSecondTimeAddsNothing) {
  ASSERT_NO_FATAL_FAILURE(fill(from_, setting_));
  const auto first = must(copy_store(from_, to_, kQuiet));
  for (const CopiedTable& table : first) {
    EXPECT_GT(table.rows, 0) << table.name;
    EXPECT_EQ(table.added, table.rows) << table.name;
    EXPECT_EQ(table.digest.size(), 64U);
  }
  EXPECT_EQ(described(to_), described(from_));
  EXPECT_TRUE(to_.check_integrity().ok());
  EXPECT_EQ(must(to_.blob(numbered(setting_, 1).stdout_sha256)), testing::raw_stdout(1));
  for (const CopiedTable& table : must(copy_store(from_, to_, kQuiet))) EXPECT_EQ(table.added, 0) << table.name;
  EXPECT_EQ(described(to_), described(from_));
  // And back, into a third: the same rows by their digests.
  const Place third_place(GetParam().first);
  Store third = must(Store::open(third_place.path(), OpenMode::kCreate));
  const auto back = must(copy_store(to_, third, kQuiet));
  ASSERT_EQ(back.size(), first.size());
  for (std::size_t i = 0; i < back.size(); ++i) EXPECT_EQ(back[i].digest, first[i].digest) << back[i].name;
  EXPECT_EQ(described(third), described(from_));
}

TEST_P(CopyTest, WhatIsThereStaysAndTheRestJoinsIt) {
  ASSERT_NO_FATAL_FAILURE(fill(from_, setting_, 10));
  // Of the other store: some of the same trials, with other numbers of settings, and some of its own.
  ASSERT_TRUE(put(to_, setting_).ok());
  for (const std::int64_t block : {9, 8, 3, 20, 21}) {
    ASSERT_EQ(why(to_.put_trial(numbered(setting_, block), testing::raw_stdout(block), testing::raw_stderr())), "");
  }
  ASSERT_EQ(why(to_.exclude_trial(numbered(setting_, 8).id, "here only")), "");
  const auto copied = must(copy_store(from_, to_, kQuiet));
  const auto trials = must(to_.trials({}));
  EXPECT_EQ(trials.size(), 12U);
  std::set<std::string> excluded;
  for (const TrialView& view : trials) {
    if (view.trial.status == "excluded") excluded.insert(view.trial.id);
    const auto same = numbered(setting_, view.trial.block);
    EXPECT_EQ(view.trial.results.at(0).fields, same.results.at(0).fields) << view.trial.block;
  }
  EXPECT_EQ(excluded,
            (std::set<std::string>{numbered(setting_, 2).id, numbered(setting_, 3).id, numbered(setting_, 8).id}));
  EXPECT_TRUE(to_.check_integrity().ok());
  EXPECT_FALSE(must(to_.bundle(sha256("withdrawn")))->withdrawn_at.empty());
}

TEST_P(CopyTest, TwoThingsUnderOneNameAreFound) {
  ASSERT_NO_FATAL_FAILURE(fill(from_, setting_, 4));
  Setting other;
  other.environment.json = "{\"altered\":true}";
  ASSERT_TRUE(put(to_, other).ok());
  const auto copied = copy_store(from_, to_, kQuiet);
  ASSERT_FALSE(copied.ok());
  EXPECT_EQ(copied.error().kind, ErrorKind::kFinding);
  EXPECT_THAT(to_string(copied.error()), HasSubstr("table environment: holds something else under"));
}

TEST_P(CopyTest, AnotherTrialInTheSamePlaceIsRefusedAndItsPartNotCopied) {
  ASSERT_NO_FATAL_FAILURE(fill(from_, setting_, 4));
  ASSERT_TRUE(put(to_, setting_).ok());
  TrialRecord other = numbered(setting_, 1);
  other.results.at(0).samples_ns = {1, 2, 3};
  other = testing::named(other);
  ASSERT_EQ(why(to_.put_trial(other, testing::raw_stdout(1), testing::raw_stderr())), "");
  const auto copied = copy_store(from_, to_, kQuiet);
  ASSERT_FALSE(copied.ok());
  EXPECT_THAT(to_string(copied.error()), HasSubstr("different things in one place"));
  EXPECT_EQ(must(to_.trials({})).size(), 1U);
  EXPECT_TRUE(to_.check_integrity().ok());
}

std::vector<std::pair<Backend, Backend>> ways() {
  std::vector<std::pair<Backend, Backend>> all;
  for (const Backend from : testing::backends()) {
    for (const Backend to : testing::backends()) all.emplace_back(from, to);
  }
  return all;
}

INSTANTIATE_TEST_SUITE_P(Ways, CopyTest, ::testing::ValuesIn(ways()), [](const auto& one) {
  return testing::backend_name(one.param.first) + "To" + testing::backend_name(one.param.second);
});

TEST(Copy, KnowsEveryTable) {
  const Place place(Backend::kSqlite);
  must(Store::open(place.path(), OpenMode::kCreate));
  Database database = must(Database::open(place.path(), Database::Access::kRead, milliseconds(200)));
  Statement rows =
      must(database.prepare("SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%'"));
  std::set<std::string> there;
  while (must(rows.step())) there.insert(rows.text(0));
  const auto copied = copied_tables();
  EXPECT_EQ(there, std::set<std::string>(copied.begin(), copied.end()));
}

TEST(Copy, NeedsPostgresForHalfOfItsTests) {
  if (!testing::Postgres::missing().empty()) GTEST_SKIP() << testing::Postgres::missing();
  EXPECT_EQ(ways().size(), 4U);
}

}  // namespace
}  // namespace capbench::schema
