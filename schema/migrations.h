// The store's format, step by step. Each step is a file of schema/migrations, or of schema/migrations/postgres with the
// same number, embedded when the program is built.
#ifndef CAPBENCH_SCHEMA_MIGRATIONS_H_
#define CAPBENCH_SCHEMA_MIGRATIONS_H_

#include <cstdint>
#include <span>
#include <string_view>

#include "base/result.h"
#include "schema/database.h"

namespace capbench::schema {

// "capb": SQLite keeps it in the file's header, so that `file` and this program know whose file it is. PostgreSQL has
// the table capbench_format instead, with one row.
inline constexpr std::int64_t kApplicationId = 0x63617062;

struct Migration {
  std::int64_t version;  // that the store has afterwards: 1, 2, ...
  std::string_view name;
  std::string_view sql;
};

// In order of version, without gaps: SQLite's from 1, and PostgreSQL's from the first that it keeps. Both end alike.
std::span<const Migration> migrations();
std::span<const Migration> postgres_migrations();
std::span<const Migration> migrations(Backend backend);

// What a store is before anything is done to it.
enum class Content {
  kEmpty,    // no bytes, or no tables yet
  kOlder,    // ours, of an older format
  kCurrent,  // ours, of the last format in `steps`
};

// Only reads. Errors: not SQLite, somebody else's database, a format newer than the last of `steps`.
Result<Content> examine(Database& database, std::span<const Migration> steps);

// Brings the store to the last format in one transaction: killed at any moment, it is as before or finished. Several
// programs may try at once; one does it and the others find it done.
Status migrate(Database& database, std::span<const Migration> steps);

}  // namespace capbench::schema

#endif  // CAPBENCH_SCHEMA_MIGRATIONS_H_
