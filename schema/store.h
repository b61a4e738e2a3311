// The store: every trial with its raw output, one transaction a trial. A file of SQLite, or a PostgreSQL address.
// A Store is used by one thread at a time; several processes may open the same one.
#ifndef CAPBENCH_SCHEMA_STORE_H_
#define CAPBENCH_SCHEMA_STORE_H_

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "schema/records.h"

namespace capbench::schema {

enum class OpenMode {
  kCreate,    // read and write; made and migrated if need be (a file of an older version is brought up to date)
  kReadOnly,  // must exist and be of a version this program reads; nothing is written
};

struct CopiedTable;
struct MeasurementSink;

// Which trials. Empty members do not restrict.
struct TrialFilter {
  std::string suite;  // a suite's name or id
  std::string run_id;
  bool with_results = true;  // false leaves `results` and `capabilities` empty, for bookkeeping
};

// Which bundles. Empty members do not restrict.
struct BundleFilter {
  std::string signer;
  std::string tier;
  bool standing = false;   // true leaves out what was withdrawn
  std::size_t limit = 0;   // at most so many; 0: all
  std::string older_than;  // of a page's last bundle: received_at ...
  std::string older_id;    // ... and id; the next page begins behind it
};

// Empty members do not restrict.
struct BundleTrialFilter {
  std::string bundle_id;
  std::string trial_id;
  std::string run_id;
};

// A trial together with what a report needs to tell rows apart.
struct TrialView {
  TrialRecord trial;
  std::string suite_name;
  std::string machine_id;
  std::string machine_label;
  bool machine_is_virtual = false;
  std::string executable_sha256;  // empty if unknown
};

// Several writes that reach the disk together, see Store::begin_batch(). Undone unless committed. Must not outlive its
// store.
class Batch {
 public:
  Batch(Batch&&) noexcept;
  Batch& operator=(Batch&&) = delete;
  ~Batch();
  // False after SQLite has undone it by itself, as it does on a full disk.
  bool is_open() const;
  Status commit();

 private:
  friend class Store;
  struct State;
  explicit Batch(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

class Store {
 public:
  // Errors: foreign or damaged file, newer version, unwritable folder, full disk, locked by another writer. Each names
  // the file and a remedy. kCreate makes missing folders. `patience` is how long to wait for another program's lock,
  // here and in every later call.
  static Result<Store> open(const std::filesystem::path& path, OpenMode mode,
                            std::chrono::milliseconds patience = std::chrono::seconds(5));

  Store(Store&&) noexcept;
  Store& operator=(Store&&) noexcept;
  ~Store();

  // While it lives, each write of this store (and bundle::ingest() on it) is still whole or not at all, but is on disk
  // only when the batch is committed: one wait for the disk instead of many.
  Result<Batch> begin_batch();

  // Putting what is there already changes nothing.
  Status put_suite(const SuiteRecord& suite);
  Status put_environment(const EnvironmentRecord& environment);
  Status put_closure(const ClosureRecord& closure);
  Status put_run(const RunRecord& run);  // a second put updates state and planned_trials
  // One transaction: raw output first, then trial, results and capabilities. All or nothing. Run, suite, environment
  // and closure must be there already. An empty digest of raw output is computed, unless there are no bytes
  // either: then the output counts as withheld. A digest that is not that of the bytes is an error, and so is a second
  // trial in the same place (run, arm, workload, model, block, attempt). Bytes that are not UTF-8 in argv and
  // environment_set are kept as U+FFFD.
  Status put_trial(const TrialRecord& trial, std::string_view raw_stdout, std::string_view raw_stderr,
                   std::string_view raw_probe = {});
  // Marks, never deletes: status "excluded", the former status and `why` kept in reason. Unknown id or unique prefix:
  // an error.
  Status exclude_trial(std::string_view id_or_prefix, std::string_view why);

  // Needs its run. A second put of the same run, arm, model, kind and attempt is an error unless it is equal.
  Status put_quality(const QualityRecord& check, std::string_view raw_stdout, std::string_view raw_stderr);

  // Bundles come in through bundle::ingest(). Newest first.
  Result<std::vector<BundleRecord>> bundles(const BundleFilter& filter);
  Result<std::optional<BundleRecord>> bundle(std::string_view id);
  // The file as it was received, checked against its digest.
  Result<std::optional<std::string>> bundle_archive(std::string_view id);
  // Standing signed bundles of other signers than that bundle's that measured one of its model files and are more than
  // self-reported; ids, newest first.
  Result<std::vector<std::string>> bundles_like(std::string_view id, std::size_t most);
  // Which trials came in which bundles, withdrawn ones too; by trial, then bundle. A trial that is missing was measured
  // or imported here.
  Result<std::vector<BundleTrialRecord>> bundle_trials(const BundleTrialFilter& filter);
  // Marks, never deletes: those of its trials that no other standing bundle holds become excluded, with `why`. The
  // number of them; withdrawing twice changes nothing. An unknown id is an error.
  Result<std::int64_t> withdraw_bundle(std::string_view id, std::string_view why);
  // An unknown id is an error, and so is a tier that does not exist or a verdict that is not JSON.
  Status set_tier(std::string_view id, std::string_view tier, std::string_view verdict);

  // Putting the same decision again changes nothing. An unknown state, or a subject whose digest is not the id, is an
  // error.
  Status put_triage(const TriageRecord& decision);
  Result<std::vector<TriageRecord>> triage();  // every decision, by regression, then the latest first
  // Trials and results by the million, without a record for each, in one consistent view. The first error that the sink
  // returns ends it.
  Status scan(const TrialFilter& filter, const MeasurementSink& sink);

  Result<std::vector<RunRecord>> runs(std::string_view suite_id);    // newest first; empty suite_id: all
  Result<std::vector<TrialView>> trials(const TrialFilter& filter);  // by run, position, attempt
  Result<std::optional<std::string>> suite_json(std::string_view suite_id);
  Result<std::string> suite_name(std::string_view suite_id);  // empty if there is no such suite
  Result<std::optional<ClosureRecord>> closure(std::string_view id);
  Result<std::optional<EnvironmentRecord>> environment(std::string_view id);
  Result<std::vector<QualityRecord>> quality(
      std::string_view run_id);                 // empty run_id: all; by run, arm, model, attempt
  Result<std::vector<SourceRecord>> sources();  // by name, digest
  Result<std::vector<QuarantineRecord>> quarantine(std::string_view source_sha256);  // empty: all
  // The bytes of a source, in order, a part at a time. Withheld: no part. Checked against the digest at the end.
  Status source_bytes(std::string_view sha256, const std::function<void(std::string_view)>& take);
  // Raw bytes by the SHA-256 of their uncompressed form, checked on the way out.
  Result<std::string> blob(std::string_view sha256);
  // `PRAGMA integrity_check` and `foreign_key_check`; an error says what is damaged.
  Status check_integrity();

 private:
  friend class ImportWriter;
  friend class Inbox;
  friend Result<std::vector<CopiedTable>> copy_store(Store& from, Store& to,
                                                     const std::function<void(std::string_view, std::int64_t)>& tell);
  struct State;
  explicit Store(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

// Where the store is when no --db is given: $XDG_DATA_HOME/capbench/results.db, else
// ~/.local/share/capbench/results.db.
std::filesystem::path default_store_path(const char* xdg_data_home, const char* home);

}  // namespace capbench::schema

#endif  // CAPBENCH_SCHEMA_STORE_H_
