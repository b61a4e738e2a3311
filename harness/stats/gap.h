// The share of a gap that an arm closes, from prepared arms. Internal to this room.
#ifndef CAPBENCH_HARNESS_STATS_GAP_H_
#define CAPBENCH_HARNESS_STATS_GAP_H_

#include <cstddef>

#include "harness/stats/prepared.h"
#include "harness/stats/table.h"

namespace capbench::stats {

// As gap_closed(); all three arms are usable.
GapClosed gap_of(const PreparedTest& test, std::size_t arm, std::size_t stock, std::size_t bare_metal,
                 const TableOptions& options);

}  // namespace capbench::stats

#endif  // CAPBENCH_HARNESS_STATS_GAP_H_
