// A thousand bundles that mean harm: each is refused with a reason that can be shown, and costs next to nothing.
#include <gtest/gtest.h>

#include <chrono>
#include <set>
#include <string>

#include "base/digest.h"
#include "base/utf8.h"
#include "schema/bundle/bundle.h"
#include "schema/bundle/exchange.h"
#include "schema/bundle/test_attacks.h"
#include "schema/bundle/test_bundles.h"
#include "schema/store.h"
#include "schema/test_records.h"

namespace capbench::bundle {
namespace {

TEST(Attacks, MoreThanAThousandAreEachRefusedWithAReason) {
  const std::vector<testing::Attack> attacks = testing::attacks();
  std::set<std::string> digests;
  std::set<std::string> reasons;
  for (const testing::Attack& attack : attacks) {
    digests.insert(sha256(attack.archive));
    const Result<Opened> opened = open_bundle(attack.archive);
    ASSERT_FALSE(opened.ok()) << attack.name;
    const Error& error = opened.error();
    EXPECT_FALSE(error.what.empty()) << attack.name;
    EXPECT_FALSE(error.cause.empty()) << attack.name;
    EXPECT_FALSE(error.remedy.empty()) << attack.name;
    EXPECT_TRUE(is_printable(to_string(error))) << attack.name;
    EXPECT_LE(to_string(error).size(), 600U) << attack.name;
    reasons.insert(error.cause);
  }
  EXPECT_GE(digests.size(), 1000U);
  EXPECT_EQ(digests.size(), attacks.size());
  EXPECT_GE(reasons.size(), 100U);
  RecordProperty("attacks", std::to_string(digests.size()));
}

TEST(Attacks, HostileWordsAreRefusedOrStayWords) {
  const schema::testing::Folder folder;
  std::size_t refused = 0;
  std::size_t taken = 0;
  for (const testing::Attack& attack : testing::hostile_words()) {
    const Result<Opened> opened = open_bundle(attack.archive);
    if (!opened) {
      EXPECT_TRUE(is_printable(to_string(opened.error()))) << attack.name;
      ++refused;
      continue;
    }
    // One store each: they contradict each other.
    const auto path = folder / (std::to_string(taken++ % 8) + ".db");
    auto store = schema::Store::open(path, schema::OpenMode::kCreate);
    ASSERT_TRUE(store.ok());
    const auto outcome = ingest(*store, *opened, attack.archive, {});
    ASSERT_TRUE(outcome.ok()) << attack.name << ": " << to_string(outcome.error());
    EXPECT_TRUE(store->trials({}).ok()) << attack.name;
  }
  for (int i = 0; i < 8; ++i) {
    auto store = schema::Store::open(folder / (std::to_string(i) + ".db"), schema::OpenMode::kCreate);
    ASSERT_TRUE(store.ok());
    EXPECT_TRUE(store->check_integrity().ok());
    EXPECT_FALSE(store->trials({})->empty());
  }
  EXPECT_GT(refused, 100U);
  EXPECT_GT(taken, 30U);
}

}  // namespace
}  // namespace capbench::bundle
