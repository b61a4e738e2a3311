// A file read and parsed in one thread, its bytes packed in a second and its digest taken in a third, while a fourth
// puts what they find into a store.
#ifndef CAPBENCH_HARNESS_IMPORT_STORE_ROW_STREAM_H_
#define CAPBENCH_HARNESS_IMPORT_STORE_ROW_STREAM_H_

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "harness/import/import_file.h"
#include "harness/import/row.h"
#include "schema/blob.h"

namespace capbench::imports {

// What was found since the last one. Rows, parts, notes and quarantined rows are each in the file's order.
struct RowBatch {
  std::vector<ImportedRow> rows;  // their `raw` is empty
  std::vector<QuarantinedRow> quarantined;
  std::vector<Note> notes;
  std::vector<schema::PackedRaw> parts;  // the file's bytes, without names; none of a database
};

// Used by one thread. Reading begins at once and runs ahead by some thousand rows. Memory: some 30 MiB, and the longest
// row several times. Going away ends its threads.
class RowStream {
 public:
  // `options` has no on_bytes.
  RowStream(const std::filesystem::path& path, const ImportOptions& options);
  RowStream(const RowStream&) = delete;
  RowStream& operator=(const RowStream&) = delete;
  ~RowStream();

  // Of the file's bytes, read for it alone; waits for it. Once.
  Result<std::string> digest();
  // Waits for the next ones; nothing at the end of the file or at an error.
  std::optional<RowBatch> next();
  // Rows that are done with, to be filled again: a page of memory costs more than the row that is written to it.
  void give_back(std::vector<ImportedRow> rows);
  // Once, after next() gave nothing.
  Result<ImportedFile> finish();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace capbench::imports

#endif  // CAPBENCH_HARNESS_IMPORT_STORE_ROW_STREAM_H_
