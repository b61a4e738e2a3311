// What each factor of a design is worth: main effects, two-factor interactions, "removing X costs", "adding X gives",
// and the effect of X at every setting of the others. Everything is a ratio of speeds, estimated on the logarithmic
// scale with the effects of blocks removed. Effects are not claimed to add up. Pure, thread-safe, deterministic.
#ifndef CAPBENCH_HARNESS_STATS_FACTORIAL_H_
#define CAPBENCH_HARNESS_STATS_FACTORIAL_H_

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "harness/stats/table.h"

namespace capbench::stats {

struct Factor {
  std::string name;
  std::vector<std::string> levels;  // two or more; the first is stock, the last unlocked
};

// One arm of the design: a level (index) for every factor.
struct Cell {
  std::string arm;
  std::vector<std::size_t> levels;
  std::vector<Trial> trials;
  std::string why_empty;  // as in Arm
};

// Effects that a fractional design cannot tell apart: "a x b" with {"c x d"}. An effect is named by the names of its
// factors joined with " x ".
struct Alias {
  std::string effect;
  std::vector<std::string> with;
};

// One test of one model on one machine under one design. Cells with the same levels are an error: pool or choose first.
struct FactorialData {
  std::string test;
  std::vector<Factor> factors;
  std::vector<Cell> cells;
  std::vector<Alias> aliases;
};

// What the cells amount to. Told from their levels, not from a name, so that hand-written suites count.
enum class DesignKind {
  kOneAtATime,     // stock and stock with one factor changed
  kLeaveOneOut,    // unlocked and unlocked with one factor taken away
  kBoth,           // the two together
  kFullFactorial,  // every combination of levels, two or more factors
  kOther,          // anything else: fractions, empty cells, factors that only ever change together
};
DesignKind design_kind(const FactorialData& data);
std::string to_text(DesignKind kind);

enum class EffectKind { kMain, kInteraction, kRemoving, kAdding, kSimple };

struct Effect {
  EffectKind kind = EffectKind::kMain;
  std::string name;  // "coopmat"; "coopmat x coopmat2"; more than two levels: "apple_family 1007 over 1005"
  std::vector<std::size_t> factors;  // one, or two for an interaction
  std::size_t from = 0;              // levels of the factor: `to` over `from`; of an interaction the first and last
  std::size_t to = 0;
  // Ratio of speeds. Main: `to` over `from`, the geometric mean over the settings of the others. Interaction: the
  // effect of the one with the other unlocked, over its effect with the other at stock. Adding: stock with the factor
  // over stock. Removing and simple: with the factor over without it; 1 - 1/ratio is the share of speed that removing
  // costs.
  std::optional<RatioInterval> alone;
  std::optional<RatioInterval> simultaneous;
  bool can_claim = false;     // as in Compared
  std::size_t numerator = 0;  // cells of removing, adding and simple effects
  std::size_t denominator = 0;
  std::string setting;               // of the others, for removing, adding and simple: "coopmat2 off, float16 on"
  std::vector<std::string> aliases;  // effects that this number may be as well
  std::string problem;               // why there is no number, or what it leaves out: "without cell `...`"
};

// The ratio with the interval that claims about the effect go by: the simultaneous one where there is one, else its
// own; nullptr without either, or without an effect.
const RatioInterval* deciding(const std::optional<Effect>& effect);

// The share of speed lost by removing: 1 - 1/ratio, with its interval turned round.
struct Loss {
  double value = 0;
  std::optional<double> lo;
  std::optional<double> hi;
};
Loss loss_of(const RatioInterval& with_over_without);

struct FactorialAnalysis {
  std::string test;
  DesignKind kind = DesignKind::kOther;
  std::vector<Effect> main;
  std::vector<Effect> interactions;  // two-level view: first and last level of each
  std::vector<Effect> removing;      // unlocked over unlocked without the factor, where both cells exist
  std::vector<Effect> adding;        // stock with the factor over stock
  std::vector<Effect> simple;       // neighbouring levels (`to` = `from` + 1) at every setting; removing and adding too
  std::size_t averaged_family = 0;  // comparisons over which main effects and interactions are simultaneous, all tests
  std::size_t simple_family = 0;    // and removing, adding and simple effects
  std::vector<std::string> notes;   // empty cells, aliases, factors that change together
};

// All tests of a table at once: the families of simultaneous intervals span them. Fails, naming the test and the cell,
// for malformed designs (levels that do not exist, two cells alike, no factors, more than 10 factors or 1024 cells);
// cells without usable trials are named in the notes and in the effects that need them.
Result<std::vector<FactorialAnalysis>> analyse_factorial(std::span<const FactorialData> tests,
                                                         const TableOptions& options = {});

}  // namespace capbench::stats

#endif  // CAPBENCH_HARNESS_STATS_FACTORIAL_H_
