// What Store::open says to files that are no stores, or cannot be used.
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <random>

#include "base/file.h"
#include "schema/migrations.h"
#include "schema/sqlite.h"
#include "schema/store.h"
#include "schema/test_records.h"

namespace capbench::schema {
namespace {

namespace fs = std::filesystem;
using std::chrono::milliseconds;
using testing::Folder;
using testing::must;
using testing::Setting;

constexpr OpenMode kBoth[] = {OpenMode::kCreate, OpenMode::kReadOnly};

Error refusal(const fs::path& path, OpenMode mode) {
  const Result<Store> store = Store::open(path, mode, milliseconds(50));
  return store ? Error{ErrorKind::kUsage, "opened", "", ""} : store.error();
}

// The parts of a complete error: names the file, says why, says what to do.
void expect_error(const Error& error, ErrorKind kind, const fs::path& path, const std::string& cause) {
  EXPECT_EQ(error.kind, kind) << to_string(error);
  EXPECT_EQ(error.what, path.string());
  EXPECT_NE(error.cause.find(cause), std::string::npos) << to_string(error);
  EXPECT_FALSE(error.remedy.empty()) << to_string(error);
}

void run_sql(const fs::path& path, const std::string& sql) {
  Database database = must(Database::open(path, Database::Access::kCreate, milliseconds(50)));
  const Status status = database.exec(sql);
  ASSERT_TRUE(status.ok()) << to_string(status.error());
}

void make_store(const fs::path& path) {
  Store store = must(Store::open(path, OpenMode::kCreate));
  ASSERT_TRUE(testing::put(store, Setting()).ok());
}

TEST(StoreOpen, MakesAFileThatAnyoneRecognises) {
  const Folder folder;
  const fs::path path = folder / "new/folders/results.db";
  make_store(path);
  Database database = must(Database::open(path, Database::Access::kRead, milliseconds(50)));
  EXPECT_EQ(*database.integer("PRAGMA application_id"), 0x63617062);
  EXPECT_EQ(*database.integer("PRAGMA user_version"), migrations().back().version);
  EXPECT_EQ(*database.text("PRAGMA journal_mode"), "wal");
  EXPECT_EQ(*database.integer("SELECT count(*) FROM sqlite_schema WHERE type = 'table' AND sql NOT LIKE '%STRICT'"), 0);
}

TEST(StoreOpen, TakesAnEmptyFileForANewStore) {
  const Folder folder;
  ASSERT_TRUE(replace_file(folder / "empty.db", "").ok());
  expect_error(refusal(folder / "empty.db", OpenMode::kReadOnly), ErrorKind::kUsage, folder / "empty.db", "empty");
  EXPECT_EQ(fs::file_size(folder / "empty.db"), 0U);
  make_store(folder / "empty.db");
}

TEST(StoreOpen, ReadsAnOlderStoreWithoutChangingIt) {
  const Folder folder;
  const fs::path path = folder / "old.db";
  {
    Database database = must(Database::open(path, Database::Access::kCreate, milliseconds(50)));
    ASSERT_TRUE(migrate(database, migrations().first(1)).ok());
    ASSERT_TRUE(
        database
            .exec("INSERT INTO run VALUES ('r', 's', 'm', '1', '2026-01-01T00:00:00.000Z', '0.1.0', 'complete', "
                  "1)")
            .ok());
  }
  const std::string bytes = must(read_file(path));
  {
    Store store = must(Store::open(path, OpenMode::kReadOnly));
    ASSERT_EQ(must(store.runs("")).size(), 1U);
    EXPECT_TRUE(must(store.trials({})).empty());  // asks for columns that the file does not have
    EXPECT_FALSE(store.exclude_trial("r", "no").ok());
  }
  EXPECT_EQ(must(read_file(path)), bytes);
  ASSERT_EQ(must(must(Store::open(path, OpenMode::kCreate)).runs("")).size(), 1U);
  Database database = must(Database::open(path, Database::Access::kRead, milliseconds(50)));
  EXPECT_EQ(*database.integer("PRAGMA user_version"), migrations().back().version);
}

TEST(StoreOpen, TakesAnyNameForAFile) {
  const Folder folder;
  for (const char* name : {":memory:", "file:x?mode=memory", "a b%20#?.db"}) {
    make_store(folder / name);
    EXPECT_TRUE(fs::is_regular_file(folder / name)) << name;
    EXPECT_EQ(must(Store::open(folder / name, OpenMode::kReadOnly)).runs("")->size(), 1U);
  }
  for (const OpenMode mode : kBoth) EXPECT_FALSE(Store::open("", mode).ok());
}

TEST(StoreOpen, RefusesWhatIsNotADatabase) {
  const Folder folder;
  std::string noise = "model,test,avg_ts\n";
  while (noise.size() < 9000) noise += "tiny,pp512,1.5\n";
  for (const std::string& bytes : {std::string("hello"), noise}) {
    ASSERT_TRUE(replace_file(folder / "text.csv", bytes).ok());
    for (const OpenMode mode : kBoth) {
      expect_error(refusal(folder / "text.csv", mode), ErrorKind::kUsage, folder / "text.csv", "not a capbench store");
      EXPECT_EQ(*read_file(folder / "text.csv"), bytes);  // untouched
    }
  }
}

TEST(StoreOpen, RefusesAForeignDatabaseAndLeavesItAlone) {
  const Folder folder;
  run_sql(folder / "photos.db", "CREATE TABLE photo (name TEXT)");
  run_sql(folder / "named.db", "PRAGMA application_id = 7; CREATE TABLE photo (name TEXT)");
  run_sql(folder / "named-empty.db", "PRAGMA application_id = 7");
  run_sql(folder / "half.db",
          "PRAGMA application_id = " + std::to_string(kApplicationId) + "; CREATE TABLE photo (name TEXT)");
  for (const char* name : {"photos.db", "named.db", "named-empty.db", "half.db"}) {
    const std::string before = *read_file(folder / name);
    for (const OpenMode mode : kBoth) {
      expect_error(refusal(folder / name, mode), ErrorKind::kUsage, folder / name, "of another program");
      EXPECT_EQ(*read_file(folder / name), before);
    }
  }
}

TEST(StoreOpen, RefusesANewerFormat) {
  const Folder folder;
  const fs::path path = folder / "results.db";
  make_store(path);
  run_sql(path, "PRAGMA user_version = 999");
  const std::string before = *read_file(path);
  for (const OpenMode mode : kBoth) {
    const Error error = refusal(path, mode);
    expect_error(error, ErrorKind::kUsage, path, "newer capbench (format 999");
    EXPECT_NE(error.remedy.find("update capbench"), std::string::npos);
  }
  EXPECT_EQ(*read_file(path), before);
}

TEST(StoreOpen, RefusesWhatIsNoFile) {
  const Folder folder;
  ASSERT_EQ(::mkfifo((folder / "pipe").c_str(), 0644), 0);
  ASSERT_TRUE(replace_file(folder / "file", "x").ok());
  for (const OpenMode mode : kBoth) {
    expect_error(refusal(folder.path(), mode), ErrorKind::kUsage, folder.path(), "directory");
    expect_error(refusal(folder / "pipe", mode), ErrorKind::kUsage, folder / "pipe", "neither a file");
    EXPECT_EQ(refusal(folder / "file/results.db", mode).kind, ErrorKind::kUsage);
  }
  expect_error(refusal(folder / "absent.db", OpenMode::kReadOnly), ErrorKind::kUsage, folder / "absent.db",
               "No such file");
  EXPECT_FALSE(fs::exists(folder / "absent.db"));
}

TEST(StoreOpen, RefusesAFolderOrFileThatCannotBeWritten) {
  const Folder folder;
  const fs::path path = folder / "results.db";
  make_store(path);
  ASSERT_EQ(::chmod(path.c_str(), 0444), 0);
  ASSERT_EQ(::chmod(folder.path().c_str(), 0555), 0);
  const int failed = testing::in_child(
      [&] {
        expect_error(refusal(path, OpenMode::kCreate), ErrorKind::kUsage, path, "cannot be written by this user");
        expect_error(refusal(folder / "other.db", OpenMode::kCreate), ErrorKind::kUsage, folder.path(),
                     "Permission denied");
        expect_error(refusal(folder / "sub/other.db", OpenMode::kCreate), ErrorKind::kUsage, folder / "sub",
                     "Permission denied");
        return ::testing::Test::HasFailure() ? 1 : 0;
      },
      true);
  EXPECT_EQ(failed, 0);
  // A writable file in a closed folder: SQLite cannot put its journal beside it.
  ASSERT_EQ(::chmod(path.c_str(), 0666), 0);
  const int half = testing::in_child(
      [&] {
        expect_error(refusal(path, OpenMode::kCreate), ErrorKind::kUsage, folder.path(), "Permission denied");
        return ::testing::Test::HasFailure() ? 1 : 0;
      },
      true);
  EXPECT_EQ(half, 0);
  ASSERT_EQ(::chmod(path.c_str(), 0000), 0);
  const int closed = testing::in_child(
      [&] {
        for (const OpenMode mode : kBoth)
          expect_error(refusal(path, mode), ErrorKind::kUsage, path, "Permission denied");
        return ::testing::Test::HasFailure() ? 1 : 0;
      },
      true);
  EXPECT_EQ(closed, 0);
  ASSERT_EQ(::chmod(folder.path().c_str(), 0755), 0);
}

TEST(StoreOpen, ReadsFromAClosedFolderAndNoticesAWriter) {
  const Folder folder;
  const fs::path path = folder / "results.db";
  make_store(path);
  ASSERT_EQ(::chmod(path.c_str(), 0444), 0);
  ASSERT_EQ(::chmod(folder.path().c_str(), 0555), 0);
  int to_child[2];
  int to_parent[2];
  ASSERT_EQ(::pipe(to_child), 0);
  ASSERT_EQ(::pipe(to_parent), 0);
  const pid_t child = ::fork();
  char byte = 0;
  if (child == 0) {
    if (::geteuid() == 0 && ::setuid(65534) != 0) ::_exit(9);
    Result<Store> store = Store::open(path, OpenMode::kReadOnly);
    if (!store || store->runs("")->size() != 1) ::_exit(1);
    if (fs::exists(folder / "results.db-wal") || fs::exists(folder / "results.db-shm")) ::_exit(2);
    if (::write(to_parent[1], "r", 1) != 1 || ::read(to_child[0], &byte, 1) != 1) ::_exit(3);
    const auto runs = store->runs("");
    ::_exit(!runs && runs.error().cause.find("written by somebody") != std::string::npos ? 0 : 4);
  }
  ASSERT_EQ(::read(to_parent[0], &byte, 1), 1);
  ASSERT_EQ(::chmod(folder.path().c_str(), 0755), 0);
  ASSERT_EQ(::chmod(path.c_str(), 0644), 0);
  {
    Store writer = must(Store::open(path, OpenMode::kCreate));
    ASSERT_TRUE(writer.put_suite(testing::suite("another")).ok());
    ASSERT_EQ(::write(to_child[1], "w", 1), 1);
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
  }
  for (const int fd : {to_child[0], to_child[1], to_parent[0], to_parent[1]}) ::close(fd);
}

TEST(StoreOpen, SaysWhoLocks) {
  const Folder folder;
  const fs::path path = folder / "results.db";
  make_store(path);
  Store store = must(Store::open(path, OpenMode::kCreate, milliseconds(50)));
  Database other = must(Database::open(path, Database::Access::kWrite, milliseconds(50)));
  ASSERT_TRUE(other.exec("BEGIN IMMEDIATE").ok());
  const Status status = store.put_suite(testing::suite("another"));
  ASSERT_FALSE(status.ok());
  expect_error(status.error(), ErrorKind::kMachine, path, "locked by another program");
  EXPECT_EQ(store.runs("")->size(), 1U);  // reading goes on
  ASSERT_TRUE(other.exec("COMMIT").ok());
  EXPECT_TRUE(store.put_suite(testing::suite("another")).ok());
}

TEST(StoreOpen, SaysWhenTheWholeFileIsLocked) {
  const Folder folder;
  const fs::path path = folder / "results.db";
  Database other = must(Database::open(path, Database::Access::kCreate, milliseconds(50)));
  ASSERT_TRUE(other.exec("BEGIN EXCLUSIVE").ok());
  expect_error(refusal(path, OpenMode::kCreate), ErrorKind::kMachine, path, "locked by another program");
}

TEST(StoreOpen, SaysWhatIsDamaged) {
  const Folder folder;
  const fs::path path = folder / "results.db";
  make_store(path);
  std::string bytes = *read_file(path);
  // Everything behind the first page, whose size stands at bytes 16 and 17 (sqlite.org/fileformat2.html).
  const std::size_t page = (static_cast<unsigned char>(bytes.at(16)) << 8U) | static_cast<unsigned char>(bytes.at(17));
  ASSERT_GT(bytes.size(), 3 * page);
  std::fill(bytes.begin() + static_cast<std::ptrdiff_t>(page), bytes.end(), '\x5A');
  ASSERT_TRUE(replace_file(path, bytes).ok());
  Result<Store> store = Store::open(path, OpenMode::kReadOnly);
  const Error error = store ? store->check_integrity().error() : store.error();
  EXPECT_NE(to_string(error).find("damaged"), std::string::npos) << to_string(error);
  bytes.resize(3000);  // cut inside the first page
  ASSERT_TRUE(replace_file(path, bytes).ok());
  for (const OpenMode mode : kBoth) EXPECT_EQ(refusal(path, mode).kind, ErrorKind::kUsage);
}

TEST(StoreOpen, SaysWhichReferenceDangles) {
  const Folder folder;
  const fs::path path = folder / "results.db";
  make_store(path);
  run_sql(path, "DELETE FROM suite");  // foreign keys are off by default
  const Status status = must(Store::open(path, OpenMode::kReadOnly)).check_integrity();
  ASSERT_FALSE(status.ok());
  expect_error(status.error(), ErrorKind::kFinding, path, "row 1 of table run refers to a missing row of suite");
}

TEST(StoreOpen, AStoreWithoutItsTablesIsAnErrorNotACrash) {
  const Folder folder;
  const fs::path path = folder / "results.db";
  make_store(path);
  run_sql(path, "DROP TABLE capability; DROP TABLE flag");
  const auto trials = must(Store::open(path, OpenMode::kReadOnly)).trials({});
  ASSERT_FALSE(trials.ok());
  expect_error(trials.error(), ErrorKind::kUsage, path, "no such table: flag");
}

// Whatever bytes are damaged, every call answers or says what is wrong.
TEST(StoreOpen, MutatedFilesNeverCrashIt) {
  const Folder folder;
  const fs::path path = folder / "results.db";
  const Setting setting;
  {
    Store store = must(Store::open(path, OpenMode::kCreate));
    ASSERT_TRUE(testing::put(store, setting).ok());
    ASSERT_TRUE(
        store.put_trial(testing::trial(setting, "stock", 0), testing::raw_stdout(0), testing::raw_stderr()).ok());
  }
  const std::string good = *read_file(path);
  const std::string digest = testing::trial(setting, "stock", 0).stdout_sha256;
  std::mt19937_64 random(4);
  int refused = 0;
  for (int round = 0; round < 250; ++round) {
    std::string bytes = good;
    for (auto n = 1 + random() % 40; n > 0; --n) bytes[random() % bytes.size()] = static_cast<char>(random());
    FILE* file = std::fopen(path.c_str(), "wb");
    ASSERT_NE(file, nullptr);
    ASSERT_EQ(std::fwrite(bytes.data(), 1, bytes.size(), file), bytes.size());
    ASSERT_EQ(std::fclose(file), 0);
    Result<Store> store = Store::open(path, OpenMode::kReadOnly, milliseconds(0));
    if (!store) {
      ++refused;
      continue;
    }
    const auto trials = store->trials({});
    const auto raw = store->blob(digest);
    EXPECT_EQ(raw ? *raw : testing::raw_stdout(0), testing::raw_stdout(0));
    const Status whole = store->check_integrity();
    if (!trials || !raw || !whole) ++refused;
  }
  EXPECT_GT(refused, 100);
}

}  // namespace
}  // namespace capbench::schema
