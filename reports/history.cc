#include "reports/history.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <nlohmann/json.hpp>
#include <thread>
#include <tuple>
#include <utility>

#include "base/digest.h"
#include "base/parallel.h"
#include "harness/stats/interval.h"
#include "reports/history_changes.h"
#include "reports/subject.h"
#include "reports/text.h"
#include "schema/canonical.h"

namespace capbench::reports {
namespace {

using nlohmann::json;

// What of a setting must not vary along an axis, and what makes it a point.
using Numbers = std::vector<std::uint32_t>;

Numbers same_parts(const Setting& setting, Axis axis) {
  switch (axis) {
    case Axis::kBuilds:
      return {setting.system, setting.machine, setting.treatment};
    case Axis::kSystems:
      return {setting.build, setting.machine, setting.treatment};
    case Axis::kRuns:
      break;
  }
  return {setting.build, setting.system, setting.machine, setting.treatment};
}

std::uint32_t point_of(const Measurements& m, const Launch& launch, Axis axis) {
  const Setting& setting = m.settings[launch.origin];
  return axis == Axis::kBuilds ? setting.build : axis == Axis::kSystems ? setting.system : launch.run;
}

std::string minute_of(const std::string& time) {
  std::string out = time.substr(0, 16);
  std::replace(out.begin(), out.end(), 'T', ' ');
  return out;
}

// `members` are places in Measurements::all.
SeriesPoint make_point(const Measurements& m, Axis axis, bool details, std::vector<std::uint32_t> members) {
  const auto launch_of = [&](std::uint32_t place) -> const Launch& { return m.launches[m.all[place].launch]; };
  std::sort(members.begin(), members.end(), [&](std::uint32_t a, std::uint32_t b) {
    const Launch& x = launch_of(a);
    const Launch& y = launch_of(b);
    if (x.order != y.order) return x.order < y.order;
    return x.id < y.id;
  });
  const Launch& first = launch_of(members.front());
  SeriesPoint point;
  point.date = m.text(first.started);
  point.last_date = m.text(launch_of(members.back()).started);
  point.build = m.text(m.all[members.front()].build);
  const BuildName name = parse_build(point.build);
  point.build_number = name.number;
  point.commit = name.commit;
  point.environment_id = m.text(first.environment);
  point.closure_id = m.text(m.closures[first.origin]);
  switch (axis) {
    case Axis::kBuilds:
      point.identity = m.digest_of({m.settings[first.origin].build});
      point.label = point.build.empty() ? "unknown build " + short_id(point.identity) : point.build;
      break;
    case Axis::kSystems: {
      point.identity = m.digest_of({m.settings[first.origin].system});
      const auto system = m.systems.find(first.environment);
      const bool known = system != m.systems.end() && !system->second.empty();
      point.label = known ? system->second : "unknown system " + short_id(point.identity);
      break;
    }
    case Axis::kRuns:
      point.identity = m.text(first.run);
      point.label = point.date.empty() ? "run " + short_id(point.identity) : minute_of(point.date);
      break;
  }
  for (const std::uint32_t place : members) {
    const Measurement& one = m.all[place];
    if (details) point.trial_ids.push_back(digest_hex(m.launches[one.launch].id));
    point.n_samples += one.n_samples;
    point.trials.push_back({static_cast<std::int64_t>(point.trials.size()), {one.median_ts}});
  }
  point.n_trials = members.size();
  const Measurement& only = m.all[members.front()];
  if (members.size() == 1 && only.has_samples) {
    const auto samples = m.samples.begin() + only.first_sample;
    point.trials.front().samples.assign(samples, samples + only.n_samples);
  }
  point.places = std::move(members);
  if (!details) {
    point.median_ts = stats::median_of_trial_medians(point.trials);
    return point;
  }
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

void put_in_order(std::vector<SeriesPoint>& points, Axis axis) {
  const bool by_number =
      axis == Axis::kBuilds && std::all_of(points.begin(), points.end(), [](const SeriesPoint& entry) {
        return entry.build_number && *entry.build_number > 1;
      });
  std::sort(points.begin(), points.end(), [&](const SeriesPoint& a, const SeriesPoint& b) {
    if (by_number && a.build_number != b.build_number) return *a.build_number < *b.build_number;
    return std::tie(a.date, a.identity) < std::tie(b.date, b.identity);
  });
}

void tell_apart(std::vector<SeriesPoint>& points) {
  std::map<std::string, int> uses;
  for (const SeriesPoint& point : points) ++uses[point.label];
  for (SeriesPoint& point : points) {
    if (uses[point.label] > 1) point.label += fmt::format(" [{}]", short_id(point.identity));
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

void Decisions::add(const std::vector<schema::TriageRecord>& decisions) {
  for (const schema::TriageRecord& decision : decisions) {
    const auto [place, is_new] = by_id_.try_emplace(decision.regression_id, decision);
    if (!is_new && place->second.set_at < decision.set_at) place->second = decision;
    const json subject = json::parse(decision.subject, nullptr, false);
    if (!subject.is_object()) continue;
    if (const auto setting = subject.find("setting"); setting != subject.end() && setting->is_string()) {
      settings_.insert(setting->get<std::string>());
    }
  }
}

const schema::TriageRecord* Decisions::find(const std::string& id) const {
  const auto found = by_id_.find(id);
  return found == by_id_.end() ? nullptr : &found->second;
}

Result<Decisions> read_decisions(std::span<schema::Store* const> stores) {
  Decisions decisions;
  for (schema::Store* store : stores) {
    auto some = store->triage();
    if (!some) return std::move(some).error();
    decisions.add(*some);
  }
  return decisions;
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

std::vector<Series> series_of(const Measurements& m, std::size_t key, Axis axis, const Wanted& wanted,
                              const Decisions& decisions) {
  std::map<Numbers, std::map<std::uint32_t, std::vector<std::uint32_t>>> settings;
  for (std::uint32_t i = m.first_of_key[key]; i < m.first_of_key[key + 1]; ++i) {
    const Launch& launch = m.launches[m.all[i].launch];
    settings[same_parts(m.settings[launch.origin], axis)][point_of(m, launch, axis)].push_back(i);
  }
  struct Found {
    Series series;
    std::string newest;  // date
    std::uint32_t origin = 0;
  };
  const auto origin_of = [&](const SeriesPoint& point) {
    return m.launches[m.all[point.places.front()].launch].origin;
  };
  std::vector<Found> found;
  for (auto& [same, points] : settings) {
    Found one;
    Series& series = one.series;
    series.axis = axis;
    series.key = m.keys[key];
    series.setting = m.digest_of(same);
    for (auto& [number, members] : points) {
      series.points.push_back(make_point(m, axis, wanted.details, std::move(members)));
      one.newest = std::max(one.newest, series.points.back().last_date);
    }
    put_in_order(series.points, axis);
    for (std::size_t i = 1; wanted.details && i < series.points.size(); ++i) {
      series.points[i].different = differences(m.settings[origin_of(series.points[i - 1])],
                                               m.settings[origin_of(series.points[i])], m.parts, m.texts);
    }
    one.origin = origin_of(series.points.back());
    tell_apart(series.points);
    if (wanted.changes) find_changes(series, decisions);
    found.push_back(std::move(one));
  }
  std::sort(found.begin(), found.end(), [](const Found& a, const Found& b) {
    return std::tie(b.newest, b.series.setting) < std::tie(a.newest, a.series.setting);
  });
  std::vector<Series> out;
  for (Found& one : found) {
    if (!out.empty()) {
      Setting a = m.settings[found.front().origin];
      const Setting& b = m.settings[one.origin];
      // What varies along the axis is no difference between settings.
      if (axis == Axis::kBuilds) a.build = b.build;
      if (axis == Axis::kSystems) a.system = b.system;
      one.series.setting_apart = differences(a, b, m.parts, m.texts);
    }
    out.push_back(std::move(one.series));
  }
  return out;
}

std::vector<Series> history_of(const Measurements& measurements, Axis axis, bool details, const Decisions& decisions) {
  std::vector<std::vector<Series>> found(measurements.keys.size());
  // A thread for a few series is not worth its start.
  const std::size_t threads = std::min<std::size_t>(std::thread::hardware_concurrency(), found.size() / 64 + 1);
  for_each_index(found.size(), threads, [&](std::size_t i) {
    found[i] = series_of(measurements, i, axis, {details, true}, decisions);
  });
  std::vector<Series> out;
  for (std::vector<Series>& some : found) {
    std::move(some.begin(), some.end(), std::back_inserter(out));
  }
  return out;
}

Result<std::vector<Series>> read_history(schema::Store& store, const HistoryFilter& filter) {
  schema::Store* const stores[] = {&store};
  auto measurements = read_measurements(stores, filter);
  if (!measurements) return std::move(measurements).error();
  auto decisions = read_decisions(stores);
  if (!decisions) return std::move(decisions).error();
  return history_of(*measurements, filter.axis, filter.details, *decisions);
}

}  // namespace capbench::reports
