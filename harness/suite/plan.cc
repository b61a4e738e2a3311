#include <span>

#include "harness/stats/random.h"
#include "harness/suite/suite.h"

namespace capbench::suite {

Plan make_plan(const Suite& suite, std::optional<std::uint64_t> seed) {
  Plan plan;
  plan.seed = seed.value_or(suite.protocol.seed);
  // One stream for all blocks: asking for more trials later leaves the blocks there are as they were.
  stats::Random random(plan.seed);
  for (std::int64_t block = 0; block < suite.protocol.trials; ++block) {
    const std::size_t begin = plan.trials.size();
    for (std::size_t model = 0; model < suite.models.size(); ++model) {
      for (std::size_t workload = 0; workload < suite.workloads.size(); ++workload) {
        for (std::size_t arm = 0; arm < suite.arms.size(); ++arm)
          plan.trials.push_back({0, block, model, workload, arm});
      }
    }
    if (suite.protocol.order == Order::kRandomBlocks) {
      stats::shuffle(std::span<PlannedTrial>(plan.trials).subspan(begin), random);
    }
  }
  for (std::size_t i = 0; i < plan.trials.size(); ++i) plan.trials[i].position = i;
  return plan;
}

std::string trial_key(const Suite& suite, const PlannedTrial& trial) {
  return suite.models[trial.model].name + "/" + suite.workloads[trial.workload].name + "/" + suite.arms[trial.arm].name;
}

}  // namespace capbench::suite
