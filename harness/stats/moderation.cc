#include "harness/stats/moderation.h"

#include <algorithm>
#include <cmath>

#include "harness/stats/elementary.h"

namespace capbench::stats {
namespace {

constexpr std::size_t kFewestArms = 4;
// More degrees of freedom than this are as good as certainty.
constexpr double kMostPriorDf = 1e6;

// The x > 0 with trigamma(x) = y > 0. trigamma falls steadily.
double inverse_trigamma(double y) {
  double low = 1e-3;
  double high = kMostPriorDf;
  for (int i = 0; i < 100; ++i) {
    const double middle = std::sqrt(low * high);
    (trigamma(middle) > y ? low : high) = middle;
  }
  return low;
}

}  // namespace

Spread spread_of(std::span<const double> logs) {
  Spread spread;
  spread.n = logs.size();
  if (logs.empty()) return spread;
  const auto n = static_cast<double>(logs.size());
  for (const double value : logs) spread.mean += value / n;
  if (logs.size() < 2) return spread;
  spread.df = n - 1;
  for (const double value : logs) spread.variance += (value - spread.mean) * (value - spread.mean) / spread.df;
  return spread;
}

// Both: the recurrence up to 10, then the asymptotic series (DLMF 5.11.2 and its derivative).
double digamma(double x) {
  double sum = 0;
  for (; x < 10; x += 1) sum -= 1 / x;
  const double inverse = 1 / x;
  const double square = inverse * inverse;
  return sum + log_of(x) - inverse / 2 -
         square * (1.0 / 12 - square * (1.0 / 120 - square * (1.0 / 252 - square / 240)));
}

double trigamma(double x) {
  double sum = 0;
  for (; x < 10; x += 1) sum += 1 / (x * x);
  const double inverse = 1 / x;
  const double square = inverse * inverse;
  return sum + inverse + square / 2 +
         square * inverse * (1.0 / 6 - square * (1.0 / 30 - square * (1.0 / 42 - square / 30)));
}

std::vector<Spread> moderate(std::span<const Spread> arms) {
  std::vector<Spread> result(arms.begin(), arms.end());
  std::vector<double> centered;  // log variances less what their degrees of freedom alone make of them
  double noise = 0;              // the variance of log variances that chance explains
  double total_df = 0;
  double pooled = 0;
  for (const Spread& arm : arms) {
    if (!(arm.df > 0) || !(arm.variance > 0)) continue;
    centered.push_back(log_of(arm.variance) - digamma(arm.df / 2) + log_of(arm.df / 2));
    noise += trigamma(arm.df / 2);
    total_df += arm.df;
    pooled += arm.df * arm.variance;
  }
  if (centered.size() < kFewestArms) return result;
  const Spread across = spread_of(centered);
  const double excess = across.variance - noise / static_cast<double>(centered.size());
  double prior_df = kMostPriorDf;
  double prior = pooled / total_df;
  if (excess > 0) {
    prior_df = std::min(2 * inverse_trigamma(excess), kMostPriorDf);
    if (prior_df < kMostPriorDf) prior = exp_of(across.mean + digamma(prior_df / 2) - log_of(prior_df / 2));
  }
  for (Spread& arm : result) {
    if (!(arm.df > 0)) continue;
    const double shrunk = (prior_df * prior + arm.df * arm.variance) / (prior_df + arm.df);
    arm.variance = std::max(arm.variance, shrunk);
    arm.df = std::min(prior_df + arm.df, total_df);
  }
  return result;
}

}  // namespace capbench::stats
