// What a run has in the store, and the only way into it. Safe to use from several threads.
#ifndef CAPBENCH_HARNESS_RUNNER_JOURNAL_H_
#define CAPBENCH_HARNESS_RUNNER_JOURNAL_H_

#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "base/result.h"
#include "harness/suite/suite.h"
#include "harness/target/job.h"
#include "schema/records.h"
#include "schema/store.h"

namespace capbench::runner {

// How the reason of a trial begins whose target went away.
inline constexpr std::string_view kLostPrefix = "the target was lost";

class Journal {
 public:
  Journal(const suite::Suite& suite, schema::Store& store) : suite_(suite), store_(store) {}

  Status put_suite(const schema::SuiteRecord& suite);
  Status put_environment(const schema::EnvironmentRecord& environment);
  Result<std::vector<schema::RunRecord>> runs(const std::string& suite_id);
  Status put_run(const schema::RunRecord& run);
  Status put_quality(const schema::QualityRecord& check, std::string_view out, std::string_view err);
  Result<std::vector<schema::QualityRecord>> quality(const std::string& run_id);

  // Takes over the trials that an earlier sitting stored, and returns them without results.
  Result<std::vector<schema::TrialView>> adopt(const std::string& run_id);
  Result<std::optional<schema::ClosureRecord>> closure(const std::string& id);

  // Whether the trial has not run yet, or was cut short by what was not its own doing.
  bool is_missing(const suite::PlannedTrial& planned) const;

  // Fills in attempt, digests and id, and stores. `cut_short`: it is to run again when the run goes on.
  Status put(const suite::PlannedTrial& planned, schema::TrialRecord trial, const target::JobResult& job,
             const std::string& probe, const schema::ClosureRecord& closure, bool cut_short);

  // Trials that have run, and their statuses, of those planned.
  std::size_t finished() const;
  std::map<std::string, std::size_t> by_status(const std::vector<suite::PlannedTrial>& plan) const;

  // The run's stored trials with their results; for decisions that need them.
  Result<std::vector<schema::TrialView>> trials(const std::string& run_id);

 private:
  // What makes a trial the same trial in a later sitting.
  using CellKey = std::tuple<std::string, std::string, std::string, std::int64_t>;
  struct Attempt {
    std::int64_t number = 0;
    std::string status;
    bool cut_short = false;
  };
  CellKey key_of(const suite::PlannedTrial& planned) const;

  const suite::Suite& suite_;
  mutable std::mutex mutex_;
  schema::Store& store_;
  std::map<CellKey, Attempt> attempts_;
};

}  // namespace capbench::runner

#endif  // CAPBENCH_HARNESS_RUNNER_JOURNAL_H_
