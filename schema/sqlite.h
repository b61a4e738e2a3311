// SQLite's C interface with owned handles and errors as values. For this room only.
#ifndef CAPBENCH_SCHEMA_SQLITE_H_
#define CAPBENCH_SCHEMA_SQLITE_H_

#include <sqlite3.h>

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace capbench::schema {

// What a failed SQLite call on `path` means. `code` is a (perhaps extended) result code, `message` SQLite's own words
// and `errno_value` the system call behind it, 0 if none.
Error sqlite_error(const std::filesystem::path& path, int code, const std::string& message, int errno_value);

// Statements of one connection that nobody uses now, by their text, so that a query that is asked often is compiled
// once.
class IdleStatements {
 public:
  IdleStatements() = default;
  IdleStatements(const IdleStatements&) = delete;
  IdleStatements& operator=(const IdleStatements&) = delete;
  ~IdleStatements();
  // nullptr if there is none of that text.
  sqlite3_stmt* take(std::string_view sql);
  void give_back(sqlite3_stmt* statement);

 private:
  std::multimap<std::string, sqlite3_stmt*, std::less<>> idle_;
};

// A prepared statement. Binding goes from left to right; a binding that fails is reported by the next step.
class Statement {
 public:
  Statement& bind(std::int64_t value);
  Statement& bind(double value);
  Statement& bind(std::string_view text);           // copied
  Statement& bind_in_place(std::string_view text);  // not copied: outlives the steps
  Statement& bind_null();
  Statement& bind_blob(std::string_view bytes);  // not copied: outlives the steps
  // An empty text is NULL: for references that may be absent.
  Statement& bind_or_null(std::string_view text);

  // Whether there is a row. After false or an error the statement may be bound and stepped again.
  Result<bool> step();
  // Steps to the end, dropping rows.
  Status run();

  bool is_null(int column) const;
  std::int64_t integer(int column) const;
  double real(int column) const;
  // Valid until the next step. Empty for NULL.
  std::string_view bytes(int column) const;
  std::string text(int column) const { return std::string(bytes(column)); }

 private:
  friend class Database;
  struct GiveBack {
    IdleStatements* idle;
    void operator()(sqlite3_stmt* statement) const { idle->give_back(statement); }
  };
  Statement(sqlite3_stmt* statement, const std::filesystem::path* path, IdleStatements* idle)
      : statement_(statement, GiveBack{idle}), path_(path) {}
  Error error(int code) const;
  void check(int code);
  void rewind();

  std::unique_ptr<sqlite3_stmt, GiveBack> statement_;
  const std::filesystem::path* path_;
  int next_ = 1;
  int bind_code_ = SQLITE_OK;
};

// A connection. One thread at a time. Statements must not outlive it, and it must not move while one lives.
class Database {
 public:
  enum class Access {
    kCreate,     // read and write, made if absent
    kWrite,      // read and write, must exist
    kRead,       // must exist
    kImmutable,  // must exist; read without locks and without side files, as on a medium that nobody writes
  };

  // `path` is taken as a file's name, never as a URI or one of SQLite's special names. SQLite touches the file no
  // earlier than the first statement, so success says little.
  static Result<Database> open(const std::filesystem::path& path, Access access, std::chrono::milliseconds patience);

  // A copy in memory, which goes away with the connection.
  Result<Database> copy_to_memory() const;

  // Runs every statement of `sql`.
  Status exec(const std::string& sql);
  Result<Statement> prepare(std::string_view sql);
  // The first column of the first row; an error if there is none.
  Result<std::int64_t> integer(std::string_view sql);
  Result<std::string> text(std::string_view sql);

  bool read_only() const { return sqlite3_db_readonly(handle_.get(), "main") == 1; }
  // The result code of the last failed call, without its extension; for callers that react to one.
  int last_code() const { return sqlite3_errcode(handle_.get()) & 0xFF; }
  bool in_transaction() const { return sqlite3_get_autocommit(handle_.get()) == 0; }
  const std::filesystem::path& path() const { return *path_; }
  sqlite3* handle() const { return handle_.get(); }

 private:
  struct Close {
    void operator()(sqlite3* handle) const { sqlite3_close_v2(handle); }
  };
  Error error(int code) const;

  std::unique_ptr<std::filesystem::path> path_;  // on the heap: statements point to it
  std::unique_ptr<sqlite3, Close> handle_;
  std::unique_ptr<IdleStatements> idle_ = std::make_unique<IdleStatements>();  // goes before the handle does
};

// Rolls back unless committed. kWrite takes the write lock at once, so that a conflict shows before any work is done.
// One that begins within another is a part of it: it can be undone by itself, and is on disk when the outer one is.
class Transaction {
 public:
  enum class Kind { kRead, kWrite };
  static Result<Transaction> begin(Database& database, Kind kind);
  Transaction(Transaction&& other) noexcept : database_(other.database_), is_part_(other.is_part_) {
    other.database_ = nullptr;
  }
  Transaction(const Transaction&) = delete;
  Transaction& operator=(const Transaction&) = delete;
  Transaction& operator=(Transaction&&) = delete;
  ~Transaction();
  Status commit();

 private:
  Transaction(Database* database, bool is_part) : database_(database), is_part_(is_part) {}
  Database* database_;
  bool is_part_;
};

}  // namespace capbench::schema

#endif  // CAPBENCH_SCHEMA_SQLITE_H_
