#include "schema/migrations.h"

#include <string>

namespace capbench::schema {

Result<Content> examine(Database& database, std::span<const Migration> steps) {
  const Result<std::int64_t> application = database.integer("PRAGMA application_id");
  if (!application) return application.error();
  const Result<std::int64_t> version = database.integer("PRAGMA user_version");
  if (!version) return version.error();
  const Result<std::int64_t> objects = database.integer("SELECT count(*) FROM sqlite_schema");
  if (!objects) return objects.error();
  if (*application == 0 && *version == 0 && *objects == 0) return Content::kEmpty;
  if (*application != kApplicationId || *version < 1) {
    return Error{ErrorKind::kUsage, database.path().string(),
                 "an SQLite database of another program, not a capbench store",
                 "name another file with --db; this one is left as it is"};
  }
  const std::int64_t known = steps.empty() ? 0 : steps.back().version;
  if (*version > known) {
    return Error{ErrorKind::kUsage, database.path().string(),
                 "written by a newer capbench (format " + std::to_string(*version) +
                     "; this program knows formats up to " + std::to_string(known) + ")",
                 "update capbench, or name another file with --db; this one is left as it is"};
  }
  return *version == known ? Content::kCurrent : Content::kOlder;
}

Status migrate(Database& database, std::span<const Migration> steps) {
  Result<Transaction> transaction = Transaction::begin(database, Transaction::Kind::kWrite);
  if (!transaction) return transaction.error();
  // Again under the lock: another program may have been faster.
  const Result<Content> content = examine(database, steps);
  if (!content) return content.error();
  if (*content == Content::kCurrent) return {};
  const Result<std::int64_t> version = database.integer("PRAGMA user_version");
  if (!version) return version.error();
  for (const Migration& step : steps) {
    if (step.version <= *version) continue;
    if (Status status = database.exec(std::string(step.sql)); !status) return status;
  }
  // Both live in the header page, which belongs to the transaction like any other.
  if (Status status = database.exec("PRAGMA application_id = " + std::to_string(kApplicationId) +
                                    "; PRAGMA user_version = " + std::to_string(steps.back().version));
      !status) {
    return status;
  }
  return transaction->commit();
}

}  // namespace capbench::schema
