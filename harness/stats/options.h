// Checks and conversions of TableOptions. Internal to this room.
#ifndef CAPBENCH_HARNESS_STATS_OPTIONS_H_
#define CAPBENCH_HARNESS_STATS_OPTIONS_H_

#include "base/result.h"
#include "harness/stats/table.h"

namespace capbench::stats {

Status check_options(const TableOptions& options);

inline IntervalOptions interval_options(const TableOptions& options) {
  return {.confidence = options.confidence, .bootstrap_rounds = options.bootstrap_rounds, .seed = options.seed};
}

// `index` of a seed's many streams, which have nothing to do with each other.
inline std::uint64_t stream_seed(std::uint64_t seed, std::uint64_t index) {
  return seed + 0x9E3779B97F4A7C15U * (index + 1);
}

}  // namespace capbench::stats

#endif  // CAPBENCH_HARNESS_STATS_OPTIONS_H_
