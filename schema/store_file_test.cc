#include "schema/store_file.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include "schema/store.h"

namespace capbench::schema {
namespace {

namespace fs = std::filesystem;

class StoreFile : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string name = (fs::path(::testing::TempDir()) / "store-file-XXXXXX").string();
    ASSERT_NE(::mkdtemp(name.data()), nullptr);
    folder_ = name;
    const auto store = Store::open(folder_ / "r.db", OpenMode::kCreate);
    ASSERT_TRUE(store.ok()) << to_string(store.error());
  }
  void TearDown() override { fs::remove_all(folder_); }

  fs::path folder_;
};

TEST_F(StoreFile, OutputTakesThePlaceOfAnythingButAStoreAndItsJournals) {
  std::ofstream(folder_ / "notes.md") << "SQLite format 3, and then some words that make it more than seventy bytes.";
  EXPECT_TRUE(is_store_file(folder_ / "r.db"));
  EXPECT_FALSE(is_store_file(folder_ / "notes.md"));
  EXPECT_TRUE(may_replace(folder_ / "notes.md").ok());
  EXPECT_TRUE(may_replace(folder_ / "new.md").ok());
  EXPECT_TRUE(may_replace(folder_ / "notes.md-wal").ok());
  fs::create_symlink(folder_ / "r.db", folder_ / "link.md");
  for (const char* name : {"r.db", "link.md", "r.db-wal", "r.db-shm", "r.db-journal"}) {
    const Status status = may_replace(folder_ / name);
    ASSERT_FALSE(status.ok()) << name;
    EXPECT_EQ(exit_status(status.error().kind), 2);
    EXPECT_NE(to_string(status.error()).find(name), std::string::npos);
  }
}

TEST_F(StoreFile, APipeIsNotReadFrom) {
  ASSERT_EQ(::mkfifo((folder_ / "pipe").c_str(), 0600), 0);
  EXPECT_FALSE(is_store_file(folder_ / "pipe"));  // and does not wait for a writer
  EXPECT_TRUE(may_replace(folder_ / "pipe").ok());
}

}  // namespace
}  // namespace capbench::schema
