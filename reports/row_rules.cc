#include "reports/row_rules.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "reports/text.h"

namespace capbench::reports {
namespace {

std::string status_of(const Point& point) {
  const auto& trial = point.view->trial;
  if (trial.status != "ok") return trial.status;
  if (trial.treatment == "invalid") return "invalid_treatment";
  return trial.results.empty() && !trial.stated.empty() ? std::string(kMeanOnly) : "no_samples";
}

// The means that a trial's source states, with their deviations.
std::string stated_means(const schema::TrialRecord& trial) {
  constexpr std::size_t kMost = 6;
  std::vector<std::string> means;
  for (const schema::StatedResultRecord& stated : trial.stated) {
    if (means.size() == kMost) break;
    const std::string deviation = stated.stddev_ts ? fmt::format(" \xC2\xB1 {:.2f}", *stated.stddev_ts) : "";
    means.push_back(fmt::format("{} {:.2f}{}", one_line(stated.test), stated.mean_ts, deviation));
  }
  const std::size_t more = trial.stated.size() - means.size();
  return fmt::format("{}{} tokens/s", fmt::join(means, ", "), more > 0 ? fmt::format(" and {} more", more) : "");
}

// Trials of one arm that mapped other files than their fellows do not measure one thing.
bool closures_differ(const ArmTrials& arm) {
  std::set<std::string> closures;
  for (const Point& point : arm.points) {
    if (point.counted && !point.view->trial.closure_id.empty()) closures.insert(point.view->trial.closure_id);
  }
  return closures.size() > 1;
}

std::string arm_label(const SpeedupRow& row, const ModeSummary& mode) {
  if (!is_core_mode(mode.mode)) return arm_name(row, mode);
  return row.arms_shown && !mode.arm.empty() ? fmt::format("{} ({})", mode.mode, mode.arm) : mode.mode;
}

std::string status_in_words(const std::string& status) {
  std::string words = status;
  std::replace(words.begin(), words.end(), '_', ' ');
  return words;
}

// "stock: 1 of 5 trials not ok: timeout", "stock: 3 of 5 trials not ok: 2 timeout, 1 failed".
void note_not_ok(SpeedupRow& row) {
  for (const ModeSummary& mode : row.modes) {
    std::vector<std::string> parts;
    std::size_t total = 0;
    const auto of_mode = [&](const NotOk& entry) { return entry.mode == mode.mode && entry.arm == mode.arm; };
    const auto kinds = std::count_if(row.not_ok.begin(), row.not_ok.end(),
                                     [&](const NotOk& entry) { return of_mode(entry) && entry.status != kMeanOnly; });
    for (const NotOk& entry : row.not_ok) {
      if (!of_mode(entry)) continue;
      // There is nothing wrong with those.
      if (entry.status == kMeanOnly) {
        row.notes.push_back(fmt::format("{}: {} of {} only a mean: {}", arm_label(row, mode), entry.count,
                                        count_of(mode.n_tried, "trial"), entry.reason));
        continue;
      }
      total += entry.count;
      const std::string words = status_in_words(entry.status);
      parts.push_back(kinds == 1 ? words : fmt::format("{} {}", entry.count, words));
    }
    if (total == 0) continue;
    row.notes.push_back(fmt::format("{}: {} of {} not ok: {}", arm_label(row, mode), total,
                                    count_of(mode.n_tried, "trial"), fmt::join(parts, ", ")));
  }
}

// "No material change" is a claim: the whole interval must lie within the margin of 1.
constexpr double kMaterial = 0.02;
void note_no_change(SpeedupRow& row) {
  if (!row.speedup || !row.speedup->ci95) return;
  const Interval& ci = *row.speedup->ci95;
  if (ci.low < 1 - kMaterial || ci.high > 1 + kMaterial) return;
  row.notes.emplace_back("speedup: no material change: the interval lies within 2 % of 1");
}

void note_missing_modes(SpeedupRow& row) {
  for (const ModeSummary& mode : row.modes) {
    if (mode.stats) continue;
    row.notes.push_back(mode.n_tried == 0 ? fmt::format("{}: not measured", mode.mode)
                                          : fmt::format("{}: no trial counts", arm_label(row, mode)));
  }
}

}  // namespace

std::vector<stats::Trial> counted_trials(const ArmTrials& arm) {
  std::vector<stats::Trial> out;
  for (const Point& point : arm.points) {
    if (point.counted) out.push_back({point.block, point.ts});
  }
  return out;
}

std::string treatment_of(const std::vector<const ArmTrials*>& arms) {
  bool any_counted = false;
  bool all_proven = true;
  for (const ArmTrials* arm : arms) {
    for (const Point& point : arm->points) {
      const auto& trial = point.view->trial;
      if (trial.treatment == "invalid" || trial.status == "invalid_treatment") return "invalid";
      if (!point.counted) continue;
      any_counted = true;
      all_proven = all_proven && trial.treatment == "proven";
    }
  }
  return any_counted && all_proven ? "proven" : "unproven";
}

std::string quality_of(const std::vector<const ArmTrials*>& arms) {
  bool any_checked = false;
  bool all_passed = true;
  for (const ArmTrials* arm : arms) {
    for (const Point& point : arm->points) {
      const auto& trial = point.view->trial;
      if (trial.quality == "wrong" || trial.status == "wrong_output") return "wrong";
      // The bare-metal arm is what the others are checked against.
      if (!point.counted || arm->mode == kBareMetal) continue;
      any_checked = true;
      all_passed = all_passed && trial.quality == "passed";
    }
  }
  return any_checked && all_passed ? "passed" : "unchecked";
}

std::vector<NotOk> not_ok_of(const ArmTrials& arm) {
  std::map<std::string, NotOk> by_status;
  for (const Point& point : arm.points) {
    if (point.counted) continue;
    const std::string status = status_of(point);
    NotOk& entry = by_status[status];
    if (entry.count++ == 0) entry = {arm.mode, arm.arm, status, point.view->trial.reason, 1, {}};
    constexpr std::size_t kMostShown = 3;
    if (status == kMeanOnly && entry.count <= kMostShown) {
      entry.reason += (entry.reason.empty() ? "" : "; ") + stated_means(point.view->trial);
    }
    entry.trials.push_back(point.view->trial.id);
  }
  std::vector<NotOk> out;
  for (auto& [status, entry] : by_status) out.push_back(std::move(entry));
  return out;
}

void annotate(SpeedupRow& row, const std::vector<const ArmTrials*>& arms) {
  std::set<std::string> flags;
  for (const ArmTrials* arm : arms) {
    for (const Point& point : arm->points) {
      if (point.counted) flags.insert(point.view->trial.flags.begin(), point.view->trial.flags.end());
    }
    const auto found = arm_flags(counted_trials(*arm));
    flags.insert(found.begin(), found.end());
    if (closures_differ(*arm)) flags.insert("closure-differs");
  }
  if (row.machine_is_virtual) flags.insert("machine-is-virtual");
  if (row.model_kind == "twin") flags.insert("twin");
  for (const NotOk& entry : row.not_ok) flags.insert(entry.status == kMeanOnly ? "mean only" : "trials-not-ok");
  std::set<std::string> devices;
  for (const ModeSummary& mode : row.modes) {
    if (!mode.device.empty()) devices.insert(mode.device);
  }
  if (devices.size() > 1) flags.insert("device-differs");
  const auto& percent = row.percent_of_bare_metal;
  if (percent && percent->ci95 && percent->ci95->low > 100) flags.insert("over-bare-metal");
  if (row.quality == "wrong") row.notes.emplace_back("the output failed its quality check");
  note_no_change(row);
  note_missing_modes(row);
  note_not_ok(row);
  row.flags.assign(flags.begin(), flags.end());
}

}  // namespace capbench::reports
