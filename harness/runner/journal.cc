#include "harness/runner/journal.h"

#include <algorithm>
#include <utility>

#include "base/digest.h"
#include "schema/identity.h"

namespace capbench::runner {
namespace {

using Lock = std::lock_guard<std::mutex>;

// Ended by what was not its own doing: the user, or a target that went away.
bool was_cut_short(const schema::TrialRecord& trial) {
  return trial.status == "not_run" || (trial.status == "killed" && trial.reason.starts_with("interrupted")) ||
         (trial.status == "failed" && trial.reason.starts_with(kLostPrefix));
}

}  // namespace

Status Journal::put_suite(const schema::SuiteRecord& suite) {
  const Lock lock(mutex_);
  return store_.put_suite(suite);
}

Status Journal::put_environment(const schema::EnvironmentRecord& environment) {
  const Lock lock(mutex_);
  return store_.put_environment(environment);
}

Result<std::vector<schema::RunRecord>> Journal::runs(const std::string& suite_id) {
  const Lock lock(mutex_);
  return store_.runs(suite_id);
}

Status Journal::put_run(const schema::RunRecord& run) {
  const Lock lock(mutex_);
  return store_.put_run(run);
}

Status Journal::put_quality(const schema::QualityRecord& check, std::string_view out, std::string_view err) {
  const Lock lock(mutex_);
  return store_.put_quality(check, out, err);
}

Result<std::vector<schema::QualityRecord>> Journal::quality(const std::string& run_id) {
  const Lock lock(mutex_);
  return store_.quality(run_id);
}

Result<std::optional<schema::ClosureRecord>> Journal::closure(const std::string& id) {
  const Lock lock(mutex_);
  return store_.closure(id);
}

Result<std::vector<schema::TrialView>> Journal::adopt(const std::string& run_id) {
  const Lock lock(mutex_);
  auto trials = store_.trials({"", run_id, false});
  if (!trials) return trials;
  for (const schema::TrialView& view : *trials) {
    const schema::TrialRecord& trial = view.trial;
    Attempt& attempt = attempts_[{trial.arm, trial.workload, trial.model, trial.block}];
    if (trial.attempt >= attempt.number) attempt = {trial.attempt, trial.status, was_cut_short(trial)};
  }
  return trials;
}

Result<std::vector<schema::TrialView>> Journal::trials(const std::string& run_id) {
  const Lock lock(mutex_);
  return store_.trials({"", run_id, true});
}

Journal::CellKey Journal::key_of(const suite::PlannedTrial& planned) const {
  return {suite_.arms[planned.arm].name, suite_.workloads[planned.workload].name, suite_.models[planned.model].name,
          planned.block};
}

bool Journal::is_missing(const suite::PlannedTrial& planned) const {
  const Lock lock(mutex_);
  const auto it = attempts_.find(key_of(planned));
  return it == attempts_.end() || it->second.cut_short;
}

std::size_t Journal::finished() const {
  const Lock lock(mutex_);
  return static_cast<std::size_t>(
      std::count_if(attempts_.begin(), attempts_.end(), [](const auto& entry) { return !entry.second.cut_short; }));
}

std::map<std::string, std::size_t> Journal::by_status(const std::vector<suite::PlannedTrial>& plan) const {
  const Lock lock(mutex_);
  std::map<std::string, std::size_t> counts;
  for (const suite::PlannedTrial& planned : plan) {
    const auto it = attempts_.find(key_of(planned));
    if (it != attempts_.end()) ++counts[it->second.status];
  }
  return counts;
}

Status Journal::put(const suite::PlannedTrial& planned, schema::TrialRecord trial, const target::JobResult& job,
                    const std::string& probe, const schema::ClosureRecord& closure, bool cut_short) {
  trial.stdout_sha256 = sha256(job.out);
  trial.stderr_sha256 = sha256(job.err);
  if (!probe.empty()) trial.probe_sha256 = sha256(probe);
  const Lock lock(mutex_);
  if (!closure.members.empty()) {
    if (auto status = store_.put_closure(closure); !status) return status;
    trial.closure_id = closure.id;
  }
  Attempt& attempt = attempts_[key_of(planned)];
  trial.attempt = attempt.number + 1;
  trial.id = schema::trial_id(trial);
  auto stored = store_.put_trial(trial, job.out, job.err, probe);
  if (!stored && stored.error().kind != ErrorKind::kMachine && !trial.results.empty()) {
    // Something it printed is more than the store takes. The trial is a row all the same, with its raw output.
    trial.status = "failed";
    trial.reason = "its results cannot be stored: " + stored.error().cause + "; try: another version of llama-bench";
    trial.results.clear();
    trial.id = schema::trial_id(trial);
    stored = store_.put_trial(trial, job.out, job.err, probe);
  }
  if (stored) attempt = {trial.attempt, trial.status, cut_short};
  return stored;
}

}  // namespace capbench::runner
