// A finding in words. Internal to this room. Pure, thread-safe.
#ifndef CAPBENCH_HARNESS_STATS_SENTENCE_H_
#define CAPBENCH_HARNESS_STATS_SENTENCE_H_

#include <string>
#include <vector>

#include "harness/stats/cells.h"
#include "harness/stats/condition.h"
#include "harness/stats/sufficiency.h"

namespace capbench::stats {

// Of a dependence that is complete but for its sentence. `conditions`: one per factor.
std::string sentence_of(const PreparedDesign& design, const Dependence& found,
                        const std::vector<Condition>& conditions);

// "2.7 %", and rounded up for limits: "15 %", "1.3 %".
std::string percent(double share);
std::string percent_at_most(double share);

}  // namespace capbench::stats

#endif  // CAPBENCH_HARNESS_STATS_SENTENCE_H_
