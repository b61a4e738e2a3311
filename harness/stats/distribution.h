// The distributions that intervals need: Student's t, the normal, the binomial and Mann-Whitney's U. Pure, thread-safe.
#ifndef CAPBENCH_HARNESS_STATS_DISTRIBUTION_H_
#define CAPBENCH_HARNESS_STATS_DISTRIBUTION_H_

#include <cstddef>
#include <cstdint>

namespace capbench::stats {

// Regularised incomplete beta function I_x(a, b) for a, b > 0 and x in [0, 1], by its continued fraction (DLMF 8.17.22,
// evaluated with Lentz's method). Relative error about 1e-13.
double incomplete_beta(double a, double b, double x);

// P(T <= t) of Student's t with `df` > 0 degrees of freedom, which need not be whole.
double student_t_cdf(double t, double df);

// The t with P(T <= t) = p, for 0 < p < 1.
double student_t_quantile(double p, double df);

// The z with P(Z <= z) = p, for 0 < p < 1.
double normal_quantile(double p);

// The largest k with P(U < k) <= tail, where U is Mann-Whitney's statistic of samples of m and n values from one
// continuous distribution: 0 .. m*n. The interval of the shift is then the k-th smallest to the k-th largest of the m*n
// differences (Hodges and Lehmann 1963; 0: no interval at this level). Exact null distribution while m and n are at
// most 50, beyond that the normal approximation, rounded down. Ties only make the interval wider.
std::uint64_t mann_whitney_rank(std::size_t m, std::size_t n, double tail);

// The largest k with P(B < k) <= tail for B binomial with n fair coins: the k-th smallest and k-th largest of n values
// bound the median. 0: no interval at this level.
std::size_t median_rank(std::size_t n, double tail);

}  // namespace capbench::stats

#endif  // CAPBENCH_HARNESS_STATS_DISTRIBUTION_H_
