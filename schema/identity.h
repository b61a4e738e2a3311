// Names made from content. Each is the SHA-256 of canonical JSON (schema/canonical.h), so that the same thing has the
// same name wherever it was recorded and merging stores is idempotent. Paths, host names, times and output text do not
// enter a closure's or a trial's name: a redacted copy keeps it. Pure; safe to call from several threads.
#ifndef CAPBENCH_SCHEMA_IDENTITY_H_
#define CAPBENCH_SCHEMA_IDENTITY_H_

#include <string>

#include "schema/records.h"

namespace capbench::schema {

// Of `json`, the suite's canonical bytes.
std::string suite_id(const SuiteRecord& suite);

// Of `json`, as it stands: whoever collects the facts leaves host names, user names and serial numbers out of it.
std::string environment_id(const EnvironmentRecord& environment);

// Of [[role, name, sha256], ...] sorted, each once. The order of the members and where the files lay do not matter.
std::string closure_id(const ClosureRecord& closure);

// Of {machine, seed, started_at, suite}. State, version and size of the plan may change and do not enter.
std::string run_id(const RunRecord& run);

// Of {arm, attempt, block, closure, model, run, samples, status, workload}, where samples is [[test, [ns, ...]], ...]
// in the order measured. A trial that is excluded later keeps the name it had (see Store::exclude_trial).
std::string trial_id(const TrialRecord& trial);

}  // namespace capbench::schema

#endif  // CAPBENCH_SCHEMA_IDENTITY_H_
