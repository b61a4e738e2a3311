#include "reports/compare.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "harness/stats/interval.h"
#include "harness/stats/table.h"
#include "reports/text.h"

namespace capbench::reports {
namespace {

constexpr std::size_t kFewestTrials = 3;
constexpr std::size_t kFewestDigits = 6;

bool is_named(const Series& series, const SeriesPoint& point, const std::string& name) {
  return names_point(point, name) || series.key.machine == name || series.key.machine_id == name ||
         (name.size() >= kFewestDigits && point.environment_id.starts_with(name));
}

// One machine, system and build.
using Place = std::tuple<std::string, std::string, std::string>;

Place place_of(const Series& series, const SeriesPoint& point) {
  return {series.key.machine_id, point.environment_id, point.build};
}

std::string label_of(const Series& series, const SeriesPoint& point) {
  return (point.build.empty() ? "unknown build" : point.build) + " on " +
         (series.key.machine.empty() ? "an unknown machine" : series.key.machine);
}

// The places of the history, the newest first.
std::vector<std::pair<Place, std::string>> places_of(const std::vector<Series>& history) {
  std::map<Place, std::pair<std::string, std::string>> found;  // last date, label
  for (const Series& series : history) {
    for (const SeriesPoint& point : series.points) {
      auto& [date, label] = found[place_of(series, point)];
      date = std::max(date, point.last_date);
      label = label_of(series, point);
    }
  }
  std::vector<std::pair<Place, std::string>> out;
  for (const auto& [place, known] : found) out.emplace_back(place, known.second);
  std::sort(out.begin(), out.end(), [&](const auto& a, const auto& b) {
    return std::tie(found.at(b.first).first, b.first) < std::tie(found.at(a.first).first, a.first);
  });
  return out;
}

// A cell of one side: points of one setting, the newest that has any.
struct Half {
  const Series* series = nullptr;
  std::vector<const SeriesPoint*> points;
  std::string last_date;

  std::vector<stats::Trial> trials() const {
    if (points.size() == 1) return points.front()->trials;
    std::vector<stats::Trial> out;
    for (const SeriesPoint* point : points) {
      for (const stats::Trial& trial : point->trials) {
        out.push_back({static_cast<std::int64_t>(out.size()), {stats::median(trial.samples)}});
      }
    }
    return out;
  }
};

// What must be the same on both sides.
SeriesKey cell_of(SeriesKey key) {
  key.machine.clear();
  key.machine_id.clear();
  key.device.clear();
  return key;
}

template <class Belongs>
std::map<SeriesKey, Half> halves_of(const std::vector<Series>& history, const Belongs& belongs) {
  std::map<SeriesKey, Half> out;
  for (const Series& series : history) {
    Half half;
    half.series = &series;
    for (const SeriesPoint& point : series.points) {
      if (!belongs(series, point)) continue;
      half.points.push_back(&point);
      half.last_date = std::max(half.last_date, point.last_date);
    }
    if (half.points.empty()) continue;
    Half& held = out[cell_of(series.key)];
    if (held.series == nullptr || held.last_date < half.last_date) held = std::move(half);
  }
  return out;
}

ComparedSide side_of(const Half& half) {
  ComparedSide side;
  side.machine = half.series->key.machine;
  side.machine_id = half.series->key.machine_id;
  side.build = half.points.back()->build;
  side.environment_id = half.points.back()->environment_id;
  side.measured = half.points.front()->date;
  const std::vector<stats::Trial> trials = half.trials();
  side.n_trials = trials.size();
  stats::IntervalOptions options;
  options.bootstrap_rounds = 1000;
  if (const auto interval = stats::median_interval(trials, options); interval.ok()) {
    side.median_ts = interval->median;
    if (interval->lo && interval->hi) side.ci95 = Interval{*interval->lo, *interval->hi};
  }
  return side;
}

void compare_cells(std::vector<ComparedCell>& cells, const std::vector<std::pair<Half, Half>>& halves,
                   CompareReport& report) {
  std::vector<stats::Test> tests;
  std::vector<stats::Comparison> comparisons;
  std::vector<std::size_t> of;
  for (std::size_t i = 0; i < cells.size(); ++i) {
    if (!cells[i].base || !cells[i].other) continue;
    const bool enough = cells[i].base->n_trials >= kFewestTrials && cells[i].other->n_trials >= kFewestTrials;
    if (enough) {
      comparisons.push_back({tests.size(), 1, 0});
      stats::Test test;
      test.name = cells[i].key.test;
      test.arms = {{"base", halves[i].first.trials(), ""}, {"other", halves[i].second.trials(), ""}};
      tests.push_back(std::move(test));
      of.push_back(i);
      continue;
    }
    stats::IntervalOptions options;
    options.bootstrap_rounds = 1000;
    const auto ratio = stats::ratio_interval(halves[i].second.trials(), halves[i].first.trials(), options);
    if (!ratio.ok()) continue;
    cells[i].ratio = ratio->ratio;
    cells[i].interval = ratio->label;
    if (ratio->lo && ratio->hi) cells[i].ci95 = Interval{*ratio->lo, *ratio->hi};
  }
  report.compared = of.size();
  const auto compared = stats::compare(tests, comparisons);
  if (!compared.ok()) return;
  for (std::size_t i = 0; i < of.size(); ++i) {
    ComparedCell& cell = cells[of[i]];
    const auto& ratio = (*compared)[i].simultaneous;
    if (!ratio) {
      cell.interval = (*compared)[i].problem;
      continue;
    }
    cell.ratio = ratio->ratio;
    cell.interval = ratio->label;
    if (ratio->lo && ratio->hi) cell.ci95 = Interval{*ratio->lo, *ratio->hi};
    cell.holds_together = true;
  }
}

const Setting& setting_of(const Measurements& measurements, const SeriesPoint& point) {
  return measurements.settings[measurements.launches[measurements.all[point.places.front()].launch].origin];
}

Error unknown_side(const std::string& name, const std::vector<std::pair<Place, std::string>>& places) {
  constexpr std::size_t kMost = 4;
  std::string known;
  for (std::size_t i = 0; i < std::min(places.size(), kMost); ++i) {
    known += (known.empty() ? "" : "; ") + one_line(places[i].second) + ", environment " +
             std::get<1>(places[i].first).substr(0, 12);
  }
  return Error{ErrorKind::kUsage, "\"" + one_line(name) + "\"",
               "names no build, environment, machine or run of the store",
               known.empty() ? "measure something first: `capbench run SUITE`" : "one of these: " + known};
}

}  // namespace

Result<CompareReport> read_compare(schema::Store& store, const std::string& suite, const CompareSides& sides) {
  schema::Store* const stores[] = {&store};
  MeasurementFilter filter;
  filter.suite = suite;
  auto measurements = read_measurements(stores, filter);
  if (!measurements) return std::move(measurements).error();
  const std::vector<Series> history = history_of(*measurements, Axis::kRuns, false, {});
  const auto places = places_of(history);
  CompareReport report;
  report.sides = sides;
  if (sides.base.empty() != sides.other.empty()) {
    return Error{ErrorKind::kUsage, sides.base.empty() ? "--base" : "--other", "is missing",
                 "name both sides, or neither for the newest two"};
  }
  const bool chosen = sides.base.empty();
  for (const std::string* name : {&sides.base, &sides.other}) {
    const bool known = chosen || std::any_of(history.begin(), history.end(), [&](const Series& series) {
                         return std::any_of(series.points.begin(), series.points.end(),
                                            [&](const SeriesPoint& point) { return is_named(series, point, *name); });
                       });
    if (!known) return unknown_side(*name, places);
  }
  if (chosen && !places.empty()) {
    report.sides.other = places[0].second;
    report.sides.base = places.size() > 1 ? places[1].second : "nothing before it";
  }
  const auto belongs = [&](std::size_t place, const std::string& name) {
    return [&, place](const Series& series, const SeriesPoint& point) {
      if (!chosen) return is_named(series, point, name);
      return place < places.size() && place_of(series, point) == places[place].first;
    };
  };
  std::map<SeriesKey, Half> base = halves_of(history, belongs(1, sides.base));
  std::map<SeriesKey, Half> other = halves_of(history, belongs(0, sides.other));
  std::set<SeriesKey> keys;
  for (const auto& [key, half] : base) keys.insert(key);
  for (const auto& [key, half] : other) keys.insert(key);
  std::vector<std::pair<Half, Half>> halves;
  std::set<std::string> different;
  std::set<std::pair<Setting, Setting>> seen;
  for (const SeriesKey& key : keys) {
    ComparedCell cell;
    const Half& a = base[key];
    const Half& b = other[key];
    if (a.series != nullptr) cell.base = side_of(a);
    if (b.series != nullptr) cell.other = side_of(b);
    cell.key = (a.series != nullptr ? a : b).series->key;
    if (cell.base && cell.other) {
      report.same_machine = report.same_machine && cell.base->machine_id == cell.other->machine_id;
      const Setting& before = setting_of(*measurements, *a.points.back());
      const Setting& after = setting_of(*measurements, *b.points.back());
      if (seen.emplace(before, after).second) {
        const auto found = differences(before, after, measurements->parts, measurements->texts);
        different.insert(found.begin(), found.end());
      }
    }
    report.cells.push_back(std::move(cell));
    halves.emplace_back(a, b);
  }
  report.different.assign(different.begin(), different.end());
  compare_cells(report.cells, halves, report);
  return report;
}

}  // namespace capbench::reports
