#include "harness/submit/receipts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstdlib>
#include <filesystem>
#include <string>
#include <thread>
#include <vector>

#include "base/file.h"

namespace capbench::submit {
namespace {

namespace fs = std::filesystem;

class Receipts : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = fs::path(::testing::TempDir()) / "receipts-XXXXXX";
    ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
    path_ = folder_ / "data/capbench/receipts.json";
  }
  void TearDown() override { fs::remove_all(folder_); }

  mode_t mode() const {
    struct stat info = {};
    return ::stat(path_.c_str(), &info) == 0 ? info.st_mode & 0777U : 0;
  }

  fs::path folder_;
  fs::path path_;
};

Receipt receipt(const std::string& bundle, const std::string& secret, const std::string& server = "https://a") {
  return {server, bundle, secret, "https://a/bundles/" + bundle, "2026-11-30T04:25:07.123Z"};
}

TEST_F(Receipts, AreKeptForThisUserAlone) {
  EXPECT_FALSE(find_receipt(path_, "https://a", "abc")->has_value());
  ASSERT_TRUE(keep_receipt(path_, receipt("abc1", "one")).ok());
  EXPECT_EQ(mode(), 0600U);
  ASSERT_EQ(::chmod(path_.c_str(), 0644), 0);
  ASSERT_TRUE(keep_receipt(path_, receipt("abd2", "two")).ok());
  EXPECT_EQ(mode(), 0600U);
  ASSERT_TRUE(keep_receipt(path_, receipt("abc1", "three")).ok());
  ASSERT_TRUE(keep_receipt(path_, receipt("abc1", "four", "https://b")).ok());
  EXPECT_EQ((*find_receipt(path_, "https://a", "abc"))->receipt, "three");
  EXPECT_EQ((*find_receipt(path_, "https://b", "abc1"))->receipt, "four");
  EXPECT_EQ((*find_receipt(path_, "https://a", "abd2"))->url, "https://a/bundles/abd2");
  EXPECT_FALSE(find_receipt(path_, "https://a", "ab").ok());  // two begin so
  EXPECT_FALSE(find_receipt(path_, "https://a", "abc12")->has_value());
  EXPECT_FALSE(find_receipt(path_, "https://a", "")->has_value());
}

TEST_F(Receipts, ADamagedFileIsNotWrittenOver) {
  ASSERT_TRUE(keep_receipt(path_, receipt("abc1", "one")).ok());
  for (const char* text : {"{", "[]", "{\"receipts\":{}}", "{\"receipts\":[{\"server\":1}]}", "{\"receipts\":[7]}"}) {
    ASSERT_TRUE(replace_file(path_, text).ok());
    const Status status = keep_receipt(path_, receipt("abc2", "two"));
    ASSERT_FALSE(status.ok());
    EXPECT_THAT(to_string(status.error()), ::testing::HasSubstr("receipts.json: not a file of receipts"));
    EXPECT_EQ(*read_file(path_), text);
    EXPECT_FALSE(find_receipt(path_, "https://a", "abc").ok());
  }
}

TEST_F(Receipts, ManyAtOnceLoseNothing) {
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back([&, i] {
      for (int n = 0; n < 5; ++n) {
        EXPECT_TRUE(keep_receipt(path_, receipt("id" + std::to_string(i) + "x" + std::to_string(n), "secret")).ok());
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (int i = 0; i < 8; ++i) {
    for (int n = 0; n < 5; ++n) {
      EXPECT_TRUE(find_receipt(path_, "https://a", "id" + std::to_string(i) + "x" + std::to_string(n))->has_value());
    }
  }
}

TEST(ReceiptsPath, IsTheUsersDataFolder) {
  EXPECT_EQ(default_receipts_path("/data", "/home/x"), "/data/capbench/receipts.json");
  EXPECT_EQ(default_receipts_path("", "/home/x"), "/home/x/.local/share/capbench/receipts.json");
  EXPECT_EQ(default_receipts_path(nullptr, "/home/x"), "/home/x/.local/share/capbench/receipts.json");
}

}  // namespace
}  // namespace capbench::submit
