#include "reports/speedup.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "reports/row_rules.h"
#include "reports/select.h"

namespace capbench::reports {
namespace {

// mode -> arm -> its trials, both in alphabetical order.
using ArmsByMode = std::map<std::string, std::map<std::string, ArmTrials>>;

ArmsByMode arms_by_mode(const RowTrials& row) {
  ArmsByMode modes;
  for (const Point& point : row.points) {
    const auto& trial = point.view->trial;
    ArmTrials& arm = modes[trial.mode][trial.arm];
    arm.mode = trial.mode;
    arm.arm = trial.arm;
    arm.points.push_back(point);
  }
  return modes;
}

std::vector<const ArmTrials*> arms_of(const ArmsByMode& modes, const std::string& mode) {
  std::vector<const ArmTrials*> out;
  const auto found = modes.find(mode);
  if (found != modes.end()) {
    for (const auto& [name, arm] : found->second) out.push_back(&arm);
  }
  return out;
}

// As arms_of, but never empty: no arm is one choice too.
std::vector<const ArmTrials*> choices(const ArmsByMode& modes, const std::string& mode) {
  auto out = arms_of(modes, mode);
  if (out.empty()) out.push_back(nullptr);
  return out;
}

std::optional<ModeStats> stats_of(const std::vector<stats::Trial>& trials) {
  const std::optional<Estimate> median = headline(trials);
  if (!median) return std::nullopt;
  ModeStats out;
  out.median = *median;
  out.n_trials = trials.size();
  out.min_ts = trials.front().samples.front();
  out.max_ts = out.min_ts;
  for (const stats::Trial& trial : trials) {
    const auto [low, high] = std::minmax_element(trial.samples.begin(), trial.samples.end());
    out.min_ts = std::min(out.min_ts, *low);
    out.max_ts = std::max(out.max_ts, *high);
    out.n_samples += trial.samples.size();
  }
  return out;
}

ModeSummary summarize(const std::string& mode, const ArmTrials* arm) {
  ModeSummary summary;
  summary.mode = mode;
  summary.treatment = "unproven";
  if (arm == nullptr) return summary;
  summary.arm = arm->arm;
  summary.n_tried = arm->points.size();
  if (!arm->points.empty()) summary.target = arm->points.front().view->trial.target;
  summary.treatment = treatment_of({arm});
  summary.stats = stats_of(counted_trials(*arm));
  const auto known = [](const Point& point) { return !point.device.empty(); };
  const auto found = std::find_if(arm->points.begin(), arm->points.end(), known);
  if (found != arm->points.end()) summary.device = found->device;
  return summary;
}

std::vector<TrialPoint> points_of(const std::vector<const ArmTrials*>& arms) {
  std::vector<TrialPoint> out;
  for (const ArmTrials* arm : arms) {
    for (const Point& point : arm->points) {
      const auto& trial = point.view->trial;
      TrialPoint entry;
      entry.id = trial.id;
      entry.run_id = trial.run_id;
      entry.mode = trial.mode;
      entry.arm = trial.arm;
      entry.status = trial.status;
      entry.reason = trial.reason;
      entry.block = trial.block;
      entry.attempt = trial.attempt;
      entry.n_samples = point.ts.size();
      entry.counted = point.counted;
      if (!point.ts.empty()) entry.median_ts = stats::median(point.ts);
      out.push_back(std::move(entry));
    }
  }
  const auto order = [](const TrialPoint& p) { return std::tie(p.run_id, p.block, p.mode, p.arm); };
  std::sort(out.begin(), out.end(), [&](const auto& a, const auto& b) { return order(a) < order(b); });
  return out;
}

// The arms of one row: one of each of the three modes (or none), and all of the suite's own modes.
struct Combination {
  const ArmTrials* bare_metal = nullptr;
  const ArmTrials* stock = nullptr;
  const ArmTrials* unlocked = nullptr;
  std::vector<const ArmTrials*> others;
};

void compare(SpeedupRow& row, const Combination& arms) {
  const auto trials = [](const ArmTrials* arm) {
    return arm == nullptr ? std::vector<stats::Trial>{} : counted_trials(*arm);
  };
  row.modes.push_back(summarize(kBareMetal, arms.bare_metal));
  row.modes.push_back(summarize(kStock, arms.stock));
  row.modes.push_back(summarize(kUnlocked, arms.unlocked));
  for (const ArmTrials* other : arms.others) {
    row.modes.push_back(summarize(other->mode, other));
    row.modes.back().over_bare_metal = ratio(trials(other), trials(arms.bare_metal));
  }
  std::vector<std::pair<std::string, std::string>> devices;
  for (const ModeSummary& mode : row.modes) devices.emplace_back(mode.device, arm_name(row, mode));
  row.device = devices_text(devices);

  const auto unlocked = trials(arms.unlocked);
  row.speedup = ratio(unlocked, trials(arms.stock));
  row.percent_of_bare_metal = ratio(unlocked, trials(arms.bare_metal), 100);
}

SpeedupRow make_row(const RowTrials& trials, const Combination& arms, const Background& background, bool arms_shown) {
  SpeedupRow row;
  static_cast<Subject&>(row) = subject_of(trials, background);
  row.arms_shown = arms_shown;
  compare(row, arms);

  std::vector<const ArmTrials*> core;
  for (const ArmTrials* arm : {arms.bare_metal, arms.stock, arms.unlocked}) {
    if (arm != nullptr) core.push_back(arm);
  }
  std::vector<const ArmTrials*> all = core;
  all.insert(all.end(), arms.others.begin(), arms.others.end());

  row.treatment = treatment_of(core);
  row.quality = quality_of(core);
  row.trials = points_of(all);
  std::set<std::string> runs;
  for (const TrialPoint& point : row.trials) runs.insert(point.run_id);
  row.runs.assign(runs.begin(), runs.end());
  for (const ArmTrials* arm : all) {
    for (NotOk& entry : not_ok_of(*arm)) row.not_ok.push_back(std::move(entry));
  }
  annotate(row, core);
  if (trials.key.repeat > 0) row.flags.emplace_back("repeated-test");
  std::sort(row.flags.begin(), row.flags.end());
  return row;
}

void add_rows(const RowTrials& trials, const Background& background, std::vector<SpeedupRow>& rows) {
  const ArmsByMode modes = arms_by_mode(trials);
  bool arms_shown = false;
  std::vector<const ArmTrials*> others;
  for (const auto& [mode, arms] : modes) {
    if (is_core_mode(mode)) {
      arms_shown = arms_shown || arms.size() > 1;
    } else {
      for (const auto& [name, arm] : arms) others.push_back(&arm);
    }
  }
  for (const ArmTrials* bare_metal : choices(modes, kBareMetal)) {
    for (const ArmTrials* stock : choices(modes, kStock)) {
      for (const ArmTrials* unlocked : choices(modes, kUnlocked)) {
        rows.push_back(make_row(trials, {bare_metal, stock, unlocked, others}, background, arms_shown));
      }
    }
  }
}

// By arm only where a mode has several: else a test that one mode lacks would leave its fellows.
auto arms_place(const SpeedupRow& row) {
  const auto arm = [&](std::size_t mode) { return row.arms_shown ? row.modes[mode].arm : std::string(); };
  return std::tuple(arm(0), arm(1), arm(2));
}

bool comes_before(const SpeedupRow& a, const SpeedupRow& b) {
  const auto place = [](const SpeedupRow& r) {
    const auto subject = std::tie(r.suite, r.suite_id, r.machine, r.machine_id, r.build, r.executable_sha256,
                                  r.workload, r.model, r.model_kind, r.guest, r.device);
    return std::tuple_cat(subject, arms_place(r), std::tie(r.n_depth, r.n_gen, r.n_prompt, r.test));
  };
  return place(a) < place(b);
}

}  // namespace

bool is_core_mode(const std::string& mode) {
  return mode == kBareMetal || mode == kStock || mode == kUnlocked;
}

std::string arm_name(const SpeedupRow& row, const ModeSummary& mode) {
  const auto same_mode = [&](const ModeSummary& other) { return other.mode == mode.mode; };
  if (is_core_mode(mode.mode) || std::count_if(row.modes.begin(), row.modes.end(), same_mode) < 2) return mode.mode;
  return mode.arm.starts_with(mode.mode) ? mode.arm : fmt::format("{} ({})", mode.mode, mode.arm);
}

SpeedupReport build_speedup(const std::vector<schema::TrialView>& trials, const Background& background) {
  SpeedupReport report;
  for (const RowTrials& row : select_rows(trials)) add_rows(row, background, report.rows);
  std::sort(report.rows.begin(), report.rows.end(), comes_before);
  return report;
}

}  // namespace capbench::reports
