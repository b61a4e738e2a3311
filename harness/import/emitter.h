// Where the readers of the formats of llama-bench put what they find.
#ifndef CAPBENCH_HARNESS_IMPORT_EMITTER_H_
#define CAPBENCH_HARNESS_IMPORT_EMITTER_H_

#include <cstdint>
#include <string>
#include <string_view>

#include "harness/import/llama_bench.h"
#include "harness/import/row.h"
#include "harness/import/row_builder.h"

namespace capbench::imports {

// One row at a time: builder().begin(), its fields, then finish().
class Emitter {
 public:
  explicit Emitter(RowSink& sink) : sink_(sink) {}

  RowBuilder& builder() { return builder_; }

  // Gives the builder's row, or its quarantine, to the sink. True for a row.
  bool finish(const Place& place, std::string_view raw, std::uint64_t LlamaBenchCounts::*format);
  // A row that was finished earlier and kept back.
  void row(ImportedRow& row, std::uint64_t LlamaBenchCounts::*format);
  void quarantine(const Place& place, std::string reason, std::string_view raw);
  void note(std::uint64_t line, std::string text) { sink_.note({line, std::move(text)}); }
  void other_line() { ++counts_.other_lines; }

  const LlamaBenchCounts& counts() const { return counts_; }

 private:
  RowSink& sink_;
  LlamaBenchCounts counts_;
  RowBuilder builder_;
  ImportedRow row_;
};

// At most kMaxQuarantinedText bytes of it, as UTF-8.
std::string quarantined_text(std::string_view raw);

}  // namespace capbench::imports

#endif  // CAPBENCH_HARNESS_IMPORT_EMITTER_H_
