#include "harness/stats/interval.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>
#include <vector>

#include "harness/stats/distribution.h"
#include "harness/stats/elementary.h"
#include "harness/stats/hodges_lehmann.h"
#include "harness/stats/random.h"

namespace capbench::stats {
namespace {

struct Bounds {
  double lo = 0;
  double hi = 0;
};

Status check_options(const IntervalOptions& options) {
  if (!(options.confidence >= 0.5 && options.confidence <= 0.99)) {
    return Error{ErrorKind::kUsage, "confidence", "expected a number from 0.5 to 0.99", "0.95"};
  }
  if (options.bootstrap_rounds < 100 || options.bootstrap_rounds > 1000000) {
    return Error{ErrorKind::kUsage, "bootstrap rounds", "expected an integer from 100 to 1000000", "10000"};
  }
  return {};
}

std::vector<double> logs(std::vector<double> values) {
  for (double& value : values) value = log_of(value);
  return values;
}

struct Moments {
  double mean = 0;
  double variance_of_mean = 0;  // sample variance (n-1) over n
};

Moments moments(const std::vector<double>& values) {
  const auto n = static_cast<double>(values.size());
  Moments result;
  for (const double value : values) result.mean += value / n;
  for (const double value : values) result.variance_of_mean += (value - result.mean) * (value - result.mean);
  result.variance_of_mean /= (n - 1) * n;
  return result;
}

// One bootstrap replicate of an arm's headline: trials drawn with replacement, then the samples of each.
double resampled_median(std::span<const Trial> trials, Random& random, std::vector<double>& medians,
                        std::vector<double>& samples) {
  medians.clear();
  for (std::size_t i = 0; i < trials.size(); ++i) {
    const std::vector<double>& source = trials[static_cast<std::size_t>(random.below(trials.size()))].samples;
    samples.clear();
    for (std::size_t j = 0; j < source.size(); ++j) {
      samples.push_back(source[static_cast<std::size_t>(random.below(source.size()))]);
    }
    medians.push_back(median(samples));
  }
  return median(medians);
}

// The percentile interval of `statistic(random)`: order statistics of the replicates, rounded outwards.
template <class Statistic>
Bounds bootstrap(const IntervalOptions& options, const Statistic& statistic) {
  Random random(options.seed);
  std::vector<double> replicates(options.bootstrap_rounds);
  for (double& replicate : replicates) replicate = statistic(random);
  std::sort(replicates.begin(), replicates.end());
  const double tail = (1 - options.confidence) / 2;
  const auto rank = static_cast<std::size_t>(std::floor(tail * static_cast<double>(replicates.size())));
  return {replicates[rank], replicates[replicates.size() - 1 - rank]};
}

bool single_sample(std::span<const Trial> trials) {
  return trials.size() == 1 && trials[0].samples.size() == 1;
}

// The quantile of Student's t for the few trials of a point. That of 95 % is wanted a hundred thousand times.
double t_of_few(double tail, std::size_t df) {
  constexpr double kUsual = (1 - 0.95) / 2;
  constexpr std::size_t kMost = 6;
  if (tail != kUsual || df > kMost) return student_t_quantile(tail, static_cast<double>(df));
  static const std::array<double, kMost> known = [] {
    std::array<double, kMost> all;
    for (std::size_t i = 0; i < all.size(); ++i) all[i] = student_t_quantile(kUsual, static_cast<double>(i + 1));
    return all;
  }();
  return known[df - 1];
}

std::string weak(const char* test, std::size_t n_trials) {
  return std::string(test) + " on log trial medians, weak: " + std::to_string(n_trials) + " trials";
}

// Stores the bounds in a result, widened to hold its point. Going through logarithms and back moves a bound by a few
// units in the last place, which is no widening worth a mention.
template <class Interval>
void store(Interval& interval, double point, Bounds bounds) {
  constexpr double kRounding = 1e-12;
  interval.widened = point < bounds.lo * (1 - kRounding) || point > bounds.hi * (1 + kRounding);
  interval.lo = std::min(bounds.lo, point);
  interval.hi = std::max(bounds.hi, point);
}

void welch(RatioInterval& interval, std::span<const Trial> a, std::span<const Trial> b, double tail) {
  const Moments left = moments(logs(trial_medians(a)));
  const Moments right = moments(logs(trial_medians(b)));
  const double difference = left.mean - right.mean;
  const double variance = left.variance_of_mean + right.variance_of_mean;
  interval.shift = exp_of(difference);
  double half_width = 0;
  if (variance > 0) {
    // Welch and Satterthwaite's degrees of freedom.
    const double df = variance * variance /
                      (left.variance_of_mean * left.variance_of_mean / static_cast<double>(a.size() - 1) +
                       right.variance_of_mean * right.variance_of_mean / static_cast<double>(b.size() - 1));
    half_width = -student_t_quantile(tail, df) * std::sqrt(variance);
  }
  store(interval, interval.ratio, {exp_of(difference - half_width), exp_of(difference + half_width)});
}

void hodges_lehmann(RatioInterval& interval, std::span<const Trial> a, std::span<const Trial> b, double tail) {
  std::vector<double> left = logs(trial_medians(a));
  std::vector<double> right = logs(trial_medians(b));
  std::sort(left.begin(), left.end());
  std::sort(right.begin(), right.end());
  const std::uint64_t count = std::uint64_t{left.size()} * right.size();
  // From 7 trials on and up to 99 % there always is a rank: P(U = 0) is at most 1/3432.
  const std::uint64_t rank = std::max<std::uint64_t>(mann_whitney_rank(left.size(), right.size(), tail), 1);
  interval.shift = exp_of(hodges_lehmann_shift(left, right));
  store(interval, interval.ratio,
        {exp_of(kth_difference(left, right, rank)), exp_of(kth_difference(left, right, count + 1 - rank))});
}

}  // namespace

Result<RatioInterval> ratio_interval(std::span<const Trial> a, std::span<const Trial> b,
                                     const IntervalOptions& options) {
  if (Status status = check_options(options); !status.ok()) return std::move(status).error();
  if (Status status = check_trials(a, "numerator"); !status.ok()) return std::move(status).error();
  if (Status status = check_trials(b, "denominator"); !status.ok()) return std::move(status).error();
  RatioInterval interval;
  interval.ratio = median_of_trial_medians(a) / median_of_trial_medians(b);
  interval.n_trials_a = a.size();
  interval.n_trials_b = b.size();
  interval.estimator =
      a.size() == 1 && b.size() == 1 ? "ratio of medians of samples" : "ratio of medians of trial medians";
  const double tail = (1 - options.confidence) / 2;
  const std::size_t fewest = std::min(a.size(), b.size());
  if (single_sample(a) && single_sample(b)) {
    interval.method = "none";
    interval.label = "single samples: no interval";
  } else if (fewest == 1) {
    interval.method = "bootstrap";
    interval.label = "within one process";
    std::vector<double> medians;
    std::vector<double> samples;
    store(interval, interval.ratio, bootstrap(options, [&](Random& random) {
            const double numerator = resampled_median(a, random, medians, samples);
            return numerator / resampled_median(b, random, medians, samples);
          }));
  } else if (fewest == 2) {
    interval.method = "min-max";
    interval.label = "min-max of 2 trials";
    const std::vector<double> left = trial_medians(a);
    const std::vector<double> right = trial_medians(b);
    const auto [left_low, left_high] = std::minmax_element(left.begin(), left.end());
    const auto [right_low, right_high] = std::minmax_element(right.begin(), right.end());
    store(interval, interval.ratio, {*left_low / *right_high, *left_high / *right_low});
  } else if (fewest < 7) {
    interval.method = "welch-t";
    interval.label = weak("Welch t", fewest);
    welch(interval, a, b, tail);
  } else {
    interval.method = "hodges-lehmann";
    interval.label = "Hodges-Lehmann, Mann-Whitney";
    hodges_lehmann(interval, a, b, tail);
  }
  return interval;
}

Result<MedianInterval> median_interval(std::span<const Trial> trials, const IntervalOptions& options) {
  if (Status status = check_options(options); !status.ok()) return std::move(status).error();
  if (Status status = check_trials(trials, "arm"); !status.ok()) return std::move(status).error();
  MedianInterval interval;
  interval.median = median_of_trial_medians(trials);
  interval.estimator = estimator_name(trials.size());
  interval.n_trials = trials.size();
  const double tail = (1 - options.confidence) / 2;
  std::vector<double> medians = trial_medians(trials);
  std::sort(medians.begin(), medians.end());
  if (single_sample(trials)) {
    interval.method = "none";
    interval.label = "single sample: no interval";
  } else if (trials.size() == 1) {
    interval.method = "bootstrap";
    interval.label = "within one process";
    std::vector<double> scratch;
    std::vector<double> samples;
    store(interval, interval.median,
          bootstrap(options, [&](Random& random) { return resampled_median(trials, random, scratch, samples); }));
  } else if (trials.size() == 2) {
    interval.method = "min-max";
    interval.label = "min-max of 2 trials";
    store(interval, interval.median, {medians.front(), medians.back()});
  } else if (trials.size() < 7) {
    interval.method = "t";
    interval.label = weak("t", trials.size());
    const Moments center = moments(logs(medians));
    const double half_width = -t_of_few(tail, trials.size() - 1) * std::sqrt(center.variance_of_mean);
    store(interval, interval.median, {exp_of(center.mean - half_width), exp_of(center.mean + half_width)});
  } else {
    interval.method = "order-statistics";
    interval.label = "order statistics of trial medians";
    // With 7 trials and more than 98.4 % there is no such interval; the extremes are then the most there is.
    const std::size_t rank = std::max<std::size_t>(median_rank(medians.size(), tail), 1);
    store(interval, interval.median, {medians[rank - 1], medians[medians.size() - rank]});
  }
  return interval;
}

}  // namespace capbench::stats
