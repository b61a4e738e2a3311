#include "schema/import_writer.h"

#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <vector>

#include "base/digest.h"
#include "schema/database.h"
#include "schema/identity.h"
#include "schema/store.h"
#include "schema/test_postgres.h"
#include "schema/test_records.h"

namespace capbench::schema {
namespace {

using testing::must;
using testing::Setting;

class ImportTest : public ::testing::TestWithParam<Backend> {
 protected:
  testing::Place place_{GetParam()};
  Setting setting_;
  Store store_ = must(Store::open(place_.path(), OpenMode::kCreate));
  const std::string bytes_ = "first part\nsecond part\n";
  const SourceRecord source_{sha256(bytes_), "llama-bench-json", "results.json", bytes_.size(), {"a note"}};

  // A trial of that source with one stated row and one with samples.
  TrialRecord imported(std::int64_t block) const {
    TrialRecord trial = testing::trial(setting_, "imported", block);
    trial.source_sha256 = source_.sha256;
    trial.stdout_sha256.clear();
    trial.stderr_sha256.clear();
    StatedResultRecord mean_only;
    mean_only.test = "tg128";
    mean_only.n_gen = 128;
    mean_only.mean_ts = 31.25;
    mean_only.stddev_ts = 0.5;
    mean_only.repetitions = 5;
    mean_only.fields = R"({"t/s":"31.25 ± 0.50"})";
    trial.stated = {mean_only};
    trial.stated.push_back(mean_only);
    trial.stated.back().stddev_ts.reset();
    trial.stated.back().repetitions.reset();
    return testing::named(trial);
  }

  Status put_all(ImportWriter& writer) const {
    if (auto s = writer.put_suite(setting_.suite); !s) return s;
    if (auto s = writer.put_environment(setting_.environment); !s) return s;
    if (auto s = writer.put_closure(setting_.closure); !s) return s;
    if (auto s = writer.put_run(setting_.run); !s) return s;
    auto is_new = writer.put_source(source_);
    if (!is_new) return is_new.error();
    if (*is_new) {
      if (auto s = writer.put_part(source_.sha256, bytes_.substr(0, 11)); !s) return s;
      if (auto s = writer.put_part(source_.sha256, bytes_.substr(11)); !s) return s;
      if (auto s = writer.put_quarantine({source_.sha256, 7, "41 values for 42 columns", "\"x\",\xFF"}); !s) return s;
    }
    for (std::int64_t block = 0; block < 3; ++block) {
      if (auto s = writer.put_trial(imported(block)); !s) return s;
    }
    return {};
  }
};

TEST_P(ImportTest, KeepsEverythingAndTheSecondTimeChangesNothing) {
  for (int round = 0; round < 2; ++round) {
    ImportWriter writer = must(ImportWriter::begin(store_));
    ASSERT_TRUE(put_all(writer).ok());
    EXPECT_EQ(writer.trials().added, round == 0 ? 3 : 0);
    EXPECT_EQ(writer.trials().known, round == 0 ? 0 : 3);
    ASSERT_TRUE(writer.finish().ok());
  }
  const auto views = must(store_.trials({}));
  ASSERT_EQ(views.size(), 3U);
  EXPECT_EQ(testing::describe(views[1].trial), testing::describe(imported(1)));
  const auto sources = must(store_.sources());
  ASSERT_EQ(sources.size(), 1U);
  EXPECT_EQ(sources[0].name, "results.json");
  EXPECT_EQ(sources[0].notes, std::vector<std::string>{"a note"});
  const auto quarantine = must(store_.quarantine(source_.sha256));
  ASSERT_EQ(quarantine.size(), 1U);
  EXPECT_EQ(quarantine[0].line, 7);
  EXPECT_EQ(quarantine[0].text, "\"x\",\xEF\xBF\xBD");
  std::string whole;
  ASSERT_TRUE(store_.source_bytes(source_.sha256, [&](std::string_view part) { whole += part; }).ok());
  EXPECT_EQ(whole, bytes_);
  EXPECT_TRUE(store_.check_integrity().ok());
}

TEST_P(ImportTest, WithoutFinishNothingIsLeft) {
  {
    ImportWriter writer = must(ImportWriter::begin(store_));
    ASSERT_TRUE(put_all(writer).ok());
  }
  EXPECT_TRUE(must(store_.trials({})).empty());
  EXPECT_TRUE(must(store_.sources()).empty());
}

// What is left out for the importers' own rows is asked again of whatever comes after them.
TEST_P(ImportTest, RowsMadeHereAreStoredAlikeAndOthersAreCheckedAgain) {
  TrialRecord wrong = imported(9);
  wrong.results[0].fields = "{no JSON";
  {
    ImportWriter writer = must(ImportWriter::begin(store_, ImportWriter::Rows::kMadeHere));
    ASSERT_TRUE(put_all(writer).ok());
    ASSERT_TRUE(writer.finish().ok());
    EXPECT_TRUE(store_.check_integrity().ok());
  }
  ImportWriter writer = must(ImportWriter::begin(store_));
  EXPECT_FALSE(writer.put_trial(wrong).ok());
  EXPECT_FALSE(writer.put_part(sha256("nobody"), "bytes").ok() && writer.finish().ok());
}

TEST_P(ImportTest, DamagedPartsAreNamed) {
  ImportWriter writer = must(ImportWriter::begin(store_));
  ASSERT_TRUE(writer.put_source(source_).ok());
  ASSERT_TRUE(writer.put_part(source_.sha256, "other bytes").ok());
  ASSERT_TRUE(writer.finish().ok());
  const Status status = store_.source_bytes(source_.sha256, [](std::string_view) {});
  ASSERT_FALSE(status.ok());
  EXPECT_NE(status.error().cause.find("another digest"), std::string::npos);
}

TEST_P(ImportTest, RefusesWhatIsNoNumberAndAMissingSource) {
  ImportWriter writer = must(ImportWriter::begin(store_));
  ASSERT_TRUE(put_all(writer).ok());
  TrialRecord wrong = imported(9);
  wrong.stated[0].mean_ts = 0.0 / 0.0;
  EXPECT_FALSE(writer.put_trial(wrong).ok());
  TrialRecord lost = imported(10);
  lost.source_sha256 = sha256("nobody");
  const Status status = writer.put_trial(lost);
  ASSERT_FALSE(status.ok());
  EXPECT_NE(status.error().cause.find("source"), std::string::npos);
}

TEST_P(ImportTest, WarmUpTrialsAreKeptAndNotTheLatest) {
  ASSERT_TRUE(testing::put(store_, setting_).ok());
  TrialRecord warm_up = testing::trial(setting_, "stock", 0);
  warm_up.block = -1;
  warm_up = testing::named(warm_up);
  ASSERT_TRUE(store_.put_trial(warm_up, testing::raw_stdout(0), testing::raw_stderr()).ok());
  EXPECT_EQ(must(store_.trials({})).at(0).trial.block, -1);
}

TEST_P(ImportTest, QualityChecksComeBackAndConflictsAreRefused) {
  ASSERT_TRUE(testing::put(store_, setting_).ok());
  QualityRecord check;
  check.run_id = setting_.run.id;
  check.arm = "unlocked";
  check.model = "tiny";
  check.kind = "output";
  check.status = "wrong";
  check.reason = "mean KL divergence 0.3 is over 0.02";
  check.figures = R"({"mean_kl":0.3})";
  check.argv = {"llama-perplexity", "-m", "tiny.gguf"};
  check.checked_at = "2026-11-30T04:25:08.000Z";
  ASSERT_TRUE(store_.put_quality(check, "out", "err").ok());
  ASSERT_TRUE(store_.put_quality(check, "out", "err").ok());
  const auto held = must(store_.quality(setting_.run.id));
  ASSERT_EQ(held.size(), 1U);
  EXPECT_EQ(held[0].reason, check.reason);
  EXPECT_EQ(held[0].argv, check.argv);
  EXPECT_EQ(must(store_.blob(held[0].stderr_sha256)), "err");
  check.status = "passed";
  EXPECT_FALSE(store_.put_quality(check, "out", "err").ok());
  check.attempt = 2;
  EXPECT_TRUE(store_.put_quality(check, "out", "err").ok());
  check.attempt = 3;
  check.run_id = "nobody";
  EXPECT_FALSE(store_.put_quality(check, "out", "err").ok());
}

// Settings before the measurement, as llama-bench prints them.
std::string printed(const std::string& settings, int depth) {
  return "{" + settings + ",\"n_prompt\":512,\"n_gen\":0,\"n_depth\":" + std::to_string(depth) + ",\"avg_ts\":1.5}";
}

TEST_P(ImportTest, WhatRowsPrintAlikeIsKeptOnceAndComesBackAsItWas) {
  const std::string settings = R"("build_commit":"0ad4a86","cpu_info":"a \"n_prompt\": b","n_batch":2048)";
  TrialRecord trial = imported(0);
  const ResultRecord first = trial.results.at(0);
  const std::vector<std::string> fields = {printed(settings, 0),
                                           printed(settings, 8),
                                           printed(R"("n_batch":1)", 8),
                                           R"({"n_prompt":512,"n_batch":3})",                 // nothing before it
                                           R"({"n_batch":4})",                                // no measurement
                                           R"({"nested":{"a":1,"n_prompt":2},"n_gen":128})",  // the comma stands deeper
                                           R"({"list":["n_prompt",",\"n_prompt\":"],"x":1})",
                                           R"({"avg_ts":1.5,"n_batch":5,"n_prompt":512})",  // the names are sorted
                                           ""};
  trial.results.clear();
  for (const std::string& text : fields) {
    trial.results.push_back(first);
    trial.results.back().fields = text;
  }
  trial = testing::named(trial);
  {
    ImportWriter writer = must(ImportWriter::begin(store_));
    ASSERT_TRUE(put_all(writer).ok());
    trial.block = 9;
    trial = testing::named(trial);
    ASSERT_TRUE(writer.put_trial(trial).ok());
    ASSERT_TRUE(writer.finish().ok());
  }
  std::vector<std::string> back;
  for (const TrialView& view : must(store_.trials({}))) {
    if (view.trial.id != trial.id) continue;
    for (const ResultRecord& result : view.trial.results) back.push_back(result.fields);
  }
  EXPECT_EQ(back, fields);
  EXPECT_TRUE(store_.check_integrity().ok());
  Database database = must(Database::open(place_.path(), Database::Access::kRead, std::chrono::seconds(1)));
  EXPECT_EQ(must(database.integer("SELECT count(*) FROM printed_settings WHERE fields LIKE '%0ad4a86%n_batch%'")), 1);
  EXPECT_EQ(must(database.integer("SELECT count(*) FROM printed_settings WHERE fields LIKE '%avg_ts%'")), 0);
  EXPECT_EQ(must(database.text("SELECT fields FROM printed_settings WHERE fields LIKE '%:1}'")), R"({"n_batch":1})");
  const std::string of_trial = " FROM llama_bench WHERE trial_id = '" + trial.id + "'";
  const std::string join(database.either("group_concat(", "string_agg("));
  const std::string number = "coalesce(CAST(n_batch AS TEXT), '-') || ' ' || coalesce(CAST(n_depth AS TEXT), '-')";
  EXPECT_EQ(must(database.text("SELECT " + join + number + ", ',')" + of_trial)),
            "2048 0,2048 8,1 8,3 -,4 -,- -,- -,5 -,- -");
  EXPECT_EQ(must(database.text("SELECT DISTINCT cpu_info" + of_trial + " AND n_batch = 2048")), "a \"n_prompt\": b");
  EXPECT_EQ(must(database.text("SELECT " + join + "fields, '|') FROM printed_result WHERE trial_id = '" + trial.id +
                               "' AND ordinal < 2")),
            fields[0] + "|" + fields[1]);
}

TEST_P(ImportTest, FieldsThatAreNoJsonAreRefusedBesideSettingsToo) {
  for (const char* fields : {R"({"a":1,"n_prompt":512)", R"({"a":,"n_prompt":512})", R"({"a":1,"n_prompt":512,})",
                             R"({"a":1,"n_prompt":"\x"})", "{\"a\":\"\xFF\",\"n_prompt\":512}", "nothing"}) {
    TrialRecord trial = imported(7);
    trial.results.at(0).fields = fields;
    trial = testing::named(trial);
    ImportWriter writer = must(ImportWriter::begin(store_));
    ASSERT_TRUE(put_all(writer).ok());
    const Status status = writer.put_trial(trial);
    ASSERT_FALSE(status.ok()) << fields;
    EXPECT_NE(to_string(status.error()).find("are not JSON"), std::string::npos) << to_string(status.error());
  }
}

INSTANTIATE_TEST_SUITE_P(Both, ImportTest, ::testing::ValuesIn(testing::backends()),
                         [](const auto& one) { return testing::backend_name(one.param); });

}  // namespace
}  // namespace capbench::schema
