#include "reports/server/queries.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <stop_token>
#include <thread>
#include <vector>

#include "reports/server/testing/bundles.h"
#include "schema/bundle/exchange.h"
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

INSTANTIATE_TEST_SUITE_P(Both, QueriesTest, ::testing::ValuesIn(schema::testing::backends()),
                         [](const auto& named) { return schema::testing::backend_name(named.param); });

}  // namespace
}  // namespace capbench::server
