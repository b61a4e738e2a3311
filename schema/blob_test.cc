#include "schema/blob.h"

#include <gtest/gtest.h>

#include <random>

#include "base/digest.h"
#include "schema/sqlite.h"
#include "schema/store.h"
#include "schema/test_records.h"

namespace capbench::schema {
namespace {

using testing::Folder;
using testing::must;
using testing::Setting;

TEST(Blob, ComesBackAsItWas) {
  std::string noise(100'000, '\0');
  std::mt19937_64 random(1);
  for (char& c : noise) c = static_cast<char>(random());
  for (const std::string& raw : {std::string(), std::string("x"), std::string(1 << 20, 'a'), noise}) {
    EXPECT_EQ(must(decompress(must(compress(raw)), raw.size())), raw);
  }
  EXPECT_LT(must(compress(std::string(1 << 20, 'a'))).size(), 1000U);
}

TEST(Blob, IsBoundedByTheStoredSize) {
  const std::string frame = must(compress(std::string(1 << 20, 'a')));
  for (const std::uint64_t size :
       {std::uint64_t{0}, std::uint64_t{1}, (std::uint64_t{1} << 20U) - 1, kMaxRawBytes + 1, ~std::uint64_t{0}}) {
    EXPECT_FALSE(decompress(frame, size).ok()) << size;
  }
  EXPECT_FALSE(decompress("", 0).ok());
  EXPECT_FALSE(decompress("not a frame", 11).ok());
  EXPECT_FALSE(decompress(frame.substr(0, frame.size() - 1), 1 << 20).ok());
  EXPECT_FALSE(decompress(frame + frame, 1 << 20).ok());
}

TEST(Blob, MutatedFramesNeverCrashIt) {
  const std::string raw = testing::raw_stdout(3);
  const std::string frame = must(compress(raw));
  std::mt19937_64 random(2);
  int refused = 0;
  for (int i = 0; i < 20'000; ++i) {
    std::string mutated = frame;
    for (auto n = 1 + random() % 4; n > 0; --n) mutated[random() % mutated.size()] = static_cast<char>(random());
    if (random() % 8 == 0) mutated.resize(random() % mutated.size());
    const auto back = decompress(mutated, raw.size());
    ASSERT_TRUE(!back || back->size() == raw.size());
    if (!back) ++refused;
  }
  EXPECT_GT(refused, 1000);
}

TEST(Blob, DamageInTheStoreIsOneClearError) {
  const Folder folder;
  const auto path = folder / "results.db";
  const Setting setting;
  const TrialRecord trial = testing::trial(setting, "stock", 0);
  Store store = must(Store::open(path, OpenMode::kCreate));
  ASSERT_TRUE(testing::put(store, setting).ok());
  ASSERT_TRUE(store.put_trial(trial, testing::raw_stdout(0), testing::raw_stderr()).ok());
  const std::string other =
      must(compress(std::string(testing::raw_stdout(0).size(), 'z')));  // whole, of the right size, but another
  const std::pair<std::string, const char*> damages[] = {
      {"UPDATE blob SET zstd = x'00112233'", "compressed form is damaged"},
      {"UPDATE blob SET zstd = x''", "compressed form is damaged"},
      {"UPDATE blob SET raw_size = raw_size + 1", "compressed form is damaged"},
      {"UPDATE blob SET raw_size = 9223372036854775807", "more than any output has"},
      {"UPDATE blob SET zstd = substr(zstd, 1, length(zstd) - 3)", "compressed form is damaged"},
      {"UPDATE blob SET zstd = ?1", "another digest"},
  };
  for (const auto& [sql, cause] : damages) {
    Database database = must(Database::open(path, Database::Access::kWrite, std::chrono::milliseconds(500)));
    ASSERT_TRUE(database.exec("BEGIN; CREATE TEMP TABLE kept AS SELECT * FROM blob; COMMIT").ok());
    {
      Statement update = must(database.prepare(sql));
      if (sql.find('?') != std::string::npos) update.bind_blob(other);
      ASSERT_TRUE(update.run().ok());
    }
    const auto raw = store.blob(trial.stdout_sha256);
    ASSERT_FALSE(raw.ok()) << sql;
    EXPECT_NE(raw.error().cause.find(cause), std::string::npos) << to_string(raw.error());
    EXPECT_NE(raw.error().what.find(trial.stdout_sha256), std::string::npos);
    EXPECT_NE(raw.error().what.find(path.string()), std::string::npos);
    EXPECT_FALSE(raw.error().remedy.empty());
    ASSERT_TRUE(database.exec("INSERT OR REPLACE INTO blob SELECT * FROM kept").ok());
    EXPECT_EQ(must(store.blob(trial.stdout_sha256)), testing::raw_stdout(0));
  }
}

}  // namespace
}  // namespace capbench::schema
