// What only PostgreSQL can do to a store: addresses, passwords, other programs' tables, restarts, and a schema of its
// own that must stay like SQLite's.
#include "schema/postgres.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <csignal>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "base/digest.h"
#include "schema/address.h"
#include "schema/inbox.h"
#include "schema/migrations.h"
#include "schema/store.h"
#include "schema/test_postgres.h"
#include "schema/test_records.h"

namespace capbench::schema {
namespace {

using std::chrono::milliseconds;
using ::testing::HasSubstr;
using testing::must;
using ::testing::Not;
using testing::Place;
using testing::Postgres;
using testing::Setting;

TEST(Address, IsKnownByItsBeginning) {
  EXPECT_TRUE(is_address("postgresql://h/db"));
  EXPECT_TRUE(is_address("postgres://"));
  EXPECT_FALSE(is_address("postgresql"));
  EXPECT_FALSE(is_address("/srv/postgresql://"));
  EXPECT_FALSE(is_address(""));
}

TEST(Address, IsShownWithoutItsPassword) {
  EXPECT_EQ(shown("results.db"), "results.db");
  EXPECT_EQ(shown("postgresql://ana:secret@db:5433/lab?sslmode=require"), "postgresql://ana@db:5433/lab");
  EXPECT_EQ(shown("postgres://db/lab?password=secret"), "postgres://db/lab");
  EXPECT_EQ(shown("postgresql:///lab"), "postgresql:///lab");
  for (const char* address :
       {"postgresql://ana:sec@ret@db/lab", "postgresql://ana:sec/ret@db/lab", "postgresql://ana:sec?ret@db/lab",
        "postgresql://ana:sec#ret@db/lab", "postgresql://ana:sec:ret@db/lab"}) {
    EXPECT_THAT(shown(address), Not(HasSubstr("sec"))) << address;
    EXPECT_THAT(shown(address), Not(HasSubstr("ret"))) << address;
  }
}

TEST(Sql, ParametersAreNumbered) {
  EXPECT_EQ(with_numbered_parameters("SELECT ?, ?2, ?1, ?"), "SELECT $1, $2, $1, $3");
  EXPECT_EQ(with_numbered_parameters("SELECT '?', \"?\", 'it''s ?', ?"), "SELECT '?', \"?\", 'it''s ?', $1");
  EXPECT_EQ(with_numbered_parameters("SELECT ?12"), "SELECT $12");
}

TEST(Migrations, EndAlikeForBothEngines) {
  const auto sqlite = migrations();
  const auto postgres = postgres_migrations();
  ASSERT_FALSE(postgres.empty());
  EXPECT_EQ(sqlite.back().version, postgres.back().version) << "a migration is missing for one engine";
  for (std::size_t i = 1; i < postgres.size(); ++i) EXPECT_EQ(postgres[i].version, postgres[i - 1].version + 1);
}

class OnPostgres : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!Postgres::missing().empty()) GTEST_SKIP() << Postgres::missing();
    place_.emplace(Backend::kPostgres);
  }
  Store open(OpenMode mode = OpenMode::kCreate, milliseconds patience = milliseconds(2000)) {
    return must(Store::open(place_->path(), mode, patience));
  }
  Database connect(Database::Access access = Database::Access::kWrite) {
    return must(Database::open(place_->path(), access, milliseconds(200)));
  }
  std::string address() const { return place_->path().string(); }
  // Of an address that must not be opened.
  static std::string why(const std::string& address, OpenMode mode = OpenMode::kCreate) {
    const auto store = Store::open(address, mode, milliseconds(200));
    return store ? "no error" : to_string(store.error());
  }

  std::optional<Place> place_;
};

// Each table and view with its columns: name, kind, whether it may be NULL, and its place in the primary key.
std::set<std::string> columns_of(Database& database) {
  Statement rows = must(database.prepare(database.either(
      "SELECT t.name, c.name, CASE WHEN t.type = 'view' THEN '' ELSE c.type END, "
      "CASE WHEN t.type = 'view' THEN 0 ELSE c.\"notnull\" OR c.pk > 0 END, CASE WHEN t.type = 'view' THEN 0 ELSE c.pk "
      "END "
      "FROM sqlite_schema AS t JOIN pragma_table_info(t.name) AS c "
      "WHERE t.type IN ('table', 'view') AND t.name NOT LIKE 'sqlite_%'",
      "SELECT t.relname::text, a.attname::text, CASE WHEN t.relkind = 'v' THEN '' ELSE CASE "
      "format_type(a.atttypid, NULL) WHEN 'text' THEN 'TEXT' WHEN 'bigint' THEN 'INTEGER' WHEN 'bytea' THEN 'BLOB' "
      "WHEN 'double precision' THEN 'REAL' ELSE format_type(a.atttypid, NULL) END END, "
      "CAST(a.attnotnull AS INTEGER), coalesce(array_position(k.conkey, a.attnum), 0) "
      "FROM pg_class AS t JOIN pg_attribute AS a ON a.attrelid = t.oid AND a.attnum > 0 AND NOT a.attisdropped "
      "LEFT JOIN pg_constraint AS k ON k.conrelid = t.oid AND k.contype = 'p' "
      "WHERE t.relkind IN ('r', 'v') AND t.relnamespace = (SELECT oid FROM pg_namespace WHERE nspname = "
      "current_schema()) AND t.relname <> 'capbench_format' AND a.attname <> 'rowid'")));
  std::set<std::string> found;
  while (must(rows.step())) {
    std::string line;
    for (int c = 0; c < 5; ++c) line += rows.text(c) + " ";
    found.insert(line);
  }
  return found;
}

// What each table refers to, and the columns of each index.
std::set<std::string> references_of(Database& database) {
  Statement rows = must(database.prepare(database.either(
      "SELECT t.name, f.\"from\", f.\"table\", f.\"to\" FROM sqlite_schema AS t JOIN pragma_foreign_key_list(t.name) "
      "AS f "
      "WHERE t.type = 'table'",
      "SELECT t.relname::text, a.attname::text, r.relname::text, b.attname::text FROM pg_constraint AS k "
      "JOIN pg_class AS t ON t.oid = k.conrelid JOIN pg_class AS r ON r.oid = k.confrelid "
      "JOIN pg_attribute AS a ON a.attrelid = t.oid AND a.attnum = k.conkey[1] "
      "JOIN pg_attribute AS b ON b.attrelid = r.oid AND b.attnum = k.confkey[1] "
      "WHERE k.contype = 'f' AND t.relnamespace = (SELECT oid FROM pg_namespace WHERE nspname = current_schema())")));
  std::set<std::string> found;
  while (must(rows.step()))
    found.insert(rows.text(0) + "." + rows.text(1) + " -> " + rows.text(2) + "." + rows.text(3));
  return found;
}

std::set<std::string> indexes_of(Database& database) {
  Statement rows = must(database.prepare(database.either(
      "SELECT name FROM sqlite_schema WHERE type = 'index' AND name NOT LIKE 'sqlite_%'",
      "SELECT i.relname::text FROM pg_index AS x JOIN pg_class AS i ON i.oid = x.indexrelid WHERE i.relnamespace = "
      "(SELECT oid FROM pg_namespace WHERE nspname = current_schema()) AND NOT EXISTS "
      "(SELECT 1 FROM pg_constraint AS k WHERE k.conindid = i.oid AND k.contype IN ('p', 'u')) "
      "AND i.relname <> 'printed_settings_by_fields'")));
  std::set<std::string> found;
  while (must(rows.step())) found.insert(rows.text(0));
  return found;
}

TEST_F(OnPostgres, TheTablesAreThoseOfSqlite) {
  const Place file(Backend::kSqlite);
  must(Store::open(file.path(), OpenMode::kCreate));
  open();
  Database sqlite = must(Database::open(file.path(), Database::Access::kRead, milliseconds(200)));
  Database postgres = connect();
  EXPECT_EQ(columns_of(postgres), columns_of(sqlite));
  EXPECT_EQ(references_of(postgres), references_of(sqlite));
  EXPECT_EQ(indexes_of(postgres), indexes_of(sqlite));
  EXPECT_GT(columns_of(postgres).size(), 150U);
  EXPECT_GT(references_of(postgres).size(), 15U);
}

TEST_F(OnPostgres, TextsAreComparedByTheirBytes) {
  open();
  Database database = connect();
  EXPECT_EQ(must(database.integer("SELECT count(*) FROM pg_attribute AS a JOIN pg_class AS t ON t.oid = a.attrelid "
                                  "WHERE t.relkind = 'r' AND a.atttypid = 'text'::regtype AND a.attcollation <> "
                                  "'\"C\"'::regcollation AND t.relnamespace = (SELECT oid FROM pg_namespace WHERE "
                                  "nspname = current_schema())")),
            0);
}

TEST_F(OnPostgres, WhoCannotGetInIsToldWhyAndNeverThePassword) {
  Postgres& server = Postgres::get();
  server.run("DO $$ BEGIN CREATE ROLE ana LOGIN PASSWORD 'right'; EXCEPTION WHEN duplicate_object THEN NULL; END $$");
  const std::string wrong = why(server.over_tcp("ana", "s3cr3t"));
  EXPECT_THAT(wrong, HasSubstr("postgresql://ana@127.0.0.1"));
  EXPECT_THAT(wrong, HasSubstr("password authentication failed"));
  EXPECT_THAT(wrong, HasSubstr("PGPASSWORD"));
  const std::string nobody = why(server.over_tcp("nobody", "s3cr3t"));
  EXPECT_THAT(nobody, HasSubstr("password authentication failed"));
  const std::string none = why(server.over_tcp("ana", "right", "/s3cr3t_no"));
  EXPECT_THAT(none, HasSubstr("createdb"));
  const std::string closed = why("postgresql://ana:s3cr3t@127.0.0.1:1/lab");
  EXPECT_THAT(closed, HasSubstr("cannot be reached"));
  EXPECT_THAT(closed, HasSubstr("pg_isready"));
  const std::string host = why("postgresql://ana:s3cr3t@no-such-host.invalid/lab");
  EXPECT_THAT(host, HasSubstr("correct the host's name"));
  const std::string odd = why("postgresql://ana:s3cr3t%zz@127.0.0.1/lab");
  EXPECT_THAT(odd, HasSubstr("not a PostgreSQL address"));
  const std::string option = why("postgresql://ana:s3cr3t@127.0.0.1/lab?nonsense=1");
  EXPECT_THAT(option, HasSubstr("not a PostgreSQL address"));
  for (const std::string& text : {wrong, nobody, closed, host, odd, option}) {
    EXPECT_THAT(text, Not(HasSubstr("s3cr3t"))) << text;
    EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 0) << text;
  }
  // May not make tables.
  const std::string denied = why(server.over_tcp("ana", "right", "/postgres?options=-csearch_path%3Dpublic"));
  EXPECT_THAT(denied, HasSubstr("this user may not do that"));
  EXPECT_THAT(denied, HasSubstr("GRANT"));
}

TEST_F(OnPostgres, RefusesWhatIsNoStore) {
  EXPECT_THAT(why(address(), OpenMode::kReadOnly), HasSubstr("nothing was stored yet"));
  Postgres& server = Postgres::get();
  server.run("CREATE TABLE photo (name TEXT)", address());
  for (const OpenMode mode : {OpenMode::kCreate, OpenMode::kReadOnly}) {
    EXPECT_THAT(why(address(), mode), HasSubstr("tables of another program"));
  }
  server.run("DROP TABLE photo", address());
  open();
  server.run("UPDATE capbench_format SET version = 999", address());
  for (const OpenMode mode : {OpenMode::kCreate, OpenMode::kReadOnly}) {
    EXPECT_THAT(why(address(), mode), HasSubstr("written by a newer capbench (format 999"));
  }
  server.run("UPDATE capbench_format SET version = 1", address());
  EXPECT_THAT(why(address(), OpenMode::kReadOnly), HasSubstr("older version"));
  server.run("CREATE DATABASE latin ENCODING 'LATIN1' TEMPLATE template0");
  const std::string latin = address().replace(address().find("/postgres?"), 9, "/latin");
  EXPECT_THAT(why(latin.substr(0, latin.find("&options"))), HasSubstr("its encoding is LATIN1"));
  server.run("DROP DATABASE latin");
  EXPECT_THAT(why(address().substr(0, address().find("&options")) + "&options=-csearch_path%3Dno_such_schema"),
              HasSubstr("search_path"));
}

TEST_F(OnPostgres, ManyProgramsMayCreateTheSameStore) {
  std::vector<std::thread> threads;
  std::array<std::string, 8> errors;
  for (std::string& error : errors) {
    threads.emplace_back([&] {
      const auto store = Store::open(place_->path(), OpenMode::kCreate);
      if (!store) error = to_string(store.error());
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const std::string& error : errors) EXPECT_EQ(error, "");
}

TEST_F(OnPostgres, AReaderNeverWrites) {
  Store writer = open();
  ASSERT_TRUE(put(writer, Setting()).ok());
  Store reader = open(OpenMode::kReadOnly);
  EXPECT_FALSE(reader.put_suite(testing::suite("another")).ok());
  Database database = connect(Database::Access::kRead);
  const Status status = database.exec("DELETE FROM run");
  ASSERT_FALSE(status.ok());
  EXPECT_THAT(to_string(status.error()), HasSubstr("cannot be written"));
}

TEST_F(OnPostgres, OneWriterAtATimeAndTheOtherIsToldOfIt) {
  Store store = open(OpenMode::kCreate, milliseconds(50));
  Store other = open(OpenMode::kCreate, milliseconds(50));
  {
    auto batch = other.begin_batch();
    ASSERT_TRUE(batch.ok());
    ASSERT_TRUE(other.put_suite(testing::suite("first")).ok());
    const Status status = store.put_suite(testing::suite("second"));
    ASSERT_FALSE(status.ok());
    EXPECT_THAT(to_string(status.error()), HasSubstr("locked by another program"));
    // Reading waits for nobody, and neither does what is put into the inbox.
    EXPECT_TRUE(open(OpenMode::kReadOnly).runs("").ok());
    EXPECT_TRUE(must(Inbox(store).put(sha256("a"), "", "bytes")));
    ASSERT_TRUE(batch->commit().ok());
  }
  EXPECT_TRUE(store.put_suite(testing::suite("second")).ok());
}

TEST_F(OnPostgres, APartThatFailsLeavesTheRestOfItsBatch) {
  Store store = open();
  const Setting setting;
  ASSERT_TRUE(put(store, setting).ok());
  auto batch = must(store.begin_batch());
  ASSERT_TRUE(store.put_trial(testing::trial(setting, "stock", 0), testing::raw_stdout(0), testing::raw_stderr()).ok());
  TrialRecord wrong = testing::trial(setting, "stock", 1);
  wrong.status = "splendid";
  const Status refused = store.put_trial(testing::named(wrong), testing::raw_stdout(1), testing::raw_stderr());
  ASSERT_FALSE(refused.ok());
  EXPECT_THAT(to_string(refused.error()), HasSubstr("breaks a rule of the store"));
  ASSERT_TRUE(batch.is_open());
  ASSERT_TRUE(store.put_trial(testing::trial(setting, "stock", 2), testing::raw_stdout(2), testing::raw_stderr()).ok());
  ASSERT_TRUE(batch.commit().ok());
  EXPECT_EQ(must(store.trials({})).size(), 2U);
  EXPECT_TRUE(store.check_integrity().ok());
}

TEST_F(OnPostgres, ATextWithANulIsOneClearErrorAndNothingIsKept) {
  Store store = open();
  SuiteRecord suite = testing::suite();
  suite.name = std::string("a\0b", 3);
  const Status status = store.put_suite(suite);
  ASSERT_FALSE(status.ok());
  EXPECT_THAT(to_string(status.error()), HasSubstr("NUL"));
  suite.name = "\xFF\xFE";
  const Status bytes = store.put_suite(suite);
  ASSERT_FALSE(bytes.ok());
  EXPECT_THAT(to_string(bytes.error()), HasSubstr("PostgreSQL keeps no such text"));
  suite.name = "a";
  EXPECT_TRUE(store.put_suite(suite).ok());
}

TEST_F(OnPostgres, ManyRowsComeInParts) {
  open();
  Database database = connect(Database::Access::kRead);
  const auto transaction = must(Transaction::begin(database, Transaction::Kind::kRead));
  for (const std::int64_t count : {0, 1, 1999, 2000, 2001, 10'000}) {
    Statement rows =
        must(database.prepare("SELECT n, CAST(n AS TEXT) FROM generate_series(1, CAST(? AS BIGINT)) AS n"));
    rows.bind(count).expect_many();
    std::int64_t sum = 0;
    std::int64_t seen = 0;
    while (must(rows.step())) {
      EXPECT_EQ(rows.text(1), std::to_string(rows.integer(0)));
      sum += rows.integer(0);
      if (++seen % 1000 == 0) {
        EXPECT_EQ(must(database.integer("SELECT 7")), 7);  // between them
      }
    }
    EXPECT_EQ(seen, count);
    EXPECT_EQ(sum, count * (count + 1) / 2);
  }
}

TEST_F(OnPostgres, ItsStateChangesWithEveryCommitAndOnlyThen) {
  Store store = open();
  Database watch = connect(Database::Access::kRead);
  const std::uint64_t before = must(watch.state());
  EXPECT_EQ(must(watch.state()), before);
  EXPECT_TRUE(open(OpenMode::kReadOnly).runs("").ok());
  EXPECT_EQ(must(watch.state()), before);
  ASSERT_TRUE(put(store, Setting()).ok());
  EXPECT_NE(must(watch.state()), before);
}

TEST_F(OnPostgres, AfterARestartTheSameStoreGoesOn) {
  Postgres& server = Postgres::get();
  Store store = open();
  Store reader = open(OpenMode::kReadOnly);
  const Setting setting;
  ASSERT_TRUE(put(store, setting).ok());
  ASSERT_TRUE(store.put_trial(testing::trial(setting, "stock", 0), testing::raw_stdout(0), testing::raw_stderr()).ok());
  EXPECT_EQ(must(reader.trials({})).size(), 1U);
  for (const int signal : {SIGINT, SIGQUIT}) {
    {
      auto batch = must(store.begin_batch());
      const TrialRecord trial = testing::trial(setting, "lost", 1);
      ASSERT_TRUE(store.put_trial(trial, testing::raw_stdout(1), testing::raw_stderr()).ok());
      server.stop(signal);
      // In the middle of it: an error, and nothing of it was written.
      const Status cut =
          store.put_trial(testing::trial(setting, "lost", 2), testing::raw_stdout(2), testing::raw_stderr());
      ASSERT_FALSE(cut.ok());
      EXPECT_THAT(to_string(cut.error()), HasSubstr("the connection was lost"));
      EXPECT_FALSE(batch.is_open()) << to_string(cut.error());
      EXPECT_FALSE(batch.commit().ok());
    }
    // While it is away.
    const auto away = reader.trials({});
    ASSERT_FALSE(away.ok());
    EXPECT_THAT(to_string(away.error()), HasSubstr("cannot be reached"));
    EXPECT_EQ(away.error().kind, ErrorKind::kMachine);
    EXPECT_FALSE(store.put_suite(testing::suite("x")).ok());
    server.start();
    EXPECT_EQ(must(reader.trials({})).size(), 1U);
    ASSERT_TRUE(store.put_suite(testing::suite("x")).ok());
  }
  EXPECT_TRUE(store.check_integrity().ok());
}

}  // namespace
}  // namespace capbench::schema
