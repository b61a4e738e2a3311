#include "schema/restated.h"

#include <charconv>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/digest.h"
#include "base/utf8.h"
#include "schema/canonical.h"
#include "schema/identity.h"

namespace capbench::schema {

using nlohmann::json;

std::string restated_trial(std::string_view fields) {
  // Most rows are of no export, and finding that out is to cost nothing.
  if (fields.find(kRestatedTrial) == std::string_view::npos) return "";
  const json document = json::parse(fields, nullptr, false);
  if (!document.is_object()) return "";
  const auto found = document.find(kRestatedTrial);
  return found == document.end() || !found->is_string() ? "" : found->get<std::string>();
}

std::string restated_trial(const TrialRecord& trial) {
  if (trial.source_sha256.empty()) return "";
  if (!trial.results.empty()) return restated_trial(trial.results.front().fields);
  return trial.stated.empty() ? "" : restated_trial(trial.stated.front().fields);
}

bool is_superseded(const TrialRecord& trial) {
  if (trial.status != "excluded" || trial.source_sha256.empty()) return false;
  const std::string was = "was " + trial.status_before_exclusion + ": ";
  std::string_view reason = trial.reason;
  if (!reason.starts_with(was)) return false;
  reason.remove_prefix(was.size());
  return reason.starts_with(kItselfCameIn) || reason == kReadAnotherWay;
}

SuiteRecord restated_suite(std::string_view name, std::string_view id) {
  const json document = {{"capbench", 1},
                         {"name", to_utf8(name)},
                         {"imported", true},
                         {"exported_from", to_utf8(id)},
                         {"description", "Results of this suite that were exported from another store."}};
  SuiteRecord suite;
  suite.name = document["name"].get<std::string>();
  suite.json = canonical(document);
  suite.id = suite_id(suite);
  return suite;
}

RunRecord restated_run(std::string_view id, std::string_view suite_id, std::string_view machine_id) {
  RunRecord run;
  run.suite_id = suite_id;
  run.machine_id = machine_id;
  // A run's own id says all that tells it from others. An id that is none gives what its digest does.
  const std::string digits = is_sha256(id) ? std::string(id) : sha256(id);
  std::from_chars(digits.data(), digits.data() + 16, run.seed, 16);
  run.state = "complete";
  run.id = run_id(run);
  return run;
}

std::string restated_id(TrialRecord trial, std::string_view run) {
  trial.run_id = run;
  trial.closure_id.clear();
  trial.attempt = 1;
  trial.status = "ok";
  return trial_id(trial);
}

}  // namespace capbench::schema
