// Can this suite answer what it asks? Before anything runs. Pure, thread-safe.
#ifndef CAPBENCH_HARNESS_DESIGN_PROBLEMS_H_
#define CAPBENCH_HARNESS_DESIGN_PROBLEMS_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/error.h"
#include "harness/suite/structs.h"

namespace capbench::design {

// How a result of this suite must be read, or why it should not be run.
struct DesignProblem {
  enum class Severity {
    kLabel,   // run it; the report says the same beside its figures
    kRefuse,  // it could not find anything whatever the truth is
  };
  Severity severity = Severity::kLabel;
  Error error;  // what, cause, remedy
};

// All that is wrong, refusals first, at most one of each kind. Only a suite with a design is refused, since only that
// says what it wants to know; the same fault of arms written by hand is a label. T trials per arm, m comparisons per
// table, each at the level 1 - 0.05 / m, so that all hold together:
//   T = 1         allowed: only the spread within one process can be given
//   T = 2         refused: lowest and highest, no interval
//   T = 3 to 6    Welch's t on logs, weak: labelled, with the half-width to expect at 1 % between processes
//   T >= 7        Mann-Whitney inversion, refused if no interval exists at that level: 2 / C(2T, T) > 0.05 / m
std::vector<DesignProblem> design_problems(const suite::Suite& suite);

// Comparisons per table: arms but one (those expected to fail apart) times the tests of a workload, the largest over
// the workloads. At least 1.
std::size_t comparisons_per_table(const suite::Suite& suite);

// The fewest trials per arm at which each of m simultaneous comparisons has an interval that is not weak: 7 or more.
std::int64_t fewest_trials(std::size_t comparisons);

// Whether that many trials can answer at all: 1 (within one process) cannot, 3 to 6 can weakly.
bool can_answer(std::int64_t trials, std::size_t comparisons);

// Blocks that run for certain: the protocol's, or those before the first look of adaptive trials.
std::int64_t certain_blocks(const suite::Protocol& protocol);

}  // namespace capbench::design

#endif  // CAPBENCH_HARNESS_DESIGN_PROBLEMS_H_
