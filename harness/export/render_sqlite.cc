#include <fmt/format.h>
#include <sqlite3.h>

#include <memory>

#include "harness/export/render.h"
#include "harness/export/values.h"
#include "harness/import/fields.h"

namespace capbench::exports {
namespace {

using imports::Field;
using imports::FieldType;

struct CloseDatabase {
  void operator()(sqlite3* database) const { sqlite3_close_v2(database); }
};
using Database = std::unique_ptr<sqlite3, CloseDatabase>;

struct FinalizeStatement {
  void operator()(sqlite3_stmt* statement) const { sqlite3_finalize(statement); }
};
using Statement = std::unique_ptr<sqlite3_stmt, FinalizeStatement>;

struct FreeBytes {
  void operator()(unsigned char* bytes) const { sqlite3_free(bytes); }
};

Error failure(sqlite3* database) {
  return {ErrorKind::kMachine, "the SQLite export", database == nullptr ? "no memory" : sqlite3_errmsg(database),
          "free some memory, or export as sql"};
}

// In the place of an unknown setting; measured values stay NULL.
std::optional<std::string> neutral(const Column& column) {
  if (!column.field) return std::nullopt;
  switch (*column.field) {
    case Field::kAvgNs:
    case Field::kStddevNs:
    case Field::kAvgTs:
    case Field::kStddevTs:
      return std::nullopt;
    case Field::kNGpuLayers:
      return "-1";
    default:
      return column.type == FieldType::kText ? "" : "0";
  }
}

std::string schema_sql(std::string& insert) {
  std::string create = "CREATE TABLE llama_bench (";
  insert = "INSERT INTO llama_bench VALUES (";
  const char* separator = "";
  for (const Column& column : table_columns()) {
    const std::string_view type = column.type == FieldType::kText   ? "TEXT"
                                  : column.type == FieldType::kReal ? "REAL"
                                                                    : "INTEGER";
    create += fmt::format("{}{} {}", separator, column.name, type);
    insert += fmt::format("{}?", separator);
    separator = ", ";
  }
  insert += ")";
  return create + ")";
}

bool insert_row(sqlite3_stmt* statement, const Values& values) {
  sqlite3_reset(statement);
  int index = 1;
  // The columns' affinity turns the texts into numbers.
  const auto bind = [&](const std::optional<std::string>& text) {
    const int status =
        text ? sqlite3_bind_text64(statement, index, text->data(), text->size(), SQLITE_TRANSIENT, SQLITE_UTF8)
             : sqlite3_bind_null(statement, index);
    ++index;
    return status == SQLITE_OK;
  };
  const std::vector<Column> columns = table_columns();
  const std::vector<std::optional<std::string>> row = table_values(values);
  for (std::size_t i = 0; i < columns.size(); ++i) {
    if (!bind(row[i] ? row[i] : neutral(columns[i]))) return false;
  }
  return sqlite3_step(statement) == SQLITE_DONE;
}

}  // namespace

Result<std::string> render_sqlite(std::span<const ExportRow> rows) {
  sqlite3* raw = nullptr;
  const int status = sqlite3_open_v2(":memory:", &raw, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, nullptr);
  const Database database(raw);
  if (status != SQLITE_OK) return failure(raw);
  std::string insert;
  const std::string create = schema_sql(insert) + "; BEGIN";
  if (sqlite3_exec(raw, create.c_str(), nullptr, nullptr, nullptr) != SQLITE_OK) return failure(raw);
  sqlite3_stmt* prepared = nullptr;
  if (sqlite3_prepare_v2(raw, insert.c_str(), -1, &prepared, nullptr) != SQLITE_OK) return failure(raw);
  Statement statement(prepared);
  for (const ExportRow& row : rows) {
    if (!insert_row(statement.get(), values_of(row))) return failure(raw);
  }
  statement.reset();
  if (sqlite3_exec(raw, "COMMIT", nullptr, nullptr, nullptr) != SQLITE_OK) return failure(raw);
  sqlite3_int64 size = 0;
  const std::unique_ptr<unsigned char, FreeBytes> bytes(sqlite3_serialize(raw, "main", &size, 0));
  if (!bytes) return failure(raw);
  return std::string(static_cast<const char*>(static_cast<const void*>(bytes.get())), static_cast<std::size_t>(size));
}

}  // namespace capbench::exports
