#include "harness/stats/elementary.h"

#include <array>
#include <cmath>
#include <cstddef>
#include <limits>
#include <numbers>

namespace capbench::stats {
namespace {

// ln 2 in two parts, the first with zeros at its end, so that its product with an exponent is exact.
constexpr double kLn2High = 0x1.62e42fefa38p-1;
constexpr double kLn2Low = 0x1.ef35793c7673p-45;

// 1/3, 1/5, ... 1/23, each rounded once.
constexpr std::array<double, 11> kOddInverses = [] {
  std::array<double, 11> inverses{};
  for (std::size_t i = 0; i < inverses.size(); ++i) inverses[i] = 1.0 / static_cast<double>(2 * i + 3);
  return inverses;
}();

}  // namespace

double log_of(double x) {
  int exponent = 0;
  double fraction = std::frexp(x, &exponent);  // exact
  if (fraction < std::numbers::sqrt2 / 2) {
    fraction *= 2;
    --exponent;
  }
  // log(1 + f) = 2 atanh(s) with s = f / (2 + f), |s| < 0.172. Since 2 s = f - s f, only the small part is rounded
  // twice.
  const double f = fraction - 1;
  const double s = f / (2 + f);
  const double square = s * s;
  double series = 0;  // s^2/3 + s^4/5 + ...
  for (std::size_t i = kOddInverses.size(); i-- > 0;) series = (series + kOddInverses[i]) * square;
  const double half_square = f * f / 2;
  // 2 s = f - f^2/2 + s f^2/2, exactly.
  const double small = half_square - s * (half_square + 2 * series);
  const double e = exponent;
  if (exponent == 0) return f - small;
  return e * kLn2High - ((small - e * kLn2Low) - f);
}

double exp_of(double x) {
  if (std::isnan(x)) return x;
  if (x > 710) return std::numeric_limits<double>::infinity();
  if (x < -750) return 0;
  const double n = std::floor(x / std::numbers::ln2 + 0.5);
  const double high = x - n * kLn2High;
  const double low = n * kLn2Low;
  const double r = high - low;  // |r| < 0.347
  double series = 0;            // r^2/2! + r^3/3! + ...
  for (int k = 16; k >= 2; --k) series = (series + 1) * r / k;
  series *= r;
  const double lost = (high - r) - low;
  return std::ldexp(1 + (r + (series + lost)), static_cast<int>(n));
}

double normal_tail(double z) {
  if (z < 0) return 1 - normal_tail(-z);
  const double density = exp_of(-z * z / 2) / std::sqrt(2 * std::numbers::pi);
  if (z < 3) {
    // 1/2 - density (z + z^3/3 + z^5/(3 5) + ...): positive terms (Abramowitz and Stegun 26.2.11).
    double term = z;
    double sum = z;
    for (int k = 3; term > sum * 1e-17; k += 2) {
      term *= z * z / k;
      sum += term;
    }
    return 0.5 - density * sum;
  }
  // density / (z + 1/(z + 2/(z + 3/...))) (Abramowitz and Stegun 26.2.14), from far enough out.
  double fraction = z;
  for (int k = 200; k >= 1; --k) fraction = z + k / fraction;
  return density / fraction;
}

double cos_of_turn(double x) {
  // To one eighth of a turn, by symmetries that are exact.
  if (x > 0.5) x = 1 - x;
  const double sign = x > 0.25 ? -1 : 1;
  if (x > 0.25) x = 0.5 - x;
  const bool sine = x > 0.125;
  const double angle = 2 * std::numbers::pi * (sine ? 0.25 - x : x);
  const double square = angle * angle;
  double series = 1;
  const int first = sine ? 19 : 18;
  for (int k = first; k >= 2; k -= 2) series = 1 - series * square / (static_cast<double>(k) * (k - 1));
  return sign * (sine ? angle * series : series);
}

}  // namespace capbench::stats
