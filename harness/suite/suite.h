// A suite: models x workloads x arms and the protocol. Pure: knows nothing of files, clocks or processes.
#ifndef CAPBENCH_HARNESS_SUITE_SUITE_H_
#define CAPBENCH_HARNESS_SUITE_SUITE_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "harness/suite/structs.h"  // IWYU pragma: export

namespace capbench::suite {

// Reads suite.json. Every error names the JSON path and what was expected there: "$.workloads[0].r: -3; expected an
// integer from 1 to 10000". Unknown keys are errors, with the nearest known key as the remedy. Byte-order marks are
// skipped.
Result<Suite> parse_suite(std::string_view json);

// The canonical bytes: sorted keys, no spaces, defaults written out. Parsing them gives the same suite back.
std::string canonical_json(const Suite& suite);

// The same as it is kept beside results and sent to others: without how its targets are reached (addresses, users,
// keys, folders, commands), which is its owner's business and no part of what was measured. Of a target stay its kind,
// its machine, and what it says of guest, image and requirements.
std::string recorded_json(const Suite& suite);

// SHA-256 of recorded_json(): the same suite on another host is the same suite.
std::string suite_id(const Suite& suite);

// The physical host of an arm (machine.h has the rule).
std::string machine_of(const Suite& suite, const Arm& arm);

// One trial to run. Indices point into the suite.
struct PlannedTrial {
  std::size_t position = 0;
  std::int64_t block = 0;  // from 0; below 0: a warm-up trial, -1 the last of them, or before those a verbose one
  std::size_t model = 0;
  std::size_t workload = 0;
  std::size_t arm = 0;

  bool is_measured() const { return block >= 0; }
};

// Of verbose trials, and no other's.
constexpr std::int64_t verbose_block(const Protocol& protocol) {
  return -1 - protocol.warmup_trials;
}

// What a verbose trial runs in the workload's place.
Workload verbose_workload(const Workload& workload);

struct Plan {
  std::uint64_t seed = 0;
  std::vector<PlannedTrial> trials;  // in the order to run them
};

// Verbose trials first, one of every cell. Then warm-up trials: on each machine `warmup_trials` of the cells that block
// 0 begins with there. Then blocks in order; within one block the trials are shuffled (seeded, the same on every
// platform). `seed` and `blocks` override the suite's; more blocks leave the first ones as they are, so adaptive trials
// ask for one more at a time.
Plan make_plan(const Suite& suite, std::optional<std::uint64_t> seed,
               std::optional<std::int64_t> blocks = std::nullopt);

// "MODEL/WORKLOAD/ARM", what --only globs match against.
std::string trial_key(const Suite& suite, const PlannedTrial& trial);

// Shell-style glob over the whole key: * ? [..]; `*` crosses slashes.
bool matches_glob(std::string_view glob, std::string_view text);

}  // namespace capbench::suite

#endif  // CAPBENCH_HARNESS_SUITE_SUITE_H_
