// A store's connection: SQL in, rows out, whichever engine keeps the tables. For this room, and for queries of reports.
//
// The SQL is what both engines understand: parameters are `?` or `?1`, upserts are ON CONFLICT, and what they spell
// differently is asked of backend(). Texts are compared by their bytes in both.
#ifndef CAPBENCH_SCHEMA_DATABASE_H_
#define CAPBENCH_SCHEMA_DATABASE_H_

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "base/result.h"

struct sqlite3;

namespace capbench::schema {

enum class Backend : std::uint8_t { kSqlite, kPostgres };

// One compiled statement of an engine. Parameters count from 1, columns from 0. A binding that fails is reported by the
// next step.
class Cursor {
 public:
  Cursor() = default;
  Cursor(const Cursor&) = delete;
  Cursor& operator=(const Cursor&) = delete;
  virtual ~Cursor() = default;

  virtual std::string_view sql() const = 0;
  virtual void bind_integer(int place, std::int64_t value) = 0;
  virtual void bind_real(int place, double value) = 0;
  // `in_place`: not copied, outlives the steps.
  virtual void bind_text(int place, std::string_view text, bool in_place) = 0;
  virtual void bind_blob(int place, std::string_view bytes) = 0;  // not copied
  virtual void bind_null(int place) = 0;
  virtual void expect_many() = 0;

  // Whether there is a row. After false or an error it begins anew.
  virtual Result<bool> step() = 0;
  virtual Status run_later() = 0;
  virtual bool is_null(int column) const = 0;
  virtual std::int64_t integer(int column) const = 0;
  virtual double real(int column) const = 0;
  virtual std::string_view bytes(int column) const = 0;
  virtual int columns() const = 0;
  virtual std::string name(int column) const = 0;

  // Nobody uses it for now: rows and bindings, which may be large, are forgotten.
  virtual void rest() = 0;
};

// One connection of an engine.
class Engine {
 public:
  Engine() = default;
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;
  virtual ~Engine() = default;

  virtual Backend backend() const = 0;
  virtual Result<std::unique_ptr<Cursor>> prepare(std::string_view sql) = 0;
  virtual Status exec(const std::string& sql) = 0;
  // `is_part`: within the transaction that is open.
  virtual Status begin(bool write, bool is_part) = 0;
  // One writer at a time for as long as the transaction lasts, and one of those that only run a single statement.
  virtual Status take_write_lock() = 0;
  virtual Status take_short_lock() = 0;
  virtual Status commit(bool is_part) = 0;
  virtual void roll_back(bool is_part) = 0;
  virtual bool in_transaction() const = 0;
  virtual bool read_only() const = 0;
  virtual std::int64_t changes() const = 0;
  virtual bool refused_row() const = 0;
  virtual Result<std::uint64_t> state() = 0;
  virtual Result<bool> has_table(std::string_view name) = 0;
  // Null for another engine than SQLite.
  virtual sqlite3* sqlite() const { return nullptr; }
};

// Statements of one connection that nobody uses now, by their text, so that a query that is asked often is compiled
// once.
class IdleStatements {
 public:
  // Null if there is none of that text.
  std::unique_ptr<Cursor> take(std::string_view sql);
  void give_back(std::unique_ptr<Cursor> cursor);

 private:
  std::multimap<std::string, std::unique_ptr<Cursor>, std::less<>> idle_;
};

// A prepared statement. Binding goes from left to right; a binding that fails is reported by the next step.
class Statement {
 public:
  Statement(std::unique_ptr<Cursor> cursor, IdleStatements* idle) : cursor_(std::move(cursor)), idle_(idle) {}
  Statement(Statement&& other) noexcept = default;
  Statement& operator=(Statement&& other) noexcept;
  ~Statement() { give_back(); }

  Statement& bind(std::int64_t value) {
    cursor_->bind_integer(next_++, value);
    return *this;
  }
  Statement& bind(double value) {
    cursor_->bind_real(next_++, value);
    return *this;
  }
  Statement& bind(std::string_view text) {  // copied
    cursor_->bind_text(next_++, text, false);
    return *this;
  }
  Statement& bind_in_place(std::string_view text) {  // not copied: outlives the steps
    cursor_->bind_text(next_++, text, true);
    return *this;
  }
  Statement& bind_null() {
    cursor_->bind_null(next_++);
    return *this;
  }
  Statement& bind_blob(std::string_view bytes) {  // not copied: outlives the steps
    cursor_->bind_blob(next_++, bytes);
    return *this;
  }
  // An empty text is NULL: for references that may be absent.
  Statement& bind_or_null(std::string_view text) { return text.empty() ? bind_null() : bind(text); }

  // Before the first step of a query whose rows may be more than memory should hold. Within a transaction only.
  Statement& expect_many() {
    cursor_->expect_many();
    return *this;
  }

  // Whether there is a row. After false or an error the statement may be bound and stepped again.
  Result<bool> step() {
    Result<bool> row = cursor_->step();
    if (!row || !*row) next_ = 1;
    return row;
  }
  // Steps to the end, dropping rows.
  Status run();
  // The same for a statement without rows within a write transaction. Where the engine is reached over a wire it may be
  // on its way when this returns; what becomes of it is then told by a later statement, at the latest by the commit.
  Status run_later() {
    next_ = 1;
    return cursor_->run_later();
  }

  bool is_null(int column) const { return cursor_->is_null(column); }
  std::int64_t integer(int column) const { return cursor_->integer(column); }
  double real(int column) const { return cursor_->real(column); }
  // Valid until the next step. Empty for NULL.
  std::string_view bytes(int column) const { return cursor_->bytes(column); }
  std::string text(int column) const { return std::string(bytes(column)); }
  // Of a row that is there.
  int columns() const { return cursor_->columns(); }
  std::string name(int column) const { return cursor_->name(column); }

 private:
  void give_back() {
    if (cursor_) idle_->give_back(std::move(cursor_));
  }

  std::unique_ptr<Cursor> cursor_;
  IdleStatements* idle_;
  int next_ = 1;
};

// A connection. One thread at a time. Statements must not outlive it.
class Database {
 public:
  enum class Access {
    kCreate,     // read and write, made if absent
    kWrite,      // read and write, must exist
    kRead,       // must exist
    kImmutable,  // must exist; of a file: read without locks and without side files, as on a medium that nobody writes
  };

  // A PostgreSQL address (see schema/address.h), or a file's name, never taken as a URI or one of SQLite's special
  // names. SQLite touches the file no earlier than the first statement, so success says little of it. PostgreSQL is
  // asked at once, makes nothing, and is asked again, at the next transaction, after the connection was lost.
  static Result<Database> open(const std::filesystem::path& path, Access access, std::chrono::milliseconds patience);

  Database(std::filesystem::path path, std::unique_ptr<Engine> engine);

  // A copy in memory, which goes away with the connection. Of SQLite only.
  Result<Database> copy_to_memory() const;

  // Runs every statement of `sql`.
  Status exec(const std::string& sql) { return engine_->exec(sql); }
  Result<Statement> prepare(std::string_view sql);
  // The first column of the first row; an error if there is none.
  Result<std::int64_t> integer(std::string_view sql);
  Result<std::string> text(std::string_view sql);

  Backend backend() const { return engine_->backend(); }
  // One of two spellings.
  std::string_view either(std::string_view sqlite, std::string_view postgres) const {
    return backend() == Backend::kSqlite ? sqlite : postgres;
  }
  // SQL for the time, as the store writes it.
  std::string_view now() const;

  bool read_only() const { return engine_->read_only(); }
  // How many rows the last INSERT, UPDATE or DELETE changed that was run(), not run_later().
  std::int64_t changes() const { return engine_->changes(); }
  // Whether the last failure was that of a row that a table does not take.
  bool refused_row() const { return engine_->refused_row(); }
  bool in_transaction() const { return engine_->in_transaction(); }
  // A number that is another one after every change by another connection, another program's included.
  Result<std::uint64_t> state() { return engine_->state(); }
  // A table or a view.
  Result<bool> has_table(std::string_view name) { return engine_->has_table(name); }
  // The file, or the address without its password.
  const std::filesystem::path& path() const { return *path_; }
  // What belongs to one engine. Null handle: not SQLite, or moved from.
  sqlite3* handle() const { return engine_ ? engine_->sqlite() : nullptr; }
  Engine& engine() { return *engine_; }

 private:
  std::unique_ptr<std::filesystem::path> path_;
  std::unique_ptr<Engine> engine_;
  std::unique_ptr<IdleStatements> idle_ = std::make_unique<IdleStatements>();  // goes before the engine does
};

// A text for people as that engine can keep it: PostgreSQL keeps UTF-8 without NUL, and has U+FFFD in the place of all
// else. Texts that names are made of are kept as they are or refused.
std::string free_text(const Database& database, std::string_view text);

// The store holds what it never would: `what`. With what helps for its engine.
Error damaged(const Database& database, const std::string& what);

// Rolls back unless committed. kWrite takes the write lock at once, so that a conflict shows before any work is done:
// one writer at a time, as SQLite has it, so that what was asked still holds when it is written. kAtomic is for a
// single statement that holds by itself: where the engine has many writers it waits for those only that do the same.
// kBatch is around others, and there each takes what it needs.
// One that begins within another is a part of it: it can be undone by itself, and is on disk when the outer one is.
class Transaction {
 public:
  enum class Kind { kRead, kWrite, kAtomic, kBatch };
  static Result<Transaction> begin(Database& database, Kind kind);
  Transaction(Transaction&& other) noexcept : engine_(other.engine_), is_part_(other.is_part_) {
    other.engine_ = nullptr;
  }
  Transaction(const Transaction&) = delete;
  Transaction& operator=(const Transaction&) = delete;
  Transaction& operator=(Transaction&&) = delete;
  ~Transaction();
  Status commit();

 private:
  Transaction(Engine* engine, bool is_part) : engine_(engine), is_part_(is_part) {}
  Engine* engine_;  // on the heap: the database may move
  bool is_part_;
};

}  // namespace capbench::schema

#endif  // CAPBENCH_SCHEMA_DATABASE_H_
