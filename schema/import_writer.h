// Many trials of one source in one transaction: all of them or none.
#ifndef CAPBENCH_SCHEMA_IMPORT_WRITER_H_
#define CAPBENCH_SCHEMA_IMPORT_WRITER_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "schema/blob.h"
#include "schema/records.h"
#include "schema/store.h"

namespace capbench::schema {

// What a record from elsewhere is to the store.
struct Standing {
  bool known = false;    // the store has one of this name
  std::string conflict;  // how the store's differs, one clause; empty: nothing speaks against it
};

// Holds the store's write lock from begin() to finish(). One thread at a time; the store must outlive it, and nothing
// else may be put through the same Store meanwhile. Going away without finish() leaves the store as it was.
class ImportWriter {
 public:
  // What putting it changed.
  struct Counts {
    std::int64_t added = 0;
    std::int64_t known = 0;  // were there already
  };

  enum class Rows {
    kFromElsewhere,  // as another store or a bundle has them: the store checks all that it has rules for
    kMadeHere,       // made by the importers, which see to it that JSON is JSON, and put in the order of what refers to
                     // what: an SQLite store does not check that again
  };
  static Result<ImportWriter> begin(Store& store, Rows rows = Rows::kFromElsewhere);
  ImportWriter(ImportWriter&&) noexcept;
  ImportWriter& operator=(ImportWriter&&) noexcept;
  ~ImportWriter();

  // Putting what is there already changes nothing. A source that is known keeps its notes.
  Status put_suite(const SuiteRecord& suite);
  Status put_environment(const EnvironmentRecord& environment);
  Status put_closure(const ClosureRecord& closure);
  Status put_run(const RunRecord& run);
  // Whether it is new: of a known source, parts and quarantine are in the store already.
  Result<bool> put_source(const SourceRecord& source);
  // Kind and notes of a source, which are known only when it has been read.
  Status describe_source(const SourceRecord& source);
  // The next bytes of a new source, at most 64 MiB a call.
  Status put_part(std::string_view source_sha256, std::string_view bytes);
  // The same, packed before. Its name is not looked at.
  Status put_part(std::string_view source_sha256, const PackedRaw& part);
  Status put_quarantine(const QuarantineRecord& row);
  // Bytes that were packed before the lock was taken; their digest is taken for granted. Changes nothing if the store
  // has them.
  Status put_raw(const PackedRaw& raw);
  // A source that is there is read again, in another way: its trials are set aside (excluded) unless they are put once
  // more, and its quarantined rows go. How many trials were set aside.
  Result<std::int64_t> read_again(std::string_view source_sha256);
  Result<bool> has_trials_of(std::string_view source_sha256);
  // Whether the store has the trial, or the one that it restates (schema/restated.h).
  Result<bool> knows(const TrialRecord& trial);
  // Raw output, or nothing of it (withheld, or kept as the source's bytes). A digest without bytes is of raw that
  // the store has. One that restates a trial which the store has changes nothing; where the store has one restated, it
  // gives way to the trial itself and is excluded.
  Status put_trial(const TrialRecord& trial, std::string_view raw_stdout = {}, std::string_view raw_stderr = {},
                   std::string_view raw_probe = {});
  Status put_quality(const QualityRecord& check, std::string_view raw_stdout, std::string_view raw_stderr);
  // One that standing() does not know, and whose run, suite, environment, closure, source and raw output were put: none
  // of that is asked for again, and the engine's own words say if it is not so.
  Status put_new(const TrialRecord& trial);
  Status put_new(const QualityRecord& check);
  Status put_triage(const TriageRecord& decision);

  // Asked before putting what comes from elsewhere. Of a trial only what is never redacted is compared.
  Result<Standing> standing(const TrialRecord& trial);
  Result<Standing> standing(const EnvironmentRecord& environment);
  Result<Standing> standing(const ClosureRecord& closure);
  Result<Standing> standing(const QualityRecord& check);
  Result<bool> holds_run(std::string_view id);
  // Whether a trial came in a bundle, withdrawn or not.
  Result<bool> was_received(std::string_view trial_id);
  Result<std::optional<BundleRecord>> bundle(std::string_view id);
  // A new one; received now unless it says when. Its trials are put first, and then named.
  Status put_bundle(const BundleRecord& bundle, std::string_view archive);
  Status put_bundle_trial(std::string_view bundle_id, std::string_view trial_id);
  // A bundle that another store has withdrawn is withdrawn here too, when and why it was there; its trials have been
  // named. Withdrawn here already: nothing changes.
  Status withdraw_bundle(const BundleRecord& bundle);

  Counts trials() const;
  Status finish();

 private:
  struct State;
  explicit ImportWriter(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace capbench::schema

#endif  // CAPBENCH_SCHEMA_IMPORT_WRITER_H_
