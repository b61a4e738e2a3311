// Foreign files, evidence folders and other stores into a store: each source in one transaction, and the second time
// nothing changes. A store and what is imported into it belong to one thread.
#ifndef CAPBENCH_HARNESS_IMPORT_STORE_IMPORT_INTO_H_
#define CAPBENCH_HARNESS_IMPORT_STORE_IMPORT_INTO_H_

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "harness/import/import_file.h"
#include "harness/import/row.h"
#include "schema/store.h"

namespace capbench::imports {

struct Outcome {
  std::string kind;             // "llama-bench-jsonl", ..., "capbench-store"
  std::string sha256;           // of the file; empty for a store
  bool is_known = false;        // the store had this very file already
  std::uint64_t rows = 0;       // that were found
  std::uint64_t odd_times = 0;  // of them, those whose time is none
  std::uint64_t means = 0;      // of them, those without samples
  std::int64_t added = 0;       // trials
  std::int64_t known = 0;       // trials that were there already
  std::uint64_t quarantined = 0;
  std::vector<QuarantinedRow> quarantine;  // the first of them, at most kMostShown
  std::vector<std::string> notes;
};

inline constexpr std::size_t kMostShown = 100;

// A file whose reading begins before it is its turn, or before there is a store that it can go into. Going away ends
// the reading.
class FileAhead {
 public:
  // "-" is standard input, which is copied to a temporary file first, as a pipe is.
  static Result<FileAhead> begin(const std::filesystem::path& path, const ImportOptions& options);
  FileAhead(FileAhead&&) noexcept;
  FileAhead& operator=(FileAhead&&) noexcept;
  ~FileAhead();

 private:
  friend Result<Outcome> import_file_into(schema::Store& store, FileAhead file, const std::string& harness_version);
  struct State;
  explicit FileAhead(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

// One file, its bytes kept with it (databases: not). `harness_version` goes into the runs.
Result<Outcome> import_file_into(schema::Store& store, FileAhead file, const std::string& harness_version);
Result<Outcome> import_file_into(schema::Store& store, const std::filesystem::path& path, const ImportOptions& options,
                                 const std::string& harness_version);

// Everything of another capbench store. An id that names something else here is refused, and nothing is changed.
Result<Outcome> merge_store_into(schema::Store& store, const std::filesystem::path& path);

}  // namespace capbench::imports

#endif  // CAPBENCH_HARNESS_IMPORT_STORE_IMPORT_INTO_H_
