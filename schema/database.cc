#include "schema/database.h"

#include "base/utf8.h"
#include "schema/address.h"
#include "schema/postgres.h"
#include "schema/sqlite.h"

namespace capbench::schema {

std::unique_ptr<Cursor> IdleStatements::take(std::string_view sql) {
  const auto found = idle_.find(sql);
  if (found == idle_.end()) return nullptr;
  std::unique_ptr<Cursor> cursor = std::move(found->second);
  idle_.erase(found);
  return cursor;
}

void IdleStatements::give_back(std::unique_ptr<Cursor> cursor) {
  constexpr std::size_t kMost = 64;  // more different texts than this room has
  const std::string_view sql = cursor->sql();
  if (sql.empty() || idle_.size() >= kMost) return;
  cursor->rest();
  idle_.emplace(sql, std::move(cursor));
}

Statement& Statement::operator=(Statement&& other) noexcept {
  if (this == &other) return *this;
  give_back();
  cursor_ = std::move(other.cursor_);
  idle_ = other.idle_;
  next_ = other.next_;
  return *this;
}

Status Statement::run() {
  for (;;) {
    const Result<bool> row = step();
    if (!row) return row.error();
    if (!*row) return {};
  }
}

Result<Database> Database::open(const std::filesystem::path& path, Access access, std::chrono::milliseconds patience) {
  return is_address(path.native()) ? open_postgres(path.native(), access, patience)
                                   : open_sqlite(path, access, patience);
}

Database::Database(std::filesystem::path path, std::unique_ptr<Engine> engine)
    : path_(std::make_unique<std::filesystem::path>(std::move(path))), engine_(std::move(engine)) {}

Result<Database> Database::copy_to_memory() const {
  return copy_sqlite_to_memory(*path_, engine_->sqlite());
}

Result<Statement> Database::prepare(std::string_view sql) {
  std::unique_ptr<Cursor> cursor = idle_->take(sql);
  if (!cursor) {
    Result<std::unique_ptr<Cursor>> prepared = engine_->prepare(sql);
    if (!prepared) return std::move(prepared).error();
    cursor = std::move(*prepared);
  }
  return Statement(std::move(cursor), idle_.get());
}

std::string free_text(const Database& database, std::string_view text) {
  if (database.backend() == Backend::kSqlite) return std::string(text);
  std::string kept = to_utf8(text);
  for (std::size_t at = kept.find('\0'); at != std::string::npos; at = kept.find('\0', at)) {
    kept.replace(at, 1, "\xEF\xBF\xBD");
  }
  return kept;
}

Error damaged(const Database& database, const std::string& what) {
  std::string remedy = "restore it from a copy";
  if (database.backend() == Backend::kSqlite) {
    remedy += ", or save what is readable with `sqlite3 " + database.path().string() + " .recover`";
  }
  return {ErrorKind::kUsage, database.path().string(), "damaged (" + what + ")", std::move(remedy)};
}

Result<std::int64_t> Database::integer(std::string_view sql) {
  Result<Statement> statement = prepare(sql);
  if (!statement) return statement.error();
  const Result<bool> row = statement->step();
  if (!row) return row.error();
  if (!*row) return damaged(*this, "no answer to " + std::string(sql));
  return statement->integer(0);
}

Result<std::string> Database::text(std::string_view sql) {
  Result<Statement> statement = prepare(sql);
  if (!statement) return statement.error();
  const Result<bool> row = statement->step();
  if (!row) return row.error();
  if (!*row) return damaged(*this, "no answer to " + std::string(sql));
  return statement->text(0);
}

std::string_view Database::now() const {
  return either("strftime('%Y-%m-%dT%H:%M:%fZ', 'now')",
                "to_char(clock_timestamp() AT TIME ZONE 'UTC', 'YYYY-MM-DD\"T\"HH24:MI:SS.MS\"Z\"')");
}

Result<Transaction> Transaction::begin(Database& database, Kind kind) {
  Engine& engine = database.engine();
  const bool is_part = engine.in_transaction();
  if (Status status = engine.begin(kind != Kind::kRead, is_part); !status) return std::move(status).error();
  Transaction transaction(&engine, is_part);
  if (kind == Kind::kWrite || kind == Kind::kAtomic) {
    Status status = kind == Kind::kWrite ? engine.take_write_lock() : engine.take_short_lock();
    if (!status) return std::move(status).error();
  }
  return transaction;
}

Transaction::~Transaction() {
  if (engine_ != nullptr) engine_->roll_back(is_part_);
}

Status Transaction::commit() {
  Status status = engine_->commit(is_part_);
  if (status) engine_ = nullptr;
  return status;
}

}  // namespace capbench::schema
