#include "reports/history.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "base/digest.h"
#include "harness/stats/change_points.h"
#include "harness/stats/interval.h"
#include "harness/stats/noise.h"
#include "harness/stats/table.h"
#include "reports/device.h"
#include "reports/subject.h"
#include "reports/text.h"
#include "schema/canonical.h"

namespace capbench::reports {
namespace {

using nlohmann::json;

// What of a machine's facts belongs to its system, not to the hardware.
constexpr std::array<std::string_view, 17> kSystemFacts = {"os",
                                                           "kernel",
                                                           "kernel_build",
                                                           "os_release",
                                                           "os_version",
                                                           "os_build",
                                                           "nvidia_driver",
                                                           "nvidia_module",
                                                           "cuda_version",
                                                           "amdgpu_version",
                                                           "rocm_version",
                                                           "vulkan_instance",
                                                           "vulkan_devices",
                                                           "vulkan_layers",
                                                           "implicit_layers",
                                                           "gpus",
                                                           "sip"};
// Tools that run guests: of no account to a command that they do not run.
constexpr std::string_view kFrontends = "frontends";

// Names and values of what ran and where, apart by what may vary.
struct Setting {
  using Parts = std::map<std::string, std::string>;
  Parts build;      // "library libggml.so" -> digest: what the application brings
  Parts system;     // files and facts of the system
  Parts machine;    // other facts
  Parts treatment;  // model, shim, script, image, arguments, variables
};

std::string digest_of(const std::vector<const Setting::Parts*>& parts) {
  json list = json::array();
  for (const Setting::Parts* part : parts) list.push_back(*part);
  return sha256(schema::canonical(list));
}

// What is not stored as UTF-8 was replaced when it was stored, so these are spellable.
std::string shortened(const std::string& value) {
  constexpr std::size_t kMost = 48;
  return value.size() <= kMost ? value : "";
}

void add_differences(const Setting::Parts& from, const Setting::Parts& to, std::vector<std::string>& out) {
  std::set<std::string> names;
  for (const auto& [name, value] : from) names.insert(name);
  for (const auto& [name, value] : to) names.insert(name);
  for (const std::string& name : names) {
    const auto a = from.find(name);
    const auto b = to.find(name);
    if (a == from.end()) {
      out.push_back(one_line(name) + " (new)");
    } else if (b == to.end()) {
      out.push_back(one_line(name) + " (gone)");
    } else if (a->second != b->second) {
      const std::string before = shortened(a->second);
      const std::string after = shortened(b->second);
      const bool tells = !before.empty() && !after.empty() && !is_sha256(a->second);
      out.push_back(tells ? fmt::format("{}: {} -> {}", one_line(name), one_line(before), one_line(after))
                          : one_line(name));
    }
  }
}

std::vector<std::string> differences(const Setting& from, const Setting& to) {
  std::vector<std::string> out;
  add_differences(from.build, to.build, out);
  add_differences(from.system, to.system, out);
  add_differences(from.machine, to.machine, out);
  add_differences(from.treatment, to.treatment, out);
  return out;
}

std::string file_name(std::string_view path) {
  const std::size_t slash = path.rfind('/');
  return std::string(slash == std::string_view::npos ? path : path.substr(slash + 1));
}

std::string folder_of(std::string_view path) {
  const std::size_t slash = path.rfind('/');
  return slash == std::string_view::npos ? std::string() : std::string(path.substr(0, slash));
}

bool is_own_library(const schema::ClosureMember& member, const std::string& folder) {
  const std::string& name = member.artifact.name;
  return (!folder.empty() && folder_of(member.path) == folder) || name.starts_with("libllama") ||
         name.starts_with("libggml") || name.starts_with("libmtmd");
}

void add_files(const schema::ClosureRecord& closure, Setting& setting) {
  std::string folder;
  for (const schema::ClosureMember& member : closure.members) {
    if (member.role == "executable") folder = folder_of(member.path);
  }
  for (const schema::ClosureMember& member : closure.members) {
    Setting::Parts* parts = &setting.treatment;
    if (member.role == "executable" || (member.role == "library" && is_own_library(member, folder))) {
      parts = &setting.build;
    } else if (member.role == "library" || member.role == "driver") {
      parts = &setting.system;
    }
    std::string& value = (*parts)[member.role + " " + member.artifact.name];
    value += (value.empty() ? "" : ",") + member.artifact.sha256;
  }
}

void add_facts(const std::string& facts, bool is_guest, Setting& setting) {
  const json document = json::parse(facts, nullptr, false);
  if (!document.is_object()) return;
  for (const auto& [name, value] : document.items()) {
    if (name == kFrontends && !is_guest) continue;
    const bool of_system =
        std::find(kSystemFacts.begin(), kSystemFacts.end(), name) != kSystemFacts.end() || name == kFrontends;
    (of_system ? setting.system : setting.machine)[name] = value.is_string() ? value.get<std::string>() : value.dump();
  }
}

// Arguments and variables without the folders that files lay in: the files go by their digests.
std::string without_folders(const std::string& list, bool skip_first) {
  const json document = json::parse(list, nullptr, false);
  if (!document.is_array()) return "";
  std::string out;
  for (std::size_t i = skip_first ? 1 : 0; i < document.size(); ++i) {
    if (!document[i].is_string()) continue;
    const auto text = document[i].get<std::string>();
    const std::size_t equals = text.find('=');
    const std::size_t slash = text.find('/');
    std::string kept = slash == std::string::npos ? text : file_name(text);
    if (slash != std::string::npos && equals < slash) kept = text.substr(0, equals + 1) + file_name(text);
    out += (out.empty() ? "" : " ") + kept;
  }
  return out;
}

// Texts that many rows share, by number.
class Texts {
 public:
  std::uint32_t number(std::string_view text) {
    const auto found = numbers_.find(text);
    if (found != numbers_.end()) return found->second;
    const auto next = static_cast<std::uint32_t>(texts_.size());
    const auto [place, is_new] = numbers_.emplace(text, next);
    texts_.push_back(&place->first);
    return next;
  }
  const std::string& text(std::uint32_t number) const { return *texts_[number]; }

 private:
  struct Hash {
    using is_transparent = void;
    std::size_t operator()(std::string_view text) const { return std::hash<std::string_view>()(text); }
  };
  std::unordered_map<std::string, std::uint32_t, Hash, std::equal_to<>> numbers_;
  std::vector<const std::string*> texts_;  // nodes of the map stay where they are
};

// What decides a setting, as read.
struct Origin {
  std::uint32_t closure = 0;
  std::uint32_t environment = 0;
  std::uint32_t argv = 0;
  std::uint32_t variables = 0;
  std::uint32_t image = 0;
  std::uint32_t guest = 0;

  auto operator<=>(const Origin&) const = default;
};

struct Row {
  std::uint32_t key = 0;     // a number of Rows::keys
  std::uint32_t origin = 0;  // a number of Rows::origins
  std::uint32_t build = 0;
  std::uint32_t run = 0;
  std::uint32_t n_samples = 0;
  std::string trial_id;
  std::string started_at;
  std::vector<double> samples;
  double median_ts = 0;
};

struct Rows {
  Texts texts;
  std::map<SeriesKey, std::uint32_t> keys;
  std::map<Origin, std::uint32_t> origins;
  std::vector<Row> rows;
};

std::vector<std::int64_t> parse_samples(std::string_view list) {
  std::vector<std::int64_t> out;
  const char* at = list.data();
  const char* end = at + list.size();
  while (at != end) {
    std::int64_t value = 0;
    const auto [after, error] = std::from_chars(at, end, value);
    if (error != std::errc()) {
      ++at;  // a bracket, a comma
      continue;
    }
    out.push_back(value);
    at = after;
  }
  return out;
}

bool passes(const schema::MeasurementRow& row, const HistoryFilter& filter) {
  const auto fits = [](const std::string& wanted, std::string_view is) { return wanted.empty() || wanted == is; };
  return fits(filter.machine_id, row.machine_id) && fits(filter.model, row.model) && fits(filter.test, row.test) &&
         fits(filter.arm, row.arm);
}

std::string device_of_row(const schema::MeasurementRow& row) {
  schema::ResultRecord result;
  result.backends = row.backends;
  result.cpu_info = row.cpu_info;
  result.gpu_info = row.gpu_info;
  result.fields = row.fields;
  return device_of(result);
}

// The device follows from the arguments and from what the application names; its fields are parsed once for each.
class Devices {
 public:
  const std::string& of(const schema::MeasurementRow& row) {
    if (row.argv == "[]") return last_ = device_of_row(row);
    std::string name;
    for (const std::string_view part : {row.argv, row.backends, row.cpu_info, row.gpu_info}) {
      name += part;
      name += '\0';
    }
    const auto [place, is_new] = known_.try_emplace(std::move(name));
    if (is_new) place->second = device_of_row(row);
    return place->second;
  }

 private:
  std::unordered_map<std::string, std::string> known_;
  std::string last_;
};

Result<Rows> read_rows(schema::Store& store, const HistoryFilter& filter) {
  Rows out;
  Devices devices;
  std::string previous_trial;
  std::map<std::string, int, std::less<>> seen;  // tests of this trial
  // One trial's rows follow each other; what they share is looked up once.
  const auto take = [&](const schema::MeasurementRow& row) -> Status {
    if (!passes(row, filter)) return {};
    if (row.trial_id != previous_trial) {
      previous_trial = row.trial_id;
      seen.clear();
    }
    const int repeat = ++seen[std::string(row.test)];
    Row kept;
    for (const std::int64_t ns : parse_samples(row.samples_ns)) {
      const double speed = stats::tokens_per_second(row.tokens, ns);
      if (!(speed > 0)) return {};
      kept.samples.push_back(speed);
    }
    if (kept.samples.empty()) return {};
    SeriesKey key;
    key.suite = row.suite;
    key.machine = row.machine_label;
    key.machine_id = row.machine_id;
    key.device = devices.of(row);
    key.model = row.model;
    key.model_kind = row.model_kind;
    key.workload = row.workload;
    key.arm = row.arm;
    key.mode = row.mode;
    key.guest = row.guest;
    key.test = row.test;
    if (repeat > 1) key.test += fmt::format(" #{}", repeat);
    const auto number = [&](std::string_view text) { return out.texts.number(text); };
    const Origin origin{number(row.closure_id),      number(row.environment_id), number(row.argv),
                        number(row.environment_set), number(row.image),          number(row.guest)};
    kept.key = out.keys.try_emplace(std::move(key), static_cast<std::uint32_t>(out.keys.size())).first->second;
    kept.origin = out.origins.try_emplace(origin, static_cast<std::uint32_t>(out.origins.size())).first->second;
    kept.build = number(row.build);
    kept.run = number(row.run_id);
    kept.n_samples = static_cast<std::uint32_t>(kept.samples.size());
    kept.trial_id = row.trial_id;
    kept.started_at = row.started_at;
    kept.median_ts = stats::median(kept.samples);
    out.rows.push_back(std::move(kept));
    return {};
  };
  schema::TrialFilter trials;
  trials.suite = filter.suite;
  if (Status status = store.each_measurement(trials, take); !status) return std::move(status).error();
  return out;
}

// An origin, resolved.
struct Place {
  Setting setting;
  std::string same;      // digest of what must not vary along the axis
  std::string identity;  // of the point; empty where the run is the point
  std::string system;    // "Debian GNU/Linux 12, 6.1.0"
};

// What some of these settings show and none contradicts holds for all.
void share(const std::vector<Setting*>& settings, Setting::Parts Setting::*part) {
  std::map<std::string, std::set<std::string>> seen;
  for (const Setting* setting : settings) {
    for (const auto& [name, value] : setting->*part) seen[name].insert(value);
  }
  for (Setting* setting : settings) {
    for (const auto& [name, values] : seen) {
      if (values.size() == 1) (setting->*part).try_emplace(name, *values.begin());
    }
  }
}

// A process that ends soon may be gone before the libraries it mapped were seen, so trials of one executable in one
// environment with the same arguments tell of each other. Whether a build needs a library of the system is a matter of
// the build: builds in one environment differ in their system only if they loaded different files of one name.
void fill_unseen(const Rows& rows, std::vector<Place>& places) {
  using Same = std::tuple<std::uint32_t, std::uint32_t, std::string, std::string>;
  std::map<Same, std::vector<Setting*>> by_executable;
  std::map<Same, std::vector<Setting*>> by_environment;
  for (const auto& [origin, number] : rows.origins) {
    Setting& setting = places[number].setting;
    std::string executable;
    for (const auto& [name, digest] : setting.build) {
      if (name.starts_with("executable ")) executable = digest;
    }
    if (executable.empty()) continue;
    const std::string treatment = digest_of({&setting.treatment});
    by_executable[{origin.environment, origin.guest, treatment, executable}].push_back(&setting);
    by_environment[{origin.environment, origin.guest, treatment, ""}].push_back(&setting);
  }
  for (const auto& [same, settings] : by_executable) {
    share(settings, &Setting::build);
    share(settings, &Setting::system);
  }
  for (const auto& [same, settings] : by_environment) share(settings, &Setting::system);
}

Result<std::vector<Place>> resolve(schema::Store& store, const Rows& rows, Axis axis) {
  std::vector<Place> places(rows.origins.size());
  std::map<std::uint32_t, schema::ClosureRecord> closures;
  std::map<std::uint32_t, std::string> environments;
  for (const auto& [origin, number] : rows.origins) {
    const std::string& closure_id = rows.texts.text(origin.closure);
    const auto [closure, new_closure] = closures.try_emplace(origin.closure);
    if (new_closure && !closure_id.empty()) {
      auto found = store.closure(closure_id);
      if (!found) return std::move(found).error();
      if (*found) closure->second = std::move(**found);
    }
    const std::string& environment_id = rows.texts.text(origin.environment);
    const auto [environment, new_environment] = environments.try_emplace(origin.environment);
    if (new_environment && !environment_id.empty()) {
      auto found = store.environment(environment_id);
      if (!found) return std::move(found).error();
      if (*found) environment->second = (*found)->json;
    }
    Place& place = places[number];
    Setting& setting = place.setting;
    add_files(closure->second, setting);
    add_facts(environment->second, !rows.texts.text(origin.guest).empty(), setting);
    setting.treatment["arguments"] = without_folders(rows.texts.text(origin.argv), true);
    setting.treatment["variables set"] = without_folders(rows.texts.text(origin.variables), false);
    setting.treatment["guest image"] = rows.texts.text(origin.image);
    const auto fact = [&](const char* name) {
      const auto found = setting.system.find(name);
      return found == setting.system.end() ? std::string() : found->second;
    };
    place.system = fact("os_release").empty() ? fact("os") : fact("os_release");
    const std::string version = fact("os_build").empty() ? fact("kernel") : fact("os_build");
    if (!version.empty()) place.system = place.system.empty() ? version : place.system + " (" + version + ")";
  }
  fill_unseen(rows, places);
  for (Place& place : places) {
    const Setting& setting = place.setting;
    switch (axis) {
      case Axis::kBuilds:
        place.same = digest_of({&setting.system, &setting.machine, &setting.treatment});
        place.identity = digest_of({&setting.build});
        break;
      case Axis::kSystems:
        place.same = digest_of({&setting.build, &setting.machine, &setting.treatment});
        place.identity = digest_of({&setting.system});
        break;
      case Axis::kRuns:
        place.same = digest_of({&setting.build, &setting.system, &setting.machine, &setting.treatment});
        break;
    }
  }
  return places;
}

std::string minute_of(const std::string& time) {
  std::string out = time.substr(0, 16);
  std::replace(out.begin(), out.end(), 'T', ' ');
  return out;
}

SeriesPoint make_point(const Rows& rows, const std::vector<Place>& places, const Origin& origin, Axis axis,
                       std::vector<const Row*> members) {
  std::sort(members.begin(), members.end(), [](const Row* a, const Row* b) {
    return std::tie(a->started_at, a->trial_id) < std::tie(b->started_at, b->trial_id);
  });
  const Row& first = *members.front();
  const Place& place = places[first.origin];
  SeriesPoint point;
  point.date = first.started_at;
  point.last_date = members.back()->started_at;
  point.build = rows.texts.text(first.build);
  const BuildName name = parse_build(point.build);
  point.build_number = name.number;
  point.commit = name.commit;
  point.environment_id = rows.texts.text(origin.environment);
  point.closure_id = rows.texts.text(origin.closure);
  point.identity = axis == Axis::kRuns ? rows.texts.text(first.run) : place.identity;
  switch (axis) {
    case Axis::kBuilds:
      point.label = point.build.empty() ? "unknown build " + short_id(point.identity) : point.build;
      break;
    case Axis::kSystems:
      point.label = place.system.empty() ? "unknown system " + short_id(point.identity) : place.system;
      break;
    case Axis::kRuns:
      point.label = point.date.empty() ? "run " + short_id(point.identity) : minute_of(point.date);
      break;
  }
  for (const Row* row : members) {
    point.trial_ids.push_back(row->trial_id);
    point.n_samples += row->n_samples;
    point.trials.push_back({static_cast<std::int64_t>(point.trials.size()), {row->median_ts}});
  }
  point.n_trials = members.size();
  if (members.size() == 1) point.trials.front().samples = first.samples;
  // A single process has the spread of its samples, by bootstrap; a few hundred rounds do for what is labelled so.
  stats::IntervalOptions options;
  options.bootstrap_rounds = 400;
  if (const auto interval = stats::median_interval(point.trials, options); interval.ok()) {
    point.median_ts = interval->median;
    point.interval = interval->label;
    if (interval->lo && interval->hi) point.ci95 = Interval{*interval->lo, *interval->hi};
  }
  return point;
}

void put_in_order(std::vector<std::pair<SeriesPoint, std::uint32_t>>& points, Axis axis) {
  const bool by_number = axis == Axis::kBuilds && std::all_of(points.begin(), points.end(), [](const auto& entry) {
                           return entry.first.build_number && *entry.first.build_number > 1;
                         });
  std::sort(points.begin(), points.end(), [&](const auto& a, const auto& b) {
    if (by_number && a.first.build_number != b.first.build_number) return *a.first.build_number < *b.first.build_number;
    return std::tie(a.first.date, a.first.identity) < std::tie(b.first.date, b.first.identity);
  });
}

void tell_apart(std::vector<SeriesPoint>& points) {
  std::map<std::string, int> uses;
  for (const SeriesPoint& point : points) ++uses[point.label];
  for (SeriesPoint& point : points) {
    if (uses[point.label] > 1) point.label += fmt::format(" [{}]", short_id(point.identity));
  }
}

void find_margin(Series& series) {
  constexpr std::size_t kMostPoints = 50;  // the newest
  std::vector<stats::Arm> arms;
  for (auto point = series.points.rbegin(); point != series.points.rend() && arms.size() < kMostPoints; ++point) {
    if (point->n_trials > 1) arms.push_back({point->label, point->trials, ""});
  }
  if (arms.empty()) return;
  stats::NoiseOptions options;
  options.splits_per_arm = 50;
  const auto floor = stats::floor_of_random_splits(arms, options);
  if (!floor.ok()) return;
  series.margin = stats::margin_of(*floor, series.margin);
  series.margin_why = floor->label;
}

// Changes of level of the whole series.
void find_levels(Series& series, const stats::ChangePointOptions& options) {
  std::vector<double> speeds;
  for (const SeriesPoint& point : series.points) speeds.push_back(point.median_ts);
  const auto found = stats::find_change_points(speeds, options);
  if (!found.ok()) return;
  for (const stats::ChangePoint& point : *found) {
    SeriesChange change;
    change.index = point.index;
    change.first = point.first;
    change.last = point.last;
    change.ratio = point.ratio;
    change.ci95 = {point.lo, point.hi};
    change.method = "change point";
    change.p = point.p;
    series.changes.push_back(std::move(change));
  }
}

// Neighbours that differ by their own trials, where a change of level cannot be seen (yet).
void find_steps(Series& series, const stats::ChangePointOptions& options) {
  const std::size_t n = series.points.size();
  // Where a permutation test has too few orders for p < 0.01, or just enough.
  const bool is_short = n < 3 * options.min_segment;
  std::vector<stats::Test> tests;
  std::vector<stats::Comparison> comparisons;
  std::vector<std::size_t> places;
  for (std::size_t i = is_short ? 1 : n - options.min_segment; i < n; ++i) {
    const bool known = std::any_of(series.changes.begin(), series.changes.end(), [&](const SeriesChange& change) {
      return i + options.min_segment > change.index && change.index + options.min_segment > i;
    });
    if (known || series.points[i].n_trials < 3 || series.points[i - 1].n_trials < 3) continue;
    stats::Test test;
    test.name = series.key.test;
    test.arms = {{"before", series.points[i - 1].trials, ""}, {"after", series.points[i].trials, ""}};
    comparisons.push_back({tests.size(), 1, 0});
    tests.push_back(std::move(test));
    places.push_back(i);
  }
  if (comparisons.empty()) return;
  const auto compared = stats::compare(tests, comparisons);
  if (!compared.ok()) return;
  for (std::size_t i = 0; i < places.size(); ++i) {
    const stats::Compared& pair = (*compared)[i];
    if (!pair.can_claim || !pair.simultaneous || !pair.simultaneous->lo || !pair.simultaneous->hi) continue;
    const stats::RatioInterval& ratio = *pair.simultaneous;
    if (*ratio.hi >= 1 - series.margin && *ratio.lo <= 1 + series.margin) continue;
    SeriesChange change;
    change.index = change.first = change.last = places[i];
    change.ratio = ratio.ratio;
    change.ci95 = {*ratio.lo, *ratio.hi};
    change.method = "trials";
    series.changes.push_back(std::move(change));
  }
}

using Decisions = std::map<std::string, const schema::TriageRecord*>;

void find_changes(Series& series, const Decisions& decisions) {
  stats::ChangePointOptions options;
  options.min_effect = series.margin;
  if (series.points.size() >= 2 * options.min_segment) find_levels(series, options);
  if (series.points.size() > 1) find_steps(series, options);
  std::sort(series.changes.begin(), series.changes.end(),
            [](const SeriesChange& a, const SeriesChange& b) { return a.index < b.index; });
  if (!decisions.empty()) {
    for (std::size_t i = 1; i < series.points.size(); ++i) {
      const auto decided = decisions.find(sha256(regression_subject(series, i)));
      if (decided != decisions.end()) series.decisions[decided->first] = {decided->second->state, decided->second->why};
    }
  }
  for (SeriesChange& change : series.changes) {
    change.id = sha256(regression_subject(series, change.index));
    change.state = "open";
    const auto decided = series.decisions.find(change.id);
    if (decided != series.decisions.end()) std::tie(change.state, change.why) = decided->second;
  }
}

}  // namespace

std::string_view axis_name(Axis axis) {
  constexpr std::array<std::string_view, 3> kNames = {"builds", "systems", "runs"};
  return kNames[static_cast<std::size_t>(axis)];
}

std::optional<Axis> axis_of(std::string_view name) {
  for (const Axis axis : {Axis::kBuilds, Axis::kSystems, Axis::kRuns}) {
    if (axis_name(axis) == name) return axis;
  }
  return std::nullopt;
}

bool names_point(const SeriesPoint& point, const std::string& revision) {
  if (point.label == revision || point.build == revision) return true;
  std::string_view digits = revision;
  if (digits.starts_with('b')) digits.remove_prefix(1);
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  if (error == std::errc() && end == digits.data() + digits.size() && point.build_number == number) return true;
  constexpr std::size_t kFewestDigits = 4;
  const std::size_t shorter = std::min(revision.size(), point.commit.size());
  return shorter >= kFewestDigits &&
         std::string_view(revision).substr(0, shorter) == std::string_view(point.commit).substr(0, shorter);
}

Result<std::vector<std::string>> differences_between(schema::Store& store, const SeriesPoint& from,
                                                     const SeriesPoint& to) {
  Setting settings[2];
  const SeriesPoint* points[] = {&from, &to};
  for (std::size_t i = 0; i < 2; ++i) {
    auto closure = store.closure(points[i]->closure_id);
    if (!closure) return std::move(closure).error();
    if (*closure) add_files(**closure, settings[i]);
    auto environment = store.environment(points[i]->environment_id);
    if (!environment) return std::move(environment).error();
    if (*environment) add_facts((*environment)->json, false, settings[i]);
  }
  return differences(settings[0], settings[1]);
}

BuildName parse_build(std::string_view build) {
  BuildName name;
  const std::size_t open = build.rfind(" (");
  if (open == std::string_view::npos || !build.ends_with(')')) {
    name.commit = std::string(build);
    return name;
  }
  name.commit = std::string(build.substr(0, open));
  const std::string_view digits = build.substr(open + 2, build.size() - open - 3);
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  if (error == std::errc() && end == digits.data() + digits.size()) name.number = number;
  return name;
}

std::string regression_subject(const Series& series, std::size_t index) {
  const SeriesKey& key = series.key;
  const json subject = {{"axis", axis_name(series.axis)},
                        {"machine", key.machine_id},
                        {"device", valid_utf8(key.device)},
                        {"suite", valid_utf8(key.suite)},
                        {"model", valid_utf8(key.model)},
                        {"model_kind", key.model_kind},
                        {"workload", valid_utf8(key.workload)},
                        {"arm", valid_utf8(key.arm)},
                        {"mode", valid_utf8(key.mode)},
                        {"guest", valid_utf8(key.guest)},
                        {"test", valid_utf8(key.test)},
                        {"setting", series.setting},
                        {"before", series.points[index - 1].identity},
                        {"after", series.points[index].identity}};
  return schema::canonical(subject);
}

Result<std::vector<Series>> read_history(schema::Store& store, const HistoryFilter& filter) {
  auto rows = read_rows(store, filter);
  if (!rows) return std::move(rows).error();
  auto places = resolve(store, *rows, filter.axis);
  if (!places) return std::move(places).error();
  auto decided = store.triage();
  if (!decided) return std::move(decided).error();
  Decisions decisions;
  for (const schema::TriageRecord& decision : *decided) decisions.try_emplace(decision.regression_id, &decision);

  std::vector<const SeriesKey*> keys(rows->keys.size());
  for (const auto& [key, number] : rows->keys) keys[number] = &key;
  std::vector<const Origin*> origins(rows->origins.size());
  for (const auto& [origin, number] : rows->origins) origins[number] = &origin;

  // key, setting -> point -> its trials
  std::map<std::pair<std::uint32_t, std::string>, std::map<std::string, std::vector<const Row*>>> groups;
  for (const Row& row : rows->rows) {
    const Place& place = (*places)[row.origin];
    const std::string& identity = filter.axis == Axis::kRuns ? rows->texts.text(row.run) : place.identity;
    groups[{row.key, place.same}][identity].push_back(&row);
  }

  std::vector<std::pair<Series, std::uint32_t>> found;  // with an origin of its newest point
  for (auto& [name, members] : groups) {
    Series series;
    series.axis = filter.axis;
    series.key = *keys[name.first];
    series.setting = name.second;
    std::vector<std::pair<SeriesPoint, std::uint32_t>> points;
    for (auto& [identity, of_point] : members) {
      const std::uint32_t origin = of_point.front()->origin;
      points.emplace_back(make_point(*rows, *places, *origins[origin], filter.axis, std::move(of_point)), origin);
    }
    put_in_order(points, filter.axis);
    for (std::size_t i = 0; i < points.size(); ++i) {
      if (i > 0) {
        points[i].first.different =
            differences((*places)[points[i - 1].second].setting, (*places)[points[i].second].setting);
      }
      series.points.push_back(std::move(points[i].first));
    }
    tell_apart(series.points);
    find_margin(series);
    find_changes(series, decisions);
    found.emplace_back(std::move(series), points.back().second);
  }
  const auto newest = [](const Series& series) {
    std::string date;
    for (const SeriesPoint& point : series.points) date = std::max(date, point.last_date);
    return date;
  };
  std::sort(found.begin(), found.end(), [&](const auto& a, const auto& b) {
    if (a.first.key != b.first.key) return a.first.key < b.first.key;
    return std::pair(newest(b.first), b.first.setting) < std::pair(newest(a.first), a.first.setting);
  });
  std::vector<Series> out;
  const Setting* of_key = nullptr;
  for (auto& [series, origin] : found) {
    const Setting& setting = (*places)[origin].setting;
    if (out.empty() || out.back().key != series.key) {
      of_key = &setting;
    } else {
      Setting a = *of_key;
      Setting b = setting;
      // What varies along the axis is no difference between settings.
      if (filter.axis == Axis::kBuilds) a.build = b.build;
      if (filter.axis == Axis::kSystems) a.system = b.system;
      series.setting_apart = differences(a, b);
    }
    out.push_back(std::move(series));
  }
  return out;
}

}  // namespace capbench::reports
