// Results as llama-bench's own formats, so that whatever reads those reads ours. Pure.
//
// Beside llama-bench's fields each row has those of harness/import/origin_fields.h; of a trial that the store itself
// knows from an export, those that stood there. Averages and deviations are
// computed from the samples by llama-bench's formulas (arithmetic mean of the rates, n-1); rows without samples give
// what their source stated. Unknown fields are null (JSONL, SQL) or empty (CSV). Importing any of these gives the same
// results back, samples, arms, modes and machines included; Markdown keeps means of two decimals and no arms.
//
// No export holds anything that a terminal or a spreadsheet would obey: what cannot be shown is \u and a number in
// JSONL and U+FFFD elsewhere, and a text that a spreadsheet would compute has an apostrophe before it in CSV.
#ifndef CAPBENCH_HARNESS_EXPORT_RENDER_H_
#define CAPBENCH_HARNESS_EXPORT_RENDER_H_

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "schema/records.h"
#include "schema/store.h"

namespace capbench::exports {

// The trial that a row is of, as the fields of harness/import/origin_fields.h. Without a name: it is of none.
struct Origin {
  std::string trial;
  std::string arm;
  std::string mode;
  std::string guest;
  std::string workload;
  std::string model;
  std::string model_kind;
  std::string machine;
  std::string machine_label;
  std::string suite;
  std::string suite_id;
  std::string run;
  std::int64_t block = 0;
};

// One row: measured with samples, or stated by its source.
struct ExportRow {
  schema::ResultRecord result;  // without samples: the next three hold
  std::optional<double> mean_ts;
  std::optional<double> stddev_ts;
  std::optional<std::int64_t> repetitions;
  std::string started_at;  // of its trial, for rows without a test_time
  Origin origin = {};
};

struct ExportRows {
  std::vector<ExportRow> rows;
  std::vector<std::string> left_out;  // results that nobody can have measured, and why: "trial 0123abcd: pp512: ..."
};

// The results of the trials whose status is "ok", in their order.
ExportRows export_rows(std::span<const schema::TrialView> trials);

// One JSON object a line, with every field that is known and the samples.
std::string render_jsonl(std::span<const ExportRow> rows);

// All values quoted, the samples in a last column `samples_ns`.
std::string render_csv(std::span<const ExportRow> rows);

// CREATE TABLE llama_bench and an INSERT for each row, the samples in a last column `samples_ns`. Quotes are doubled,
// which llama-bench forgets.
std::string render_sql(std::span<const ExportRow> rows);

// A table for each build, with its `build:` line. Columns as llama-bench chooses them: a setting is shown where it
// varies or is not the default.
std::string render_markdown(std::span<const ExportRow> rows);

// The bytes of an SQLite file with the table llama_bench, as `llama-bench -o sql | sqlite3` makes it, plus
// `samples_ns`. llama.cpp's scripts/compare-llama-bench.py compares rows only where no setting is NULL, so a setting
// that is unknown is an empty text here, or 0 for a number (-1 for n_gpu_layers). Errors: out of memory.
Result<std::string> render_sqlite(std::span<const ExportRow> rows);

}  // namespace capbench::exports

#endif  // CAPBENCH_HARNESS_EXPORT_RENDER_H_
