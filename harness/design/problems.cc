#include "harness/design/problems.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <string>

#include "harness/design/fraction.h"
#include "harness/design/until.h"
#include "harness/stats/distribution.h"
#include "harness/suite/machine.h"

namespace capbench::design {
namespace {

using Severity = DesignProblem::Severity;

constexpr double kAlpha = 0.05;
constexpr std::int64_t kFewestWelch = 3;
constexpr std::int64_t kFewestRank = 7;
constexpr std::int64_t kAdvised = 8;

double corrected(std::size_t comparisons) {
  return kAlpha / static_cast<double>(std::max<std::size_t>(comparisons, 1));
}

bool has_rank_interval(std::int64_t trials, std::size_t comparisons) {
  const auto n = static_cast<std::size_t>(trials);
  return stats::mann_whitney_rank(n, n, corrected(comparisons) / 2) > 0;
}

// Of Welch's interval of a ratio, at a standard deviation between trials of 1 % in both arms.
double welch_half_width(std::int64_t trials, std::size_t comparisons) {
  const auto n = static_cast<double>(trials);
  const double t = stats::student_t_quantile(1 - corrected(comparisons) / 2, 2 * n - 2);
  return std::exp(t * 0.01 * std::sqrt(2 / n)) - 1;
}

std::size_t tests_of(const suite::Workload& workload) {
  const auto positive = [](const std::vector<std::int64_t>& values) {
    return static_cast<std::size_t>(std::count_if(values.begin(), values.end(), [](auto v) { return v > 0; }));
  };
  const std::size_t tests = positive(workload.n_prompt) + positive(workload.n_gen);
  return std::max<std::size_t>(tests * std::max<std::size_t>(workload.n_depth.size(), 1), 1);
}

std::optional<DesignProblem> too_few_trials(const suite::Suite& suite) {
  const std::int64_t trials = certain_blocks(suite.protocol);
  const std::size_t comparisons = comparisons_per_table(suite);
  const Severity fatal = suite.design ? Severity::kRefuse : Severity::kLabel;
  const auto problem = [&](Severity severity, std::string cause, std::string remedy) {
    return DesignProblem{severity, {ErrorKind::kUsage, "$.protocol.trials", std::move(cause), std::move(remedy)}};
  };
  const std::int64_t enough = std::max(fewest_trials(comparisons), kAdvised);
  const std::string more = fmt::format("\"trials\": {}", enough);
  if (trials == 1) {
    return problem(Severity::kLabel, "one process per arm: only the spread within it can be given, not an interval",
                   more);
  }
  if (trials == 2) {
    return problem(fatal, "two trials give a lowest and a highest, and no interval", more);
  }
  if (trials < kFewestRank) {
    return problem(Severity::kLabel,
                   fmt::format("{} trials per arm: weak intervals, within {:.1f} % at 1 % between processes with {} "
                               "comparisons at once",
                               trials, 100 * welch_half_width(trials, comparisons), comparisons),
                   more);
  }
  if (!has_rank_interval(trials, comparisons)) {
    return problem(fatal,
                   fmt::format("with {} comparisons at once no interval exists for {} trials per arm, so nothing could "
                               "be found",
                               comparisons, trials),
                   more);
  }
  return std::nullopt;
}

std::optional<DesignProblem> several_machines(const suite::Suite& suite) {
  std::map<std::string, std::string> arm_on;
  for (const suite::Arm& arm : suite.arms) arm_on.emplace(suite::machine_of(arm.target, suite.targets), arm.name);
  if (arm_on.size() < 2) return std::nullopt;
  const auto first = arm_on.begin();
  const auto second = std::next(first);
  return DesignProblem{
      Severity::kLabel,
      {ErrorKind::kUsage, "$.arms",
       fmt::format("\"{}\" is on machine \"{}\" and \"{}\" on \"{}\": arms of different machines are never compared",
                   first->second, first->first, second->second, second->first),
       R"(the same "machine" in their targets if it is one host)"}};
}

std::optional<DesignProblem> unseen_redundancy(const suite::Suite& suite) {
  if (!suite.design || suite.design->factors.size() < 2) return std::nullopt;
  const auto& kinds = suite.design->kinds;
  const auto has = [&](suite::DesignKind kind) { return std::find(kinds.begin(), kinds.end(), kind) != kinds.end(); };
  if (has(suite::DesignKind::kFullFactorial)) return std::nullopt;
  const auto label = [](std::string cause) {
    return DesignProblem{Severity::kLabel,
                         {ErrorKind::kUsage, "$.design.kind", std::move(cause), R"("kind": "full-factorial")"}};
  };
  if (const auto aliases = aliases_of(*suite.design)) {
    const std::string together = alias_text(*aliases);
    if (together.empty()) return std::nullopt;
    return label("two-factor interactions are not all free; " + together);
  }
  return label("capabilities that stand in for each other cannot be seen: no arm leaves out two at once");
}

std::optional<DesignProblem> drifting_order(const suite::Suite& suite) {
  if (suite.protocol.order != suite::Order::kAsWritten || suite.arms.size() < 2) return std::nullopt;
  return DesignProblem{Severity::kLabel,
                       {ErrorKind::kUsage, "$.protocol.order",
                        "arms run in the same order in every block, so a drift within blocks looks like an effect",
                        R"("order": "random-blocks")"}};
}

}  // namespace

std::int64_t certain_blocks(const suite::Protocol& protocol) {
  return protocol.until ? std::max(kFirstLook, protocol.trials) : protocol.trials;
}

std::size_t comparisons_per_table(const suite::Suite& suite) {
  const auto arms = static_cast<std::size_t>(
      std::count_if(suite.arms.begin(), suite.arms.end(), [](const suite::Arm& arm) { return !arm.expected_to_fail; }));
  std::size_t tests = 1;
  for (const suite::Workload& workload : suite.workloads) tests = std::max(tests, tests_of(workload));
  return std::max<std::size_t>(arms > 0 ? (arms - 1) * tests : 0, 1);
}

std::int64_t fewest_trials(std::size_t comparisons) {
  std::int64_t trials = kFewestRank;
  while (!has_rank_interval(trials, comparisons)) ++trials;
  return trials;
}

bool can_answer(std::int64_t trials, std::size_t comparisons) {
  if (trials < kFewestWelch) return false;
  return trials < kFewestRank || has_rank_interval(trials, comparisons);
}

std::vector<DesignProblem> design_problems(const suite::Suite& suite) {
  std::vector<DesignProblem> problems;
  std::vector<DesignProblem> labels;
  for (const auto& check : {too_few_trials, several_machines, unseen_redundancy, drifting_order}) {
    auto problem = check(suite);
    if (problem) (problem->severity == Severity::kRefuse ? problems : labels).push_back(std::move(*problem));
  }
  problems.insert(problems.end(), labels.begin(), labels.end());
  return problems;
}

}  // namespace capbench::design
