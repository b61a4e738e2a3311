// Effects of pairs of cells, for the analyses that need them. Internal to this room.
#ifndef CAPBENCH_HARNESS_STATS_EFFECTS_H_
#define CAPBENCH_HARNESS_STATS_EFFECTS_H_

#include <cstddef>
#include <vector>

#include "harness/stats/cells.h"
#include "harness/stats/factorial.h"

namespace capbench::stats {

std::vector<Effect> pair_effects(const PreparedDesign& design, EffectKind kind, const std::vector<FactorPair>& pairs,
                                 std::size_t family, const TableOptions& options, Ranks& ranks);

}  // namespace capbench::stats

#endif  // CAPBENCH_HARNESS_STATS_EFFECTS_H_
