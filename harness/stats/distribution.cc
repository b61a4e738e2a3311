#include "harness/stats/distribution.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <vector>

#include "harness/stats/elementary.h"

namespace capbench::stats {
namespace {

// ln Gamma(x) for x > 0: Stirling's series (DLMF 5.11.1) after moving x up with the recurrence. std::lgamma would do,
// but writes a global and differs between platforms.
double log_gamma(double x) {
  double product = 1;
  for (; x < 15; x += 1) product *= x;
  const double shift = product == 1 ? 0 : -log_of(product);
  const double inverse = 1 / x;
  const double square = inverse * inverse;
  const double series =
      inverse * (1.0 / 12 - square * (1.0 / 360 - square * (1.0 / 1260 - square * (1.0 / 1680 - square / 1188))));
  return shift + (x - 0.5) * log_of(x) - x + 0.5 * log_of(2 * std::numbers::pi) + series;
}

// The continued fraction itself; converges fast for x < (a + 1) / (a + b + 2).
double beta_fraction(double a, double b, double x) {
  constexpr double kTiny = 1e-300;
  const auto away_from_zero = [](double value) { return std::fabs(value) < kTiny ? kTiny : value; };
  double c = 1;
  double d = 1 / away_from_zero(1 - (a + b) * x / (a + 1));
  double fraction = d;
  for (int i = 1; i <= 10000; ++i) {
    const double m = i;
    const double even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m));
    d = 1 / away_from_zero(1 + even * d);
    c = away_from_zero(1 + even / c);
    fraction *= d * c;
    const double odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1));
    d = 1 / away_from_zero(1 + odd * d);
    c = away_from_zero(1 + odd / c);
    fraction *= d * c;
    if (std::fabs(d * c - 1) < 1e-15) break;
  }
  return fraction;
}

// The point where the increasing function `cdf` reaches p: an enclosing interval, then bisection to the last bit.
template <class Cdf>
double invert(const Cdf& cdf, double p) {
  double low = -1;
  double high = 1;
  while (cdf(low) > p && low > -1e300) low *= 2;
  while (cdf(high) < p && high < 1e300) high *= 2;
  for (;;) {
    const double middle = low + (high - low) / 2;
    if (middle <= low || middle >= high) return middle;
    (cdf(middle) < p ? low : high) = middle;
  }
}

// P(U = u) for u = 0 .. m*n, by the last value of the merged order: it is one of the m with probability m/(m+n), and
// then exceeds all n others. All terms are positive, so nothing cancels.
std::vector<double> mann_whitney_distribution(std::size_t m, std::size_t n) {
  std::vector<std::vector<double>> previous(n + 1, std::vector<double>(1, 1.0));  // no values on the first side
  for (std::size_t i = 1; i <= m; ++i) {
    std::vector<std::vector<double>> current(n + 1);
    current[0].assign(1, 1.0);
    for (std::size_t j = 1; j <= n; ++j) {
      const double first = static_cast<double>(i) / static_cast<double>(i + j);
      current[j].assign(i * j + 1, 0.0);
      for (std::size_t u = 0; u < previous[j].size(); ++u) current[j][u + j] += first * previous[j][u];
      for (std::size_t u = 0; u < current[j - 1].size(); ++u) current[j][u] += (1 - first) * current[j - 1][u];
    }
    previous = std::move(current);
  }
  return previous[n];
}

constexpr std::size_t kExactSide = 50;

}  // namespace

double incomplete_beta(double a, double b, double x) {
  if (x <= 0) return 0;
  if (x >= 1) return 1;
  const double front = exp_of(log_gamma(a + b) - log_gamma(a) - log_gamma(b) + a * log_of(x) + b * log_of(1 - x));
  if (x < (a + 1) / (a + b + 2)) return front * beta_fraction(a, b, x) / a;
  return 1 - front * beta_fraction(b, a, 1 - x) / b;
}

double student_t_cdf(double t, double df) {
  const double tail = 0.5 * incomplete_beta(df / 2, 0.5, df / (df + t * t));
  return t > 0 ? 1 - tail : tail;
}

double student_t_quantile(double p, double df) {
  if (p > 0.5) return -student_t_quantile(1 - p, df);  // the lower tail keeps its digits
  // Density: exp(log_front) (1 + t^2 / df)^(-(df + 1) / 2).
  const double log_front = log_gamma((df + 1) / 2) - log_gamma(df / 2) - log_of(df * std::numbers::pi) / 2;
  double low = -1;
  while (student_t_cdf(low, df) > p && low > -1e300) low *= 2;
  double high = low < -1 ? low / 2 : 0;
  // Newton's steps, halving the interval wherever one leaves it.
  double t = high;  // the distribution is convex below 0, so from here the steps do not overshoot
  for (int i = 0; i < 60; ++i) {
    const double error = student_t_cdf(t, df) - p;
    (error < 0 ? low : high) = t;
    const double density = exp_of(log_front - (df + 1) / 2 * log_of(1 + t * t / df));
    double next = t - error / density;
    if (!(next >= low && next <= high)) next = low + (high - low) / 2;
    if (std::fabs(next - t) <= 1e-13 * std::fabs(t)) return next;
    t = next;
  }
  return t;
}

double normal_quantile(double p) {
  if (p > 0.5) return -normal_quantile(1 - p);
  return invert([](double z) { return normal_tail(-z); }, p);
}

std::uint64_t mann_whitney_rank(std::size_t m, std::size_t n, double tail) {
  if (m == 0 || n == 0) return 0;
  if (m > kExactSide || n > kExactSide) {
    const double product = static_cast<double>(m) * static_cast<double>(n);
    const double deviation = std::sqrt(product * (static_cast<double>(m) + static_cast<double>(n) + 1) / 12);
    const double rank = std::floor(product / 2 + normal_quantile(tail) * deviation);
    return rank < 1 ? 0 : static_cast<std::uint64_t>(rank);
  }
  const std::vector<double> probability = mann_whitney_distribution(m, n);
  double below = 0;
  std::uint64_t rank = 0;
  for (const double p : probability) {
    below += p;
    if (below > tail) break;
    ++rank;
  }
  return rank;
}

std::size_t median_rank(std::size_t n, double tail) {
  const double log_coins = static_cast<double>(n) * std::numbers::ln2;
  double below = 0;
  for (std::size_t k = 0; k < n; ++k) {
    const double log_ways = log_gamma(static_cast<double>(n) + 1) - log_gamma(static_cast<double>(k) + 1) -
                            log_gamma(static_cast<double>(n - k) + 1);
    below += exp_of(log_ways - log_coins);
    if (below > tail) return k;
  }
  return 0;
}

}  // namespace capbench::stats
