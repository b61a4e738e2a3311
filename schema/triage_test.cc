// Decisions about regressions, and results by the million.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/digest.h"
#include "schema/import_writer.h"
#include "schema/measurements.h"
#include "schema/store.h"
#include "schema/test_postgres.h"
#include "schema/test_records.h"

namespace capbench::schema {
namespace {

using ::testing::HasSubstr;
using testing::must;

class Scan : public ::testing::TestWithParam<Backend> {};
class Triage : public ::testing::TestWithParam<Backend> {};

TriageRecord decision(const std::string& state, const std::string& at) {
  const std::string subject = R"({"test":"pp512"})";
  return {sha256(subject), at, state, "because", subject};
}

TEST_P(Triage, KeepsEveryDecisionAndTheLatestFirst) {
  const testing::Place place(GetParam());
  Store store = must(Store::open(place.path(), OpenMode::kCreate));
  ASSERT_TRUE(store.put_triage(decision("open", "2026-11-30T10:00:00.000Z")).ok());
  ASSERT_TRUE(store.put_triage(decision("fixed", "2026-11-30T12:00:00.000Z")).ok());
  ASSERT_TRUE(store.put_triage(decision("noise", "2026-11-30T11:00:00.000Z")).ok());
  ASSERT_TRUE(store.put_triage(decision("noise", "2026-11-30T11:00:00.000Z")).ok());
  const auto all = must(store.triage());
  ASSERT_EQ(all.size(), 3U);
  EXPECT_EQ(all[0].state, "fixed");
  EXPECT_EQ(all[0].why, "because");
  EXPECT_EQ(all[2].state, "open");
  // Set now if it says nothing.
  ASSERT_TRUE(store.put_triage(decision("open", "")).ok());
  EXPECT_EQ(must(store.triage())[0].set_at.size(), std::string("2026-11-30T11:00:00.000Z").size());
}

TEST_P(Triage, RefusesWhatItDoesNotKnow) {
  const testing::Place place(GetParam());
  Store store = must(Store::open(place.path(), OpenMode::kCreate));
  EXPECT_THAT(to_string(store.put_triage(decision("wontfix", "")).error()),
              HasSubstr("open, acknowledged, fixed or noise"));
  TriageRecord wrong = decision("open", "");
  wrong.subject = R"({"test":"tg128"})";
  EXPECT_THAT(to_string(store.put_triage(wrong).error()), HasSubstr("not the digest"));
}

TEST_P(Triage, MergingTwiceChangesNothing) {
  const testing::Place place(GetParam());
  Store store = must(Store::open(place.path(), OpenMode::kCreate));
  ASSERT_TRUE(store.put_triage(decision("open", "2026-11-30T10:00:00.000Z")).ok());
  for (int i = 0; i < 2; ++i) {
    auto writer = ImportWriter::begin(store);
    ASSERT_TRUE(writer.ok());
    ASSERT_TRUE(writer->put_triage(decision("open", "2026-11-30T10:00:00.000Z")).ok());
    ASSERT_TRUE(writer->put_triage(decision("noise", "2026-11-30T11:00:00.000Z")).ok());
    ASSERT_TRUE(writer->finish().ok());
    EXPECT_EQ(must(store.triage()).size(), 2U);
  }
}

TEST_P(Scan, GivesEveryTrialResultAndFile) {
  const testing::Place place(GetParam());
  Store store = must(Store::open(place.path(), OpenMode::kCreate));
  const testing::Setting setting;
  ASSERT_TRUE(put(store, setting).ok());
  const auto put_one = [&](std::int64_t block, std::int64_t attempt, const std::string& status,
                           const std::string& treatment) {
    TrialRecord trial = testing::trial(setting, "stock", block);
    trial.attempt = attempt;
    trial.status = status;
    trial.treatment = treatment;
    trial.stdout_sha256.clear();
    trial.stderr_sha256.clear();
    trial = testing::named(trial);
    ASSERT_TRUE(store.put_trial(trial, "", "").ok());
  };
  put_one(0, 1, "ok", "proven");
  put_one(1, 1, "ok", "proven");  // superseded
  put_one(1, 2, "ok", "proven");
  put_one(2, 1, "failed", "proven");
  put_one(3, 1, "ok", "invalid");
  put_one(-1, 1, "ok", "proven");  // a warm-up
  std::size_t trials = 0;
  std::size_t results = 0;
  std::size_t members = 0;
  MeasurementSink sink;
  sink.trial = [&](const TrialRow& row) -> Status {
    ++trials;
    EXPECT_EQ(row.suite, setting.suite.name);
    EXPECT_EQ(row.machine_id, setting.environment.machine_id);
    EXPECT_EQ(row.closure_id, setting.closure.id);
    return {};
  };
  sink.result = [&](const ResultRow& row) -> Status {
    ++results;
    EXPECT_EQ(row.tokens, row.test == "pp512" ? 512 : 128);
    EXPECT_GT(row.median_ts, 0);
    EXPECT_EQ(row.build, "0ad4a86 (1)");
    EXPECT_TRUE(row.samples_ns.starts_with('['));
    return {};
  };
  sink.member = [&](const MemberRow& row) -> Status {
    ++members;
    EXPECT_EQ(row.closure_id, setting.closure.id);
    return {};
  };
  for (const bool beside : {false, true}) {
    trials = results = members = 0;
    sink.results_beside = beside;
    const Status read = store.scan({}, sink);
    ASSERT_TRUE(read.ok()) << to_string(read.error());
    EXPECT_EQ(trials, 6U);
    EXPECT_EQ(results, 12U);  // two tests each
    EXPECT_EQ(members, setting.closure.members.size());
  }
  TrialFilter other;
  other.suite = "another";
  trials = results = 0;
  ASSERT_TRUE(store.scan(other, sink).ok());
  EXPECT_EQ(trials, 0U);
  EXPECT_EQ(results, 0U);
  sink.result = [](const ResultRow&) -> Status { return Error{ErrorKind::kUsage, "enough", "", ""}; };
  for (const bool beside : {false, true}) {
    sink.results_beside = beside;
    EXPECT_FALSE(store.scan({}, sink).ok());
  }
}

INSTANTIATE_TEST_SUITE_P(Both, Scan, ::testing::ValuesIn(testing::backends()),
                         [](const auto& one) { return testing::backend_name(one.param); });

INSTANTIATE_TEST_SUITE_P(Both, Triage, ::testing::ValuesIn(testing::backends()),
                         [](const auto& one) { return testing::backend_name(one.param); });

}  // namespace
}  // namespace capbench::schema
