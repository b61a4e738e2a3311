#include "harness/stats/gap.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "harness/stats/bootstrap.h"
#include "harness/stats/distribution.h"
#include "harness/stats/elementary.h"
#include "harness/stats/options.h"

namespace capbench::stats {
namespace {

void store(GapClosed& gap, double lo, double hi) {
  gap.lo = std::min(lo, *gap.share);
  gap.hi = std::max(hi, *gap.share);
}

void no_interval(GapClosed& gap, std::string why) {
  gap.method = "none";
  gap.label = "no interval: " + std::move(why);
}

constexpr const char* kNoGap = "bare metal is not shown to differ from stock";

// The shares x that a test of log arm - x log bare - (1 - x) log stock = 0 does not reject: a quadratic inequality.
void fieller(GapClosed& gap, const Spread& arm, const Spread& stock, const Spread& bare, double tail) {
  const double up = arm.mean - stock.mean;
  const double all = bare.mean - stock.mean;
  const auto of_mean = [](const Spread& spread) { return spread.variance / static_cast<double>(spread.n); };
  const double x = *gap.share;
  const double parts[] = {of_mean(arm), x * x * of_mean(bare), (1 - x) * (1 - x) * of_mean(stock)};
  const double dfs[] = {arm.df, bare.df, stock.df};
  double variance = 0;
  double squares = 0;
  for (std::size_t i = 0; i < 3; ++i) {
    variance += parts[i];
    squares += parts[i] * parts[i] / dfs[i];
  }
  const double t = squares > 0 ? student_t_quantile(tail, variance * variance / squares) : 0;
  const double a = all * all - t * t * (of_mean(bare) + of_mean(stock));
  const double b = up * all - t * t * of_mean(stock);
  const double c = up * up - t * t * (of_mean(arm) + of_mean(stock));
  if (!(a > 0)) return no_interval(gap, kNoGap);
  const double root = std::sqrt(std::max(b * b - a * c, 0.0));
  store(gap, (b - root) / a, (b + root) / a);
}

double share_of(double log_arm, double log_stock, double log_bare) {
  return (log_arm - log_stock) / (log_bare - log_stock);
}

// Over all corners: the share grows or falls steadily in each of the three while bare metal stays on its side of stock.
void min_max(GapClosed& gap, const std::vector<std::vector<double>>& medians) {
  double lo = *gap.share;
  double hi = *gap.share;
  bool seen_above = false;
  bool seen_below = false;
  for (const double arm : medians[0]) {
    for (const double stock : medians[1]) {
      for (const double bare : medians[2]) {
        seen_above |= bare >= stock;
        seen_below |= bare <= stock;
        if (seen_above && seen_below) return no_interval(gap, kNoGap);
        const double share = share_of(log_of(arm), log_of(stock), log_of(bare));
        lo = std::min(lo, share);
        hi = std::max(hi, share);
      }
    }
  }
  store(gap, lo, hi);
}

void bootstrap(GapClosed& gap, const PreparedTest& test, const std::size_t (&arms)[3], const TableOptions& options) {
  std::vector<std::vector<double>> replicates;
  for (std::size_t i = 0; i < 3; ++i) {
    replicates.push_back(
        resampled_medians(test.views[arms[i]].trials, options.bootstrap_rounds, stream_seed(options.seed, i)));
  }
  const bool above = test.arms[arms[2]].log_median > test.arms[arms[1]].log_median;
  std::vector<double> shares(options.bootstrap_rounds);
  for (std::size_t i = 0; i < shares.size(); ++i) {
    const double stock = replicates[1][i];
    const double bare = replicates[2][i];
    if (above ? bare <= stock : bare >= stock) return no_interval(gap, kNoGap);
    shares[i] = share_of(log_of(replicates[0][i]), log_of(stock), log_of(bare));
  }
  std::sort(shares.begin(), shares.end());
  const auto rank =
      static_cast<std::size_t>(std::floor((1 - options.confidence) / 2 * static_cast<double>(shares.size())));
  store(gap, shares[rank], shares[shares.size() - 1 - rank]);
}

}  // namespace

GapClosed gap_of(const PreparedTest& test, std::size_t arm, std::size_t stock, std::size_t bare_metal,
                 const TableOptions& options) {
  GapClosed gap;
  const std::size_t arms[3] = {arm, stock, bare_metal};
  const auto log_median = [&](std::size_t i) { return test.arms[arms[i]].log_median; };
  if (log_median(1) == log_median(2)) {
    no_interval(gap, "bare metal and stock have the same median");
    return gap;
  }
  gap.share = share_of(log_median(0), log_median(1), log_median(2));
  std::size_t fewest = test.views[arm].trials.size();
  std::size_t most_samples = 0;
  std::vector<std::vector<double>> medians;
  for (const std::size_t i : arms) {
    const std::span<const Trial> trials = test.views[i].trials;
    fewest = std::min(fewest, trials.size());
    for (const Trial& trial : trials) most_samples = std::max(most_samples, trial.samples.size());
    medians.push_back(trial_medians(trials));
  }
  if (fewest >= kFewestForClaims) {
    gap.method = "fieller";
    gap.label = "Fieller on log trial medians";
    if (test.aligned) gap.label += ", blocks removed";
    if (fewest < 7) gap.label += fmt::format(", weak: {} trials", fewest);
    fieller(gap, test.arms[arm].own, test.arms[stock].own, test.arms[bare_metal].own, (1 - options.confidence) / 2);
  } else if (fewest == 2) {
    gap.method = "min-max";
    gap.label = "min-max of 2 trials";
    min_max(gap, medians);
  } else if (most_samples == 1) {
    no_interval(gap, "single samples");
  } else {
    gap.method = "bootstrap";
    gap.label = "within one process";
    bootstrap(gap, test, arms, options);
  }
  return gap;
}

Result<GapClosed> gap_closed(std::span<const Trial> arm, std::span<const Trial> stock,
                             std::span<const Trial> bare_metal, const TableOptions& options) {
  if (Status status = check_options(options); !status.ok()) return std::move(status).error();
  if (Status status = check_trials(arm, "arm"); !status.ok()) return std::move(status).error();
  if (Status status = check_trials(stock, "stock"); !status.ok()) return std::move(status).error();
  if (Status status = check_trials(bare_metal, "bare metal"); !status.ok()) return std::move(status).error();
  return gap_of(prepare({{"arm", arm, ""}, {"stock", stock, ""}, {"bare metal", bare_metal, ""}}), 0, 1, 2, options);
}

Result<RatioInterval> geometric_mean(std::span<const RatioPair> pairs, const TableOptions& options) {
  if (Status status = check_options(options); !status.ok()) return std::move(status).error();
  if (pairs.empty()) {
    return Error{ErrorKind::kUsage, "geometric mean", "there is nothing to average", "give one or more pairs of arms"};
  }
  RatioInterval mean;
  mean.estimator = fmt::format("geometric mean of {} ratios of medians of trial medians", pairs.size());
  const auto count = static_cast<double>(pairs.size());
  double log_ratio = 0;
  double shift = 0;
  double error = 0;
  double df = 0;
  std::size_t fewest = pairs.front().numerator.size();
  for (const RatioPair& pair : pairs) {
    const std::string name = "`" + pair.name + "`, ";
    if (Status status = check_trials(pair.numerator, name + "numerator"); !status.ok())
      return std::move(status).error();
    if (Status status = check_trials(pair.denominator, name + "denominator"); !status.ok()) {
      return std::move(status).error();
    }
    fewest = std::min({fewest, pair.numerator.size(), pair.denominator.size()});
    const PreparedTest test = prepare({{"", pair.numerator, ""}, {"", pair.denominator, ""}});
    log_ratio += (test.arms[0].log_median - test.arms[1].log_median) / count;
    if (fewest < kFewestForClaims) continue;
    const Spread& a = test.arms[0].own;
    const Spread& b = test.arms[1].own;
    const double left = a.variance / static_cast<double>(a.n);
    const double right = b.variance / static_cast<double>(b.n);
    const double variance = left + right;
    shift += (a.mean - b.mean) / count;
    error += std::sqrt(variance) / count;
    if (!(variance > 0)) continue;
    const double own_df = variance * variance / (left * left / a.df + right * right / b.df);
    df = df > 0 ? std::min(df, own_df) : own_df;
  }
  mean.ratio = exp_of(log_ratio);
  mean.n_trials_a = mean.n_trials_b = fewest;
  if (fewest < kFewestForClaims) {
    mean.method = "none";
    mean.label = fmt::format("no interval: an arm has {} trial{}", fewest, fewest == 1 ? "" : "s");
    return mean;
  }
  const double half = error > 0 ? -student_t_quantile((1 - options.confidence) / 2, df) * error : 0;
  mean.method = "welch-t";
  mean.label = "Welch t on log trial medians, any correlation of the pairs";
  if (fewest < 7) mean.label += fmt::format(", weak: {} trials", fewest);
  mean.shift = exp_of(shift);
  mean.lo = std::min(exp_of(shift - half), mean.ratio);
  mean.hi = std::max(exp_of(shift + half), mean.ratio);
  mean.widened = mean.ratio < exp_of(shift - half) || mean.ratio > exp_of(shift + half);
  return mean;
}

}  // namespace capbench::stats
