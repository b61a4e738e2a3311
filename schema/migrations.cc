#include "schema/migrations.h"

#include <string>

namespace capbench::schema {
namespace {

struct Format {
  bool is_empty = false;  // there is nothing
  bool is_ours = false;
  std::int64_t version = 0;
};

Result<Format> sqlite_format(Database& database) {
  const Result<std::int64_t> application = database.integer("PRAGMA application_id");
  if (!application) return application.error();
  const Result<std::int64_t> version = database.integer("PRAGMA user_version");
  if (!version) return version.error();
  const Result<std::int64_t> objects = database.integer("SELECT count(*) FROM sqlite_schema");
  if (!objects) return objects.error();
  const bool is_empty = *application == 0 && *version == 0 && *objects == 0;
  return Format{is_empty, *application == kApplicationId && *version >= 1, *version};
}

Result<Format> postgres_format(Database& database) {
  const Result<bool> ours = database.has_table("capbench_format");
  if (!ours) return ours.error();
  if (*ours) {
    const Result<std::int64_t> version = database.integer("SELECT version FROM capbench_format");
    if (!version) return version.error();
    return Format{false, *version >= 1, *version};
  }
  // Those that an extension brought are in many a new database.
  const Result<std::int64_t> objects = database.integer(
      "SELECT count(*) FROM pg_class AS c JOIN pg_namespace AS n ON n.oid = c.relnamespace "
      "WHERE n.nspname = current_schema() AND c.relkind IN ('r', 'p', 'v', 'm', 'f') AND NOT EXISTS "
      "(SELECT 1 FROM pg_depend AS d WHERE d.classid = CAST('pg_class' AS REGCLASS) AND d.objid = c.oid "
      "AND d.deptype = 'e')");
  if (!objects) return objects.error();
  return Format{*objects == 0, false, 0};
}

Result<Format> format_of(Database& database) {
  return database.backend() == Backend::kSqlite ? sqlite_format(database) : postgres_format(database);
}

Status set_format(Database& database, std::int64_t version) {
  const std::string number = std::to_string(version);
  if (database.backend() == Backend::kPostgres) {
    return database.exec(
        "CREATE TABLE IF NOT EXISTS capbench_format (version BIGINT NOT NULL); "
        "DELETE FROM capbench_format; INSERT INTO capbench_format VALUES (" +
        number + ")");
  }
  // Both live in the header page, which belongs to the transaction like any other.
  return database.exec("PRAGMA application_id = " + std::to_string(kApplicationId) +
                       "; PRAGMA user_version = " + number);
}

}  // namespace

std::span<const Migration> migrations(Backend backend) {
  return backend == Backend::kSqlite ? migrations() : postgres_migrations();
}

Result<Content> examine(Database& database, std::span<const Migration> steps) {
  const Result<Format> format = format_of(database);
  if (!format) return format.error();
  if (format->is_empty) return Content::kEmpty;
  if (!format->is_ours) {
    return Error{ErrorKind::kUsage, database.path().string(),
                 std::string(database.either("an SQLite database of another program, not a capbench store",
                                             "has tables of another program, and is not a capbench store")),
                 std::string(database.either("name another file with --db; this one is left as it is",
                                             "make a database for it (`createdb NAME`); this one is left as it is"))};
  }
  const std::int64_t known = steps.empty() ? 0 : steps.back().version;
  if (format->version > known) {
    return Error{
        ErrorKind::kUsage, database.path().string(),
        "written by a newer capbench (format " + std::to_string(format->version) +
            "; this program knows formats up to " + std::to_string(known) + ")",
        std::string(database.either("update capbench, or name another file with --db; this one is left as it is",
                                    "update capbench; the store is left as it is"))};
  }
  return format->version == known ? Content::kCurrent : Content::kOlder;
}

Status migrate(Database& database, std::span<const Migration> steps) {
  Result<Transaction> transaction = Transaction::begin(database, Transaction::Kind::kWrite);
  if (!transaction) return transaction.error();
  // Again under the lock: another program may have been faster.
  const Result<Content> content = examine(database, steps);
  if (!content) return content.error();
  if (*content == Content::kCurrent) return {};
  const Result<Format> format = format_of(database);
  if (!format) return format.error();
  for (const Migration& step : steps) {
    if (step.version <= format->version) continue;
    if (Status status = database.exec(std::string(step.sql)); !status) return status;
  }
  if (Status status = set_format(database, steps.back().version); !status) return status;
  return transaction->commit();
}

}  // namespace capbench::schema
