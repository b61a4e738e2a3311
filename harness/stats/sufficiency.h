// Which capabilities a speed depends on, when one can stand in for another. From the arms of a design:
//
//   sufficient set  factors which, unlocked with all others at stock, are shown to lose no more than the margin against
//                   everything unlocked (non-inferiority: noise cannot make a set sufficient). Minimal: no smaller one
//                   is.
//   cut             factors whose removal from everything unlocked is shown to lose more than the margin. Minimal
//   likewise. depends on      the cuts read as "at least one of each": {a}, {b, c} is "a and (b or c)". conditional a
//   factor in no minimal cut that matters at some settings of the others, as behind a fallback.
//
// A claim needs its whole simultaneous interval on one side of the margin; the intervals of all arms against unlocked,
// of all simple effects, and of all tests of the table hold together with the confidence asked for. So in a table
// without effects the chance of any false "depends on" is at most 1 - confidence. Pure, thread-safe, deterministic.
#ifndef CAPBENCH_HARNESS_STATS_SUFFICIENCY_H_
#define CAPBENCH_HARNESS_STATS_SUFFICIENCY_H_

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "harness/stats/factorial.h"

namespace capbench::stats {

enum class Verdict {
  kYes,  // in a minimal cut: removing it (alone, or with its stand-ins) is shown to cost more than the margin
  kNo,   // removing it from unlocked is shown to change no more than the margin (or to gain), and it is in no cut
  kCannotTell,       // neither is shown
  kCannotTellWhich,  // it only ever changes together with another factor
};
std::string to_text(Verdict verdict);  // "yes", "no", "cannot tell", "cannot tell which"

enum class Claim { kWithin, kBeyond, kUnknown };  // loss against the margin: shown within, shown beyond, neither

// An arm against unlocked.
struct ArmClaim {
  std::size_t cell = 0;
  std::optional<Compared> over_unlocked;  // nothing for unlocked itself
  Claim claim = Claim::kUnknown;
  bool faster = false;  // shown to be faster than unlocked
};

struct SetClaim {
  std::size_t cell = 0;              // the arm that shows it
  std::vector<std::size_t> factors;  // sufficient: at a level over stock; cut: at a level below unlocked
  std::string text;                  // "coopmat and float16"; cut: "coopmat, coopmat2"; levels named if more than two
  bool minimal_shown = false;        // every smaller set of the design is shown to be none; else one of them may be
};

struct FactorVerdict {
  std::size_t factor = 0;
  Verdict verdict = Verdict::kCannotTell;
  std::optional<Effect> removing;       // from unlocked, all the way to stock's level
  std::optional<Effect> adding;         // to stock
  std::vector<std::size_t> stand_ins;   // other factors of its minimal cuts: any of them will do
  std::optional<double> loses_at_most;  // share of speed: largest loss that its simple effects leave possible
  // When it matters: "only without coopmat and coopmat2", "in 3 of 8 settings". Empty: no conditional effect is shown.
  std::string condition;
  std::string why;  // one clause for people: "removing it costs 12.1 % (8.0 to 16.0 %)", "changed together with `b`"
};

struct Dependence {
  std::string test;
  double margin = 0;  // share of speed: 0.02
  double confidence = 0;
  std::size_t comparisons = 0;  // in the family
  DesignKind kind = DesignKind::kOther;
  bool sees_redundancy = false;  // false: one factor at a time, so stand-ins cannot be seen
  std::vector<ArmClaim> arms;    // every cell, in the order given
  std::vector<SetClaim> sufficient;
  std::vector<SetClaim> cuts;
  std::vector<FactorVerdict> factors;  // every factor, in the order given
  std::optional<double> nothing_over;  // the largest loss that the arms' intervals leave possible, as a share of speed
  std::vector<std::string> notes;
  std::string sentence;  // "pp512 depends on (coopmat or coopmat2); integer dot and float16 matter only without them"
};

// `margins`: one for every test (harness/stats/noise.h), each over 0 and under 1. Fails as analyse_factorial() does.
Result<std::vector<Dependence>> find_dependence(std::span<const FactorialData> tests, std::span<const double> margins,
                                                const TableOptions& options = {});

// The sentences of several tests in one: "a; b.", one test after another.
std::string join_sentences(std::span<const Dependence> tests);

}  // namespace capbench::stats

#endif  // CAPBENCH_HARNESS_STATS_SUFFICIENCY_H_
