// Logarithm, exponential and the normal distribution from the four operations and square roots alone. IEEE 754 fixes
// those to the last bit and this room is compiled without fused multiply-add, so everything computed here is the same
// on every platform; the C library's versions are not. Pure, thread-safe.
#ifndef CAPBENCH_HARNESS_STATS_ELEMENTARY_H_
#define CAPBENCH_HARNESS_STATS_ELEMENTARY_H_

namespace capbench::stats {

// Natural logarithm of a finite x > 0, within 1 unit in the last place.
double log_of(double x);

// e to the x, within 1 unit in the last place (2 where the result is subnormal); infinity and 0 beyond the range.
double exp_of(double x);

// P(Z > z) of the normal distribution, relative error about 1e-14, in both tails.
double normal_tail(double z);

// cos(2 pi x) for 0 <= x < 1, absolute error about 1e-15: with log_of, a normal variate of two uniform ones.
double cos_of_turn(double x);

}  // namespace capbench::stats

#endif  // CAPBENCH_HARNESS_STATS_ELEMENTARY_H_
