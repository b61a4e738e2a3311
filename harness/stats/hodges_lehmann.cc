#include "harness/stats/hodges_lehmann.h"

#include <bit>
#include <cstddef>

namespace capbench::stats {
namespace {

// Doubles and integers in the same order, so that bisection ends after 64 steps on the exact value.
constexpr std::uint64_t kSign = std::uint64_t{1} << 63U;

std::uint64_t to_ordered(double value) {
  const auto bits = std::bit_cast<std::uint64_t>(value);
  return (bits & kSign) != 0 ? ~bits : bits | kSign;
}

double from_ordered(std::uint64_t ordered) {
  return std::bit_cast<double>((ordered & kSign) != 0 ? ordered ^ kSign : ~ordered);
}

// How many differences are at most `limit`. For growing a[i] the b[j] that qualify only move up.
std::uint64_t count_at_most(std::span<const double> a, std::span<const double> b, double limit) {
  std::uint64_t count = 0;
  std::size_t excluded = 0;
  for (const double value : a) {
    while (excluded < b.size() && value - b[excluded] > limit) ++excluded;
    count += b.size() - excluded;
  }
  return count;
}

}  // namespace

double kth_difference(std::span<const double> a, std::span<const double> b, std::uint64_t k) {
  std::uint64_t low = to_ordered(a.front() - b.back());
  std::uint64_t high = to_ordered(a.back() - b.front());
  while (low < high) {
    const std::uint64_t middle = low + (high - low) / 2;
    if (count_at_most(a, b, from_ordered(middle)) >= k) {
      high = middle;
    } else {
      low = middle + 1;
    }
  }
  return from_ordered(low);
}

double hodges_lehmann_shift(std::span<const double> a, std::span<const double> b) {
  const std::uint64_t count = std::uint64_t{a.size()} * b.size();
  if (count % 2 == 1) return kth_difference(a, b, count / 2 + 1);
  return (kth_difference(a, b, count / 2) + kth_difference(a, b, count / 2 + 1)) / 2;
}

}  // namespace capbench::stats
