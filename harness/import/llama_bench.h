// llama-bench's output of any version since 2023 in any of its formats, streaming: JSON, JSONL, CSV, SQL, Markdown.
//
// One reader takes them all, line by line, so that a file may mix them with each other and with a log: `-o md -oe
// jsonl`, stderr in the same file, several tables one after another, an issue's text around a pasted table. Memory is
// bounded by the longest row (4 MiB at most), not by the file.
#ifndef CAPBENCH_HARNESS_IMPORT_LLAMA_BENCH_H_
#define CAPBENCH_HARNESS_IMPORT_LLAMA_BENCH_H_

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "harness/import/column_mapping.h"
#include "harness/import/row.h"

namespace capbench::imports {

// Formats in the order of this list.
struct LlamaBenchCounts {
  std::uint64_t json = 0;   // rows of an array or standing alone over several lines
  std::uint64_t jsonl = 0;  // rows of one line each
  std::uint64_t csv = 0;
  std::uint64_t sql = 0;
  std::uint64_t markdown = 0;
  std::uint64_t quarantined = 0;
  std::uint64_t other_lines = 0;  // of logs and text around

  std::uint64_t rows() const { return json + jsonl + csv + sql + markdown; }
  // "jsonl", "csv", ...; "mixed"; empty without rows.
  std::string format() const;
};

class LlamaBenchReader {
 public:
  // The sink must outlive the reader. With a mapping, CSV of anybody's making is read.
  explicit LlamaBenchReader(RowSink& sink, ColumnMapping mapping = {});
  LlamaBenchReader(LlamaBenchReader&&) noexcept;
  LlamaBenchReader& operator=(LlamaBenchReader&&) noexcept;
  ~LlamaBenchReader();

  // The next bytes of the file, as many as one likes.
  void feed(std::string_view bytes);
  // The file ends here: what was begun and not ended is quarantined.
  void finish();

  const LlamaBenchCounts& counts() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace capbench::imports

#endif  // CAPBENCH_HARNESS_IMPORT_LLAMA_BENCH_H_
