// Arms x tests: medians, ratios with intervals that hold over a whole table, and how much of a gap an arm closes. Pure,
// thread-safe, seeded: the same input gives the same bytes whatever the platform and the number of threads.
//
// Two intervals stand beside every ratio. `alone` is the 95 % interval of that ratio by itself
// (harness/stats/interval.h, with the effects of blocks removed where three or more arms share them). `simultaneous` is
// wider, so that all the intervals of a table hold together with 95 %: only from these may a table say "depends" or
// "does not depend". harness/stats/README.md says how they are made and what simulations found.
#ifndef CAPBENCH_HARNESS_STATS_TABLE_H_
#define CAPBENCH_HARNESS_STATS_TABLE_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "harness/stats/flags.h"
#include "harness/stats/interval.h"
#include "harness/stats/summary.h"

namespace capbench::stats {

// One arm in one test. Trials with the same `block` number, in this and in other arms of the test, ran in the same
// round on the same machine; numbers of different runs must differ.
struct Arm {
  std::string name;
  std::vector<Trial> trials;
  std::string why_empty;  // said in place of "it has no trials": "2 trials failed"
};

// The arms of one test ("pp512") of one model on one machine.
struct Test {
  std::string name;
  std::vector<Arm> arms;
};

struct TableOptions {
  double confidence = 0.95;                // 0.5 to 0.99: of each interval alone, and of all simultaneous ones together
  std::uint32_t bootstrap_rounds = 10000;  // 100 to 1,000,000
  std::uint64_t seed = 1;                  // of the bootstrap
  unsigned threads = 1;                    // of the bootstrap, 1 to 256; results do not depend on it
  bool resample = false;                   // fill Compared::resampled
};

// `arm` over `reference`, both indices into the test's arms.
struct Comparison {
  std::size_t test = 0;
  std::size_t arm = 0;
  std::size_t reference = 0;
};

struct Compared {
  Comparison of;
  std::optional<RatioInterval> alone;
  std::optional<RatioInterval> simultaneous;
  // Two-level percentile bootstrap (trials, then samples) of this ratio alone, `bootstrap_rounds` rounds: a second
  // opinion that assumes nothing of the noise, but is too narrow with few trials. Only if asked for.
  std::optional<RatioInterval> resampled;
  // Whether a claim may rest on `simultaneous`: three or more trials on each side. Min-max of 2 trials and the spread
  // within one process have no confidence level.
  bool can_claim = false;
  std::string problem;  // why there is no ratio: "arm `x`: it has no trials". Empty if there is one.
};

// Every comparison, in the order asked for, problems included. The family of the simultaneous intervals is all
// comparisons that have one: three or more trials on each side. Fails only for options out of range and for indices
// that name no arm.
Result<std::vector<Compared>> compare(std::span<const Test> tests, std::span<const Comparison> comparisons,
                                      const TableOptions& options = {});

// How much of the way from `stock` to `bare metal` an arm has gone, on the logarithmic scale:
// log(arm / stock) / log(bare metal / stock). 1 is all of it; below 0 it went backwards.
struct GapClosed {
  std::optional<double> share;  // nothing: the medians of stock and bare metal are equal
  std::optional<double> lo;
  std::optional<double> hi;
  std::string method;  // "fieller", "min-max", "bootstrap", or "none"
  std::string label;   // for people: "Fieller on log trial medians, weak: 5 trials"; or why there is no interval
};

// Fails for trials that check_trials() refuses. With three or more trials in each arm the interval is Fieller's (1954)
// with each arm's own variance; it does not exist if bare metal is not shown to differ from stock.
Result<GapClosed> gap_closed(std::span<const Trial> arm, std::span<const Trial> stock,
                             std::span<const Trial> bare_metal, const TableOptions& options = {});

struct ArmRow {
  std::string test;
  std::string arm;
  std::optional<Summary> summary;
  std::optional<MedianInterval> median;
  std::optional<Compared> against_reference;   // x stock; nothing for the reference itself
  std::optional<Compared> against_bare_metal;  // percent of bare metal / 100; nothing for that arm, or without one
  std::optional<GapClosed> gap;                // nothing for both of them, and where one of the three has no trials
  std::vector<Flag> flags;
  std::string problem;  // of this arm itself; the row stays
};

struct TableQuestion {
  std::string reference = "stock";  // name of an arm
  std::string bare_metal;           // name of an arm; empty: not asked for
};

struct Table {
  std::vector<ArmRow> rows;        // every arm of every test, in the order given
  std::size_t comparisons = 0;     // in the family of the simultaneous intervals
  std::vector<std::string> notes;  // "test `pp512`: no arm `stock`", "two arms `x`: the first counts as ..."
};

// Fails only for options out of range. A test without the reference (or bare metal) has rows that say so.
Result<Table> make_table(std::span<const Test> tests, const TableQuestion& question, const TableOptions& options = {});

// Several ratios in one: their geometric mean, as over models or tests.
struct RatioPair {
  std::string name;  // "TinyLlama pp512"
  std::vector<Trial> numerator;
  std::vector<Trial> denominator;
};

// Nothing is assumed of how the pairs depend on each other (pp512 and tg128 may share processes): the standard error is
// the mean of the pairs' standard errors, the most that any correlation can give, and the degrees of freedom are the
// fewest of any pair. Without three trials everywhere there is a value and no interval. Fails without pairs and for
// trials that check_trials() refuses, naming the pair.
Result<RatioInterval> geometric_mean(std::span<const RatioPair> pairs, const TableOptions& options = {});

}  // namespace capbench::stats

#endif  // CAPBENCH_HARNESS_STATS_TABLE_H_
