#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "harness/import/csv.h"
#include "harness/import/markdown.h"
#include "harness/import/table_readers.h"
#include "harness/import/text.h"

namespace capbench::imports {
namespace {

constexpr std::size_t kMaxOpenRow = 64U << 10U;
constexpr std::size_t kMaxColumns = 300;

// Whether rows can be made of columns under these names and the mapping's constants.
bool is_heading(const std::vector<std::string>& names, const ColumnMapping& mapping) {
  const auto has = [&](std::string_view name) {
    return std::find(names.begin(), names.end(), name) != names.end() || mapping.constants.contains(std::string(name));
  };
  return ((has("n_prompt") && has("n_gen")) || has("test")) &&
         (has("avg_ts") || has("avg_ns") || has("samples_ns") || has("samples_ts") || has("t/s"));
}

}  // namespace

bool CsvReader::begin_table(std::string_view line) {
  if (mapping_.empty() && line.find("n_prompt") == std::string_view::npos) return false;
  for (const char delimiter : {',', ';', '\t'}) {
    if (!split_csv(line, delimiter, values_) || values_.size() > kMaxColumns) continue;
    // A heading has every column that the mapping names: what is misspelled is not left out in silence.
    std::size_t mapped_columns = 0;
    for (std::string& name : values_) {
      const auto mapped = mapping_.fields.find(name);
      if (mapped == mapping_.fields.end()) continue;
      name = mapped->second;
      ++mapped_columns;
    }
    if (mapped_columns < mapping_.fields.size() || !is_heading(values_, mapping_)) continue;
    // With a mapping any line with the right words would do; only the first one is the heading.
    if (!mapping_.empty() && !columns_.empty()) return false;
    if (!open_.empty()) finish();
    delimiter_ = delimiter;
    is_quoted_.reset();
    columns_.clear();
    for (const std::string& name : values_) columns_.push_back({name, field_named(name)});
    return true;
  }
  return false;
}

bool CsvReader::looks_like_row(std::string_view line) const {
  const bool is_quoted = line.starts_with('"');
  if (is_quoted_.value_or(is_quoted)) return is_quoted;
  // Rewritten by a spreadsheet: nothing but the delimiters tells a row from other text, and before the first row a line
  // of a log may still come.
  const auto delimiters = static_cast<std::size_t>(std::count(line.begin(), line.end(), delimiter_));
  return delimiters >= (is_quoted_ ? 2 : std::max<std::size_t>(2, columns_.size() / 2));
}

bool CsvReader::line(std::string_view line, const Place& place) {
  if (begin_table(line)) return true;
  if (columns_.empty()) return false;
  if (!open_.empty()) {
    // A line that begins like a row is one; the open row before it was cut.
    if (!looks_like_row(line) && open_.size() + line.size() < kMaxOpenRow) {
      open_.append("\n").append(line);
      if (split_csv(open_, delimiter_, values_)) {
        const std::string record = std::move(open_);
        open_.clear();
        read_row(record, open_place_, true);
      }
      return true;
    }
    finish();
  }
  if (!looks_like_row(line)) return false;
  is_quoted_ = line.starts_with('"');
  if (split_csv(line, delimiter_, values_)) {
    read_row(line, place, true);
  } else {
    open_ = line;
    open_place_ = place;
  }
  return true;
}

// Of `values_`, into which `record` has just been split.
void CsvReader::read_row(std::string_view record, const Place& place, bool is_closed) {
  if (!is_closed || values_.size() != columns_.size()) {
    emitter_.quarantine(place,
                        fmt::format("{} values under a heading of {} columns{}", values_.size(), columns_.size(),
                                    is_closed ? "" : "; the last one has no closing quote"),
                        record);
    return;
  }
  emitter_.builder().begin();
  if (std::string problem = fill_builder(); !problem.empty()) {
    emitter_.quarantine(place, std::move(problem), record);
    return;
  }
  emitter_.finish(place, record, &LlamaBenchCounts::csv);
}

// The problem with `values_`, or empty.
std::string CsvReader::fill_builder() {
  RowBuilder& builder = emitter_.builder();
  texts_.clear();
  texts_.reserve(8);
  const auto add = [&](Field field, std::string value) {
    texts_.push_back(std::move(value));
    builder.text(field, texts_.back());
  };
  for (const auto& [name, value] : mapping_.constants) builder.text(name, value);
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    const Column& column = columns_[i];
    std::string& value = values_[i];
    if (!mapping_.empty() && column.name == "test") {
      const auto test = parse_test_name(value);
      if (!test) return fmt::format("no test of llama-bench: \"{}\"", to_utf8(value.substr(0, 60)));
      add(Field::kNPrompt, std::to_string(test->n_prompt));
      add(Field::kNGen, std::to_string(test->n_gen));
      add(Field::kNDepth, std::to_string(test->n_depth));
      continue;
    }
    if (!mapping_.empty() && column.name == "t/s") {
      const auto rate = parse_rate(value);
      if (!rate) return fmt::format("no rate: \"{}\"", to_utf8(value.substr(0, 60)));
      add(Field::kAvgTs, rate->mean_text);
      if (rate->deviation) add(Field::kStddevTs, rate->deviation_text);
      continue;
    }
    if (!column.field) {
      builder.text(column.name, value);
      continue;
    }
    const FieldType type = info(*column.field).type;
    // Where the comma does not part values it may be a decimal point.
    if (delimiter_ != ',' && type == FieldType::kReal && std::count(value.begin(), value.end(), ',') == 1 &&
        value.find('.') == std::string::npos) {
      std::replace(value.begin(), value.end(), ',', '.');
    }
    // Nothing in the place of a number or a truth says nothing; an empty text is one.
    if (value.empty() && type != FieldType::kText) continue;
    builder.text(*column.field, value);
  }
  return "";
}

void CsvReader::finish() {
  if (open_.empty()) return;
  const std::string record = std::move(open_);
  open_.clear();
  split_csv(record, delimiter_, values_);
  read_row(record, open_place_, false);
}

}  // namespace capbench::imports
