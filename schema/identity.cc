#include "schema/identity.h"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "base/digest.h"
#include "schema/canonical.h"

namespace capbench::schema {

using nlohmann::json;

std::string suite_id(const SuiteRecord& suite) {
  return sha256(suite.json);
}

std::string environment_id(const EnvironmentRecord& environment) {
  return sha256(environment.json);
}

std::string closure_id(const ClosureRecord& closure) {
  std::vector<std::array<std::string, 3>> files;
  files.reserve(closure.members.size());
  for (const ClosureMember& member : closure.members) {
    files.push_back({to_utf8(member.role), to_utf8(member.artifact.name), to_utf8(member.artifact.sha256)});
  }
  std::sort(files.begin(), files.end());
  files.erase(std::unique(files.begin(), files.end()), files.end());
  return sha256(canonical(files));
}

std::string run_id(const RunRecord& run) {
  return sha256(canonical({
      {"machine", to_utf8(run.machine_id)},
      {"seed", run.seed},
      {"started_at", to_utf8(run.started_at)},
      {"suite", to_utf8(run.suite_id)},
  }));
}

std::string trial_id(const TrialRecord& trial) {
  json samples = json::array();
  for (const ResultRecord& result : trial.results) {
    samples.push_back(json::array({to_utf8(result.test), result.samples_ns}));
  }
  return sha256(canonical({
      {"arm", to_utf8(trial.arm)},
      {"attempt", trial.attempt},
      {"block", trial.block},
      {"closure", to_utf8(trial.closure_id)},
      {"model", to_utf8(trial.model)},
      {"run", to_utf8(trial.run_id)},
      {"samples", samples},
      {"status", to_utf8(trial.status)},
      {"workload", to_utf8(trial.workload)},
  }));
}

}  // namespace capbench::schema
