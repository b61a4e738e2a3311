#include "reports/ablation_arms.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <cmath>
#include <map>
#include <tuple>
#include <utility>

#include "reports/text.h"

namespace capbench::reports {
namespace {

constexpr std::string_view kGgml = "ggml.";

// The more direct, the lower.
int source_rank(const std::string& source) {
  constexpr std::array<std::string_view, 3> kSources = {"probe", "ggml log", "shim banner"};
  const auto found = std::find(kSources.begin(), kSources.end(), source);
  return static_cast<int>(found - kSources.begin());
}

// Of one trial, one entry a capability: from its most direct source.
std::map<std::string, Observed> observed_in(const schema::TrialRecord& trial) {
  std::map<std::string, Observed> out;
  for (const schema::CapabilityRecord& record : trial.capabilities) {
    Observed& entry = out[record.name];
    entry.name = record.name;
    if (!record.requested.empty()) entry.requested = record.requested;
    if (record.observed.empty()) continue;
    if (entry.value.empty() || source_rank(record.source) < source_rank(entry.source)) {
      entry.value = record.observed;
      entry.source = record.source;
    }
  }
  return out;
}

// Over the trials that count; over all if none does.
std::map<std::string, Observed> observed_over(const ArmTrials& arm) {
  const bool any_counted =
      std::any_of(arm.points.begin(), arm.points.end(), [](const Point& point) { return point.counted; });
  std::map<std::string, Observed> out;
  for (const Point& point : arm.points) {
    if (any_counted && !point.counted) continue;
    for (auto& [name, seen] : observed_in(point.view->trial)) {
      const auto [place, is_new] = out.emplace(name, seen);
      if (is_new || seen.value.empty()) continue;
      Observed& entry = place->second;
      if (entry.value.empty() || source_rank(seen.source) < source_rank(entry.source)) {
        entry.value = seen.value;
        entry.source = seen.source;
      } else if (entry.value != seen.value && entry.source == seen.source) {
        entry.value = "varies";
      }
    }
  }
  return out;
}

std::string in_words(std::string status) {
  std::replace(status.begin(), status.end(), '_', ' ');
  return status;
}

void set_status(AblationArm& arm) {
  std::size_t not_ok = 0;
  for (const NotOk& entry : arm.not_ok) not_ok += entry.count;
  const std::size_t ok = arm.n_tried - not_ok;
  const auto never_ran = [](const NotOk& entry) { return entry.status == "not_run"; };
  if (std::all_of(arm.not_ok.begin(), arm.not_ok.end(), never_ran) && ok == 0) {
    arm.status = "not run";
    arm.finding = true;
    return;
  }
  if (ok == 0) {
    const auto worst = std::max_element(arm.not_ok.begin(), arm.not_ok.end(),
                                        [](const NotOk& a, const NotOk& b) { return a.count < b.count; });
    arm.status = in_words(worst->status) + (arm.expected_to_fail ? ", as expected" : "");
    arm.finding = !arm.expected_to_fail;
    return;
  }
  if (arm.expected_to_fail) {
    arm.status = "ok, but expected to fail";
    arm.finding = true;
    return;
  }
  const std::size_t planned = std::max(arm.n_planned, arm.n_tried);
  arm.status = "ok";
  if (ok == planned) return;
  std::vector<std::string> kinds;
  for (const NotOk& entry : arm.not_ok) kinds.push_back(in_words(entry.status));
  if (arm.n_tried < planned) kinds.emplace_back("rest not run");
  arm.status = fmt::format("{} of {} ok: {}", ok, planned, fmt::join(kinds, ", "));
  arm.finding = true;
}

bool has_role(const suite::Arm& arm, std::string_view role) {
  return std::find(arm.roles.begin(), arm.roles.end(), role) != arm.roles.end();
}

// The first arm of that role, else of that mode; npos if there is none.
std::size_t first_of(const std::vector<RowArm>& arms, std::string_view role, std::string_view mode) {
  for (std::size_t i = 0; i < arms.size(); ++i) {
    if (arms[i].suite_arm && has_role(*arms[i].suite_arm, role)) return i;
  }
  for (std::size_t i = 0; i < arms.size(); ++i) {
    if (arms[i].arm.mode == mode) return i;
  }
  return std::string::npos;
}

std::size_t count_runs(const RowTrials& row) {
  std::set<std::string> runs;
  for (const Point& point : row.points) runs.insert(point.view->trial.run_id);
  return runs.size();
}

std::optional<double> variation_within(const std::vector<stats::Trial>& trials) {
  double sum = 0;
  int n = 0;
  for (const stats::Trial& trial : trials) {
    const auto cv = stats::coefficient_of_variation(trial.samples);
    if (!cv) continue;
    sum += *cv * *cv;
    ++n;
  }
  return n == 0 ? std::nullopt : std::optional(std::sqrt(sum / n));
}

void fill_from_trials(RowArm& entry) {
  AblationArm& arm = entry.arm;
  arm.n_tried = entry.trials.points.size();
  arm.not_ok = not_ok_of(entry.trials);
  arm.treatment = treatment_of({&entry.trials});
  arm.quality = quality_of({&entry.trials});
  arm.cv_within = variation_within(counted_trials(entry.trials));
  for (const Point& point : entry.trials.points) {
    if (arm.guest.empty()) arm.guest = point.view->trial.guest;
    if (arm.device.empty()) arm.device = point.device;
    if (!point.counted) continue;
    if (arm.closure_id.empty()) arm.closure_id = point.view->trial.closure_id;
    arm.repetitions = arm.repetitions == 0 ? point.ts.size() : std::min(arm.repetitions, point.ts.size());
  }
  for (auto& [name, seen] : observed_over(entry.trials)) {
    if (name.starts_with(kGgml)) {
      seen.name = name.substr(kGgml.size());
      arm.derived.push_back(std::move(seen));
    } else {
      arm.capabilities.push_back(std::move(seen));
    }
  }
}

// Numbers of the machine's size, which differ between runs without anybody's doing.
bool is_size(const std::string& name) {
  return name == "metal.recommended_working_set" || name == "metal.max_buffer_length";
}

struct File {
  std::string role;
  std::string name;
  auto operator<=>(const File&) const = default;  // NOLINT(modernize-use-nullptr)
};

std::map<File, std::string> files_of(const std::vector<schema::ClosureMember>& members, bool same_system) {
  std::map<File, std::string> files;
  for (const schema::ClosureMember& member : members) {
    // The shim is the treatment; between a guest and its host the system's libraries differ in any case.
    if (member.role == "shim" || member.artifact.name.starts_with("libcapshim")) continue;
    if (!same_system && member.role != "executable" && member.role != "model") continue;
    // What `cpu.isa` decides.
    if (member.artifact.name.starts_with("libggml-cpu-")) continue;
    files.emplace(File{member.role, member.artifact.name}, member.artifact.sha256);
  }
  return files;
}

std::string shortened(const std::vector<std::string>& names) {
  constexpr std::size_t kMost = 4;
  const auto end = names.begin() + static_cast<std::ptrdiff_t>(std::min(kMost, names.size()));
  std::string out = fmt::format("{}", fmt::join(names.begin(), end, ", "));
  if (names.size() > kMost) out += fmt::format(" and {} more", names.size() - kMost);
  return out;
}

// "another executable llama-bench; libfoo.so only here"; empty if they are alike.
std::string difference(const std::map<File, std::string>& here, const std::map<File, std::string>& there) {
  std::vector<std::string> other;
  std::vector<std::string> only_here;
  std::vector<std::string> only_there;
  for (const auto& [file, sha256] : here) {
    const auto found = there.find(file);
    if (found == there.end()) {
      only_here.push_back(file.name);
    } else if (found->second != sha256) {
      other.push_back(fmt::format("{} {}", file.role, file.name));
    }
  }
  for (const auto& [file, sha256] : there) {
    if (!here.contains(file)) only_there.push_back(file.name);
  }
  std::vector<std::string> parts;
  if (!other.empty()) parts.push_back("another " + shortened(other));
  if (!only_here.empty()) parts.push_back(shortened(only_here) + " besides");
  if (!only_there.empty()) parts.push_back("without " + shortened(only_there));
  return fmt::format("{}", fmt::join(parts, "; "));
}

std::optional<std::int64_t> digits_at(const std::string& text, std::size_t at, std::size_t count) {
  if (text.size() < at + count) return std::nullopt;
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data() + at, text.data() + at + count, value);
  if (error != std::errc() || end != text.data() + at + count || value < 0) return std::nullopt;
  return value;
}

std::optional<std::int64_t> seconds_of(const std::string& time) {
  const auto year = digits_at(time, 0, 4);
  const auto month = digits_at(time, 5, 2);
  const auto day = digits_at(time, 8, 2);
  const auto hour = digits_at(time, 11, 2);
  const auto minute = digits_at(time, 14, 2);
  const auto second = digits_at(time, 17, 2);
  if (!year || !month || !day || !hour || !minute || !second) return std::nullopt;
  const std::chrono::year_month_day date{std::chrono::year(static_cast<int>(*year)),
                                         std::chrono::month(static_cast<unsigned>(*month)),
                                         std::chrono::day(static_cast<unsigned>(*day))};
  if (!date.ok()) return std::nullopt;
  const std::int64_t days = std::chrono::sys_days(date).time_since_epoch().count();
  return ((days * 24 + *hour) * 60 + *minute) * 60 + *second;
}

}  // namespace

std::vector<RowArm> arms_of_row(const RowTrials& row, const AblationBackground& background,
                                const std::set<std::string>& seen_elsewhere) {
  std::map<std::string, RowArm> by_name;
  for (const Point& point : row.points) {
    const auto& trial = point.view->trial;
    RowArm& entry = by_name[trial.arm];
    entry.trials.mode = trial.mode;
    entry.trials.arm = trial.arm;
    entry.trials.points.push_back(point);
  }
  std::vector<RowArm> arms;
  const auto suite = background.suites.find(row.key.suite_id);
  if (suite != background.suites.end()) {
    for (const suite::Arm& described : suite->second.arms) {
      const auto found = by_name.find(described.name);
      if (found == by_name.end() && seen_elsewhere.contains(described.name)) continue;
      RowArm entry;
      if (found != by_name.end()) entry = std::move(found->second);
      entry.suite_arm = described;
      entry.arm.n_planned = static_cast<std::size_t>(suite->second.protocol.trials) * count_runs(row);
      entry.arm.expected_to_fail = described.expected_to_fail;
      entry.trials.mode = described.mode;
      entry.trials.arm = described.name;
      if (found != by_name.end()) by_name.erase(found);
      arms.push_back(std::move(entry));
    }
  }
  for (auto& [name, entry] : by_name) arms.push_back(std::move(entry));
  for (RowArm& entry : arms) {
    entry.arm.name = entry.trials.arm;
    entry.arm.mode = entry.trials.mode;
    fill_from_trials(entry);
    set_status(entry.arm);
  }
  const std::size_t reference = first_of(arms, suite::kRoleStock, kStock);
  if (reference < arms.size()) arms[reference].arm.is_reference = true;
  const std::size_t bare_metal = first_of(arms, suite::kRoleBareMetal, kBareMetal);
  if (bare_metal < arms.size()) arms[bare_metal].arm.is_bare_metal = true;
  return arms;
}

ArmFacts facts_of(const RowArm& arm) {
  ArmFacts facts;
  facts.name = arm.arm.name;
  facts.mode = arm.arm.mode;
  facts.guest = arm.arm.guest;
  facts.arm = arm.suite_arm;
  facts.usable = std::any_of(arm.trials.points.begin(), arm.trials.points.end(),
                             [](const Point& point) { return point.counted; }) &&
                 arm.arm.quality != "wrong";
  const bool own_switches = arm.suite_arm && !arm.suite_arm->env.empty();
  for (const Observed& seen : arm.arm.capabilities) {
    if (!seen.requested.empty()) facts.requested[seen.name] = seen.requested;
    // An application that was told to leave something alone reports it as missing.
    const bool is_conclusion = seen.source == "ggml log" && own_switches && !seen.name.starts_with("metal.");
    if (!seen.value.empty() && seen.value != "varies" && !is_conclusion && !is_size(seen.name)) {
      facts.observed[seen.name] = seen.value;
    }
  }
  return facts;
}

void add_rooflines(const RowTrials& row, const AblationBackground& background, std::vector<RowArm>& arms) {
  std::set<std::string> host_devices;
  for (const RowArm& entry : arms) {
    if (entry.arm.guest.empty() && !entry.arm.device.empty()) host_devices.insert(entry.arm.device);
  }
  for (RowArm& entry : arms) {
    if (!entry.arm.numbers.median) continue;
    std::optional<std::int64_t> cores;
    std::optional<ModelReads> reads;
    for (const Point& point : entry.trials.points) {
      if (!point.counted) continue;
      const auto& trial = point.view->trial;
      if (const auto found = background.gpu_cores.find(trial.environment_id); found != background.gpu_cores.end()) {
        cores = found->second;
      }
      if (!reads && !trial.results.empty()) reads = reads_of(trial.results.front());
    }
    const auto known = background.reads.find({row.key.suite_id, row.key.model});
    if (known != background.reads.end()) reads = known->second;
    auto limits = find_device(entry.arm.device, cores);
    if (!limits && !entry.arm.guest.empty() && host_devices.size() == 1)
      limits = find_device(*host_devices.begin(), cores);
    entry.arm.roofline =
        roofline_share(entry.arm.numbers.median->median, row.key.n_prompt, row.key.n_gen, limits, reads);
  }
}

std::vector<std::string> closure_notes(const std::vector<RowArm>& arms, const AblationBackground& background) {
  const auto closure_of = [&](const RowArm& arm) {
    const auto found = background.closures.find(arm.arm.closure_id);
    return found == background.closures.end() ? nullptr : &found->second;
  };
  // The first arm that ran is what the others are held against.
  const auto first =
      std::find_if(arms.begin(), arms.end(), [&](const RowArm& arm) { return closure_of(arm) != nullptr; });
  if (first == arms.end()) return {};
  const auto own_system = [](const RowArm& arm) { return !arm.arm.guest.empty() && arm.arm.guest != "stand-in"; };
  std::vector<std::pair<std::string, std::vector<std::string>>> arms_by_difference;
  for (auto arm = std::next(first); arm != arms.end(); ++arm) {
    const auto* members = closure_of(*arm);
    if (members == nullptr || arm->arm.closure_id == first->arm.closure_id) continue;
    const bool same_system = own_system(*arm) == own_system(*first);
    const std::string text = difference(files_of(*members, same_system), files_of(*closure_of(*first), same_system));
    if (text.empty()) continue;
    const auto same = [&](const auto& entry) { return entry.first == text; };
    auto found = std::find_if(arms_by_difference.begin(), arms_by_difference.end(), same);
    if (found == arms_by_difference.end()) found = arms_by_difference.insert(found, {text, {}});
    found->second.push_back(arm->arm.name);
  }
  std::vector<std::string> notes;
  for (const auto& [text, names] : arms_by_difference) {
    notes.push_back(fmt::format("arms differ in more than the treatment: {} ran {}, compared with {}",
                                fmt::join(names, "; "), text, first->arm.name));
  }
  return notes;
}

std::optional<double> minutes_between(const std::string& earlier, const std::string& later) {
  const auto from = seconds_of(earlier);
  const auto to = seconds_of(later);
  if (!from || !to) return std::nullopt;
  return static_cast<double>(*to - *from) / 60;
}

}  // namespace capbench::reports
