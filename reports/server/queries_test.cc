#include "reports/server/queries.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <set>
#include <stop_token>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "reports/server/testing/bundles.h"
#include "schema/bundle/exchange.h"
#include "schema/database.h"
#include "schema/inbox.h"
#include "schema/test_postgres.h"
#include "schema/test_records.h"

namespace capbench::server {
namespace {

using schema::testing::must;

class QueriesTest : public ::testing::TestWithParam<schema::Backend> {
 protected:
  schema::testing::Place place_{GetParam()};
};

// What is acknowledged moves from the inbox into the store while others ask for it.
TEST_P(QueriesTest, WhatIsAcknowledgedIsFoundWhileItIsTakenIn) {
  constexpr std::uint64_t kBundles = 40;
  std::vector<bundle::Sealed> bundles;
  for (std::uint64_t n = 0; n < kBundles; ++n) bundles.push_back(testing::numbered(n));
  schema::Store writing = must(schema::Store::open(place_.path(), schema::OpenMode::kCreate));
  schema::Store reading = must(schema::Store::open(place_.path(), schema::OpenMode::kReadOnly));
  std::atomic<std::size_t> acknowledged = 0;
  std::uint64_t looked = 0;
  std::uint64_t missed = 0;
  std::jthread looks([&](const std::stop_token& stop) {
    while (!stop.stop_requested()) {
      const std::size_t count = acknowledged;
      if (count == 0) continue;
      const Submission found = must(find_submission(reading, bundles[count - 1].id));
      ++looked;
      if (!found.waiting && !found.taken) ++missed;
    }
  });
  for (const bundle::Sealed& bundle : bundles) {
    const bundle::Opened opened = must(bundle::open_bundle(bundle.archive));
    ASSERT_TRUE(must(schema::Inbox(writing).put(bundle.id, "", bundle.archive)));
    ++acknowledged;
    schema::Batch batch = must(writing.begin_batch());
    must(bundle::ingest(writing, opened, bundle.archive, {}));
    ASSERT_TRUE(must(schema::Inbox(writing).take_out(bundle.id)));
    ASSERT_TRUE(batch.commit().ok());
  }
  looks.request_stop();
  looks.join();
  EXPECT_GT(looked, kBundles);
  EXPECT_EQ(missed, 0U) << "of " << looked;
}

// Every trial of a filter once, however its pages are cut: a rare one among 45,000 too.
TEST_P(QueriesTest, RareTrialsAreFoundPageByPage) {
  {
    schema::Store store = must(schema::Store::open(place_.path(), schema::OpenMode::kCreate));
    const bundle::Sealed sealed = testing::numbered(1);
    must(bundle::ingest(store, must(bundle::open_bundle(sealed.archive)), sealed.archive, {}));
  }
  auto writing = must(schema::Database::open(place_.path(), schema::Database::Access::kWrite, std::chrono::seconds(5)));
  // The first six, whose model is another one, and copies of one of them in front.
  ASSERT_TRUE(writing.exec("UPDATE trial SET model = 'rare', status = 'failed'").ok());
  std::vector<std::string> columns;
  {
    schema::Statement one = must(writing.prepare("SELECT * FROM trial LIMIT 1"));
    ASSERT_TRUE(must(one.step()));
    for (int c = 0; c < one.columns(); ++c) columns.push_back(one.name(c));
  }
  std::string names;
  std::string values;
  for (const std::string& column : columns) {
    if (column == "rowid") continue;
    names += (names.empty() ? "" : ", ") + column;
    values += (values.empty() ? "" : ", ");
    values += column == "id"      ? "t.id || n.i"
              : column == "block" ? "t.block + 1000 + n.i"
              : column == "model" ? "'common'"
                                  : "t." + column;
  }
  ASSERT_TRUE(
      writing
          .exec("WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 45000) INSERT INTO trial (" +
                names + ") SELECT " + values + " FROM n CROSS JOIN (SELECT * FROM trial ORDER BY rowid LIMIT 1) AS t")
          .ok());
  auto readers = must(Readers::open(place_.path(), 1));
  const Readers::Lease lease = readers->lend();
  Reader& reader = *lease.operator->();
  const auto all = [&](const TrialQuery& query, std::size_t limit) {
    std::set<std::string> seen;
    Page page{limit, ""};
    std::size_t pages = 0;
    for (;; ++pages) {
      const auto part = nlohmann::json::parse(must(trials_page(reader, page, query)));
      for (const auto& item : part["items"]) EXPECT_TRUE(seen.insert(item["id"].get<std::string>()).second);
      if (part["next"].is_null() || pages > 1000) break;
      page.cursor = part["next"];
    }
    return std::pair(seen.size(), pages + 1);
  };
  TrialQuery rare;
  rare.model = "rare";
  EXPECT_EQ(all(rare, 4), std::pair(std::size_t{6}, std::size_t{4}));  // two empty ones, then four and two
  TrialQuery in_suite = rare;
  in_suite.suite = must(writing.text("SELECT name FROM suite"));
  EXPECT_EQ(all(in_suite, 50).first, 6U);
  TrialQuery none;
  none.mode = "no such mode";
  EXPECT_EQ(all(none, 50).first, 0U);
  TrialQuery by_run = rare;  // whose rows are known: all on one page
  by_run.run = must(writing.text("SELECT id FROM run"));
  EXPECT_EQ(all(by_run, 50), std::pair(std::size_t{6}, std::size_t{1}));
  TrialQuery common = in_suite;
  common.model = "common";
  const auto newest = nlohmann::json::parse(must(trials_page(reader, {50, ""}, common)));
  EXPECT_EQ(newest["items"].size(), 50U);
  EXPECT_FALSE(newest["next"].is_null());
}

INSTANTIATE_TEST_SUITE_P(Both, QueriesTest, ::testing::ValuesIn(schema::testing::backends()),
                         [](const auto& named) { return schema::testing::backend_name(named.param); });

}  // namespace
}  // namespace capbench::server
