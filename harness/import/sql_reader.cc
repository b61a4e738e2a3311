#include <fmt/format.h>

#include <utility>

#include "harness/import/table_readers.h"
#include "harness/import/text.h"

namespace capbench::imports {
namespace {

constexpr std::size_t kMaxStatement = 4U << 20U;

}  // namespace

bool SqlReader::line(std::string_view line, const Place& place) {
  const bool begins = begins_create(line) || begins_insert(line);
  if (begins) {
    // Whatever was open has no end of its own.
    statement();
    open_ = line;
    open_place_ = place;
  } else if (!open_.empty()) {
    if (open_.size() + line.size() > kMaxStatement) {
      statement();
      return false;
    }
    open_.append("\n").append(line);
  } else {
    return false;
  }
  if (trim(line).ends_with(';')) statement();
  return true;
}

void SqlReader::statement() {
  if (open_.empty()) return;
  const std::string text = std::move(open_);
  open_.clear();
  if (const auto table = parse_create(text)) {
    tables_[table->name] = table->columns;
    return;
  }
  const auto parsed = parse_insert(text);
  if (!parsed) {
    emitter_.other_line();
    return;
  }
  if (!is_llama_bench_table(parsed->table)) {
    emitter_.other_line();
    return;
  }
  open_ = text;  // for the text of a quarantine
  insert(*parsed);
  open_.clear();
}

void SqlReader::insert(const SqlInsert& insert) {
  const std::vector<std::string>& columns = insert.columns.empty() ? tables_[insert.table] : insert.columns;
  RowBuilder& builder = emitter_.builder();
  for (const std::vector<SqlValue>& row : insert.rows) {
    if (row.size() != columns.size()) {
      emitter_.quarantine(open_place_, fmt::format("{} values for {} columns", row.size(), columns.size()), open_);
      continue;
    }
    builder.begin();
    for (std::size_t i = 0; i < row.size(); ++i) {
      if (!row[i].is_null) builder.text(columns[i], row[i].text);
    }
    emitter_.finish(open_place_, open_, &LlamaBenchCounts::sql);
  }
  if (insert.has_bare_quotes) {
    emitter_.note(open_place_.line, "a quote inside a text is not doubled; it was taken as part of the text");
  }
  if (!insert.problem.empty()) emitter_.quarantine(open_place_, insert.problem, open_);
}

void SqlReader::finish() {
  statement();
}

}  // namespace capbench::imports
