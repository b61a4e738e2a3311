#include "reports/group.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <set>
#include <tuple>

#include "reports/text.h"

namespace capbench::reports {
namespace {

// Finds names that stand for more than one identity.
class Names {
 public:
  void add(const std::string& name, const std::string& id) { ids_[name].insert(id); }

  // The name, with the start of the identity if another thing has the same name; enough of it to tell them apart.
  std::string label(const std::string& name, const std::string& id) const {
    const std::string text = name.empty() ? "(no name)" : one_line(name);
    const auto found = ids_.find(name);
    if (found == ids_.end() || found->second.size() < 2) return text;
    return fmt::format("{} [{}]", text, id.empty() ? "unknown" : one_line(id.substr(0, telling_length(found->second))));
  }

 private:
  static std::size_t telling_length(const std::set<std::string>& ids) {
    constexpr std::size_t kShortest = 8;
    std::size_t longest = kShortest;
    // In sorted order the neighbours share the longest beginnings.
    for (auto a = ids.begin(), b = std::next(a); b != ids.end(); ++a, ++b) {
      const auto differ = std::mismatch(a->begin(), a->end(), b->begin(), b->end()).second;
      longest = std::max(longest, static_cast<std::size_t>(std::distance(b->begin(), differ)) + 1);
    }
    return longest;
  }

  std::map<std::string, std::set<std::string>> ids_;
};

// An application that never got as far as a result never named its build.
std::string build_text(const SpeedupRow& row, const Names& builds) {
  if (!row.build.empty()) return builds.label(row.build, row.executable_sha256);
  if (row.executable_sha256.empty()) return "unknown";
  return fmt::format("unknown; executable {}", short_id(row.executable_sha256));
}

bool same_group(const SpeedupRow& a, const SpeedupRow& b) {
  const auto key = [](const SpeedupRow& row) {
    return std::tie(row.suite_id, row.machine_id, row.build, row.executable_sha256, row.workload, row.model,
                    row.model_kind, row.guest, row.device, row.arms_shown);
  };
  const auto arms = [](const SpeedupRow& row) {
    return std::tie(row.modes[0].arm, row.modes[1].arm, row.modes[2].arm);
  };
  return key(a) == key(b) && (!a.arms_shown || arms(a) == arms(b));
}

std::string arms_text(const SpeedupRow& row) {
  std::vector<std::string> parts;
  for (const ModeSummary& mode : row.modes) {
    if (is_core_mode(mode.mode) && !mode.arm.empty())
      parts.push_back(fmt::format("{}: {}", mode.mode, one_line(mode.arm)));
  }
  return fmt::format("{}", fmt::join(parts, "; "));
}

std::string guest_text(const std::string& guest) {
  if (guest.empty()) return "none, the host itself";
  return guest == "vm" ? "VM" : one_line(guest);
}

// The day of "2026-11-30T04:25:07.123Z".
std::string day_of(const std::string& time) {
  constexpr std::size_t kDay = 10;
  return one_line(time.substr(0, std::min(time.find('T'), kDay)));
}

// "2026-11-28 to 2026-11-30, with capbench 0.1.0"; the rows are tests of the same trials.
std::string measured_text(const std::vector<const SpeedupRow*>& rows) {
  std::string first;
  std::string last;
  std::set<std::string> versions;
  for (const SpeedupRow* row : rows) {
    if (!row->measured_first.empty() && (first.empty() || row->measured_first < first)) first = row->measured_first;
    last = std::max(last, row->measured_last);
    versions.insert(row->capbench.begin(), row->capbench.end());
  }
  std::vector<std::string> parts;
  if (!first.empty()) {
    parts.push_back(day_of(first) == day_of(last) ? day_of(first)
                                                  : fmt::format("{} to {}", day_of(first), day_of(last)));
  }
  if (!versions.empty()) parts.push_back(one_line(fmt::format("with capbench {}", fmt::join(versions, ", "))));
  return fmt::format("{}", fmt::join(parts, ", "));
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

bool has_flag(const SpeedupRow& row, std::string_view flag) {
  return std::find(row.flags.begin(), row.flags.end(), flag) != row.flags.end();
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
  if (any_row(report, [](const SpeedupRow& r) { return r.treatment == "unproven"; })) {
    out.emplace_back("Treatment unproven: nothing shows that every trial got the capabilities that its arm asked for.");
  }
  if (any_row(report, [](const SpeedupRow& r) { return r.treatment == "invalid"; })) {
    out.emplace_back(
        "Treatment invalid: a trial did not get the capabilities that its arm asked for. It does not count.");
  }
  if (any_row(report, [](const SpeedupRow& r) { return r.quality == "unchecked"; })) {
    out.emplace_back("Quality unchecked: no check has compared the output with that of bare metal.");
  }
  if (any_row(report, [](const SpeedupRow& r) { return r.quality == "wrong"; })) {
    out.emplace_back("Quality WRONG: the output failed its check. The speed of a wrong answer is worth nothing.");
  }
}

void explain_flags(const SpeedupReport& report, std::vector<std::string>& out) {
  struct Meaning {
    const char* flag;
    const char* text;
  };
  constexpr Meaning kMeanings[] = {
      {"single-process", "an arm has one trial only, so nothing is known of how processes differ"},
      {"few-trials", "an arm has fewer than 7 trials, so intervals between trials are weak"},
      {"outlying-trial", "a trial lies far from its arm's others; it counts all the same"},
      {"outlying-first-sample", "the first sample of a trial lies far from its others, as after a cold start"},
      {"drift", "the samples of a trial only rise or only fall, by more than 10 %"},
      {"closure-differs", "trials of one arm did not run the same files"},
      {"repeated-test", "a trial has several results of this name"},
      {"device-differs", "the arms ran on devices of different names, as a guest's GPU has one of its own"},
      {"trials-not-ok", "a trial does not count, for the reason that stands beside it"},
  };
  for (const Meaning& meaning : kMeanings) {
    const bool used = std::any_of(report.rows.begin(), report.rows.end(),
                                  [&](const SpeedupRow& row) { return has_flag(row, meaning.flag); });
    if (used) out.push_back(fmt::format("Flag {}: {}.", meaning.flag, meaning.text));
  }
}

}  // namespace

std::vector<Group> group_rows(const SpeedupReport& report) {
  Names suites;
  Names machines;
  Names builds;
  for (const SpeedupRow& row : report.rows) {
    suites.add(row.suite, row.suite_id);
    machines.add(row.machine, row.machine_id);
    builds.add(row.build, row.executable_sha256);
  }
  std::vector<Group> groups;
  for (const SpeedupRow& row : report.rows) {
    if (groups.empty() || !same_group(*groups.back().rows.front(), row)) {
      Group group;
      group.title = fmt::format("{}{}, workload {}", one_line(row.model), row.model_kind == "twin" ? " (twin)" : "",
                                one_line(row.workload));
      group.about = one_line(row.suite_description);
      group.details = {
          {"suite", suites.label(row.suite, row.suite_id)},
          {"machine",
           machines.label(row.machine, row.machine_id) + (row.machine_is_virtual ? " (itself virtual)" : "")},
          {"device", row.device.empty() ? "unknown" : one_line(row.device)},
          {"build", build_text(row, builds)},
          {"guest", guest_text(row.guest)},
      };
      if (row.arms_shown) group.details.emplace_back("arms", arms_text(row));
      groups.push_back(std::move(group));
    }
    groups.back().rows.push_back(&row);
    groups.back().has_results = groups.back().has_results || !row.test.empty();
  }
  for (Group& group : groups) {
    std::string measured = measured_text(group.rows);
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
  std::vector<std::string> out = {"No trial got as far as a result, so there is nothing to compare."};
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

std::string short_id(const std::string& id) {
  constexpr std::size_t kDigits = 12;
  return one_line(id.substr(0, kDigits));
}

std::string test_name(const SpeedupRow& row) {
  return row.test.empty() ? "(no result)" : one_line(row.test);
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
