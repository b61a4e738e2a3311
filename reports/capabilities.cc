#include "reports/capabilities.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "reports/select.h"

namespace capbench::reports {
namespace {

// What was asked and seen of one capability.
struct Seen {
  bool derived = false;
  std::string name;
  std::string requested;
  std::string observed;
  auto operator<=>(const Seen&) const = default;  // NOLINT(modernize-use-nullptr)
};

struct Where {
  std::set<std::string> sources;
  std::set<std::string> trials;
  bool agrees = true;
};

int severity(const std::string& treatment) {
  if (treatment == "invalid") return 2;
  return treatment == "proven" ? 0 : 1;
}

void add_trial(const schema::TrialRecord& trial, CapabilityArm& arm, std::map<Seen, Where>& seen) {
  arm.arm = trial.arm;
  arm.mode = trial.mode;
  if (arm.guest.empty()) arm.guest = trial.guest;
  const std::string treatment = trial.treatment.empty() ? "unproven" : trial.treatment;
  if (arm.n_trials == 0 || severity(treatment) > severity(arm.treatment)) arm.treatment = treatment;
  ++arm.n_trials;
  for (const schema::CapabilityRecord& record : trial.capabilities) {
    Where& where = seen[{record.name.starts_with("ggml."), record.name, record.requested, record.observed}];
    if (!record.source.empty()) where.sources.insert(record.source);
    where.trials.insert(trial.id);
    where.agrees = where.agrees && record.agrees;
  }
}

std::vector<CapabilityLine> lines_of(const std::map<Seen, Where>& seen) {
  std::vector<CapabilityLine> lines;
  for (const auto& [what, where] : seen) {
    CapabilityLine line;
    line.name = what.name;
    line.requested = what.requested;
    line.observed = what.observed;
    line.sources.assign(where.sources.begin(), where.sources.end());
    line.derived = what.derived;
    line.agrees = where.agrees;
    line.n_trials = where.trials.size();
    lines.push_back(std::move(line));
  }
  return lines;
}

}  // namespace

CapabilityReport build_capabilities(const std::vector<schema::TrialView>& trials) {
  using Key = std::tuple<std::string, std::string, std::string>;  // suite, its id, machine
  using Arm = std::pair<CapabilityArm, std::map<Seen, Where>>;
  std::map<Key, std::map<std::string, Arm>> places;
  std::map<std::string, std::string> labels;
  for (const schema::TrialView* view : latest_attempts(trials)) {
    if (view->trial.status == "not_run") continue;
    Arm& arm = places[{view->suite_name, view->trial.suite_id, view->machine_id}][view->trial.arm];
    add_trial(view->trial, arm.first, arm.second);
    labels[view->machine_id] = view->machine_label;
  }
  CapabilityReport report;
  for (auto& [key, arms] : places) {
    CapabilityRow row;
    std::tie(row.suite, row.suite_id, row.machine_id) = key;
    row.machine = labels[row.machine_id];
    for (auto& [name, arm] : arms) {
      arm.first.lines = lines_of(arm.second);
      row.arms.push_back(std::move(arm.first));
    }
    report.rows.push_back(std::move(row));
  }
  return report;
}

}  // namespace capbench::reports
