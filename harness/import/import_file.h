// One file of any kind that is imported: what it is, its digest, and its rows into a sink.
#ifndef CAPBENCH_HARNESS_IMPORT_IMPORT_FILE_H_
#define CAPBENCH_HARNESS_IMPORT_IMPORT_FILE_H_

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "harness/import/column_mapping.h"
#include "harness/import/detect.h"
#include "harness/import/row.h"

namespace capbench::imports {

struct ImportOptions {
  std::optional<SourceKind> as;  // nothing: the content tells
  ColumnMapping columns;         // for CSV of somebody's own making
  // Sees every byte of the file, in order, before the rows made of it. Not called for databases.
  std::function<Status(std::string_view)> on_bytes;
};

struct ImportedFile {
  std::string
      kind;  // "llama-bench-jsonl" -json -csv -sql -md -mixed -sqlite, "google-benchmark", "mlx-lm", "localscore"
  std::string sha256;
  std::uint64_t size = 0;
  std::uint64_t rows = 0;
  std::uint64_t quarantined = 0;
  std::uint64_t other_lines = 0;  // of logs and text around the rows
};

// Fills the buffer with the next bytes and says how many; 0 at the end.
using Reader = std::function<Result<std::size_t>(std::span<char>)>;

// Reads to the end. `name` is for messages. Errors: the reader's; a kind that is not imported; nothing in it that is a
// row, good or bad. What was found before an error is in the sink already. Memory: 2 MiB and the longest row, except
// for Google Benchmark and MLX-LM, whose documents are read whole and may have 16 MiB.
Result<ImportedFile> import_stream(const Reader& read, const std::string& name, const ImportOptions& options,
                                   RowSink& sink);

// The same for a file, which may also be a database.
Result<ImportedFile> import_file(const std::filesystem::path& path, const ImportOptions& options, RowSink& sink);

// The same from memory, all rows kept: for files that are known to be small.
struct Imported {
  ImportedFile file;
  std::vector<ImportedRow> rows;
  std::vector<QuarantinedRow> quarantine;
  std::vector<Note> notes;
};
Result<Imported> import_bytes(std::string_view bytes, const std::string& name, const ImportOptions& options = {});

}  // namespace capbench::imports

#endif  // CAPBENCH_HARNESS_IMPORT_IMPORT_FILE_H_
