// SQLite as the engine of a store: owned handles, errors as values. For this room only.
#ifndef CAPBENCH_SCHEMA_SQLITE_H_
#define CAPBENCH_SCHEMA_SQLITE_H_

#include <sqlite3.h>

#include <chrono>
#include <filesystem>
#include <memory>
#include <string>

#include "base/result.h"
#include "schema/database.h"

namespace capbench::schema {

// What a failed SQLite call on `path` means. `code` is a (perhaps extended) result code, `message` SQLite's own words
// and `errno_value` the system call behind it, 0 if none.
Error sqlite_error(const std::filesystem::path& path, int code, const std::string& message, int errno_value);

// The result code of the last failed call, without its extension; for callers that react to one. SQLITE_OK of another
// engine.
int last_sqlite_code(const Database& database);

// See Database::open() and Database::copy_to_memory().
Result<Database> open_sqlite(const std::filesystem::path& path, Database::Access access,
                             std::chrono::milliseconds patience);
Result<Database> copy_sqlite_to_memory(const std::filesystem::path& path, sqlite3* from);

}  // namespace capbench::schema

#endif  // CAPBENCH_SCHEMA_SQLITE_H_
