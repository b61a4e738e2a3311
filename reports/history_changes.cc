#include "reports/history_changes.h"

#include <algorithm>
#include <tuple>
#include <vector>

#include "base/digest.h"
#include "harness/stats/change_points.h"
#include "harness/stats/interval.h"
#include "harness/stats/noise.h"
#include "harness/stats/table.h"

namespace capbench::reports {
namespace {

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
  bool any = false;
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
    const double ratio = series.points[i].median_ts / series.points[i - 1].median_ts;
    any = any || ratio < 1 - series.margin || ratio > 1 + series.margin;
  }
  // An interval holds its ratio, so none lies beyond the margin where no ratio does.
  if (!any) return;
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

}  // namespace

void find_changes(Series& series, const Decisions& decisions) {
  find_margin(series);
  stats::ChangePointOptions options;
  options.min_effect = series.margin;
  if (series.points.size() >= 2 * options.min_segment) find_levels(series, options);
  if (series.points.size() > 1) find_steps(series, options);
  std::sort(series.changes.begin(), series.changes.end(),
            [](const SeriesChange& a, const SeriesChange& b) { return a.index < b.index; });
  if (decisions.knows(series.setting)) {
    for (std::size_t i = 1; i < series.points.size(); ++i) {
      const schema::TriageRecord* decided = decisions.find(sha256(regression_subject(series, i)));
      if (decided != nullptr) series.decisions[decided->regression_id] = {decided->state, decided->why};
    }
  }
  for (SeriesChange& change : series.changes) {
    change.id = sha256(regression_subject(series, change.index));
    change.state = "open";
    const auto decided = series.decisions.find(change.id);
    if (decided != series.decisions.end()) std::tie(change.state, change.why) = decided->second;
  }
}

}  // namespace capbench::reports
