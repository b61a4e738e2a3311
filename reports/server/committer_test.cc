#include "reports/server/committer.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <thread>
#include <vector>

#include "base/digest.h"

namespace capbench::server {
namespace {

schema::SuiteRecord suite(int number) {
  schema::SuiteRecord record;
  record.name = "s" + std::to_string(number);
  record.json = "{\"number\":" + std::to_string(number) + "}";
  record.id = sha256(record.json);
  return record;
}

class CommitterTest : public ::testing::Test {
 protected:
  CommitterTest() {
    std::string pattern = (std::filesystem::temp_directory_path() / "capbench-committer-XXXXXX").string();
    if (::mkdtemp(pattern.data()) == nullptr) throw std::runtime_error("no folder for the test");
    folder_ = pattern;
    db_ = folder_ / "results.db";
  }
  ~CommitterTest() override {
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
  }
  std::filesystem::path folder_;
  std::filesystem::path db_;
};

Result<bool> put(Committer& committer, const schema::SuiteRecord& record) {
  return committer.write<bool>([&](schema::Store& store) -> Result<bool> {
    if (Status status = store.put_suite(record); !status) return status.error();
    return true;
  });
}

TEST_F(CommitterTest, WhatIsAnsweredCanBeReadByOthers) {
  auto committer = Committer::open(db_);
  ASSERT_TRUE(committer.ok());
  auto reader = schema::Store::open(db_, schema::OpenMode::kReadOnly);
  ASSERT_TRUE(reader.ok());
  for (int i = 0; i < 20; ++i) {
    ASSERT_TRUE(put(**committer, suite(i)).ok());
    EXPECT_TRUE(reader->suite_json(suite(i).id)->has_value()) << i;
  }
}

TEST_F(CommitterTest, GathersWhatIsWaiting) {
  auto committer = Committer::open(db_);
  ASSERT_TRUE(committer.ok());
  std::vector<std::thread> threads;
  for (int t = 0; t < 8; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 25; ++i) EXPECT_TRUE(put(**committer, suite(t * 100 + i)).ok());
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ((*committer)->writes(), 200U);
  EXPECT_LT((*committer)->commits(), 200U);
  auto reader = schema::Store::open(db_, schema::OpenMode::kReadOnly);
  for (int t = 0; t < 8; ++t) EXPECT_TRUE(reader->suite_json(suite(t * 100 + 24).id)->has_value());
  EXPECT_TRUE(reader->check_integrity().ok());
}

TEST_F(CommitterTest, OneThatFailsLeavesTheOthers) {
  auto committer = Committer::open(db_);
  ASSERT_TRUE(committer.ok());
  std::vector<std::thread> threads;
  for (int i = 0; i < 16; ++i) {
    threads.emplace_back([&, i] {
      const auto done = (*committer)->write<bool>([&](schema::Store& store) -> Result<bool> {
        if (Status status = store.put_suite(suite(i)); !status) return status.error();
        if (i % 2 == 0) return true;
        if (Status status = store.exclude_trial("absent", "as planned"); !status) return status.error();
        return true;
      });
      EXPECT_EQ(done.ok(), i % 2 == 0) << i;
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_TRUE(put(**committer, suite(99)).ok());
}

TEST_F(CommitterTest, WhatAWriteThrowsIsItsOwnError) {
  auto committer = Committer::open(db_);
  ASSERT_TRUE(committer.ok());
  const auto thrown =
      (*committer)->write<bool>([](schema::Store&) -> Result<bool> { throw std::runtime_error("as planned"); });
  ASSERT_FALSE(thrown.ok());
  EXPECT_EQ(thrown.error().cause, "as planned");
  EXPECT_TRUE(put(**committer, suite(1)).ok());
}

TEST_F(CommitterTest, ABatchThatIsNotCommittedLeavesNothing) {
  auto store = schema::Store::open(db_, schema::OpenMode::kCreate);
  ASSERT_TRUE(store.ok());
  {
    auto batch = store->begin_batch();
    ASSERT_TRUE(batch.ok());
    ASSERT_TRUE(store->put_suite(suite(1)).ok());
    EXPECT_TRUE(batch->is_open());
  }
  EXPECT_FALSE(store->suite_json(suite(1).id)->has_value());
  {
    auto batch = store->begin_batch();
    ASSERT_TRUE(store->put_suite(suite(2)).ok());
    ASSERT_TRUE(batch->commit().ok());
    EXPECT_FALSE(batch->is_open());
  }
  EXPECT_TRUE(store->suite_json(suite(2).id)->has_value());
}

}  // namespace
}  // namespace capbench::server
