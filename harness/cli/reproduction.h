// The tier `reproduced` of bundles in a store: given when another signer's bundle measured the same ratios, taken back
// when that one is withdrawn.
#ifndef CAPBENCH_HARNESS_CLI_REPRODUCTION_H_
#define CAPBENCH_HARNESS_CLI_REPRODUCTION_H_

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "schema/store.h"

namespace capbench::cli {

struct TierChange {
  std::string id;
  std::string tier;
  std::string verdict;  // JSON object: as it was, but for the row "reproduced" of its "checks"
};

// What changes now that bundle `id` was taken in, or withdrawn: its own tier, and that of bundles which it reproduces
// or reproduced. Reads only. At most kMostCompared bundles of others are opened, the newest first.
Result<std::vector<TierChange>> changed_tiers(schema::Store& store, std::string_view id);

inline constexpr std::size_t kMostCompared = 64;

}  // namespace capbench::cli

#endif  // CAPBENCH_HARNESS_CLI_REPRODUCTION_H_
