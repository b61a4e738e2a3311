#include "harness/suite/shard.h"

#include <gtest/gtest.h>

#include <map>
#include <set>
#include <string>
#include <tuple>
#include <vector>

namespace capbench::suite {
namespace {

using Key = std::tuple<std::size_t, std::size_t, std::size_t, std::int64_t>;

Key key_of(const PlannedTrial& trial) {
  return {trial.model, trial.workload, trial.arm, trial.block};
}

// Two machines: arms 0 and 1 here, arm 2 on "far".
Suite two_machines(std::int64_t trials) {
  Suite suite;
  suite.models.resize(2);
  suite.models[0].name = "m0";
  suite.models[1].name = "m1";
  suite.workloads.resize(1);
  suite.workloads[0].name = "w";
  suite.arms.resize(3);
  for (std::size_t i = 0; i < suite.arms.size(); ++i) {
    suite.arms[i].name = "a" + std::to_string(i);
    suite.arms[i].target = i < 2 ? "local" : "far";
  }
  TargetSpec far;
  far.kind = "ssh";
  suite.targets["far"] = far;
  suite.protocol.trials = trials;
  return suite;
}

std::vector<PlannedTrial> shard_of(const Suite& suite, Shard shard) {
  std::vector<PlannedTrial> plan = make_plan(suite, std::nullopt).trials;
  keep_shard(suite, shard, plan);
  return plan;
}

TEST(Shard, IsReadStrictly) {
  const auto shard = parse_shard("2/8");
  ASSERT_TRUE(shard.ok());
  EXPECT_EQ(shard->index, 2U);
  EXPECT_EQ(shard->count, 8U);
  EXPECT_EQ(to_string(*shard), "2/8");
  for (const char* text : {"", "2", "/", "2/", "/8", "0/8", "9/8", "-1/8", "+1/8", "1/0", "1 /8", "1/8 ", "1/8/2",
                           "a/8", "1/99999999", "1/99999999999999999999999"}) {
    const auto wrong = parse_shard(text);
    ASSERT_FALSE(wrong.ok()) << text;
    EXPECT_EQ(exit_status(wrong.error().kind), 2) << text;
  }
}

TEST(Shard, TogetherTheyAreThePlanAndNoBlockIsSplit) {
  for (const std::int64_t trials : {1, 3, 5, 8}) {
    const Suite suite = two_machines(trials);
    const Plan whole = make_plan(suite, std::nullopt);
    for (std::size_t count = 1; count <= shards_at_most(suite); ++count) {
      std::multiset<Key> seen;
      std::map<std::pair<std::string, std::int64_t>, std::set<std::size_t>> shards_of_block;
      for (std::size_t index = 1; index <= count; ++index) {
        ASSERT_TRUE(check_shard(suite, {index, count}).ok());
        const auto plan = shard_of(suite, {index, count});
        EXPECT_FALSE(plan.empty()) << index << "/" << count;
        std::size_t position = 0;
        for (const PlannedTrial& trial : plan) {
          seen.insert(key_of(trial));
          shards_of_block[{machine_of(suite, suite.arms[trial.arm]), trial.block}].insert(index);
          EXPECT_TRUE(trial.position >= position) << "the plan's own order";
          position = trial.position;
        }
      }
      std::multiset<Key> expected;
      for (const PlannedTrial& trial : whole.trials) expected.insert(key_of(trial));
      EXPECT_EQ(seen, expected) << trials << " blocks in " << count;
      for (const auto& [block, shards] : shards_of_block) EXPECT_EQ(shards.size(), 1U) << block.first;
    }
  }
}

TEST(Shard, AsManyShardsAsMachinesIsOneMachineEach) {
  const Suite suite = two_machines(4);
  for (std::size_t index = 1; index <= 2; ++index) {
    std::set<std::string> machines;
    for (const PlannedTrial& trial : shard_of(suite, {index, 2})) {
      machines.insert(machine_of(suite, suite.arms[trial.arm]));
    }
    EXPECT_EQ(machines.size(), 1U);
  }
}

TEST(Shard, WarmsWhatItMeasuresAndIsVerboseOnce) {
  Suite suite = two_machines(4);
  suite.protocol.warmup_trials = 1;
  suite.protocol.verbose_trial = true;
  std::multiset<Key> verbose;
  for (std::size_t index = 1; index <= 4; ++index) {
    std::map<std::string, int> warmups;
    std::set<std::string> measured;
    for (const PlannedTrial& trial : shard_of(suite, {index, 4})) {
      const std::string machine = machine_of(suite, suite.arms[trial.arm]);
      if (trial.is_measured()) {
        measured.insert(machine);
      } else if (trial.block == verbose_block(suite.protocol)) {
        verbose.insert(key_of(trial));
      } else {
        ++warmups[machine];
      }
    }
    for (const std::string& machine : measured) EXPECT_EQ(warmups[machine], 1) << index;
    EXPECT_EQ(warmups.size(), measured.size());
  }
  EXPECT_EQ(verbose.size(), 2U * 3U);
  EXPECT_EQ(std::set<Key>(verbose.begin(), verbose.end()).size(), verbose.size());
}

TEST(Shard, MoreThanBlocksAndAdaptiveSuitesAreRefusedWithTheRemedy) {
  Suite suite = two_machines(3);
  const auto many = check_shard(suite, {1, 7});
  ASSERT_FALSE(many.ok());
  EXPECT_NE(to_string(many.error()).find("at most 6 shards"), std::string::npos) << to_string(many.error());
  suite.protocol.until.emplace();
  const auto adaptive = check_shard(suite, {1, 2});
  ASSERT_FALSE(adaptive.ok());
  EXPECT_NE(to_string(adaptive.error()).find("until"), std::string::npos);
  EXPECT_TRUE(check_shard(suite, {1, 1}).ok());
}

}  // namespace
}  // namespace capbench::suite
