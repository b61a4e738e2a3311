#include "schema/migrations.h"

#include <gtest/gtest.h>

#include <thread>

#include "base/file.h"
#include "schema/test_records.h"

namespace capbench::schema {
namespace {

using std::chrono::milliseconds;
using testing::Folder;
using testing::must;

Database open(const std::filesystem::path& path) {
  return must(Database::open(path, Database::Access::kCreate, milliseconds(2000)));
}

TEST(Migrations, AreTheFilesInOrderWithoutGaps) {
  ASSERT_FALSE(migrations().empty());
  std::int64_t version = 0;
  for (const Migration& step : migrations()) {
    EXPECT_EQ(step.version, ++version);
    EXPECT_EQ(step.sql, must(read_file("schema/migrations/" + std::string(step.name) + ".sql")));
  }
}

TEST(Migrations, BringAnOlderFileUpToDateAndKeepItsRows) {
  const Migration steps[] = {{1, "a", "CREATE TABLE t (x); INSERT INTO t VALUES (5);"},
                             {2, "b", "ALTER TABLE t ADD COLUMN y DEFAULT 7;"}};
  const std::span<const Migration> all(steps);
  const Folder folder;
  Database database = open(folder / "a.db");
  EXPECT_EQ(must(examine(database, all)), Content::kEmpty);
  ASSERT_TRUE(migrate(database, all.first(1)).ok());
  EXPECT_EQ(must(examine(database, all.first(1))), Content::kCurrent);
  EXPECT_EQ(must(examine(database, all)), Content::kOlder);
  ASSERT_TRUE(migrate(database, all).ok());
  ASSERT_TRUE(migrate(database, all).ok());  // once is enough
  EXPECT_EQ(must(database.integer("SELECT x * 10 + y FROM t")), 57);
  EXPECT_EQ(must(database.integer("SELECT count(*) FROM t")), 1);
  const Status back = migrate(database, all.first(1));
  ASSERT_FALSE(back.ok());
  EXPECT_NE(to_string(back.error()).find("newer capbench (format 2; this program knows formats up to 1)"),
            std::string::npos);
}

TEST(Migrations, AFailingStepLeavesNothing) {
  const Migration steps[] = {{1, "a", "CREATE TABLE t (x);"}, {2, "b", "CREATE TABLE u (y); SELECT nonsense;"}};
  const std::span<const Migration> all(steps);
  const Folder folder;
  Database database = open(folder / "a.db");
  EXPECT_FALSE(migrate(database, all).ok());
  EXPECT_EQ(must(database.integer("SELECT count(*) FROM sqlite_schema")), 0);
  EXPECT_EQ(must(database.integer("PRAGMA application_id")), 0);
  EXPECT_EQ(must(examine(database, all)), Content::kEmpty);
}

TEST(Migrations, ManyProgramsMayCreateTheSameStore) {
  const Folder folder;
  std::vector<std::thread> threads;
  std::vector<std::string> errors(8);
  for (std::string& error : errors) {
    threads.emplace_back([&error, &folder] {
      const Result<Store> store = Store::open(folder / "results.db", OpenMode::kCreate);
      if (!store) error = to_string(store.error());
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const std::string& error : errors) EXPECT_EQ(error, "");
}

}  // namespace
}  // namespace capbench::schema
