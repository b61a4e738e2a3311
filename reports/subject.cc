#include "reports/subject.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <tuple>

#include "reports/text.h"

namespace capbench::reports {
namespace {

std::size_t telling_length(const std::set<std::string>& ids) {
  constexpr std::size_t kShortest = 8;
  std::size_t longest = kShortest;
  // In sorted order the neighbours share the longest beginnings.
  for (auto a = ids.begin(), b = std::next(a); b != ids.end(); ++a, ++b) {
    const auto differ = std::mismatch(a->begin(), a->end(), b->begin(), b->end()).second;
    longest = std::max(longest, static_cast<std::size_t>(std::distance(b->begin(), differ)) + 1);
  }
  return longest;
}

// An application that never got as far as a result never named its build.
std::string build_text(const Subject& row, const Names& builds) {
  if (!row.build.empty()) return builds.label(row.build, row.executable_sha256);
  if (row.executable_sha256.empty()) return "unknown";
  return fmt::format("unknown; executable {}", short_id(row.executable_sha256));
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

}  // namespace

Subject subject_of(const RowTrials& trials, const Background& background) {
  const RowKey& key = trials.key;
  const schema::TrialView& any = *trials.points.front().view;
  Subject row;
  row.suite = any.suite_name;
  row.suite_id = key.suite_id;
  row.machine = any.machine_label;
  row.machine_id = key.machine_id;
  row.machine_is_virtual = std::any_of(trials.points.begin(), trials.points.end(),
                                       [](const Point& point) { return point.view->machine_is_virtual; });
  row.build = key.build;
  row.executable_sha256 = key.executable_sha256;
  row.workload = key.workload;
  row.model = key.model;
  row.model_kind = key.model_kind;
  row.test = key.repeat == 0 ? key.test : key.test + " #" + std::to_string(key.repeat + 1);
  row.n_prompt = key.n_prompt;
  row.n_gen = key.n_gen;
  row.n_depth = key.n_depth;
  row.guest = key.guest;
  std::set<std::string> versions;
  for (const Point& point : trials.points) {
    row.imported = row.imported || !point.view->trial.source_sha256.empty();
    const std::string& start = point.view->trial.started_at;
    if (!start.empty()) {
      if (row.measured_first.empty() || start < row.measured_first) row.measured_first = start;
      row.measured_last = std::max(row.measured_last, start);
    }
    const auto version = background.capbench_by_run.find(point.view->trial.run_id);
    if (version != background.capbench_by_run.end() && !version->second.empty()) versions.insert(version->second);
  }
  row.capbench.assign(versions.begin(), versions.end());
  const auto description = background.description_by_suite.find(row.suite_id);
  if (description != background.description_by_suite.end()) row.suite_description = description->second;
  return row;
}

std::string devices_text(const std::vector<std::pair<std::string, std::string>>& device_and_arm) {
  std::vector<std::pair<std::string, std::vector<std::string>>> arms_by_device;
  for (const auto& [device, arm] : device_and_arm) {
    if (device.empty()) continue;
    const auto same = [&, &name = device](const auto& entry) { return entry.first == name; };
    auto found = std::find_if(arms_by_device.begin(), arms_by_device.end(), same);
    if (found == arms_by_device.end()) found = arms_by_device.insert(found, {device, {}});
    found->second.push_back(arm);
  }
  if (arms_by_device.size() == 1) return arms_by_device.front().first;
  std::vector<std::string> parts;
  for (const auto& [device, arms] : arms_by_device) {
    parts.push_back(fmt::format("{} ({})", device, fmt::join(arms, ", ")));
  }
  return fmt::format("{}", fmt::join(parts, "; "));
}

std::string Names::label(const std::string& name, const std::string& id) const {
  const std::string text = name.empty() ? "(no name)" : one_line(name);
  const auto found = ids_.find(name);
  if (found == ids_.end() || found->second.size() < 2) return text;
  return fmt::format("{} [{}]", text, id.empty() ? "unknown" : one_line(id.substr(0, telling_length(found->second))));
}

void SubjectNames::add(const Subject& subject) {
  suites.add(subject.suite, subject.suite_id);
  machines.add(subject.machine, subject.machine_id);
  builds.add(subject.build, subject.executable_sha256);
}

bool same_but_test(const Subject& a, const Subject& b) {
  const auto key = [](const Subject& row) {
    return std::tie(row.suite_id, row.machine_id, row.build, row.executable_sha256, row.workload, row.model,
                    row.model_kind, row.guest, row.device);
  };
  return key(a) == key(b);
}

bool subject_before(const Subject& a, const Subject& b) {
  const auto place = [](const Subject& r) {
    return std::tie(r.suite, r.suite_id, r.machine, r.machine_id, r.build, r.executable_sha256, r.workload, r.model,
                    r.model_kind, r.guest, r.device, r.n_depth, r.n_gen, r.n_prompt, r.test);
  };
  return place(a) < place(b);
}

std::string subject_title(const Subject& subject) {
  return fmt::format("{}{}, workload {}", one_line(subject.model), subject.model_kind == "twin" ? " (twin)" : "",
                     one_line(subject.workload));
}

std::vector<std::pair<std::string, std::string>> subject_details(const Subject& subject, const SubjectNames& names) {
  return {
      {"suite", names.suites.label(subject.suite, subject.suite_id)},
      {"machine", names.machines.label(subject.machine, subject.machine_id) +
                      (subject.machine_is_virtual ? " (itself virtual)" : "")},
      {"device", subject.device.empty() ? "unknown" : one_line(subject.device)},
      {"build", build_text(subject, names.builds)},
      {"guest", guest_text(subject.guest)},
  };
}

std::string measured_text(const std::vector<const Subject*>& rows) {
  std::string first;
  std::string last;
  std::set<std::string> versions;
  bool imported = false;
  for (const Subject* row : rows) {
    imported = imported || row->imported;
    if (!row->measured_first.empty() && (first.empty() || row->measured_first < first)) first = row->measured_first;
    last = std::max(last, row->measured_last);
    versions.insert(row->capbench.begin(), row->capbench.end());
  }
  std::vector<std::string> parts;
  if (!first.empty()) {
    parts.push_back(day_of(first) == day_of(last) ? day_of(first)
                                                  : fmt::format("{} to {}", day_of(first), day_of(last)));
  }
  if (!versions.empty()) {
    parts.push_back(
        one_line(fmt::format("{}with capbench {}", imported ? "imported " : "", fmt::join(versions, ", "))));
  }
  return fmt::format("{}", fmt::join(parts, ", "));
}

std::string subject_test(const Subject& subject) {
  return subject.test.empty() ? "(no result)" : one_line(subject.test);
}

std::string short_id(const std::string& id) {
  constexpr std::size_t kDigits = 12;
  return one_line(id.substr(0, kDigits));
}

}  // namespace capbench::reports
