// When an adaptive run has enough blocks. Pure.
#ifndef CAPBENCH_HARNESS_RUNNER_STOPPING_H_
#define CAPBENCH_HARNESS_RUNNER_STOPPING_H_

#include <cstdint>
#include <vector>

#include "harness/design/until.h"
#include "harness/suite/suite.h"
#include "schema/store.h"

namespace capbench::runner {

// The blocks that are run in any case.
std::int64_t first_blocks(const suite::Suite& suite);

// After `blocks` blocks: every arm against the reference of its machine (the first stock arm, else the first arm), for
// every model, workload and test. Trials that are not ok leave their comparison without an interval.
design::Decision decide_blocks(const suite::Suite& suite, const std::vector<schema::TrialView>& trials,
                               std::int64_t blocks);

}  // namespace capbench::runner

#endif  // CAPBENCH_HARNESS_RUNNER_STOPPING_H_
