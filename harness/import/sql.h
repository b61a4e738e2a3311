// The two statements that llama-bench's SQL printer and `sqlite3 .dump` write. Pure.
#ifndef CAPBENCH_HARNESS_IMPORT_SQL_H_
#define CAPBENCH_HARNESS_IMPORT_SQL_H_

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace capbench::imports {

struct SqlTable {
  std::string name;
  std::vector<std::string> columns;
};

struct SqlValue {
  bool is_null = false;
  std::string text;
};

struct SqlInsert {
  std::string table;
  std::vector<std::string> columns;  // empty: those of the table, in its order
  std::vector<std::vector<SqlValue>> rows;
  bool has_bare_quotes = false;  // llama-bench writes a quote inside a text as it is; the text was read nevertheless
  std::string problem;           // what is wrong behind the rows; empty: nothing
};

// "CREATE TABLE ..." or "INSERT INTO ...", in any case.
bool begins_create(std::string_view line);
bool begins_insert(std::string_view line);

// Nothing if it is not of that form.
std::optional<SqlTable> parse_create(std::string_view statement);
std::optional<SqlInsert> parse_insert(std::string_view statement);

// The table that llama-bench prints: `llama_bench`, `test` in builds before August 2025.
bool is_llama_bench_table(std::string_view name);

// The text as a literal, its quotes doubled.
std::string quote_sql(std::string_view text);

}  // namespace capbench::imports

#endif  // CAPBENCH_HARNESS_IMPORT_SQL_H_
