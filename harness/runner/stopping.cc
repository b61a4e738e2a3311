#include "harness/runner/stopping.h"

#include <algorithm>
#include <map>
#include <string>
#include <tuple>
#include <utility>

#include "harness/stats/summary.h"
#include "harness/stats/table.h"

namespace capbench::runner {
namespace {

// The arm that the others of its machine are compared with; nothing if it is that arm itself.
const suite::Arm* reference_of(const suite::Suite& suite, const suite::Arm& arm) {
  const suite::Arm* first = nullptr;
  const suite::Arm* stock = nullptr;
  for (const suite::Arm& other : suite.arms) {
    if (suite::machine_of(suite, other) != suite::machine_of(suite, arm) || other.expected_to_fail) continue;
    if (first == nullptr) first = &other;
    if (stock == nullptr && other.mode == "stock") stock = &other;
  }
  const suite::Arm* reference = stock != nullptr ? stock : first;
  return reference == &arm ? nullptr : reference;
}

}  // namespace

std::int64_t first_blocks(const suite::Suite& suite) {
  if (!suite.protocol.until) return suite.protocol.trials;
  return std::max(suite.protocol.trials, std::min(design::kFirstLook, suite.protocol.until->max_trials));
}

design::Decision decide_blocks(const suite::Suite& suite, const std::vector<schema::TrialView>& views,
                               std::int64_t blocks) {
  // One table per model, workload and test; blocks are shared within it.
  using TableKey = std::tuple<std::string, std::string, std::string>;
  std::map<TableKey, std::map<std::string, std::vector<stats::Trial>>> trials;  // by arm
  for (const schema::TrialView& view : views) {
    const schema::TrialRecord& trial = view.trial;
    if (trial.status != "ok" || trial.block < 0 || trial.treatment == "invalid") continue;
    for (const schema::ResultRecord& result : trial.results) {
      std::vector<double> samples = stats::tokens_per_second(result.n_prompt + result.n_gen, result.samples_ns);
      if (samples.empty()) continue;
      trials[{trial.model, trial.workload, result.test}][trial.arm].push_back({trial.block, std::move(samples)});
    }
  }
  std::vector<stats::Test> tests;
  std::vector<stats::Comparison> comparisons;
  for (auto& [key, by_arm] : trials) {
    stats::Test test{std::get<2>(key), {}};
    for (const suite::Arm& arm : suite.arms) test.arms.push_back({arm.name, std::move(by_arm[arm.name]), ""});
    for (std::size_t a = 0; a < suite.arms.size(); ++a) {
      const suite::Arm* reference = suite.arms[a].expected_to_fail ? nullptr : reference_of(suite, suite.arms[a]);
      if (reference == nullptr) continue;
      comparisons.push_back({tests.size(), a, static_cast<std::size_t>(reference - suite.arms.data())});
    }
    tests.push_back(std::move(test));
  }
  const design::StoppingRule rule = design::stopping_rule(suite.protocol, comparisons.size());
  stats::TableOptions options;
  options.confidence = rule.confidence;
  const auto compared = stats::compare(tests, comparisons, options);
  std::vector<design::Width> widths;
  for (std::size_t i = 0; i < comparisons.size(); ++i) {
    const stats::Comparison& of = comparisons[i];
    design::Width width{tests[of.test].arms[of.arm].name + ", " + tests[of.test].name, std::nullopt, std::nullopt};
    if (compared && (*compared)[i].alone) {
      width.lo = (*compared)[i].alone->lo;
      width.hi = (*compared)[i].alone->hi;
    }
    widths.push_back(std::move(width));
  }
  return design::decide(rule, blocks, widths);
}

}  // namespace capbench::runner
