#include "harness/stats/bootstrap.h"

#include <algorithm>
#include <map>

#include "harness/stats/random.h"

namespace capbench::stats {
namespace {

constexpr std::size_t kMostTabled = 32;
constexpr double kTwo32 = 4294967296.0;

double power(double base, std::size_t exponent) {
  double result = 1;
  for (std::size_t i = 0; i < exponent; ++i) result *= base;
  return result;
}

double choose(std::size_t n, std::size_t k) {
  double result = 1;
  for (std::size_t i = 1; i <= k; ++i) result = result * static_cast<double>(n - k + i) / static_cast<double>(i);
  return result;
}

// P(at least h of n draws are among the i smallest of n values).
double at_least(std::size_t n, std::size_t h, std::size_t i) {
  const double share = static_cast<double>(i) / static_cast<double>(n);
  double sum = 0;
  for (std::size_t k = h; k <= n; ++k) sum += choose(n, k) * power(share, k) * power(1 - share, n - k);
  return sum;
}

// Values with chances, drawn in constant time: Walker's alias method (1977, tables as Vose 1991).
class Drawer {
 public:
  Drawer(std::vector<double> values, const std::vector<double>& chances) : values_(std::move(values)) {
    const std::size_t n = values_.size();
    std::vector<double> scaled(n);
    std::vector<std::uint32_t> small;
    std::vector<std::uint32_t> large;
    double total = 0;
    for (const double chance : chances) total += chance;
    for (std::size_t i = 0; i < n; ++i) {
      scaled[i] = chances[i] / total * static_cast<double>(n);
      (scaled[i] < 1 ? small : large).push_back(static_cast<std::uint32_t>(i));
    }
    columns_.resize(n);
    for (std::size_t i = 0; i < n; ++i) columns_[i] = {kAlways, static_cast<std::uint32_t>(i)};
    while (!small.empty() && !large.empty()) {
      const std::uint32_t less = small.back();
      const std::uint32_t more = large.back();
      small.pop_back();
      columns_[less] = {static_cast<std::uint32_t>(std::min(scaled[less] * kTwo32, kTwo32 - 1)), more};
      scaled[more] -= 1 - scaled[less];
      if (scaled[more] < 1) {
        large.pop_back();
        small.push_back(more);
      }
    }
  }

  double draw(Random& random) const {
    const std::uint64_t bits = random.next();
    const std::uint64_t column = (bits >> 32U) * columns_.size() >> 32U;
    const Column& found = columns_[column];
    return values_[static_cast<std::uint32_t>(bits) < found.threshold ? column : found.other];
  }

 private:
  static constexpr std::uint32_t kAlways = 0xFFFFFFFFU;
  struct Column {
    std::uint32_t threshold = 0;
    std::uint32_t other = 0;
  };
  std::vector<double> values_;
  std::vector<Column> columns_;
};

// The same convention as median(), without a copy.
double median_in_place(std::vector<double>& values) {
  const auto half = static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), values.begin() + half, values.end());
  const double upper = values[values.size() / 2];
  if (values.size() % 2 == 1) return upper;
  return (*std::max_element(values.begin(), values.begin() + half) + upper) / 2;
}

std::vector<double> resampled_the_long_way(std::span<const Trial> trials, std::uint32_t rounds, Random& random) {
  std::vector<double> replicates;
  std::vector<double> medians(trials.size());
  std::vector<double> samples;
  for (std::uint32_t round = 0; round < rounds; ++round) {
    for (double& value : medians) {
      const std::vector<double>& source = trials[static_cast<std::size_t>(random.below(trials.size()))].samples;
      samples.resize(source.size());
      for (double& sample : samples) sample = source[static_cast<std::size_t>(random.below(source.size()))];
      value = median_in_place(samples);
    }
    replicates.push_back(median_in_place(medians));
  }
  return replicates;
}

}  // namespace

std::vector<MedianOutcome> resampled_median_outcomes(std::size_t n) {
  std::vector<MedianOutcome> outcomes;
  const std::size_t h = (n + 1) / 2;  // the median is the h-th smallest draw, or the mean of that and the next
  const double ways = choose(n, h);
  // P(h-th draw among the i smallest, the next beyond the j smallest), i <= j.
  const auto split = [&](std::size_t i, std::size_t j) {
    const auto size = static_cast<double>(n);
    return ways * power(static_cast<double>(i) / size, h) * power(static_cast<double>(n - j) / size, n - h);
  };
  for (std::size_t i = 1; i <= n; ++i) {
    double own = at_least(n, h, i) - at_least(n, h, i - 1);
    if (n % 2 == 0) {
      for (std::size_t j = i + 1; j <= n; ++j) {
        const double chance = std::max(split(i, j - 1) - split(i - 1, j - 1) - split(i, j) + split(i - 1, j), 0.0);
        outcomes.push_back({i - 1, j - 1, chance});
        own -= chance;
      }
    }
    outcomes.push_back({i - 1, i - 1, std::max(own, 0.0)});
  }
  return outcomes;
}

std::vector<double> resampled_medians(std::span<const Trial> trials, std::uint32_t rounds, std::uint64_t seed) {
  Random random(seed);
  std::map<std::size_t, std::vector<MedianOutcome>> outcomes;
  std::vector<double> values;
  std::vector<double> chances;
  for (const Trial& trial : trials) {
    const std::size_t n = trial.samples.size();
    if (n > kMostTabled) return resampled_the_long_way(trials, rounds, random);
    if (!outcomes.contains(n)) outcomes.emplace(n, resampled_median_outcomes(n));
    std::vector<double> sorted = trial.samples;
    std::sort(sorted.begin(), sorted.end());
    for (const MedianOutcome& outcome : outcomes.at(n)) {
      values.push_back(outcome.low == outcome.high ? sorted[outcome.low]
                                                   : (sorted[outcome.low] + sorted[outcome.high]) / 2);
      chances.push_back(outcome.chance);
    }
  }
  const Drawer drawer(std::move(values), chances);
  std::vector<double> replicates(rounds);
  std::vector<double> drawn(trials.size());
  for (double& replicate : replicates) {
    for (double& value : drawn) value = drawer.draw(random);
    replicate = median_in_place(drawn);
  }
  return replicates;
}

}  // namespace capbench::stats
