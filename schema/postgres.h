// PostgreSQL as the engine of a store, over libpq. For this room only.
//
// Statements without rows may travel together (run_later), a transaction's beginning and its end too, so that most
// transactions wait once for each question and once for the commit. Values travel as bytes, not as text. A connection
// that was lost is made again when the next transaction begins.
#ifndef CAPBENCH_SCHEMA_POSTGRES_H_
#define CAPBENCH_SCHEMA_POSTGRES_H_

#include <chrono>
#include <string>

#include "base/result.h"
#include "schema/database.h"

namespace capbench::schema {

// Errors name the address without its password: no such host, user or database, a wrong password, a server that is too
// old (before 13), a database of another encoding than UTF-8.
Result<Database> open_postgres(const std::string& address, Database::Access access, std::chrono::milliseconds patience);

// The SQL of both engines, with PostgreSQL's names of parameters: `?` is the one after the last, `?1` the first.
std::string with_numbered_parameters(std::string_view sql);

}  // namespace capbench::schema

#endif  // CAPBENCH_SCHEMA_POSTGRES_H_
