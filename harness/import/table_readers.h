// The formats of llama-bench that go line by line: Markdown, CSV, SQL. Each takes a line or leaves it to others.
#ifndef CAPBENCH_HARNESS_IMPORT_TABLE_READERS_H_
#define CAPBENCH_HARNESS_IMPORT_TABLE_READERS_H_

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "harness/import/column_mapping.h"
#include "harness/import/emitter.h"
#include "harness/import/fields.h"
#include "harness/import/row.h"
#include "harness/import/sql.h"

namespace capbench::imports {

class MarkdownReader {
 public:
  explicit MarkdownReader(Emitter& emitter) : emitter_(emitter) {}

  // False: the line is none of a table's.
  bool line(std::string_view line, const Place& place);
  void finish();

 private:
  struct Column {
    std::string heading;
    std::optional<Field> field;
  };
  struct Line {
    std::string text;
    Place place;
    std::vector<std::string> cells;
  };

  bool looks_like_row(std::string_view line, const std::vector<std::string>& cells) const;
  void begin_table(const std::vector<std::string>& headings, std::string_view line, const Place& place);
  void resolve_pending();
  void read_row(Line& line);
  std::string fill_builder(const std::vector<std::string>& cells, std::vector<std::string>& texts);
  void end_table(std::string_view commit, std::string_view number);
  void flush(std::string_view commit, std::string_view number);

  Emitter& emitter_;
  bool is_active_ = false;
  bool has_outer_pipes_ = false;
  Place heading_;
  std::vector<Column> columns_;
  std::optional<Line> pending_;  // a row, unless a line of dashes shows that it was another table's heading
  struct Kept {
    ImportedRow row;
    std::string raw;
  };
  std::vector<Kept> rows_;  // wait for the build line behind their table
};

class CsvReader {
 public:
  CsvReader(Emitter& emitter, ColumnMapping mapping) : emitter_(emitter), mapping_(std::move(mapping)) {}

  bool line(std::string_view line, const Place& place);
  void finish();

 private:
  struct Column {
    std::string name;
    std::optional<Field> field;
  };

  bool begin_table(std::string_view line);
  bool looks_like_row(std::string_view line) const;
  void read_row(std::string_view record, const Place& place, bool is_closed);
  std::string fill_builder();

  Emitter& emitter_;
  ColumnMapping mapping_;
  std::vector<Column> columns_;  // empty: no heading yet
  char delimiter_ = ',';
  std::optional<bool> is_quoted_;  // how the rows begin; the first one tells
  std::string open_;               // a row with an open quote
  Place open_place_;
  std::vector<std::string> values_;
  std::vector<std::string> texts_;  // values that the row builder keeps views of
};

class SqlReader {
 public:
  explicit SqlReader(Emitter& emitter) : emitter_(emitter) {}

  bool line(std::string_view line, const Place& place);
  void finish();

 private:
  void statement();
  void insert(const SqlInsert& insert);

  Emitter& emitter_;
  std::map<std::string, std::vector<std::string>> tables_;
  std::string open_;  // a statement without its semicolon
  Place open_place_;
};

}  // namespace capbench::imports

#endif  // CAPBENCH_HARNESS_IMPORT_TABLE_READERS_H_
