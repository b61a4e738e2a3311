#include <gtest/gtest.h>

#include <map>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "base/file.h"
#include "harness/suite/suite.h"

namespace capbench::suite {
namespace {

Suite made(std::size_t models, std::size_t workloads, std::size_t arms, std::int64_t trials) {
  Suite suite;
  for (std::size_t i = 0; i < models; ++i) {
    suite.models.emplace_back();
    suite.models.back().name = "m" + std::to_string(i);
  }
  for (std::size_t i = 0; i < workloads; ++i) {
    suite.workloads.emplace_back();
    suite.workloads.back().name = "w" + std::to_string(i);
  }
  for (std::size_t i = 0; i < arms; ++i) {
    suite.arms.emplace_back();
    suite.arms.back().name = "a" + std::to_string(i);
  }
  suite.protocol.trials = trials;
  return suite;
}

std::vector<std::string> keys(const Suite& suite, const Plan& plan) {
  std::vector<std::string> result;
  for (const PlannedTrial& trial : plan.trials) result.push_back(trial_key(suite, trial));
  return result;
}

TEST(Plan, OfTheQuickstartIsTheSameOnEveryPlatform) {
  const auto text = read_file("suites/quickstart.json");
  ASSERT_TRUE(text.ok());
  const auto suite = parse_suite(*text);
  ASSERT_TRUE(suite.ok()) << to_string(suite.error());
  const Plan plan = make_plan(*suite, std::nullopt);
  EXPECT_EQ(plan.seed, 1U);
  std::string order;
  for (const PlannedTrial& trial : plan.trials) {
    order += std::to_string(trial.block) + suite->arms[trial.arm].name.substr(0, 1) + " ";
  }
  EXPECT_EQ(order, "0u 0b 0s 1b 1s 1u 2s 2b 2u 3b 3s 3u 4u 4b 4s ");
}

TEST(Plan, EveryBlockHoldsEveryCombinationOnceWhateverTheSeed) {
  for (const auto& [models, workloads, arms] :
       {std::tuple{1U, 1U, 3U}, std::tuple{2U, 3U, 4U}, std::tuple{5U, 1U, 1U}}) {
    const Suite suite = made(models, workloads, arms, 6);
    const std::size_t cells = suite.models.size() * suite.workloads.size() * suite.arms.size();
    for (std::uint64_t seed = 0; seed < 50; ++seed) {
      const Plan plan = make_plan(suite, seed);
      EXPECT_EQ(plan.seed, seed);
      ASSERT_EQ(plan.trials.size(), 6 * cells);
      std::set<std::string> block;
      for (std::size_t i = 0; i < plan.trials.size(); ++i) {
        const PlannedTrial& trial = plan.trials[i];
        ASSERT_EQ(trial.position, i);
        ASSERT_EQ(trial.block, static_cast<std::int64_t>(i / cells));
        if (i % cells == 0) block.clear();
        ASSERT_TRUE(block.insert(trial_key(suite, trial)).second);
      }
    }
  }
}

TEST(Plan, SeedsAndBlocksDifferAndTheSameSeedRepeats) {
  const Suite suite = made(2, 2, 3, 4);
  const auto first = keys(suite, make_plan(suite, 1));
  EXPECT_EQ(first, keys(suite, make_plan(suite, 1)));
  EXPECT_NE(first, keys(suite, make_plan(suite, 2)));
  EXPECT_NE(std::vector<std::string>(first.begin(), first.begin() + 12),
            std::vector<std::string>(first.begin() + 12, first.begin() + 24));
}

TEST(Plan, MoreTrialsLeaveTheEarlierBlocksAsTheyWere) {
  const Suite few = made(2, 2, 3, 4);
  const Suite many = made(2, 2, 3, 9);
  const auto first = keys(few, make_plan(few, 3));
  auto second = keys(many, make_plan(many, 3));
  second.resize(first.size());
  EXPECT_EQ(first, second);
}

TEST(Plan, AsWrittenIsNotShuffled) {
  Suite suite = made(2, 1, 2, 2);
  suite.protocol.order = Order::kAsWritten;
  EXPECT_EQ(keys(suite, make_plan(suite, 9)),
            (std::vector<std::string>{"m0/w0/a0", "m0/w0/a1", "m1/w0/a0", "m1/w0/a1", "m0/w0/a0", "m0/w0/a1",
                                      "m1/w0/a0", "m1/w0/a1"}));
}

TEST(Plan, BlocksCanBeAskedForWithoutAnotherSuite) {
  const Suite suite = made(2, 1, 3, 4);
  const auto four = keys(suite, make_plan(suite, 3));
  auto seven = keys(suite, make_plan(suite, 3, 7));
  EXPECT_EQ(seven.size(), 42U);
  seven.resize(four.size());
  EXPECT_EQ(seven, four);
}

TEST(Plan, WarmupsComeFirstAndAreTheCellsThatEachMachineBeginsWith) {
  Suite suite = made(2, 1, 4, 3);
  suite.targets["far"].kind = "ssh";
  suite.arms[2].target = "far";
  suite.arms[3].target = "far";
  const Plan without = make_plan(suite, 5);
  suite.protocol.warmup_trials = 2;
  const Plan with = make_plan(suite, 5);
  ASSERT_EQ(with.trials.size(), without.trials.size() + 4);
  std::map<std::string, std::vector<std::string>> warmups;
  std::map<std::string, std::vector<std::string>> first;
  for (std::size_t i = 0; i < with.trials.size(); ++i) {
    const PlannedTrial& trial = with.trials[i];
    EXPECT_EQ(trial.position, i);
    EXPECT_EQ(trial.is_measured(), i >= 4);
    const std::string machine = machine_of(suite, suite.arms[trial.arm]);
    const std::string key = trial_key(suite, trial);
    if (!trial.is_measured()) {
      EXPECT_EQ(trial.block, static_cast<std::int64_t>(warmups[machine].size()) - 2);
      warmups[machine].push_back(key);
    } else if (first[machine].size() < 2) {
      first[machine].push_back(key);
    }
    if (trial.is_measured()) {
      EXPECT_EQ(key, trial_key(suite, without.trials[i - 4]));
    }
  }
  EXPECT_EQ(warmups, first);
}

TEST(Plan, VerboseTrialsComeBeforeWarmupsOneOfEveryCell) {
  Suite suite = made(2, 1, 3, 2);
  suite.protocol.warmup_trials = 2;
  const Plan without = make_plan(suite, 5);
  suite.protocol.verbose_trial = true;
  const Plan with = make_plan(suite, 5);
  ASSERT_EQ(with.trials.size(), without.trials.size() + 6);
  EXPECT_EQ(verbose_block(suite.protocol), -3);
  std::set<std::string> cells;
  for (std::size_t i = 0; i < with.trials.size(); ++i) {
    EXPECT_EQ(with.trials[i].position, i);
    EXPECT_EQ(with.trials[i].block == -3, i < 6);
    if (i < 6) {
      cells.insert(trial_key(suite, with.trials[i]));
    } else {
      EXPECT_EQ(with.trials[i].block, without.trials[i - 6].block);
      EXPECT_EQ(trial_key(suite, with.trials[i]), trial_key(suite, without.trials[i - 6]));
    }
  }
  EXPECT_EQ(cells.size(), 6U);
  const Workload verbose = verbose_workload(suite.workloads[0]);
  EXPECT_EQ(verbose.repetitions, 1);
  EXPECT_EQ(verbose.extra_args.back(), "-v");
  EXPECT_EQ(verbose.n_prompt, suite.workloads[0].n_prompt);
}

TEST(Plan, MoreWarmupsThanCellsGoRound) {
  Suite suite = made(1, 1, 2, 1);
  suite.protocol.warmup_trials = 5;
  const Plan plan = make_plan(suite, 1);
  ASSERT_EQ(plan.trials.size(), 7U);
  EXPECT_EQ(plan.trials[0].arm, plan.trials[2].arm);
  EXPECT_EQ(plan.trials[0].arm, plan.trials[5].arm);
  EXPECT_NE(plan.trials[0].arm, plan.trials[1].arm);
  EXPECT_EQ(plan.trials[0].block, -5);
  EXPECT_EQ(plan.trials[4].block, -1);
}

TEST(Plan, EveryArmComesFirstAboutEquallyOften) {
  const Suite suite = made(1, 1, 3, 3000);
  std::vector<int> first(3);
  for (const PlannedTrial& trial : make_plan(suite, 1).trials) {
    if (trial.position % 3 == 0) ++first[trial.arm];
  }
  for (const int count : first) EXPECT_NEAR(count, 1000, 120);
}

}  // namespace
}  // namespace capbench::suite
