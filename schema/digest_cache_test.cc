#include "schema/digest_cache.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <random>
#include <thread>

#include "base/digest.h"
#include "base/file.h"
#include "schema/sqlite.h"
#include "schema/test_records.h"

namespace capbench::schema {
namespace {

namespace fs = std::filesystem;
using testing::Folder;
using testing::must;

std::int64_t real_now() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::system_clock::now().time_since_epoch())
      .count();
}
// Ten seconds from now: files written just now count as settled.
std::int64_t later() {
  return real_now() + 10'000'000'000;
}

// Into the same file, as a program that updates in place does; replace_file would make a new inode.
void overwrite(const fs::path& path, std::string_view bytes) {
  FILE* file = std::fopen(path.c_str(), "r+b");
  ASSERT_NE(file, nullptr);
  ASSERT_EQ(std::fwrite(bytes.data(), 1, bytes.size(), file), bytes.size());
  ASSERT_EQ(std::fclose(file), 0);
}

class DigestCacheTest : public ::testing::Test {
 protected:
  void SetUp() override { ASSERT_TRUE(replace_file(model_, "weights").ok()); }
  DigestCache open() { return DigestCache(cache_, later); }

  Folder folder_;
  fs::path cache_ = folder_ / "cache/digests.db";
  fs::path model_ = folder_ / "tiny.gguf";
};

TEST_F(DigestCacheTest, RemembersAcrossPrograms) {
  {
    DigestCache cache = open();
    const ArtifactRecord first = must(cache.digest(model_));
    EXPECT_EQ(first.sha256, sha256("weights"));
    EXPECT_EQ(first.size, 7U);
    EXPECT_EQ(first.name, "tiny.gguf");
    EXPECT_EQ(cache.misses(), 1U);
    EXPECT_EQ(cache.hits(), 0U);
    EXPECT_FALSE(cache.trouble().has_value());
  }
  DigestCache cache = open();
  const ArtifactRecord again = must(cache.digest(model_));
  EXPECT_EQ(again.sha256, sha256("weights"));
  EXPECT_EQ(again.size, 7U);
  EXPECT_EQ(again.name, "tiny.gguf");
  EXPECT_EQ(cache.hits(), 1U);
  EXPECT_EQ(cache.misses(), 0U);
}

TEST_F(DigestCacheTest, SeesEveryChange) {
  DigestCache cache = open();
  EXPECT_EQ(must(cache.digest(model_)).sha256, sha256("weights"));
  struct stat before = {};
  ASSERT_EQ(::stat(model_.c_str(), &before), 0);
  overwrite(model_, "WEIGHTS");
  // The same size, inode and modification time: only the change time is left to tell.
  const timespec times[2] = {before.st_atim, before.st_mtim};
  std::this_thread::sleep_for(std::chrono::milliseconds(15));
  ASSERT_EQ(::utimensat(AT_FDCWD, model_.c_str(), times, 0), 0);
  EXPECT_EQ(must(cache.digest(model_)).sha256, sha256("WEIGHTS"));
  ASSERT_TRUE(replace_file(model_, "another").ok());
  EXPECT_EQ(must(cache.digest(model_)).sha256, sha256("another"));
  overwrite(model_, "another one");
  EXPECT_EQ(must(cache.digest(model_)).sha256, sha256("another one"));
  EXPECT_EQ(cache.hits(), 0U);
}

TEST_F(DigestCacheTest, DoesNotTrustAFileThatJustChanged) {
  DigestCache cache(cache_, real_now);
  for (int i = 0; i < 50; ++i) {
    const std::string bytes = std::to_string(1000000 + i);  // always seven bytes, within one tick of the clock
    overwrite(model_, bytes);
    ASSERT_EQ(must(cache.digest(model_)).sha256, sha256(bytes));
  }
  EXPECT_EQ(cache.hits(), 0U);
  // Nor one from the future.
  DigestCache early(cache_, [] { return real_now() - 3'600'000'000'000; });
  must(early.digest(model_));
  must(early.digest(model_));
  EXPECT_EQ(early.hits(), 0U);
}

TEST_F(DigestCacheTest, ADamagedCacheIsReplaced) {
  { must(open().digest(model_)); }
  const std::string good = must(read_file(cache_));
  std::string bytes = good;
  std::fill(bytes.begin() + 100, bytes.end(), '\x5A');
  ASSERT_TRUE(replace_file(cache_, bytes).ok());
  DigestCache cache = open();
  EXPECT_EQ(must(cache.digest(model_)).sha256, sha256("weights"));
  EXPECT_EQ(must(cache.digest(model_)).sha256, sha256("weights"));
  EXPECT_EQ(cache.hits(), 1U);
  EXPECT_FALSE(cache.trouble().has_value());
}

TEST_F(DigestCacheTest, MutatedCachesNeverGiveAWrongDigest) {
  { must(open().digest(model_)); }
  const std::string good = must(read_file(cache_));
  std::mt19937_64 random(9);
  std::uint64_t hits = 0;
  for (int round = 0; round < 150; ++round) {
    std::string bytes = good;
    // Near the end of the pages, where the rows lie, as well as anywhere.
    for (auto n = 1 + random() % 6; n > 0; --n) {
      const std::size_t at = random() % 2 == 0 ? bytes.size() - 1 - random() % 300 : random() % bytes.size();
      bytes[at] = static_cast<char>(random());
    }
    fs::remove(cache_.string() + "-wal");
    fs::remove(cache_.string() + "-shm");
    ASSERT_TRUE(replace_file(cache_, bytes).ok());
    DigestCache cache = open();
    ASSERT_EQ(must(cache.digest(model_)).sha256, sha256("weights"));
    hits += cache.hits();
  }
  EXPECT_LT(hits, 150U);
}

TEST_F(DigestCacheTest, AForgedRowIsNotBelieved) {
  { must(open().digest(model_)); }
  {
    Database database = must(Database::open(cache_, Database::Access::kWrite, std::chrono::milliseconds(100)));
    ASSERT_TRUE(database.exec("UPDATE digest SET sha256 = '" + sha256("forged") + "'").ok());
  }
  DigestCache cache = open();
  EXPECT_EQ(must(cache.digest(model_)).sha256, sha256("weights"));
  EXPECT_EQ(cache.hits(), 0U);
}

TEST_F(DigestCacheTest, LeavesForeignFilesAlone) {
  for (const std::string& bytes : {std::string("my notes"), std::string(5000, 'n')}) {
    ASSERT_TRUE(replace_file(folder_ / "notes", bytes).ok());
    DigestCache cache(folder_ / "notes", later);
    EXPECT_EQ(must(cache.digest(model_)).sha256, sha256("weights"));
    EXPECT_TRUE(cache.trouble().has_value());
    EXPECT_EQ(must(read_file(folder_ / "notes")), bytes);
  }
  {
    Database database =
        must(Database::open(folder_ / "photos.db", Database::Access::kCreate, std::chrono::milliseconds(100)));
    ASSERT_TRUE(database.exec("CREATE TABLE photo (name)").ok());
  }
  const std::string before = must(read_file(folder_ / "photos.db"));
  DigestCache cache(folder_ / "photos.db", later);
  EXPECT_EQ(must(cache.digest(model_)).sha256, sha256("weights"));
  EXPECT_TRUE(cache.trouble().has_value());
  EXPECT_EQ(must(read_file(folder_ / "photos.db")), before);
}

TEST_F(DigestCacheTest, WorksWithoutAPlaceForTheCache) {
  const int status = testing::in_child(
      [&] {
        for (const fs::path& place : {fs::path(), folder_.path(), fs::path("/proc/none/digests.db")}) {
          DigestCache cache(place, later);
          const auto digest = cache.digest(model_);
          if (!digest || digest->sha256 != sha256("weights") || !cache.trouble()) return 1;
        }
        return 0;
      },
      true);
  EXPECT_EQ(status, 0);
}

TEST_F(DigestCacheTest, ALockedCacheOnlyCostsTime) {
  { must(open().digest(model_)); }
  Database other = must(Database::open(cache_, Database::Access::kWrite, std::chrono::milliseconds(100)));
  ASSERT_TRUE(other.exec("BEGIN IMMEDIATE").ok());
  ASSERT_TRUE(replace_file(folder_ / "second", "second").ok());
  DigestCache cache = open();
  EXPECT_EQ(must(cache.digest(model_)).sha256, sha256("weights"));
  EXPECT_EQ(must(cache.digest(folder_ / "second")).sha256, sha256("second"));
  EXPECT_TRUE(cache.trouble().has_value());
  EXPECT_EQ(cache.hits(), 1U);
}

TEST_F(DigestCacheTest, RefusesWhatIsNoFile) {
  DigestCache cache = open();
  ASSERT_EQ(::mkfifo((folder_ / "pipe").c_str(), 0644), 0);
  EXPECT_FALSE(cache.digest(folder_ / "pipe").ok());
  EXPECT_FALSE(cache.digest(folder_.path()).ok());
  const auto missing = cache.digest(folder_ / "absent");
  ASSERT_FALSE(missing.ok());
  EXPECT_EQ(missing.error().what, (folder_ / "absent").string());
}

TEST_F(DigestCacheTest, NeverRemembersAMixture) {
  const fs::path path = folder_ / "changing";
  ASSERT_TRUE(replace_file(path, std::string(4 << 20, 'a')).ok());
  const std::string all_a = sha256(std::string(4 << 20, 'a'));
  const std::string all_b = sha256(std::string(4 << 20, 'b'));
  std::atomic<bool> done = false;
  std::thread writer([&] {
    for (int i = 0; !done; ++i) {
      overwrite(path, std::string(4 << 20, i % 2 == 0 ? 'b' : 'a'));
      std::this_thread::sleep_for(std::chrono::milliseconds(30));
    }
  });
  // The true clock: with the other one a mixture read within one tick of the file system's clock would be remembered.
  DigestCache cache(cache_, real_now);
  for (int i = 0; i < 15; ++i) {
    const auto digest = cache.digest(path);
    // A write of 4 MiB is not atomic: a mixture may really be what the file holds between two of its parts. What must
    // not happen is that it is remembered for the finished file.
    EXPECT_TRUE(digest || digest.error().cause.find("changed while it was read") != std::string::npos);
  }
  done = true;
  writer.join();
  const std::string final_digest = must(cache.digest(path)).sha256;
  EXPECT_TRUE(final_digest == all_a || final_digest == all_b);
}

TEST(DigestCachePath, FollowsXdg) {
  EXPECT_EQ(default_digest_cache_path("/cache", "/home/a"), "/cache/capbench/digests.db");
  EXPECT_EQ(default_digest_cache_path(nullptr, "/home/a"), "/home/a/.cache/capbench/digests.db");
  EXPECT_EQ(default_digest_cache_path("relative", "/home/a"), "/home/a/.cache/capbench/digests.db");
  EXPECT_EQ(default_digest_cache_path(nullptr, nullptr), "");
}

}  // namespace
}  // namespace capbench::schema
