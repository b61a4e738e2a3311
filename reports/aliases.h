// Which effects the cells of a design cannot tell apart. Pure.
#ifndef CAPBENCH_REPORTS_ALIASES_H_
#define CAPBENCH_REPORTS_ALIASES_H_

#include <vector>

#include "harness/stats/factorial.h"

namespace capbench::reports {

// Of balanced two-level designs (fractions): main effects and two-factor interactions whose contrasts are the same over
// the cells that have trials, each with all of its aliases. Told from the cells, so an empty cell of a fraction counts.
// Nothing for other designs, whose effects are not contrasts over all cells.
std::vector<stats::Alias> aliases_of(const stats::FactorialData& data);

}  // namespace capbench::reports

#endif  // CAPBENCH_REPORTS_ALIASES_H_
