#include "harness/stats/table.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <utility>

#include "base/parallel.h"
#include "harness/stats/bootstrap.h"
#include "harness/stats/gap.h"
#include "harness/stats/options.h"
#include "harness/stats/prepared.h"

namespace capbench::stats {
namespace {

std::vector<PreparedTest> prepare_all(std::span<const Test> tests) {
  std::vector<PreparedTest> prepared;
  prepared.reserve(tests.size());
  for (const Test& test : tests) {
    std::vector<ArmView> views;
    for (const Arm& arm : test.arms) views.push_back({arm.name, arm.trials, arm.why_empty});
    prepared.push_back(prepare(std::move(views)));
  }
  return prepared;
}

Status check_comparisons(std::span<const Test> tests, std::span<const Comparison> comparisons) {
  for (std::size_t i = 0; i < comparisons.size(); ++i) {
    const Comparison& one = comparisons[i];
    const bool exists = one.test < tests.size() && one.arm < tests[one.test].arms.size() &&
                        one.reference < tests[one.test].arms.size() && one.arm != one.reference;
    if (exists) continue;
    return Error{ErrorKind::kUsage, fmt::format("comparison {}", i), "it does not name two arms of a test",
                 "give indices of the table's tests and arms"};
  }
  return {};
}

// Every arm's replicates once, each from a stream of its own, so that neither threads nor the list of comparisons
// matter.
void add_resampled(std::span<const Test> tests, std::vector<Compared>& found, const TableOptions& options) {
  struct Place {
    std::size_t test = 0;
    std::size_t arm = 0;
    std::uint64_t stream = 0;
  };
  std::map<std::pair<std::size_t, std::size_t>, std::size_t> index;
  std::vector<Place> places;
  const auto add = [&](std::size_t test, std::size_t arm) {
    if (index.emplace(std::make_pair(test, arm), places.size()).second) {
      std::uint64_t stream = arm;
      for (std::size_t i = 0; i < test; ++i) stream += tests[i].arms.size();
      places.push_back({test, arm, stream});
    }
  };
  for (const Compared& one : found) {
    if (!one.alone) continue;
    add(one.of.test, one.of.arm);
    add(one.of.test, one.of.reference);
  }
  std::vector<std::vector<double>> replicates(places.size());
  for_each_index(places.size(), options.threads, [&](std::size_t i) {
    const Place& place = places[i];
    replicates[i] = resampled_medians(tests[place.test].arms[place.arm].trials, options.bootstrap_rounds,
                                      stream_seed(options.seed, place.stream));
  });
  const double tail = (1 - options.confidence) / 2;
  const auto rank = static_cast<std::ptrdiff_t>(std::floor(tail * static_cast<double>(options.bootstrap_rounds)));
  for_each_index(found.size(), options.threads, [&](std::size_t i) {
    Compared& one = found[i];
    if (!one.alone) return;
    const std::vector<double>& a = replicates[index.at({one.of.test, one.of.arm})];
    const std::vector<double>& b = replicates[index.at({one.of.test, one.of.reference})];
    std::vector<double> ratios(a.size());
    for (std::size_t round = 0; round < a.size(); ++round) ratios[round] = a[round] / b[round];
    const auto low = ratios.begin() + rank;
    const auto high = ratios.end() - 1 - rank;
    std::nth_element(ratios.begin(), low, ratios.end());
    std::nth_element(low, high, ratios.end());
    RatioInterval interval = *one.alone;
    interval.method = "bootstrap";
    interval.label = "two-level bootstrap";
    interval.shift.reset();
    interval.widened = interval.ratio < *low || interval.ratio > *high;
    interval.lo = std::min(*low, interval.ratio);
    interval.hi = std::max(*high, interval.ratio);
    one.resampled = std::move(interval);
  });
}

std::vector<Compared> compare_prepared(std::span<const Test> tests, const std::vector<PreparedTest>& prepared,
                                       std::span<const Comparison> comparisons, const TableOptions& options) {
  std::vector<Compared> found(comparisons.size());
  std::size_t family = 0;
  for (std::size_t i = 0; i < comparisons.size(); ++i) {
    Compared& one = found[i];
    one.of = comparisons[i];
    const PreparedTest& test = prepared[one.of.test];
    for (const std::size_t arm : {one.of.arm, one.of.reference}) {
      if (!one.problem.empty() && !usable(test, arm)) one.problem += "; ";
      one.problem += test.arms[arm].problem;
    }
    one.can_claim = one.problem.empty() && can_claim(test, one.of.arm, one.of.reference);
    if (one.can_claim) ++family;
  }
  Ranks ranks;
  for (Compared& one : found) {
    if (!one.problem.empty()) continue;
    const PreparedTest& test = prepared[one.of.test];
    if (one.can_claim) {
      one.alone = claimable_ratio(test, one.of.arm, one.of.reference, {options.confidence, 1}, ranks);
      one.simultaneous = claimable_ratio(test, one.of.arm, one.of.reference, {options.confidence, family}, ranks);
      continue;
    }
    const std::vector<Arm>& arms = tests[one.of.test].arms;
    one.alone =
        ratio_interval(arms[one.of.arm].trials, arms[one.of.reference].trials, interval_options(options)).value();
  }
  if (options.resample) add_resampled(tests, found, options);
  return found;
}

std::optional<std::size_t> arm_named(const Test& test, const std::string& name, std::vector<std::string>& notes) {
  std::optional<std::size_t> found;
  std::size_t count = 0;
  for (std::size_t i = 0; i < test.arms.size(); ++i) {
    if (test.arms[i].name != name) continue;
    if (!found) found = i;
    ++count;
  }
  if (count == 0) notes.push_back(fmt::format("test `{}`: no arm `{}`", test.name, name));
  if (count > 1) {
    notes.push_back(fmt::format("test `{}`: {} arms are named `{}`; the first counts", test.name, count, name));
  }
  return found;
}

ArmRow row_of(const Test& test, const PreparedTest& prepared, std::size_t arm, const TableOptions& options) {
  ArmRow row;
  row.test = test.name;
  row.arm = test.arms[arm].name;
  row.problem = prepared.arms[arm].problem;
  if (!row.problem.empty()) return row;
  const std::vector<Trial>& trials = test.arms[arm].trials;
  row.summary = summarize(trials).value();
  row.median = median_interval(trials, interval_options(options)).value();
  row.flags = flag_trials(trials);
  return row;
}

}  // namespace

Status check_options(const TableOptions& options) {
  if (!(options.confidence >= 0.5 && options.confidence <= 0.99)) {
    return Error{ErrorKind::kUsage, "confidence", "expected a number from 0.5 to 0.99", "use 0.95"};
  }
  if (options.bootstrap_rounds < 100 || options.bootstrap_rounds > 1000000) {
    return Error{ErrorKind::kUsage, "bootstrap rounds", "expected an integer from 100 to 1000000", "use 10000"};
  }
  if (options.threads < 1 || options.threads > 256) {
    return Error{ErrorKind::kUsage, "threads", "expected an integer from 1 to 256", "use the number of cores"};
  }
  return {};
}

Result<std::vector<Compared>> compare(std::span<const Test> tests, std::span<const Comparison> comparisons,
                                      const TableOptions& options) {
  if (Status status = check_options(options); !status.ok()) return std::move(status).error();
  if (Status status = check_comparisons(tests, comparisons); !status.ok()) return std::move(status).error();
  return compare_prepared(tests, prepare_all(tests), comparisons, options);
}

Result<Table> make_table(std::span<const Test> tests, const TableQuestion& question, const TableOptions& options) {
  if (Status status = check_options(options); !status.ok()) return std::move(status).error();
  const std::vector<PreparedTest> prepared = prepare_all(tests);
  Table table;
  struct Wanted {
    std::size_t row = 0;
    bool bare_metal = false;
  };
  std::vector<Wanted> wanted;
  std::vector<Comparison> comparisons;
  for (std::size_t t = 0; t < tests.size(); ++t) {
    const std::optional<std::size_t> reference = arm_named(tests[t], question.reference, table.notes);
    std::optional<std::size_t> bare;
    if (!question.bare_metal.empty()) bare = arm_named(tests[t], question.bare_metal, table.notes);
    for (std::size_t a = 0; a < tests[t].arms.size(); ++a) {
      ArmRow row = row_of(tests[t], prepared[t], a, options);
      if (reference && a != *reference) {
        wanted.push_back({table.rows.size(), false});
        comparisons.push_back({t, a, *reference});
      }
      if (bare && a != *bare) {
        wanted.push_back({table.rows.size(), true});
        comparisons.push_back({t, a, *bare});
      }
      const bool three = reference && bare && a != *reference && a != *bare && *reference != *bare;
      if (three && usable(prepared[t], a) && usable(prepared[t], *reference) && usable(prepared[t], *bare)) {
        row.gap = gap_of(prepared[t], a, *reference, *bare, options);
      }
      table.rows.push_back(std::move(row));
    }
  }
  std::vector<Compared> found = compare_prepared(tests, prepared, comparisons, options);
  for (std::size_t i = 0; i < found.size(); ++i) {
    if (found[i].can_claim) ++table.comparisons;
    ArmRow& row = table.rows[wanted[i].row];
    (wanted[i].bare_metal ? row.against_bare_metal : row.against_reference) = std::move(found[i]);
  }
  return table;
}

}  // namespace capbench::stats
