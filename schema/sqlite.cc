#include "schema/sqlite.h"

#include <climits>

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

void Statement::check(int code) {
  if (code != SQLITE_OK && bind_code_ == SQLITE_OK) bind_code_ = code;
}

IdleStatements::~IdleStatements() {
  for (const auto& [sql, statement] : idle_) sqlite3_finalize(statement);
}

sqlite3_stmt* IdleStatements::take(std::string_view sql) {
  const auto found = idle_.find(sql);
  if (found == idle_.end()) return nullptr;
  sqlite3_stmt* statement = found->second;
  idle_.erase(found);
  return statement;
}

void IdleStatements::give_back(sqlite3_stmt* statement) {
  constexpr std::size_t kMost = 64;  // more different texts than this room has
  const char* sql = sqlite3_sql(statement);
  if (sql == nullptr || idle_.size() >= kMost) {
    sqlite3_finalize(statement);
    return;
  }
  sqlite3_reset(statement);
  sqlite3_clear_bindings(statement);  // which may be large
  idle_.emplace(sql, statement);
}

Statement& Statement::bind(std::int64_t value) {
  check(sqlite3_bind_int64(statement_.get(), next_++, value));
  return *this;
}

Statement& Statement::bind(double value) {
  check(sqlite3_bind_double(statement_.get(), next_++, value));
  return *this;
}

Statement& Statement::bind(std::string_view text) {
  // SQLITE_TRANSIENT, without the C cast of its definition. A null pointer would bind NULL.
  const auto copy = reinterpret_cast<sqlite3_destructor_type>(std::intptr_t{-1});
  const char* data = text.data() == nullptr ? "" : text.data();
  check(sqlite3_bind_text64(statement_.get(), next_++, data, text.size(), copy, SQLITE_UTF8));
  return *this;
}

Statement& Statement::bind_in_place(std::string_view text) {
  const char* data = text.data() == nullptr ? "" : text.data();
  check(sqlite3_bind_text64(statement_.get(), next_++, data, text.size(), nullptr, SQLITE_UTF8));
  return *this;
}

Statement& Statement::bind_null() {
  check(sqlite3_bind_null(statement_.get(), next_++));
  return *this;
}

Statement& Statement::bind_blob(std::string_view bytes) {
  const char* data = bytes.data() == nullptr ? "" : bytes.data();
  check(sqlite3_bind_blob64(statement_.get(), next_++, data, bytes.size(), nullptr));
  return *this;
}

Statement& Statement::bind_or_null(std::string_view text) {
  return text.empty() ? bind_null() : bind(text);
}

Error Statement::error(int code) const {
  sqlite3* handle = sqlite3_db_handle(statement_.get());
  return sqlite_error(*path_, code, sqlite3_errmsg(handle), sqlite3_system_errno(handle));
}

void Statement::rewind() {
  sqlite3_reset(statement_.get());
  next_ = 1;
  bind_code_ = SQLITE_OK;
}

Result<bool> Statement::step() {
  const int code = bind_code_ == SQLITE_OK ? sqlite3_step(statement_.get()) : bind_code_;
  if (code == SQLITE_ROW) return true;
  if (code == SQLITE_DONE) {
    rewind();
    return false;
  }
  Error failure = error(code);
  rewind();
  return failure;
}

Status Statement::run() {
  for (;;) {
    const Result<bool> row = step();
    if (!row) return row.error();
    if (!*row) return {};
  }
}

bool Statement::is_null(int column) const {
  return sqlite3_column_type(statement_.get(), column) == SQLITE_NULL;
}

std::int64_t Statement::integer(int column) const {
  return sqlite3_column_int64(statement_.get(), column);
}

double Statement::real(int column) const {
  return sqlite3_column_double(statement_.get(), column);
}

std::string_view Statement::bytes(int column) const {
  const void* data = sqlite3_column_blob(statement_.get(), column);
  const int size = sqlite3_column_bytes(statement_.get(), column);
  if (data == nullptr || size <= 0) return {};
  return {static_cast<const char*>(data), static_cast<std::size_t>(size)};
}

namespace {

// A hostile file must not make anything happen when it is read or written. (TRUSTED_SCHEMA would be one more fence, but
// SQLite 3.40 then takes its own JSON functions in our views and rules for unsafe. No function of ours is registered.)
void fence(sqlite3* handle) {
  sqlite3_db_config(handle, SQLITE_DBCONFIG_DEFENSIVE, 1, nullptr);
  sqlite3_db_config(handle, SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, nullptr);
  // "text" in double quotes is an identifier, never a string.
  sqlite3_db_config(handle, SQLITE_DBCONFIG_DQS_DML, 0, nullptr);
  sqlite3_db_config(handle, SQLITE_DBCONFIG_DQS_DDL, 0, nullptr);
}

}  // namespace

Result<Database> Database::open(const std::filesystem::path& path, Access access, std::chrono::milliseconds patience) {
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
  Database database;
  database.path_ = std::make_unique<std::filesystem::path>(path);
  sqlite3* handle = nullptr;
  const int code = sqlite3_open_v2(name.c_str(), &handle, flags, nullptr);
  database.handle_.reset(handle);
  if (code != SQLITE_OK) return database.error(code);
  const auto milliseconds = patience.count();
  sqlite3_busy_timeout(handle, milliseconds > INT_MAX ? INT_MAX : static_cast<int>(milliseconds));
  fence(handle);
  return database;
}

Result<Database> Database::copy_to_memory() const {
  Database copy;
  copy.path_ = std::make_unique<std::filesystem::path>(*path_);  // errors name the file
  sqlite3* handle = nullptr;
  int code = sqlite3_open_v2(":memory:", &handle, SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_READWRITE, nullptr);
  copy.handle_.reset(handle);
  if (code != SQLITE_OK) return copy.error(code);
  fence(handle);
  sqlite3_backup* backup = sqlite3_backup_init(handle, "main", handle_.get(), "main");
  if (backup == nullptr) return copy.error(sqlite3_errcode(handle));
  code = sqlite3_backup_step(backup, -1);
  const int finished = sqlite3_backup_finish(backup);
  if (code != SQLITE_DONE) return copy.error(finished != SQLITE_OK ? finished : code);
  return copy;
}

Error Database::error(int code) const {
  if (!handle_) return sqlite_error(*path_, code, sqlite3_errstr(code), 0);
  return sqlite_error(*path_, code, sqlite3_errmsg(handle_.get()), sqlite3_system_errno(handle_.get()));
}

Status Database::exec(const std::string& sql) {
  const int code = sqlite3_exec(handle_.get(), sql.c_str(), nullptr, nullptr, nullptr);
  if (code != SQLITE_OK) return error(code);
  return {};
}

Result<Statement> Database::prepare(std::string_view sql) {
  sqlite3_stmt* statement = idle_->take(sql);
  if (statement == nullptr) {
    const int code = sqlite3_prepare_v2(handle_.get(), sql.data(), static_cast<int>(sql.size()), &statement, nullptr);
    if (code != SQLITE_OK) return error(code);
  }
  return Statement(statement, path_.get(), idle_.get());
}

Result<std::int64_t> Database::integer(std::string_view sql) {
  Result<Statement> statement = prepare(sql);
  if (!statement) return statement.error();
  const Result<bool> row = statement->step();
  if (!row) return row.error();
  if (!*row) return sqlite_error(*path_, SQLITE_CORRUPT, "no answer to " + std::string(sql), 0);
  return statement->integer(0);
}

Result<std::string> Database::text(std::string_view sql) {
  Result<Statement> statement = prepare(sql);
  if (!statement) return statement.error();
  const Result<bool> row = statement->step();
  if (!row) return row.error();
  if (!*row) return sqlite_error(*path_, SQLITE_CORRUPT, "no answer to " + std::string(sql), 0);
  return statement->text(0);
}

Result<Transaction> Transaction::begin(Database& database, Kind kind) {
  const bool is_part = database.in_transaction();
  const char* const begin = is_part ? "SAVEPOINT part" : kind == Kind::kWrite ? "BEGIN IMMEDIATE" : "BEGIN";
  if (Status status = database.exec(begin); !status) return std::move(status).error();
  return Transaction(&database, is_part);
}

Transaction::~Transaction() {
  // SQLite may have rolled back by itself (full disk); and what fails here has nobody left to tell: the file stays as
  // it was.
  if (database_ == nullptr || !database_->in_transaction()) return;
  static_cast<void>(database_->exec(is_part_ ? "ROLLBACK TO part; RELEASE part" : "ROLLBACK"));
}

Status Transaction::commit() {
  Status status = database_->exec(is_part_ ? "RELEASE part" : "COMMIT");
  if (status) database_ = nullptr;
  return status;
}

}  // namespace capbench::schema
