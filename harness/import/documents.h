// Sources that are one document: Google Benchmark's JSON and MLX-LM's output. Pure.
#ifndef CAPBENCH_HARNESS_IMPORT_DOCUMENTS_H_
#define CAPBENCH_HARNESS_IMPORT_DOCUMENTS_H_

#include <cstdint>
#include <string_view>

#include "harness/import/row.h"

namespace capbench::imports {

struct DocumentCounts {
  std::uint64_t rows = 0;
  std::uint64_t quarantined = 0;
};

DocumentCounts read_google_benchmark(std::string_view document, RowSink& sink);
DocumentCounts read_mlx_lm(std::string_view document, RowSink& sink);

}  // namespace capbench::imports

#endif  // CAPBENCH_HARNESS_IMPORT_DOCUMENTS_H_
