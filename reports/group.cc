#include "reports/group.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <set>
#include <string_view>
#include <tuple>
#include <utility>

#include "reports/flags_text.h"
#include "reports/text.h"

namespace capbench::reports {
namespace {

constexpr std::string_view kLocalTarget = "local";

bool same_group(const SpeedupRow& a, const SpeedupRow& b) {
  const auto arms = [](const SpeedupRow& row) {
    return std::tie(row.modes[0].arm, row.modes[1].arm, row.modes[2].arm);
  };
  // A mode that one test lacks ran nowhere for it; what both have must have run in one place.
  const auto targets = [](const SpeedupRow& one, const SpeedupRow& other) {
    for (std::size_t i = 0; i < 3; ++i) {
      const std::string& here = one.modes[i].target;
      const std::string& there = other.modes[i].target;
      if (!here.empty() && !there.empty() && here != there) return false;
    }
    return true;
  };
  return same_but_test(a, b) && targets(a, b) && a.arms_shown == b.arms_shown && (!a.arms_shown || arms(a) == arms(b));
}

std::string arms_text(const SpeedupRow& row) {
  std::vector<std::string> parts;
  for (const ModeSummary& mode : row.modes) {
    if (is_core_mode(mode.mode) && !mode.arm.empty())
      parts.push_back(fmt::format("{}: {}", mode.mode, one_line(mode.arm)));
  }
  return fmt::format("{}", fmt::join(parts, "; "));
}

// Where the arms ran, if any of them ran elsewhere than on this machine itself.
std::string targets_text(const SpeedupRow& row) {
  std::vector<std::pair<std::string, std::string>> target_and_arm;
  bool elsewhere = false;
  for (const ModeSummary& mode : row.modes) {
    elsewhere = elsewhere || (!mode.target.empty() && mode.target != kLocalTarget);
    target_and_arm.emplace_back(mode.target, arm_name(row, mode));
  }
  return elsewhere ? one_line(devices_text(target_and_arm)) : "";
}

// Of several, the one that says least for the arm.
const std::string& worse_treatment(const std::string& a, const std::string& b) {
  const auto rank = [](const std::string& treatment) {
    if (treatment == "invalid") return 2;
    return treatment == "proven" ? 0 : 1;
  };
  return rank(b) > rank(a) ? b : a;
}

std::string in_words(std::string status) {
  std::replace(status.begin(), status.end(), '_', ' ');
  return one_line(status);
}

std::string arm_label(const NotOk& entry) {
  if (entry.arm.starts_with(entry.mode)) return one_line(entry.arm);
  return one_line(entry.arm.empty() ? entry.mode : fmt::format("{} ({})", entry.mode, entry.arm));
}

// Distinct, in order of first use.
void add_once(std::vector<std::string>& list, const std::string& text) {
  if (!text.empty() && std::find(list.begin(), list.end(), text) == list.end()) list.push_back(text);
}

bool any_row(const SpeedupReport& report, bool (*test)(const SpeedupRow&)) {
  return std::any_of(report.rows.begin(), report.rows.end(), test);
}

void explain_numbers(const SpeedupReport& report, std::vector<std::string>& out) {
  std::vector<std::string> headlines;
  std::vector<std::string> ratios;
  std::vector<std::string> intervals;
  for (const SpeedupRow& row : report.rows) {
    for (const ModeSummary& mode : row.modes) {
      if (mode.stats) add_once(headlines, mode.stats->median.estimator);
    }
    for (const auto& estimate : {row.speedup, row.percent_of_bare_metal}) {
      if (!estimate) continue;
      add_once(ratios, estimate->estimator);
      if (estimate->ci95) add_once(intervals, estimate->interval);
    }
  }
  if (!headlines.empty()) {
    out.push_back(fmt::format("Speeds are tokens per second: the {}.", fmt::join(headlines, ", or the ")));
  }
  if (!ratios.empty())
    out.push_back(fmt::format("Speedup is unlocked over stock: the {}.", fmt::join(ratios, ", or the ")));
  const bool own_ratio = any_row(report, [](const SpeedupRow& row) {
    return std::any_of(row.modes.begin(), row.modes.end(),
                       [](const ModeSummary& mode) { return mode.over_bare_metal.has_value(); });
  });
  if (own_ratio) out.emplace_back("The suite's own arms are compared with bare metal: their speed over bare-metal's.");
  if (!intervals.empty()) {
    // From two trials there is no level of confidence.
    const bool bare_range = std::any_of(intervals.begin(), intervals.end(),
                                        [](const std::string& label) { return label.starts_with("min-max"); });
    out.push_back(fmt::format("Brackets hold the interval of the ratio, at 95 %{}: {}.",
                              bare_range ? " unless it is a min-max" : "", fmt::join(intervals, "; ")));
  }
}

void explain_treatment(const SpeedupReport& report, std::vector<std::string>& out) {
  if (any_row(report, [](const SpeedupRow& r) { return r.guest == "stand-in"; })) {
    out.emplace_back(
        "Guest stand-in: no VM took part. A layer below the shim made this machine answer as a conservative guest "
        "would; "
        "such results say nothing about a VM's own overhead.");
  }
  if (any_row(report, [](const SpeedupRow& r) { return r.machine_is_virtual; })) {
    out.emplace_back(
        "A machine here is itself virtual: there, bare-metal means without the guest under test, not without any "
        "virtualization.");
  }
  if (any_row(report, [](const SpeedupRow& r) { return r.model_kind == "twin"; })) {
    out.emplace_back(
        "Twin: a model of the real one's shapes and quantisation with made-up weights. It stands for the real model's "
        "speed, not for its output.");
  }
  // Of a row without results neither treatment nor quality is printed.
  if (any_row(report, [](const SpeedupRow& r) { return !r.test.empty() && r.treatment == "unproven"; })) {
    out.emplace_back("Treatment unproven: nothing shows that every trial got the capabilities that its arm asked for.");
  }
  if (any_row(report, [](const SpeedupRow& r) { return !r.test.empty() && r.treatment == "invalid"; })) {
    out.emplace_back(
        "Treatment invalid: a trial did not get the capabilities that its arm asked for. It does not count.");
  }
  if (any_row(report, [](const SpeedupRow& r) { return !r.test.empty() && r.quality == "unchecked"; })) {
    out.emplace_back("Quality unchecked: no check has compared the output with that of bare metal.");
  }
  if (any_row(report, [](const SpeedupRow& r) { return !r.test.empty() && r.quality == "wrong"; })) {
    out.emplace_back("Quality WRONG: the output failed its check. The speed of a wrong answer is worth nothing.");
  }
}

void explain_flags(const SpeedupReport& report, std::vector<std::string>& out) {
  std::set<std::string> used;
  for (const SpeedupRow& row : report.rows) used.insert(row.flags.begin(), row.flags.end());
  for (std::string& sentence : flag_explanations(used)) out.push_back(std::move(sentence));
}

}  // namespace

std::vector<Group> group_rows(const SpeedupReport& report) {
  SubjectNames names;
  for (const SpeedupRow& row : report.rows) names.add(row);
  std::vector<Group> groups;
  for (const SpeedupRow& row : report.rows) {
    if (groups.empty() || !same_group(*groups.back().rows.front(), row)) {
      Group group;
      group.title = subject_title(row);
      group.about = one_line(row.suite_description);
      group.details = subject_details(row, names);
      if (row.arms_shown) group.details.emplace_back("arms", arms_text(row));
      if (std::string targets = targets_text(row); !targets.empty()) {
        group.details.emplace_back("target", std::move(targets));
      }
      groups.push_back(std::move(group));
    }
    groups.back().rows.push_back(&row);
    groups.back().has_results = groups.back().has_results || !row.test.empty();
  }
  for (Group& group : groups) {
    std::string measured = measured_text({group.rows.begin(), group.rows.end()});
    if (!measured.empty()) group.details.emplace_back("measured", std::move(measured));
  }
  return groups;
}

std::vector<std::string> explanations(const SpeedupReport& report) {
  std::vector<std::string> out;
  explain_numbers(report, out);
  explain_treatment(report, out);
  explain_flags(report, out);
  return out;
}

std::vector<std::string> group_notes(const Group& group) {
  std::vector<std::vector<std::string>> notes;
  std::map<std::string, std::size_t> uses;
  for (const SpeedupRow* row : group.rows) {
    notes.emplace_back();
    // Without results, reasons_for_no_result says all of it.
    if (group.has_results) notes.back() = row->notes;
    if (!row->flags.empty()) notes.back().push_back(fmt::format("flags: {}", fmt::join(row->flags, ", ")));
    for (const std::string& note : notes.back()) ++uses[note];
  }
  std::vector<std::string> out;
  for (std::size_t i = 0; i < notes.size(); ++i) {
    const SpeedupRow* row = group.rows[i];
    for (const std::string& note : notes[i]) {
      add_once(out,
               uses[note] == notes.size() ? one_line(note) : fmt::format("{}: {}", test_name(*row), one_line(note)));
    }
  }
  for (std::string& line : not_ok_trials(group)) out.push_back(std::move(line));
  return out;
}

std::vector<OwnArm> own_arms(const Group& group) {
  std::vector<OwnArm> arms;
  for (std::size_t i = 0; i < group.rows.size(); ++i) {
    const SpeedupRow& row = *group.rows[i];
    for (const ModeSummary& mode : row.modes) {
      if (is_core_mode(mode.mode)) continue;
      const std::string name = mode_name(row, mode);
      auto arm = std::find_if(arms.begin(), arms.end(), [&](const OwnArm& known) { return known.name == name; });
      if (arm == arms.end()) {
        arm = arms.insert(arm, {name, std::vector<const ModeSummary*>(group.rows.size(), nullptr), mode.treatment});
      }
      arm->rows[i] = &mode;
      arm->treatment = worse_treatment(arm->treatment, mode.treatment);
    }
  }
  return arms;
}

std::vector<std::string> reasons_for_no_result(const Group& group) {
  const bool only_means = std::all_of(group.rows.begin(), group.rows.end(), [](const SpeedupRow* row) {
    return std::all_of(row->not_ok.begin(), row->not_ok.end(),
                       [](const NotOk& entry) { return entry.status == kMeanOnly; });
  });
  std::vector<std::string> out;
  out.emplace_back(only_means ? "The source gives means and no samples: they have no median and no interval, and are "
                                "not compared."
                              : "No trial got as far as a result, so there is nothing to compare.");
  for (const SpeedupRow* row : group.rows) {
    for (const NotOk& entry : row->not_ok) {
      std::string line =
          fmt::format("{}: {} {}", arm_label(entry), count_of(entry.count, "trial"), in_words(entry.status));
      if (!entry.reason.empty()) line += fmt::format(": {}", one_line(entry.reason));
      add_once(out, line);
    }
  }
  return out;
}

std::vector<std::string> not_ok_trials(const Group& group) {
  // In the order of the rows' lists; a trial that failed stands in the row of every test.
  std::vector<std::pair<std::string, std::vector<std::string>>> ids_by_cause;
  for (const SpeedupRow* row : group.rows) {
    for (const NotOk& entry : row->not_ok) {
      if (entry.status == kMeanOnly) continue;
      const std::string cause = fmt::format("{}, {}", arm_label(entry), in_words(entry.status));
      auto found = std::find_if(ids_by_cause.begin(), ids_by_cause.end(),
                                [&](const auto& known) { return known.first == cause; });
      if (found == ids_by_cause.end()) found = ids_by_cause.insert(found, {cause, {}});
      for (const std::string& id : entry.trials) add_once(found->second, short_id(id));
    }
  }
  std::vector<std::string> out;
  for (const auto& [cause, ids] : ids_by_cause) {
    if (!ids.empty()) {
      out.push_back(
          fmt::format("not ok: {}: {} {}", cause, ids.size() == 1 ? "trial" : "trials", fmt::join(ids, ", ")));
    }
  }
  return out;
}

std::string test_name(const SpeedupRow& row) {
  return subject_test(row);
}

std::string mode_name(const SpeedupRow& row, const ModeSummary& mode) {
  return one_line(arm_name(row, mode));
}

std::string mode_key(const SpeedupRow& row, const ModeSummary& mode) {
  const bool several = std::count_if(row.modes.begin(), row.modes.end(),
                                     [&](const ModeSummary& other) { return other.mode == mode.mode; }) > 1;
  return !is_core_mode(mode.mode) && several ? fmt::format("{} ({})", one_line(mode.mode), one_line(mode.arm))
                                             : one_line(mode.mode);
}

}  // namespace capbench::reports
