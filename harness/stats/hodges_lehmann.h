// The Hodges-Lehmann shift between two samples, without holding their m*n differences. Pure, thread-safe.
#ifndef CAPBENCH_HARNESS_STATS_HODGES_LEHMANN_H_
#define CAPBENCH_HARNESS_STATS_HODGES_LEHMANN_H_

#include <cstdint>
#include <span>

namespace capbench::stats {

// The k-th smallest (from 1) of all differences a[i] - b[j], exactly. Both are finite and sorted, neither is empty, and
// 1 <= k <= a.size() * b.size(). O((m + n) * 64) time, no memory.
double kth_difference(std::span<const double> a, std::span<const double> b, std::uint64_t k);

// The median of all differences.
double hodges_lehmann_shift(std::span<const double> a, std::span<const double> b);

}  // namespace capbench::stats

#endif  // CAPBENCH_HARNESS_STATS_HODGES_LEHMANN_H_
