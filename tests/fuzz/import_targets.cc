#include <cmath>
#include <nlohmann/json.hpp>

#include "base/utf8.h"
#include "harness/import/documents.h"
#include "harness/import/import_file.h"
#include "harness/import/llama_bench.h"
#include "harness/import/sqlite_source.h"
#include "harness/import/text.h"
#include "tests/fuzz/targets.h"

namespace capbench::fuzz {
namespace {

// Holds every row to what row.h promises.
class CheckingSink : public imports::RowSink {
 public:
  void row(imports::ImportedRow& row) override {
    require(nlohmann::json::accept(row.result.fields), "the fields of a row are JSON");
    require(!row.result.test.empty(), "a row has a test");
    if (row.mean_only()) {
      require(row.mean_ts && std::isfinite(*row.mean_ts) && *row.mean_ts > 0, "a row without samples states a mean");
      require(row.result.median_ts == 0, "a mean does not pose as a median");
    } else {
      require(std::isfinite(row.result.median_ts) && row.result.median_ts > 0, "samples have a median");
      for (const std::int64_t ns : row.result.samples_ns) require(ns > 0, "samples are positive");
    }
    for (const std::string* text : {&row.result.model_type, &row.result.backends, &row.result.cpu_info,
                                    &row.result.gpu_info, &row.result.build, &row.model_filename, &row.test_time}) {
      require(is_utf8(*text), "texts are UTF-8");
    }
    ++rows;
  }
  void quarantine(imports::QuarantinedRow row) override {
    require(!row.reason.empty(), "a quarantined row has a reason");
    require(is_utf8(row.reason) && is_utf8(row.text), "texts are UTF-8");
    require(row.text.size() <= 3 * imports::kMaxQuarantinedText + 3, "texts are bounded");
  }
  void note(imports::Note note) override { require(!note.text.empty(), "a note says something"); }

  std::uint64_t rows = 0;
};

}  // namespace

// The first byte is the size of the chunks; the outcome must not depend on it.
void fuzz_llama_bench(std::string_view bytes) {
  if (bytes.empty()) return;
  const std::size_t chunk = static_cast<unsigned char>(bytes[0]) + std::size_t{1};
  bytes.remove_prefix(1);
  CheckingSink whole;
  imports::LlamaBenchReader once(whole);
  once.feed(bytes);
  once.finish();
  require(once.counts().rows() == whole.rows, "rows are counted");
  CheckingSink parts;
  imports::LlamaBenchReader pieces(parts);
  for (std::size_t at = 0; at < bytes.size(); at += chunk) pieces.feed(bytes.substr(at, chunk));
  pieces.finish();
  require(parts.rows == whole.rows, "the size of the chunks changes nothing");
  require(pieces.counts().quarantined == once.counts().quarantined, "the size of the chunks changes nothing");
}

// The first line is the mapping.
void fuzz_mapped_csv(std::string_view bytes) {
  const std::size_t newline = bytes.find('\n');
  const auto mapping = imports::parse_column_mapping(bytes.substr(0, newline));
  if (!mapping || newline == std::string_view::npos) return;
  CheckingSink sink;
  imports::LlamaBenchReader reader(sink, *mapping);
  reader.feed(bytes.substr(newline + 1));
  reader.finish();
}

void fuzz_document(std::string_view bytes) {
  CheckingSink google;
  imports::read_google_benchmark(bytes, google);
  CheckingSink mlx;
  imports::read_mlx_lm(bytes, mlx);
  static_cast<void>(imports::detect(bytes));
}

void fuzz_sqlite(std::string_view bytes) {
  CheckingSink sink;
  const auto counts = imports::import_sqlite_bytes(bytes, sink);
  if (counts) {
    require(counts->rows == sink.rows, "rows are counted");
  } else {
    require(!counts.error().cause.empty(), "an error has a cause");
  }
}

}  // namespace capbench::fuzz
