#include "reports/regressions.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <functional>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "base/digest.h"
#include "harness/stats/interval.h"
#include "harness/stats/table.h"
#include "reports/subject.h"
#include "reports/text.h"

namespace capbench::reports {
namespace {

constexpr std::size_t kFewestTrials = 3;
constexpr const char* kPrevious = "previous";

std::optional<std::size_t> find_point(const Series& series, const std::string& revision) {
  if (revision == kPrevious) {
    if (series.points.size() < 2) return std::nullopt;
    return series.points.size() - 2;
  }
  // The newest of that name: a build may have been built again.
  for (std::size_t i = series.points.size(); i > 0; --i) {
    if (names_point(series.points[i - 1], revision)) return i - 1;
  }
  return std::nullopt;
}

std::string joined(const std::vector<std::string>& list, std::size_t most) {
  std::vector<std::string> shown(list.begin(), list.begin() + static_cast<std::ptrdiff_t>(std::min(most, list.size())));
  std::string text = fmt::format("{}", fmt::join(shown, ", "));
  if (list.size() > most) text += fmt::format(" and {} more", list.size() - most);
  return text;
}

// What is known of one key, before the intervals.
struct Pair {
  const Series* series = nullptr;
  bool is_newest = false;  // the baseline is: nothing can be slower than itself
  std::size_t baseline = 0;
  CheckedSeries out;
};

// All settings of one key, newest first.
Pair pair_of(const std::vector<const Series*>& settings, const std::string& revision) {
  Pair pair;
  const Series& newest = *settings.front();
  pair.out.key = newest.key;
  pair.out.setting = newest.setting;
  pair.out.margin = newest.margin;
  const SeriesPoint& last = newest.points.back();
  pair.out.newest = last.label;
  pair.out.newest_trials = last.n_trials;
  pair.out.newest_ts = last.median_ts;
  const auto found = find_point(newest, revision);
  if (!found) {
    for (const Series* other : settings) {
      const auto there = find_point(*other, revision);
      if (!there || revision == kPrevious) continue;
      pair.out.baseline = other->points[*there].label;
      pair.out.why = "not comparable: between the baseline and now these differ: " + joined(other->setting_apart, 4);
      return pair;
    }
    pair.out.why = revision == kPrevious ? "there is nothing before it" : "not measured at the baseline";
    return pair;
  }
  const SeriesPoint& base = newest.points[*found];
  pair.out.baseline = base.label;
  pair.out.baseline_trials = base.n_trials;
  pair.out.baseline_ts = base.median_ts;
  if (*found + 1 == newest.points.size()) {
    pair.is_newest = true;
    pair.out.why = "nothing newer than the baseline was measured";
    return pair;
  }
  pair.series = &newest;
  pair.baseline = *found;
  return pair;
}

// Fewer points have too few orders for a change of level to be told from chance (change_points.h).
constexpr std::size_t kFewestForLevels = 12;

bool has_levels(const Pair& pair) {
  return pair.series != nullptr && pair.series->points.size() >= kFewestForLevels;
}

bool has_trials(const Pair& pair) {
  return pair.series != nullptr && pair.out.baseline_trials >= kFewestTrials && pair.out.newest_trials >= kFewestTrials;
}

void judge(CheckedSeries& out, double ratio, double low, double high) {
  out.ratio = ratio;
  out.ci95 = Interval{low, high};
  if (high < 1 - out.margin) {
    out.standing = Standing::kSlower;
  } else if (low > 1 + out.margin) {
    out.standing = Standing::kFaster;
  } else if (low > 1 - out.margin) {
    out.standing = Standing::kNotSlower;
  } else {
    out.standing = Standing::kCannotTell;
    out.why = fmt::format("its interval reaches over the margin of {:.1f} %: more trials would tell", 100 * out.margin);
  }
}

void judge_by_trials(std::vector<Pair>& pairs, CheckReport& report) {
  std::vector<stats::Test> tests;
  std::vector<stats::Comparison> comparisons;
  std::vector<Pair*> of;
  for (Pair& pair : pairs) {
    if (!has_trials(pair)) continue;
    stats::Test test;
    test.name = pair.out.key.test;
    test.arms = {{"baseline", pair.series->points[pair.baseline].trials, ""},
                 {"newest", pair.series->points.back().trials, ""}};
    comparisons.push_back({tests.size(), 1, 0});
    tests.push_back(std::move(test));
    of.push_back(&pair);
  }
  report.asked = of.size();
  if (of.empty()) return;
  const auto compared = stats::compare(tests, comparisons);
  for (std::size_t i = 0; i < of.size(); ++i) {
    CheckedSeries& out = of[i]->out;
    const stats::Compared* result = compared.ok() ? &(*compared)[i] : nullptr;
    if (result == nullptr || !result->simultaneous || !result->simultaneous->lo || !result->simultaneous->hi) {
      out.why = result == nullptr ? compared.error().cause : result->problem;
      continue;
    }
    out.method = "trials";
    judge(out, result->simultaneous->ratio, *result->simultaneous->lo, *result->simultaneous->hi);
  }
}

// Level against level: the points of the baseline's segment and of the newest one's.
void judge_by_levels(Pair& pair) {
  const Series& series = *pair.series;
  std::size_t begin = 0;
  std::size_t end = series.points.size();
  std::size_t newest_begin = 0;
  const SeriesChange* worst = nullptr;
  for (const SeriesChange& change : series.changes) {
    if (change.method != "change point") continue;
    newest_begin = change.index;
    if (change.index <= pair.baseline) {
      begin = change.index;
      continue;
    }
    if (end == series.points.size()) end = change.index;
    if (worst == nullptr || change.ratio < worst->ratio) worst = &change;
  }
  if (worst == nullptr) return;
  const auto points = [&](std::size_t from, std::size_t to) {
    std::vector<stats::Trial> trials;
    for (std::size_t i = from; i < to; ++i) {
      trials.push_back({static_cast<std::int64_t>(i), {series.points[i].median_ts}});
    }
    return trials;
  };
  const auto ratio = stats::ratio_interval(points(newest_begin, series.points.size()), points(begin, end));
  if (!ratio.ok() || !ratio->lo || !ratio->hi) return;
  pair.out.why.clear();
  pair.out.method = "change point";
  pair.out.p = worst->p;
  judge(pair.out, ratio->ratio, *ratio->lo, *ratio->hi);
}

// Where a series that is slower became so: at a change of level, or at the first point from which all are slower.
void find_since(Pair& pair) {
  const Series& series = *pair.series;
  CheckedSeries& out = pair.out;
  std::size_t first = 0;
  const SeriesChange* worst = nullptr;
  for (const SeriesChange& change : series.changes) {
    if (change.index > pair.baseline && change.ratio < 1 && (worst == nullptr || change.ratio < worst->ratio)) {
      worst = &change;
    }
  }
  if (worst != nullptr) {
    first = worst->index;
    if (!out.p) out.p = worst->p;
  } else {
    const double limit = (1 - out.margin) * series.points[pair.baseline].median_ts;
    first = series.points.size() - 1;
    while (first > pair.baseline + 1 && series.points[first - 1].median_ts < limit) --first;
  }
  out.last_good = series.points[first - 1].label;
  out.first_bad = series.points[first].label;
  out.first_bad_date = series.points[first].date;
  out.subject = regression_subject(series, first);
  out.id = sha256(out.subject);
}

std::string known_baselines(const std::vector<Series>& history) {
  std::map<std::string, std::string> newest;  // label -> date
  for (const Series& series : history) {
    for (const SeriesPoint& point : series.points) newest[point.label] = std::max(newest[point.label], point.date);
  }
  std::vector<std::pair<std::string, std::string>> by_date;
  for (const auto& [label, date] : newest) by_date.emplace_back(date, label);
  std::sort(by_date.rbegin(), by_date.rend());
  std::vector<std::string> labels;
  for (const auto& [date, label] : by_date) labels.push_back(one_line(label));
  return joined(labels, 5);
}

}  // namespace

std::string_view standing_name(Standing standing) {
  constexpr std::array<std::string_view, 4> kNames = {"slower", "not slower", "faster", "cannot tell"};
  return kNames[static_cast<std::size_t>(standing)];
}

Result<CheckReport> check_history(const std::vector<Series>& history, Axis axis, const std::string& baseline) {
  CheckReport report;
  report.axis = axis;
  report.baseline = baseline;
  const bool known = baseline == kPrevious || std::any_of(history.begin(), history.end(), [&](const Series& series) {
                       return find_point(series, baseline).has_value();
                     });
  if (!known) {
    return Error{ErrorKind::kUsage, fmt::format("baseline \"{}\"", one_line(baseline)),
                 "nothing in the store was measured at it",
                 history.empty() ? "measure something first: `capbench run SUITE`"
                                 : "one of these: " + known_baselines(history) + "; or `previous`"};
  }
  std::vector<Pair> pairs;
  for (std::size_t i = 0; i < history.size();) {
    std::vector<const Series*> settings;
    const std::size_t first = i;
    for (; i < history.size() && history[i].key == history[first].key; ++i) settings.push_back(&history[i]);
    pairs.push_back(pair_of(settings, baseline));
  }
  judge_by_trials(pairs, report);
  for (Pair& pair : pairs) {
    CheckedSeries& out = pair.out;
    if (pair.series == nullptr) continue;
    if (!has_trials(pair)) {
      out.why = fmt::format("too few trials: {} at the baseline, {} now; {} each are needed{}", out.baseline_trials,
                            out.newest_trials, kFewestTrials,
                            has_levels(pair) ? ". No change of level since the baseline" : "");
    }
    if (out.standing == Standing::kCannotTell) judge_by_levels(pair);
    if (out.standing != Standing::kSlower) continue;
    find_since(pair);
    out.state = "open";
    const auto decided = pair.series->decisions.find(out.id);
    if (decided != pair.series->decisions.end()) std::tie(out.state, out.state_why) = decided->second;
    out.counts = out.state == "open" || out.state == "fixed";
    report.finding = report.finding || out.counts;
  }
  for (Pair& pair : pairs) {
    if (pair.out.ratio || has_levels(pair) || pair.is_newest) ++report.compared;
    report.series.push_back(std::move(pair.out));
  }
  std::sort(report.series.begin(), report.series.end(), [](const CheckedSeries& a, const CheckedSeries& b) {
    const auto rank = [](const CheckedSeries& s) {
      const bool slower = s.standing == Standing::kSlower;
      return std::tuple(slower ? 0 : 1, slower ? s.ratio.value_or(1) : 1.0, std::cref(s.key));
    };
    const auto [a_group, a_ratio, a_key] = rank(a);
    const auto [b_group, b_ratio, b_key] = rank(b);
    if (std::tie(a_group, a_ratio) != std::tie(b_group, b_ratio))
      return std::tie(a_group, a_ratio) < std::tie(b_group, b_ratio);
    return a_key.get() < b_key.get();
  });
  return report;
}

Result<std::string> find_regression(schema::Store& store, const std::string& id_or_prefix) {
  constexpr std::size_t kFewestDigits = 6;
  const auto refuse = [&](const char* cause, const char* remedy) {
    return Error{ErrorKind::kUsage, "regression " + one_line(id_or_prefix), cause, remedy};
  };
  if (id_or_prefix.size() < kFewestDigits) return refuse("too short for an id", "give 6 digits or more");
  std::map<std::string, std::string> found;
  auto decided = store.triage();
  if (!decided) return std::move(decided).error();
  for (const schema::TriageRecord& decision : *decided) {
    if (decision.regression_id.starts_with(id_or_prefix)) found[decision.regression_id] = decision.subject;
  }
  schema::Store* const stores[] = {&store};
  const auto measurements = read_measurements(stores);
  if (!measurements) return measurements.error();
  for (const Axis axis : {Axis::kBuilds, Axis::kSystems, Axis::kRuns}) {
    for (const Series& series : history_of(*measurements, axis, false, {})) {
      for (std::size_t i = 1; i < series.points.size(); ++i) {
        std::string subject = regression_subject(series, i);
        std::string id = sha256(subject);
        if (id.starts_with(id_or_prefix)) found[std::move(id)] = std::move(subject);
      }
    }
  }
  if (found.empty())
    return refuse("nothing in the store has that id", "`capbench check --baseline REV`, which prints ids");
  if (found.size() > 1) return refuse("several regressions begin so", "give more digits of the id");
  return found.begin()->second;
}

}  // namespace capbench::reports
