// The scores and times of the search for change points. Run through scripts/bench detect.
#include <fmt/format.h>
#include <time.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "harness/stats/change_points.h"
#include "harness/stats/change_points_study.h"

namespace capbench::stats::study {
namespace {

constexpr double kNoises[] = {0.005, 0.01, 0.02, 0.05};

struct Row {
  std::string name;
  std::size_t points = 0;
  Kind kind;
};

std::size_t most_steps(std::size_t points) {
  return points <= 30 ? 2 : points / 25 > 12 ? 12 : points / 25;
}

// As many series as make up `points` points, evenly over the noises, 0 to the most steps in turn.
template <class Use>
void each_series(std::uint64_t seed, const Row& row, std::size_t points, bool steps, const Use& use) {
  Random random(seed + row.points * 7919);
  const std::size_t rounds = std::max<std::size_t>(std::size(kNoises), points / row.points);
  for (std::size_t i = 0; i < rounds; ++i) {
    Kind kind = row.kind;
    kind.points = row.points;
    kind.noise = kNoises[i % std::size(kNoises)];
    kind.steps = steps ? static_cast<std::size_t>(random.below(most_steps(row.points) + 1)) : 0;
    use(make_series(random, kind));
  }
}

// Processor time of this thread: other programs do not count.
double seconds(const auto& work) {
  const auto now = [] {
    timespec time = {};
    ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
  };
  const double start = now();
  work();
  return now() - start;
}

// What is asked of a row: precision and recall of every kind of series that is promised, false alarms of those that are
// stationary, which a drift is not.
struct Asked {
  bool scores = true;
  bool alarms = true;
};

constexpr double kLeast = 0.95;
constexpr double kMostAlarms = 1;  // in 1,000 points

bool holds(const Scores& steps, const Scores& still, const Asked& asked) {
  return (!asked.scores || (steps.precision() >= kLeast && steps.recall() >= kLeast)) &&
         (!asked.alarms || still.false_alarms_per_1000() <= kMostAlarms);
}

std::string verdict(const Scores& steps, const Scores& still, const Asked& asked) {
  if (!asked.scores && !asked.alarms) return "not asked";
  if (holds(steps, still, asked)) return asked.alarms ? "pass" : "pass (no stationary series: alarms not asked)";
  std::string text = "FAIL:";
  if (asked.scores && steps.precision() < kLeast) text += " precision";
  if (asked.scores && steps.recall() < kLeast) text += " recall";
  if (asked.alarms && still.false_alarms_per_1000() > kMostAlarms) text += " false alarms";
  return text;
}

struct Named {
  std::string_view name;
  Method method;
  bool slow = false;
};

}  // namespace
}  // namespace capbench::stats::study

int main(int argc, char** argv) {
  using namespace capbench::stats;
  using namespace capbench::stats::study;
  std::size_t points = 400000;
  std::uint64_t seed = 20261130;
  bool baselines = true;
  for (int i = 1; i < argc; ++i) {
    const std::string_view option = argv[i];
    if (option == "--points" && i + 1 < argc) {
      points = std::strtoull(argv[++i], nullptr, 10);
    } else if (option == "--seed" && i + 1 < argc) {
      seed = std::strtoull(argv[++i], nullptr, 10);
    } else if (option == "--ours") {
      baselines = false;
    } else {
      fmt::print(stderr, "{}: no such option; try: scripts/bench detect [--points N] [--seed N] [--ours]\n", option);
      return 2;
    }
  }
  std::vector<Named> methods = {{"capbench", ours}};
  if (baselines) {
    methods.push_back({"otava", [](auto v) { return otava(v); }});
    methods.push_back({"otava, 2 % least", [](auto v) { return otava(v, 0.02); }});
    methods.push_back({"plain E-divisive", plain, true});
  }
  std::vector<Row> rows;
  for (const std::size_t n : {30U, 100U, 300U, 1000U}) {
    rows.push_back({fmt::format("n = {}", n), n, {}});
    for (const int percent : {2, 5}) {
      Kind drift;
      drift.drift = 0.01 * percent;
      rows.push_back({fmt::format("n = {}, drift {} %", n, percent), n, drift});
    }
    Kind skewed;
    skewed.skewed = true;
    rows.push_back({fmt::format("n = {}, skewed", n), n, skewed});
    Kind correlated;
    correlated.autocorrelation = 0.3;
    rows.push_back({fmt::format("n = {}, autocorrelation 0.3", n), n, correlated});
  }
  bool good = true;
  std::vector<Scores> all_steps(methods.size());  // without the rows that no bound is asked of
  std::vector<Scores> all_still(methods.size());
  const auto print = [](std::string_view row, std::string_view name, const Scores& steps, const Scores& still,
                        const Asked& asked) {
    fmt::print("{:<30} {:<17} {:>9.3f} {:>7.3f} {:>12.2f}  {}\n", row, name, steps.precision(), steps.recall(),
               still.false_alarms_per_1000(), verdict(steps, still, asked));
    std::fflush(stdout);
  };
  fmt::print("{:<30} {:<17} {:>9} {:>7} {:>12}\n", "", "", "precision", "recall", "false alarms");
  fmt::print("{:<30} {:<17} {:>9} {:>7} {:>12}  {}\n", "series", "method", "", "> 3 sd", "per 1,000",
             "asked: .95, .95, and 1 of stationary series");
  for (const Row& row : rows) {
    for (std::size_t m = 0; m < methods.size(); ++m) {
      const Named& named = methods[m];
      // The plain method takes minutes for what the others do in seconds.
      const std::size_t budget = named.slow ? points / 20 : points;
      Scores steps;
      Scores still;
      each_series(seed, row, budget, true, [&](const KnownSeries& s) { steps += score(s, named.method(s.speeds)); });
      each_series(seed + 1, row, budget, false,
                  [&](const KnownSeries& s) { still += score(s, named.method(s.speeds)); });
      const bool promised = row.kind.autocorrelation == 0 && row.kind.drift <= 0.02;
      print(row.name, named.name, steps, still, {promised, promised && row.kind.drift == 0});
      if (!promised) continue;
      all_steps[m] += steps;
      // A drift is not stationary.
      if (row.kind.drift == 0) all_still[m] += still;
    }
  }
  fmt::print("\n");
  for (std::size_t m = 0; m < methods.size(); ++m) {
    print("all that is asked, together", methods[m].name, all_steps[m], all_still[m], {});
  }
  good = holds(all_steps[0], all_still[0], {});
  // Intervals: how often they hold the truth.
  std::size_t large = 0;
  std::size_t ratio_holds = 0;
  std::size_t place_holds = 0;
  std::size_t width = 0;
  for (const std::size_t n : {30U, 100U, 300U, 1000U}) {
    each_series(seed + 2, {"", n, {}}, points / 4, true, [&](const KnownSeries& series) {
      const auto found = find_change_points(series.speeds);
      for (const ChangePoint& point : *found) {
        for (const KnownStep& step : series.steps) {
          const std::size_t away = point.index > step.index ? point.index - step.index : step.index - point.index;
          if (away > kMatch || std::abs(step.size) <= kLarge * series.noise) continue;
          ++large;
          const double truth = std::exp(step.size);
          if (point.lo <= truth && truth <= point.hi) ++ratio_holds;
          if (point.first <= step.index && step.index <= point.last) ++place_holds;
          width += point.last - point.first + 1;
        }
      }
    });
  }
  fmt::print(
      "\nof {} changes over 3 sd found: the ratio's 95 % interval holds the truth in {:.1f} %, the place's in {:.1f} % "
      "({:.1f} points wide on average)\n\n",
      large, 100.0 * static_cast<double>(ratio_holds) / static_cast<double>(large),
      100.0 * static_cast<double>(place_holds) / static_cast<double>(large),
      static_cast<double>(width) / static_cast<double>(large));
  for (const auto& [n, steps, limit] :
       {std::tuple(1000U, 0U, 0.050), std::tuple(1000U, 12U, 0.050), std::tuple(1000U, 40U, 0.050),
        std::tuple(100000U, 0U, 10.0), std::tuple(100000U, 1000U, 10.0), std::tuple(100000U, 4000U, 10.0)}) {
    Random random(seed + 3);
    Kind kind;
    kind.points = n;
    kind.steps = steps;
    const KnownSeries series = make_series(random, kind);
    std::vector<double> times;
    for (int i = 0; i < (n > 10000 ? 3 : 15); ++i) times.push_back(seconds([&] { (void)ours(series.speeds); }));
    std::sort(times.begin(), times.end());
    const Scores scores = score(series, ours(series.speeds));
    const bool fast = times[times.size() / 2] < limit;
    fmt::print(
        "{:>7} points, {:>4} changes: {:>8.1f} ms (median of {}, worst {:.1f}; limit {:.0f}: {}), {} false, "
        "recall {:.3f}\n",
        n, steps, 1e3 * times[times.size() / 2], times.size(), 1e3 * times.back(), 1e3 * limit, fast ? "pass" : "FAIL",
        scores.found - scores.right, scores.recall());
    std::fflush(stdout);
    good = good && fast;
  }
  if (!good) fmt::print("a bound is not held\n");
  return good ? 0 : 1;
}
