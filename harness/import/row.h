// What an importer finds in a foreign file: rows, rows that cannot be trusted, and remarks about the file.
// Importers push them into a sink as they read; none of them holds a whole file.
#ifndef CAPBENCH_HARNESS_IMPORT_ROW_H_
#define CAPBENCH_HARNESS_IMPORT_ROW_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "schema/records.h"

namespace capbench::imports {

// Where something stood in its file.
struct Place {
  std::uint64_t offset = 0;  // of the first byte, from 0; of a file with colours or in UTF-16: of its plain text
  std::uint64_t line = 1;    // from 1
};

// One measured row. `result.fields` holds every field of the row by name, as printed except that
//  - samples_ns and samples_ts are left out where `result.samples_ns` holds them exactly,
//  - `backends` and `load_mode` are added where an older schema said the same in other fields,
//  - texts are valid UTF-8.
// A field that the row did not have is absent (null to whoever asks).
struct ImportedRow {
  schema::ResultRecord result;  // without samples: median_ts is 0 and the next three say what the source states
  std::optional<double> mean_ts;
  std::optional<double> stddev_ts;          // (n-1); nothing: not stated, or of one repetition
  std::optional<std::int64_t> repetitions;  // nothing: unknown
  std::string model_filename;
  std::string test_time;
  std::string group;               // names the process within the file that the row came from; empty: nothing does
  std::vector<std::string> flags;  // "mean only", "rounded", "samples from rates", "text repaired"
  Place place;
  std::string_view raw;  // the row's bytes; valid during the call only

  // No samples: the row states a mean, which is not a median.
  bool mean_only() const { return result.samples_ns.empty(); }
  // SHA-256 of `raw`.
  std::string raw_sha256() const;
};

// The row as the store keeps rows without samples.
schema::StatedResultRecord stated(const ImportedRow& row);

// A row that cannot be trusted.
struct QuarantinedRow {
  Place place;
  std::string reason;  // a clause: "41 values under a header of 42 columns"
  std::string text;    // at most kMaxQuarantinedText bytes of it
};

inline constexpr std::size_t kMaxQuarantinedText = 1000;

// Something a reader of the results should know. Not a row.
struct Note {
  std::uint64_t line = 0;  // 0: about the whole file
  std::string text;        // a sentence without its full stop
};

class RowSink {
 public:
  virtual ~RowSink() = default;
  // May move from the row.
  virtual void row(ImportedRow& row) = 0;
  virtual void quarantine(QuarantinedRow row) = 0;
  virtual void note(Note note) = 0;
};

// Keeps everything: for small files and tests.
class RowList : public RowSink {
 public:
  void row(ImportedRow& row) override;
  void quarantine(QuarantinedRow row) override { quarantined.push_back(std::move(row)); }
  void note(Note note) override { notes.push_back(std::move(note)); }

  std::vector<ImportedRow> rows;  // their `raw` is empty
  std::vector<QuarantinedRow> quarantined;
  std::vector<Note> notes;
};

}  // namespace capbench::imports

#endif  // CAPBENCH_HARNESS_IMPORT_ROW_H_
