#include "harness/stats/distribution.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <vector>

namespace capbench::stats {
namespace {

// ln Gamma(x) for x > 0: Stirling's series (DLMF 5.11.1) after moving x up with the recurrence. std::lgamma would do,
// but writes a global.
double log_gamma(double x) {
  double shift = 0;
  while (x < 15) {
    shift -= std::log(x);
    x += 1;
  }
  const double inverse = 1 / x;
  const double square = inverse * inverse;
  const double series =
      inverse * (1.0 / 12 - square * (1.0 / 360 - square * (1.0 / 1260 - square * (1.0 / 1680 - square / 1188))));
  return shift + (x - 0.5) * std::log(x) - x + 0.5 * std::log(2 * std::numbers::pi) + series;
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

double normal_cdf(double z) {
  return 0.5 * std::erfc(-z / std::numbers::sqrt2);
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
  const double front = std::exp(log_gamma(a + b) - log_gamma(a) - log_gamma(b) + a * std::log(x) + b * std::log1p(-x));
  if (x < (a + 1) / (a + b + 2)) return front * beta_fraction(a, b, x) / a;
  return 1 - front * beta_fraction(b, a, 1 - x) / b;
}

double student_t_cdf(double t, double df) {
  const double tail = 0.5 * incomplete_beta(df / 2, 0.5, df / (df + t * t));
  return t > 0 ? 1 - tail : tail;
}

double student_t_quantile(double p, double df) {
  if (p > 0.5) return -student_t_quantile(1 - p, df);  // the lower tail keeps its digits
  return invert([df](double t) { return student_t_cdf(t, df); }, p);
}

double normal_quantile(double p) {
  if (p > 0.5) return -normal_quantile(1 - p);
  return invert(normal_cdf, p);
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
    below += std::exp(log_ways - log_coins);
    if (below > tail) return k;
  }
  return 0;
}

}  // namespace capbench::stats
