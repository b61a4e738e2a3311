#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "harness/import/markdown.h"
#include "harness/import/table_readers.h"
#include "harness/import/text.h"

namespace capbench::imports {
namespace {

// More rows than any table of llama-bench has ever had; a longer one is given without its build line.
constexpr std::size_t kMaxKeptRows = 10'000;
constexpr std::size_t kMaxColumns = 100;

}  // namespace

bool MarkdownReader::looks_like_row(std::string_view line, const std::vector<std::string>& cells) const {
  if (!is_active_) return false;
  if (has_outer_pipes_) return line.starts_with('|');
  // Without outer pipes a line of a log with pipes in it (llama.cpp's system_info) must not pass for a row.
  if (cells.size() < 2) return false;
  return cells.size() == columns_.size() || parse_rate(cells.back()).has_value();
}

bool MarkdownReader::line(std::string_view line, const Place& place) {
  line = trim(line);
  std::optional<std::vector<std::string>> cells = split_cells(line);
  if (!cells) {
    if (line.empty()) return false;
    resolve_pending();
    if (is_active_) {
      if (const auto build = parse_build_line(line)) {
        end_table(build->commit, build->number);
        return true;
      }
    }
    return false;
  }
  if (is_llama_bench_heading(*cells) && cells->size() <= kMaxColumns) {
    begin_table(*cells, line, place);
    return true;
  }
  if (is_separator(*cells)) {
    if (!is_active_) return false;
    if (pending_) {
      pending_.reset();
      end_table("", "");
    }
    return true;
  }
  if (!looks_like_row(line, *cells)) return false;
  resolve_pending();
  pending_ = Line{std::string(line), place, std::move(*cells)};
  return true;
}

void MarkdownReader::begin_table(const std::vector<std::string>& headings, std::string_view line, const Place& place) {
  resolve_pending();
  if (is_active_) end_table("", "");
  is_active_ = true;
  has_outer_pipes_ = line.starts_with('|');
  heading_ = place;
  columns_.clear();
  for (const std::string& heading : headings) columns_.push_back({heading, field_under_heading(heading)});
}

void MarkdownReader::resolve_pending() {
  if (!pending_) return;
  Line line = std::move(*pending_);
  pending_.reset();
  read_row(line);
}

// The problem with the cells, or empty. Texts that the builder keeps views of are put into `texts`.
std::string MarkdownReader::fill_builder(const std::vector<std::string>& cells, std::vector<std::string>& texts) {
  RowBuilder& builder = emitter_.builder();
  const auto add = [&](Field field, std::string value) {
    texts.push_back(std::move(value));
    builder.text(field, texts.back());
  };
  for (std::size_t i = 0; i < cells.size(); ++i) {
    const std::string& cell = cells[i];
    const std::string& heading = columns_[i].heading;
    if (heading == "test") {
      const auto test = parse_test_name(cell);
      if (!test) return fmt::format("no test of llama-bench: \"{}\"", to_utf8(cell.substr(0, 60)));
      add(Field::kNPrompt, std::to_string(test->n_prompt));
      add(Field::kNGen, std::to_string(test->n_gen));
      add(Field::kNDepth, std::to_string(test->n_depth));
    } else if (heading == "t/s") {
      const auto rate = parse_rate(cell);
      if (!rate) return fmt::format("no rate: \"{}\"", to_utf8(cell.substr(0, 60)));
      add(Field::kAvgTs, rate->mean_text);
      if (rate->deviation) add(Field::kStddevTs, rate->deviation_text);
    } else if (heading == "size" || heading == "params") {
      const bool is_size = heading == "size";
      builder.text(heading, cell);
      const auto value = is_size ? parse_size(cell) : parse_parameters(cell);
      if (value) add(is_size ? Field::kModelSize : Field::kModelNParams, std::to_string(*value));
    } else if (columns_[i].field) {
      // Nothing in the place of a number says nothing.
      if (!cell.empty() || info(*columns_[i].field).type == FieldType::kText) builder.text(*columns_[i].field, cell);
    } else {
      builder.text(heading, cell);
    }
  }
  return "";
}

void MarkdownReader::read_row(Line& line) {
  // A doubled pipe at the end of a line adds an empty cell and no doubt.
  while (line.cells.size() > columns_.size() && line.cells.back().empty()) line.cells.pop_back();
  if (line.cells.size() != columns_.size()) {
    emitter_.quarantine(line.place, fmt::format("{} cells under a heading of {}", line.cells.size(), columns_.size()),
                        line.text);
    return;
  }
  emitter_.builder().begin();
  std::vector<std::string> texts;
  texts.reserve(8);  // the builder keeps views of them
  std::string problem = fill_builder(line.cells, texts);
  Kept kept;
  if (problem.empty()) problem = emitter_.builder().finish(kept.row);
  if (!problem.empty()) {
    emitter_.quarantine(line.place, std::move(problem), line.text);
    return;
  }
  if (kept.row.result.model_size > 0 || kept.row.result.model_n_params > 0) kept.row.flags.emplace_back("rounded");
  kept.row.place = line.place;
  kept.raw = std::move(line.text);
  rows_.push_back(std::move(kept));
  if (rows_.size() == kMaxKeptRows) flush("", "");
}

void MarkdownReader::flush(std::string_view commit, std::string_view number) {
  for (Kept& kept : rows_) {
    if (!commit.empty()) {
      kept.row.result.build = number.empty() ? std::string(commit) : fmt::format("{} ({})", commit, number);
      std::string& fields = kept.row.result.fields;
      fields.pop_back();
      fields.append(R"(,"build_commit":)");
      append_json_string(fields, commit);
      if (!number.empty()) fields.append(R"(,"build_number":)").append(number);
      fields.push_back('}');
    }
    kept.row.raw = kept.raw;
    emitter_.row(kept.row, &LlamaBenchCounts::markdown);
  }
  rows_.clear();
}

void MarkdownReader::end_table(std::string_view commit, std::string_view number) {
  if (commit.empty()) {
    emitter_.note(heading_.line, "the table has no `build:` line: it was cut short or copied without it");
  }
  // "05163" is no JSON number.
  while (number.size() > 1 && number.starts_with('0')) number.remove_prefix(1);
  flush(commit, number);
  is_active_ = false;
}

void MarkdownReader::finish() {
  resolve_pending();
  if (is_active_) end_table("", "");
}

}  // namespace capbench::imports
