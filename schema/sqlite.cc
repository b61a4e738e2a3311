#include "schema/sqlite.h"

#include <climits>
#include <cstdint>
#include <string_view>
#include <utility>

#include "base/file.h"

namespace capbench::schema {
namespace {

// `file:` URI of an absolute path: everything but unreserved characters and slashes is escaped (RFC 3986).
std::string file_uri(const std::string& path, std::string_view query) {
  constexpr std::string_view kPlain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._~/";
  constexpr std::string_view kDigits = "0123456789ABCDEF";
  std::string uri = "file:";
  for (const char c : path) {
    if (kPlain.find(c) != std::string_view::npos) {
      uri += c;
    } else {
      const auto byte = static_cast<unsigned char>(c);
      uri += '%';
      uri += kDigits[byte >> 4U];
      uri += kDigits[byte & 0xFU];
    }
  }
  uri += query;
  return uri;
}

}  // namespace

Error sqlite_error(const std::filesystem::path& path, int code, const std::string& message, int errno_value) {
  Error error{ErrorKind::kMachine, path.string(), message, "check the disk and its mount"};
  switch (code & 0xFF) {
    case SQLITE_NOTADB:
      return {ErrorKind::kUsage, path.string(), "not a capbench store: not an SQLite file, or damaged at its beginning",
              "name another file with --db, or restore this one from a copy"};
    case SQLITE_CORRUPT:
      return {ErrorKind::kUsage, path.string(), "damaged (" + message + ")",
              "restore it from a copy, or save what is readable with `sqlite3 " + path.string() + " .recover`"};
    case SQLITE_FULL:
      return file_error(path, ENOSPC);
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
      error.cause = "locked by another program";
      error.remedy = "wait until it is done, or find it with `fuser " + path.string() + "` and end it";
      return error;
    case SQLITE_READONLY:
      error.kind = ErrorKind::kUsage;
      error.cause = "cannot be written by this user";
      error.remedy = "make the file and its folder writable, or name another file with --db";
      return error;
    case SQLITE_PERM:
    case SQLITE_AUTH:
      return file_error(path, EACCES);
    case SQLITE_CANTOPEN:
    case SQLITE_IOERR:
      if (errno_value != 0) return file_error(path, errno_value);
      return error;
    case SQLITE_NOMEM:
      error.remedy = "end other programs to free memory";
      return error;
    case SQLITE_TOOBIG:
      error.kind = ErrorKind::kUsage;
      error.remedy = "leave the oversized text or output out";
      return error;
    case SQLITE_ERROR:
      error.kind = ErrorKind::kUsage;
      error.cause = "not built as a capbench store is (" + message + ")";
      error.remedy = "restore it from a copy, or name another file with --db";
      return error;
    case SQLITE_CONSTRAINT:
      error.kind = ErrorKind::kUsage;
      error.cause = "refused a row that breaks a rule of the store (" + message + ")";
      error.remedy = "see schema/schema.md for what the column may hold";
      return error;
    default:
      return error;
  }
}

namespace {

class SqliteCursor final : public Cursor {
 public:
  SqliteCursor(sqlite3_stmt* statement, const std::filesystem::path& path) : statement_(statement), path_(path) {}
  ~SqliteCursor() override { sqlite3_finalize(statement_); }
  SqliteCursor(const SqliteCursor&) = delete;
  SqliteCursor& operator=(const SqliteCursor&) = delete;

  std::string_view sql() const override {
    const char* sql = sqlite3_sql(statement_);
    return sql == nullptr ? std::string_view() : std::string_view(sql);
  }
  void bind_integer(int place, std::int64_t value) override { check(sqlite3_bind_int64(statement_, place, value)); }
  void bind_real(int place, double value) override { check(sqlite3_bind_double(statement_, place, value)); }
  void bind_text(int place, std::string_view text, bool in_place) override {
    // SQLITE_TRANSIENT, without the C cast of its definition. A null pointer would bind NULL.
    const auto copy = reinterpret_cast<sqlite3_destructor_type>(std::intptr_t{-1});
    const char* data = text.data() == nullptr ? "" : text.data();
    check(sqlite3_bind_text64(statement_, place, data, text.size(), in_place ? nullptr : copy, SQLITE_UTF8));
  }
  void bind_blob(int place, std::string_view bytes) override {
    const char* data = bytes.data() == nullptr ? "" : bytes.data();
    check(sqlite3_bind_blob64(statement_, place, data, bytes.size(), nullptr));
  }
  void bind_null(int place) override { check(sqlite3_bind_null(statement_, place)); }
  void expect_many() override {}

  Result<bool> step() override {
    const int code = bind_code_ == SQLITE_OK ? sqlite3_step(statement_) : bind_code_;
    if (code == SQLITE_ROW) return true;
    if (code == SQLITE_DONE) {
      rewind();
      return false;
    }
    sqlite3* handle = sqlite3_db_handle(statement_);
    Error failure = sqlite_error(path_, code, sqlite3_errmsg(handle), sqlite3_system_errno(handle));
    rewind();
    return failure;
  }
  Status run_later() override {
    for (;;) {
      Result<bool> row = step();
      if (!row) return std::move(row).error();
      if (!*row) return {};
    }
  }
  bool is_null(int column) const override { return sqlite3_column_type(statement_, column) == SQLITE_NULL; }
  std::int64_t integer(int column) const override { return sqlite3_column_int64(statement_, column); }
  double real(int column) const override { return sqlite3_column_double(statement_, column); }
  std::string_view bytes(int column) const override {
    const void* data = sqlite3_column_blob(statement_, column);
    const int size = sqlite3_column_bytes(statement_, column);
    if (data == nullptr || size <= 0) return {};
    return {static_cast<const char*>(data), static_cast<std::size_t>(size)};
  }
  int columns() const override { return sqlite3_column_count(statement_); }
  std::string name(int column) const override {
    const char* name = sqlite3_column_name(statement_, column);
    return name == nullptr ? "" : name;
  }
  void rest() override {
    rewind();
    sqlite3_clear_bindings(statement_);
  }

 private:
  void check(int code) {
    if (code != SQLITE_OK && bind_code_ == SQLITE_OK) bind_code_ = code;
  }
  void rewind() {
    sqlite3_reset(statement_);
    bind_code_ = SQLITE_OK;
  }

  sqlite3_stmt* statement_;
  const std::filesystem::path& path_;  // the engine's
  int bind_code_ = SQLITE_OK;
};

class SqliteEngine final : public Engine {
 public:
  struct Close {
    void operator()(sqlite3* handle) const { sqlite3_close_v2(handle); }
  };
  using Handle = std::unique_ptr<sqlite3, Close>;

  SqliteEngine(std::filesystem::path path, Handle handle) : path_(std::move(path)), handle_(std::move(handle)) {}

  Backend backend() const override { return Backend::kSqlite; }
  Result<std::unique_ptr<Cursor>> prepare(std::string_view sql) override {
    sqlite3_stmt* statement = nullptr;
    const int code = sqlite3_prepare_v2(handle_.get(), sql.data(), static_cast<int>(sql.size()), &statement, nullptr);
    if (code != SQLITE_OK) return error(code);
    return std::unique_ptr<Cursor>(std::make_unique<SqliteCursor>(statement, path_));
  }
  Status exec(const std::string& sql) override {
    const int code = sqlite3_exec(handle_.get(), sql.c_str(), nullptr, nullptr, nullptr);
    if (code != SQLITE_OK) return error(code);
    return {};
  }
  Status begin(bool write, bool is_part) override {
    return exec(is_part ? "SAVEPOINT part" : write ? "BEGIN IMMEDIATE" : "BEGIN");
  }
  // BEGIN IMMEDIATE has it.
  Status take_write_lock() override { return {}; }
  Status take_short_lock() override { return {}; }
  Status commit(bool is_part) override { return exec(is_part ? "RELEASE part" : "COMMIT"); }
  void roll_back(bool is_part) override {
    // SQLite may have rolled back by itself (full disk); and what fails here has nobody left to tell: the file stays
    // as it was.
    if (!in_transaction()) return;
    static_cast<void>(exec(is_part ? "ROLLBACK TO part; RELEASE part" : "ROLLBACK"));
  }
  bool in_transaction() const override { return sqlite3_get_autocommit(handle_.get()) == 0; }
  bool read_only() const override { return sqlite3_db_readonly(handle_.get(), "main") == 1; }
  std::int64_t changes() const override { return sqlite3_changes(handle_.get()); }
  bool refused_row() const override {
    return (static_cast<unsigned>(sqlite3_errcode(handle_.get())) & 0xFFU) == SQLITE_CONSTRAINT;
  }
  Result<std::uint64_t> state() override {
    // Of a connection that never writes: there every commit of anybody else counts.
    auto version = prepare("PRAGMA data_version");
    if (!version) return std::move(version).error();
    const Result<bool> row = (*version)->step();
    if (!row) return row.error();
    return static_cast<std::uint64_t>((*version)->integer(0));
  }
  Result<bool> has_table(std::string_view name) override {
    auto found = prepare("SELECT 1 FROM sqlite_schema WHERE name = ?");
    if (!found) return std::move(found).error();
    (*found)->bind_text(1, name, true);
    return (*found)->step();
  }
  sqlite3* sqlite() const override { return handle_.get(); }

 private:
  Error error(int code) const {
    return sqlite_error(path_, code, sqlite3_errmsg(handle_.get()), sqlite3_system_errno(handle_.get()));
  }

  const std::filesystem::path path_;
  const Handle handle_;
};

// A hostile file must not make anything happen when it is read or written. (TRUSTED_SCHEMA would be one more fence, but
// SQLite 3.40 then takes its own JSON functions in our views and rules for unsafe. No function of ours is registered.)
void fence(sqlite3* handle) {
  sqlite3_db_config(handle, SQLITE_DBCONFIG_DEFENSIVE, 1, nullptr);
  sqlite3_db_config(handle, SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, nullptr);
  // "text" in double quotes is an identifier, never a string.
  sqlite3_db_config(handle, SQLITE_DBCONFIG_DQS_DML, 0, nullptr);
  sqlite3_db_config(handle, SQLITE_DBCONFIG_DQS_DDL, 0, nullptr);
}

// What was opened, or why it was not.
Result<Database> opened(const std::filesystem::path& path, int code, sqlite3* raw) {
  SqliteEngine::Handle handle(raw);
  if (code != SQLITE_OK) {
    if (!handle) return sqlite_error(path, code, sqlite3_errstr(code), 0);
    return sqlite_error(path, code, sqlite3_errmsg(raw), sqlite3_system_errno(raw));
  }
  fence(raw);
  return Database(path, std::make_unique<SqliteEngine>(path, std::move(handle)));
}

}  // namespace

int last_sqlite_code(const Database& database) {
  return database.handle() == nullptr ? SQLITE_OK : sqlite3_errcode(database.handle()) & 0xFF;
}

Result<Database> open_sqlite(const std::filesystem::path& path, Database::Access access,
                             std::chrono::milliseconds patience) {
  using Access = Database::Access;
  std::error_code failure;
  const std::filesystem::path absolute = std::filesystem::absolute(path, failure);
  if (path.empty() || failure) return file_error(path, ENOENT);
  // NOMUTEX: a connection is used by one thread at a time. Debian's build may read URIs without being asked; an
  // absolute path is none.
  int flags = SQLITE_OPEN_NOMUTEX;
  std::string name = absolute.string();
  switch (access) {
    case Access::kCreate:
      flags |= SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE;
      break;
    case Access::kWrite:
      flags |= SQLITE_OPEN_READWRITE;
      break;
    case Access::kRead:
      flags |= SQLITE_OPEN_READONLY;
      break;
    case Access::kImmutable:
      flags |= SQLITE_OPEN_READONLY | SQLITE_OPEN_URI;
      name = file_uri(name, "?immutable=1");
      break;
  }
  sqlite3* handle = nullptr;
  const int code = sqlite3_open_v2(name.c_str(), &handle, flags, nullptr);
  Result<Database> database = opened(path, code, handle);
  const auto milliseconds = patience.count();
  if (database) sqlite3_busy_timeout(handle, milliseconds > INT_MAX ? INT_MAX : static_cast<int>(milliseconds));
  return database;
}

Result<Database> copy_sqlite_to_memory(const std::filesystem::path& path, sqlite3* from) {
  sqlite3* handle = nullptr;
  int code = sqlite3_open_v2(":memory:", &handle, SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_READWRITE, nullptr);
  Result<Database> copy = opened(path, code, handle);  // errors name the file
  if (!copy) return copy;
  const auto error = [&](int of) {
    return sqlite_error(path, of, sqlite3_errmsg(handle), sqlite3_system_errno(handle));
  };
  sqlite3_backup* backup = sqlite3_backup_init(handle, "main", from, "main");
  if (backup == nullptr) return error(sqlite3_errcode(handle));
  code = sqlite3_backup_step(backup, -1);
  const int finished = sqlite3_backup_finish(backup);
  if (code != SQLITE_DONE) return error(finished != SQLITE_OK ? finished : code);
  return copy;
}

}  // namespace capbench::schema
