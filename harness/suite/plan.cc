#include <map>
#include <span>

#include "harness/stats/random.h"
#include "harness/suite/suite.h"

namespace capbench::suite {
namespace {

// The cells of block 0 in their order, machine by machine, each machine's first ones as often as asked for.
std::vector<PlannedTrial> warmup_trials(const Suite& suite, const std::vector<PlannedTrial>& trials) {
  std::vector<PlannedTrial> warmups;
  if (suite.protocol.warmup_trials == 0) return warmups;
  std::map<std::string, std::vector<PlannedTrial>> by_machine;
  for (const PlannedTrial& trial : trials) {
    if (trial.block == 0) by_machine[machine_of(suite, suite.arms[trial.arm])].push_back(trial);
  }
  for (const auto& [machine, first] : by_machine) {
    for (std::int64_t i = 0; i < suite.protocol.warmup_trials; ++i) {
      PlannedTrial trial = first[static_cast<std::size_t>(i) % first.size()];
      trial.block = i - suite.protocol.warmup_trials;
      warmups.push_back(trial);
    }
  }
  return warmups;
}

std::vector<PlannedTrial> verbose_trials(const Suite& suite) {
  std::vector<PlannedTrial> trials;
  if (!suite.protocol.verbose_trial) return trials;
  const std::int64_t block = verbose_block(suite.protocol);
  for (std::size_t model = 0; model < suite.models.size(); ++model) {
    for (std::size_t workload = 0; workload < suite.workloads.size(); ++workload) {
      for (std::size_t arm = 0; arm < suite.arms.size(); ++arm) trials.push_back({0, block, model, workload, arm});
    }
  }
  return trials;
}

}  // namespace

Workload verbose_workload(const Workload& workload) {
  Workload verbose = workload;
  verbose.repetitions = 1;
  verbose.extra_args.emplace_back("-v");
  return verbose;
}

Plan make_plan(const Suite& suite, std::optional<std::uint64_t> seed, std::optional<std::int64_t> blocks) {
  Plan plan;
  plan.seed = seed.value_or(suite.protocol.seed);
  const std::int64_t count = blocks.value_or(suite.protocol.trials);
  // One stream for all blocks: asking for more trials later leaves the blocks there are as they were.
  stats::Random random(plan.seed);
  for (std::int64_t block = 0; block < count; ++block) {
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
  const std::vector<PlannedTrial> warmups = warmup_trials(suite, plan.trials);
  plan.trials.insert(plan.trials.begin(), warmups.begin(), warmups.end());
  const std::vector<PlannedTrial> verbose = verbose_trials(suite);
  plan.trials.insert(plan.trials.begin(), verbose.begin(), verbose.end());
  for (std::size_t i = 0; i < plan.trials.size(); ++i) plan.trials[i].position = i;
  return plan;
}

std::string trial_key(const Suite& suite, const PlannedTrial& trial) {
  return suite.models[trial.model].name + "/" + suite.workloads[trial.workload].name + "/" + suite.arms[trial.arm].name;
}

}  // namespace capbench::suite
