// Death, full disks and other accidents: what was stored stays, what was not is absent as a whole.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#ifdef __linux__
#include <sched.h>
#include <sys/mount.h>
#endif

#include <csignal>
#include <random>
#include <set>

#include "base/digest.h"
#include "base/fd.h"
#include "base/file.h"
#include "schema/import_writer.h"
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

Status put_block(Store& store, const Setting& setting, std::int64_t block) {
  return store.put_trial(testing::trial(setting, "stock", block), testing::raw_stdout(block), testing::raw_stderr());
}

// Starts `body` in a child, waits until `ready` can be read (-1: does not wait), kills the child so much later and
// waits for its end.
template <class Body>
void kill_during(milliseconds::rep microseconds, int ready, const Body& body) {
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    body();
    ::_exit(0);
  }
  pollfd wait{ready, POLLIN, 0};
  ASSERT_EQ(ready < 0 ? 1 : ::poll(&wait, 1, 60'000), 1);
  ::usleep(static_cast<useconds_t>(microseconds));
  ::kill(child, SIGKILL);
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
}

TEST(StoreCrash, KilledWhileWritingLosesAtMostTheTrialInFlight) {
  const Folder folder;
  const fs::path path = folder / "results.db";
  const Setting setting;
  std::mt19937_64 random(30);
  std::int64_t next = 0;
  int interrupted = 0;
  for (int round = 0; round < 30; ++round) {
    int pipe_fds[2];
    ASSERT_EQ(::pipe2(pipe_fds, O_CLOEXEC), 0);
    const Fd reports(pipe_fds[0]);
    Fd report(pipe_fds[1]);
    const std::int64_t first = next;
    // The first rounds die while the store is made, the others between and inside trials.
    const bool early = round < 8;
    const auto delay = static_cast<milliseconds::rep>(random() % (early ? 40'000 : 60'000));
    kill_during(delay, early ? -1 : reports.get(), [&] {
      Result<Store> store = Store::open(path, OpenMode::kCreate);
      if (!store || !testing::put(*store, setting)) return;
      for (std::int64_t block = first;; ++block) {
        if (!put_block(*store, setting, block)) return;
        if (::write(report.get(), &block, sizeof block) != sizeof block) return;
      }
    });
    report.reset();
    std::int64_t promised = first;  // one past the last block that was reported as stored
    std::int64_t block = 0;
    while (::read(reports.get(), &block, sizeof block) == sizeof block) promised = block + 1;

    Store store = must(Store::open(path, OpenMode::kCreate));
    const Status whole = store.check_integrity();
    ASSERT_TRUE(whole.ok()) << to_string(whole.error());
    const auto views = must(store.trials({}));
    const auto count = static_cast<std::int64_t>(views.size());
    ASSERT_GE(count, promised);
    ASSERT_LE(count, promised + 1);  // committed, but killed before it said so
    std::set<std::int64_t> blocks;
    for (const TrialView& view : views) {
      blocks.insert(view.trial.block);
      ASSERT_EQ(testing::describe(view.trial), testing::describe(testing::trial(setting, "stock", view.trial.block)));
      ASSERT_EQ(must(store.blob(view.trial.stdout_sha256)), testing::raw_stdout(view.trial.block));
    }
    ASSERT_EQ(blocks.size(), views.size());
    ASSERT_EQ(count == 0 ? -1 : *blocks.rbegin(), count - 1);  // none lost between
    if (count > first) ++interrupted;
    next = count;
  }
  EXPECT_GE(interrupted, 8);  // many rounds did die among trials
}

// An import into a new store writes to the file itself, from when it outgrows the page cache.
TEST(StoreCrash, AKilledFirstImportIsDoneOrNotBegun) {
  constexpr std::int64_t kTrials = 40;
  constexpr int kParts = 10;
  const Setting setting;
  std::mt19937_64 random(11);
  std::string noise(2'000'000, '\0');  // does not compress, and ten of them are more than the cache
  for (char& byte : noise) byte = static_cast<char>(random());
  Sha256 digest;
  for (int part = 0; part < kParts; ++part) digest.update(noise);
  const SourceRecord source{digest.finish(), "llama-bench-jsonl", "rows.jsonl", kParts * noise.size(), {}};
  int before = 0;
  int after = 0;
  for (int round = 0; round < 10; ++round) {
    const Folder folder;
    const fs::path path = folder / "results.db";
    int pipe_fds[2];
    ASSERT_EQ(::pipe2(pipe_fds, O_CLOEXEC), 0);
    const Fd done(pipe_fds[0]);
    const Fd say_done(pipe_fds[1]);
    // Some are killed anywhere, some when all is written but the last word, some after it.
    const bool is_let_finish = round >= 8;
    const bool is_nearly_done = round == 6 || round == 7;
    const bool is_waited_for = is_let_finish || is_nearly_done;
    const auto delay = static_cast<milliseconds::rep>(is_waited_for ? 0 : random() % 150'000);
    kill_during(delay, is_waited_for ? done.get() : -1, [&] {
      Result<Store> store = Store::open(path, OpenMode::kCreate);
      if (!store) return;
      Result<ImportWriter> writer = ImportWriter::begin(*store);
      if (!writer || !writer->put_suite(setting.suite) || !writer->put_environment(setting.environment) ||
          !writer->put_closure(setting.closure) || !writer->put_run(setting.run) || !writer->put_source(source)) {
        return;
      }
      for (int part = 0; part < kParts; ++part) {
        if (!writer->put_part(source.sha256, noise)) return;
      }
      for (std::int64_t block = 0; block < kTrials; ++block) {
        const TrialRecord trial = testing::trial(setting, "imported", block);
        if (!writer->put_trial(trial, testing::raw_stdout(block), testing::raw_stderr())) return;
      }
      if (is_nearly_done && ::write(say_done.get(), "d", 1) == 1) ::pause();
      static_cast<void>(writer->finish() && ::write(say_done.get(), "d", 1) == 1);
    });
    // What was written of one that is not done can be undone by the journal beside it.
    if (is_nearly_done) {
      ASSERT_GT(fs::file_size(folder / "results.db-journal"), 0U);
    }
    // Whoever reads first finds a whole store, or one that says that nothing is in it.
    if (const Result<Store> reader = Store::open(path, OpenMode::kReadOnly); !reader) {
      ASSERT_NE(reader.error().remedy.find("measure something first"), std::string::npos) << to_string(reader.error());
    }
    Store store = must(Store::open(path, OpenMode::kCreate));
    const Status whole = store.check_integrity();
    ASSERT_TRUE(whole.ok()) << to_string(whole.error());
    const std::size_t trials = must(store.trials({})).size();
    ASSERT_EQ(must(store.sources()).size(), trials == 0 ? 0U : 1U);
    if (trials == 0) {
      ++before;
    } else {
      ASSERT_EQ(trials, static_cast<std::size_t>(kTrials));
      std::size_t kept = 0;
      ASSERT_TRUE(store.source_bytes(source.sha256, [&](std::string_view part) { kept += part.size(); }).ok());
      ASSERT_EQ(kept, source.size);
      ++after;
    }
    ASSERT_TRUE(testing::put(store, setting).ok());  // and goes on from there
  }
  EXPECT_GT(before, 0);
  EXPECT_GT(after, 0);
}

// A step that takes long enough to be killed inside: many tables, and rows moved into a new shape.
std::string slow_step() {
  std::string sql =
      "ALTER TABLE thing RENAME TO old_thing; CREATE TABLE thing (id INTEGER PRIMARY KEY, twice INTEGER) STRICT;"
      "INSERT INTO thing SELECT id, 2 * id FROM old_thing; DROP TABLE old_thing;";
  for (int i = 0; i < 60; ++i) sql += "CREATE TABLE extra" + std::to_string(i) + " (x) ;";
  return sql;
}

TEST(StoreCrash, AKilledMigrationIsDoneOrNotBegun) {
  const Folder folder;
  const std::string second_sql = slow_step();
  const Migration steps[] = {{1, "first",
                              "CREATE TABLE thing (id INTEGER PRIMARY KEY) STRICT;"
                              "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 20000) INSERT "
                              "INTO thing SELECT i FROM n;"},
                             {2, "second", second_sql}};
  const std::span<const Migration> all(steps);
  const auto open = [](const fs::path& path) {
    Database database = must(Database::open(path, Database::Access::kCreate, milliseconds(1000)));
    must(database.text("PRAGMA journal_mode = WAL"));
    return database;
  };
  const fs::path original = folder / "original.db";
  {
    Database database = open(original);
    ASSERT_TRUE(migrate(database, all.first(1)).ok());
  }
  std::mt19937_64 random(5);
  int before = 0;
  int after = 0;
  for (int round = 0; round < 25; ++round) {
    const fs::path path = folder / ("copy" + std::to_string(round) + ".db");
    fs::copy_file(original, path);
    kill_during(static_cast<milliseconds::rep>(random() % 60'000), -1, [&] {
      Database database = open(path);
      static_cast<void>(migrate(database, all));
    });
    Database database = open(path);
    ASSERT_EQ(must(database.text("PRAGMA integrity_check")), "ok");
    const std::int64_t version = must(database.integer("PRAGMA user_version"));
    const std::int64_t extra = must(database.integer("SELECT count(*) FROM sqlite_schema WHERE name LIKE 'extra%'"));
    ASSERT_EQ(must(database.integer("SELECT count(*) FROM thing")), 20000);
    if (version == 1) {
      ++before;
      ASSERT_EQ(extra, 0);
      ASSERT_EQ(must(database.integer("SELECT count(*) FROM pragma_table_info('thing')")), 1);
    } else {
      ++after;
      ASSERT_EQ(version, 2);
      ASSERT_EQ(extra, 60);
      ASSERT_EQ(must(database.integer("SELECT sum(twice) FROM thing")), 400020000);
    }
    ASSERT_TRUE(migrate(database, all).ok());  // a second try finishes it
    ASSERT_EQ(must(database.integer("PRAGMA user_version")), 2);
  }
  EXPECT_GT(before, 0);
}

TEST(StoreCrash, AFileThatMayNotGrowIsOneErrorAndLosesNothing) {
  const Folder folder;
  const fs::path path = folder / "results.db";
  const Setting setting;
  {
    Store store = must(Store::open(path, OpenMode::kCreate));
    ASSERT_TRUE(testing::put(store, setting).ok());
  }
  const int status = testing::in_child([&] {
    ::signal(SIGXFSZ, SIG_IGN);
    const rlimit limit{1'200'000, 1'200'000};
    if (::setrlimit(RLIMIT_FSIZE, &limit) != 0) return 1;
    Result<Store> store = Store::open(path, OpenMode::kCreate);
    if (!store) return 2;
    for (std::int64_t block = 0; block < 1000; ++block) {
      const Status put = put_block(*store, setting, block);
      if (put) continue;
      if (put.error().kind != ErrorKind::kMachine || put.error().what != path.string() || put.error().remedy.empty())
        return 3;
      const auto kept = store->trials({});  // what was there can still be read by the same process
      return block > 5 && kept && kept->size() == static_cast<std::size_t>(block) && store->check_integrity() ? 0 : 4;
    }
    return 5;
  });
  EXPECT_EQ(status, 0);
  Store store = must(Store::open(path, OpenMode::kCreate));
  EXPECT_TRUE(store.check_integrity().ok());
  EXPECT_GT(must(store.trials({})).size(), 5U);
}

#ifdef __linux__
TEST(StoreCrash, AFullDiskIsOneErrorAndLosesNothing) {
  if (::geteuid() != 0) GTEST_SKIP() << "needs root to mount a small file system";
  const Folder folder;
  const int status = testing::in_child([&] {
    // The mount lives in this child's own namespace and goes with it.
    if (::unshare(CLONE_NEWNS) != 0 || ::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0 ||
        ::mount("tmpfs", folder.path().c_str(), "tmpfs", 0, "size=2m") != 0) {
      return 77;
    }
    const fs::path path = folder / "results.db";
    const Setting setting;
    Result<Store> store = Store::open(path, OpenMode::kCreate);
    if (!store || !testing::put(*store, setting)) return 1;
    if (!replace_file(folder / "filler", std::string(1'000'000, 'x'))) return 2;
    for (std::int64_t block = 0; block < 1000; ++block) {
      const Status put = put_block(*store, setting, block);
      if (put) continue;
      const Error& error = put.error();
      if (error.kind != ErrorKind::kMachine || error.cause.find("No space") == std::string::npos ||
          error.remedy.empty())
        return 3;
      const auto kept = store->trials({});
      if (!kept || kept->size() != static_cast<std::size_t>(block)) return 4;
      // With room again the same store takes the same trial.
      fs::remove(folder / "filler");
      if (!put_block(*store, setting, block) || !store->check_integrity()) return 5;
      return store->trials({})->size() == static_cast<std::size_t>(block) + 1 ? 0 : 6;
    }
    return 7;
  });
  if (status == 77) GTEST_SKIP() << "may not mount a file system here";
  EXPECT_EQ(status, 0);
}

TEST(StoreCrash, ADiskFullFromTheStartIsOneError) {
  if (::geteuid() != 0) GTEST_SKIP() << "needs root to mount a small file system";
  const Folder folder;
  const int status = testing::in_child([&] {
    if (::unshare(CLONE_NEWNS) != 0 || ::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0 ||
        ::mount("tmpfs", folder.path().c_str(), "tmpfs", 0, "size=64k") != 0) {
      return 77;
    }
    const Result<Store> store = Store::open(folder / "results.db", OpenMode::kCreate);
    if (store) return 1;
    return store.error().kind == ErrorKind::kMachine && store.error().cause.find("No space") != std::string::npos ? 0
                                                                                                                  : 2;
  });
  if (status == 77) GTEST_SKIP() << "may not mount a file system here";
  EXPECT_EQ(status, 0);
}
#endif

}  // namespace
}  // namespace capbench::schema
