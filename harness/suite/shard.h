// Splits a plan over several runs, on one machine or many, so that together they hold what one run would. Pure.
//
// What is dealt out is whole blocks: all trials of one block on one machine stay in one shard, since they are compared
// with each other. Which shard has which is a matter of the suite and the two numbers alone.
#ifndef CAPBENCH_HARNESS_SUITE_SHARD_H_
#define CAPBENCH_HARNESS_SUITE_SHARD_H_

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "harness/suite/suite.h"

namespace capbench::suite {

struct Shard {
  std::size_t index = 1;  // from 1
  std::size_t count = 1;

  bool is_whole() const { return count == 1; }
};

// "2/8".
Result<Shard> parse_shard(std::string_view text);
std::string to_string(const Shard& shard);

// How many shards can hold something: machines x blocks.
std::size_t shards_at_most(const Suite& suite);

// Why the suite cannot be split so: more shards than blocks, or trials whose number depends on earlier results.
Status check_shard(const Suite& suite, const Shard& shard);

// Leaves the shard's trials in the plan, in their order. Blocks that are neighbours stay together, machine by machine.
// Warm-up trials belong to every shard of their machine, since each warms what it measures; verbose ones to the shard
// of their machine's first block. The plan must hold the suite's own blocks and `check_shard` must have passed.
void keep_shard(const Suite& suite, const Shard& shard, std::vector<PlannedTrial>& plan);

}  // namespace capbench::suite

#endif  // CAPBENCH_HARNESS_SUITE_SHARD_H_
