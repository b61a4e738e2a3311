// Steadier variances for many arms of few trials each. Pure, thread-safe.
#ifndef CAPBENCH_HARNESS_STATS_MODERATION_H_
#define CAPBENCH_HARNESS_STATS_MODERATION_H_

#include <cstddef>
#include <span>
#include <vector>

namespace capbench::stats {

// Mean and spread of the log trial medians of one arm.
struct Spread {
  double mean = 0;
  double variance = 0;  // of one trial (n - 1)
  double df = 0;        // of the variance: n - 1, more when other arms helped. 0: fewer than two trials, nothing known
  std::size_t n = 0;
};

Spread spread_of(std::span<const double> logs);

// Logarithmic derivative of the gamma function and the derivative of that, for x > 0.
double digamma(double x);
double trigamma(double x);

// Shrinks each variance towards what the arms have in common, as far as their differences are no larger than chance
// makes them (empirical Bayes: Smyth, "Linear models and empirical Bayes methods", 2004), but never lowers one: an arm
// that is noisier than the rest keeps its own. Arms without a variance, or one of zero, take no part in learning what
// is common. With fewer than four that do, everything stays as it is.
std::vector<Spread> moderate(std::span<const Spread> arms);

}  // namespace capbench::stats

#endif  // CAPBENCH_HARNESS_STATS_MODERATION_H_
