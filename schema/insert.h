// Records into tables, inside a write transaction that the caller holds. For this room only.
#ifndef CAPBENCH_SCHEMA_INSERT_H_
#define CAPBENCH_SCHEMA_INSERT_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "schema/blob.h"
#include "schema/database.h"
#include "schema/records.h"

namespace capbench::schema {

// Each changes nothing if the record is there already, and refuses another one under its name.
Status insert_suite(Database& database, const SuiteRecord& suite);
Status insert_environment(Database& database, const EnvironmentRecord& environment);
Status insert_closure(Database& database, const ClosureRecord& closure);
Status insert_run(Database& database, const RunRecord& run);  // updates state and planned_trials

// Raw output on its way in. Without a digest it is withheld; without a frame the store has it.
using Raw = PackedRaw;

// Nothing if there is no frame, or the store has those bytes.
Status insert_raw(Database& database, const Raw& raw);

// What no trial may hold, whatever the tables would take.
Status check_trial(const TrialRecord& trial);

struct PreparedTrial {
  Raw out;
  Raw err;
  Raw probe;
};

// Everything that is slow or can be refused without the lock: checks, digests and compresses, and writes nothing.
Result<PreparedTrial> prepare_trial(Database& database, const TrialRecord& trial, std::string_view raw_stdout,
                                    std::string_view raw_stderr, std::string_view raw_probe);
Result<bool> holds_trial(Database& database, std::string_view id);
Result<bool> holds_run(Database& database, std::string_view id);
// With raw output, results, capabilities and flags. The trial is not there yet.
Status insert_trial(Database& database, const TrialRecord& trial, const PreparedTrial& prepared);
// The same where it is known that its place is free and that all it refers to is there: over a wire each question takes
// its time.
Status insert_new_trial(Database& database, const TrialRecord& trial, const PreparedTrial& prepared);

struct PreparedQuality {
  Raw out;
  Raw err;
};
Result<PreparedQuality> prepare_quality(Database& database, const QualityRecord& check, std::string_view raw_stdout,
                                        std::string_view raw_stderr);
Status insert_quality(Database& database, const QualityRecord& check, const PreparedQuality& prepared);
Status insert_new_quality(Database& database, const QualityRecord& check, const PreparedQuality& prepared);  // likewise

// Whether it is new.
Result<bool> insert_source(Database& database, const SourceRecord& source);
// Kind and notes.
Status update_source(Database& database, const SourceRecord& source);

Result<std::optional<BundleRecord>> find_bundle(Database& database, std::string_view id);
// Received now unless it says when.
Status insert_bundle(Database& database, const BundleRecord& bundle, std::string_view archive);
Status insert_bundle_trial(Database& database, std::string_view bundle_id, std::string_view trial_id);
// The trials of a bundle that no standing one holds become excluded; how many, Database::changes() knows.
Status exclude_trials_of(Database& database, std::string_view id, const std::string& reason);
// A trial that another store has excluded, for its reason; excluded already, or not here: nothing changes. `before`:
// the status that it had there; empty: unknown. Errors may come with the commit only.
Status exclude_as_elsewhere(Database& database, std::string_view id, std::string_view before, std::string_view reason);
// As another store did it, then and for that reason. Withdrawn already: nothing changes.
Status withdraw_as_elsewhere(Database& database, const BundleRecord& bundle);

// Set now unless it says when. Checks the state and the id.
Status insert_triage(Database& database, const TriageRecord& decision);

// "unknown trial 0123456789ab" and the like.
Error refuse(std::string_view what, std::string_view id, std::string cause, std::string remedy);

}  // namespace capbench::schema

#endif  // CAPBENCH_SCHEMA_INSERT_H_
