#include "harness/import/documents.h"

#include <utility>

#include "harness/import/emitter.h"
#include "harness/runtime/google_benchmark.h"
#include "harness/runtime/mlx_lm.h"

namespace capbench::imports {
namespace {

void give(schema::ResultRecord result, RowSink& sink, DocumentCounts& counts) {
  ImportedRow row;
  row.result = std::move(result);
  row.repetitions = static_cast<std::int64_t>(row.result.samples_ns.size());
  ++counts.rows;
  sink.row(row);
}

void give(const schema::StatedResultRecord& stated, RowSink& sink, DocumentCounts& counts) {
  ImportedRow row;
  row.result.test = stated.test;
  row.result.n_gen = stated.n_gen;
  row.result.fields = stated.fields;
  row.mean_ts = stated.mean_ts;
  row.stddev_ts = stated.stddev_ts;
  row.repetitions = stated.repetitions;
  row.flags = {"mean only"};
  ++counts.rows;
  sink.row(row);
}

void give_problem(const std::string& problem, std::string_view document, RowSink& sink, DocumentCounts& counts) {
  if (problem.empty()) return;
  ++counts.quarantined;
  sink.quarantine({{}, problem, quarantined_text(document)});
}

}  // namespace

DocumentCounts read_google_benchmark(std::string_view document, RowSink& sink) {
  DocumentCounts counts;
  runtime::GoogleBenchmarkOutput output = runtime::parse_google_benchmark(document);
  for (schema::ResultRecord& result : output.results) give(std::move(result), sink, counts);
  for (const schema::StatedResultRecord& stated : output.stated) give(stated, sink, counts);
  for (const auto& failed : output.failed) {
    ++counts.quarantined;
    sink.quarantine(
        {{}, failed.name.empty() ? failed.reason : failed.name + ": " + failed.reason, quarantined_text(failed.text)});
  }
  for (std::string& note : output.notes) sink.note({0, std::move(note)});
  give_problem(output.problem, document, sink, counts);
  return counts;
}

DocumentCounts read_mlx_lm(std::string_view document, RowSink& sink) {
  DocumentCounts counts;
  runtime::MlxLmOutput output = runtime::parse_mlx_lm(document);
  const bool has_rows = !output.results.empty();
  for (schema::ResultRecord& result : output.results) give(std::move(result), sink, counts);
  if (has_rows) sink.note({0, "times are computed from rates: MLX-LM gives no others"});
  give_problem(output.problem, document, sink, counts);
  return counts;
}

}  // namespace capbench::imports
