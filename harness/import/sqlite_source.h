// Foreign SQLite databases: LocalScore's, and those that llama-bench's SQL output was loaded into.
#ifndef CAPBENCH_HARNESS_IMPORT_SQLITE_SOURCE_H_
#define CAPBENCH_HARNESS_IMPORT_SQLITE_SOURCE_H_

#include <filesystem>
#include <string>
#include <string_view>

#include "base/result.h"
#include "harness/import/row.h"

namespace capbench::imports {

struct SqliteCounts {
  std::string kind;        // "localscore", "llama-bench-sqlite"
  std::uint64_t runs = 0;  // LocalScore's runs; rows of llama-bench
  std::uint64_t rows = 0;
  std::uint64_t quarantined = 0;
};

// Reads the file without writing beside it. Rows found before an error are in the sink already. Errors: not a
// database, damaged, capbench's own store, or neither of the two kinds; each with a remedy.
//
// LocalScore keeps averages only: of each run's nine shapes "ppN+tgM" come two rows, pp N and tg M at depth N, in a
// group named after the run. A run whose averages contradict its shapes is quarantined; one whose score does not
// follow from its averages is noted, since that score is whatever a client sent.
Result<SqliteCounts> import_sqlite(const std::filesystem::path& path, RowSink& sink);

// The same from memory.
Result<SqliteCounts> import_sqlite_bytes(std::string_view bytes, RowSink& sink);

}  // namespace capbench::imports

#endif  // CAPBENCH_HARNESS_IMPORT_SQLITE_SOURCE_H_
