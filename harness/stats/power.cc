#include "harness/stats/power.h"

#include <cmath>
#include <numbers>

#include "harness/stats/distribution.h"
#include "harness/stats/elementary.h"
#include "harness/stats/moderation.h"
#include "harness/stats/prepared.h"

namespace capbench::stats {
namespace {

constexpr std::size_t kFewest = 3;
constexpr std::size_t kFewestForRanks = 7;

Status check_question(const PilotNoise& noise, const PowerQuestion& question, bool with_effect) {
  if (!(std::isfinite(noise.deviation) && noise.deviation >= 0)) {
    return Error{ErrorKind::kUsage, "deviation between trials", "expected a number of 0 or more", "run a pilot"};
  }
  if (!(question.margin >= 0 && question.margin < 1)) {
    return Error{ErrorKind::kUsage, "margin", "expected a share from 0 to under 1", "use 0.02"};
  }
  if (with_effect && !(question.effect > question.margin && question.effect < 1)) {
    return Error{ErrorKind::kUsage, "effect", "expected a share over the margin and under 1",
                 "ask for a larger effect, or a smaller margin"};
  }
  if (!(question.power >= 0.5 && question.power <= 0.99)) {
    return Error{ErrorKind::kUsage, "power", "expected a number from 0.5 to 0.99", "use 0.9"};
  }
  if (!(question.confidence >= 0.5 && question.confidence <= 0.99)) {
    return Error{ErrorKind::kUsage, "confidence", "expected a number from 0.5 to 0.99", "use 0.95"};
  }
  if (question.comparisons < 1) {
    return Error{ErrorKind::kUsage, "comparisons", "expected 1 or more", "count those of the table"};
  }
  return {};
}

// What the deviation may well be, given how few trials it was learned from: its upper 80 % limit. The quantile of
// chi-squared is Wilson and Hilferty's (1931).
double cautious(const PilotNoise& noise) {
  if (noise.degrees_of_freedom == 0) return noise.deviation;
  constexpr double kZ = -0.8416212335729143;  // 20 % of the normal distribution lie below
  const auto df = static_cast<double>(noise.degrees_of_freedom);
  const double part = 2 / (9 * df);
  const double root = 1 - part + kZ * std::sqrt(part);
  return noise.deviation / std::sqrt(root * root * root);
}

// The log ratio that `trials` per arm find with the power asked for.
double found_by(std::size_t trials, double deviation, const PowerQuestion& question) {
  const auto n = static_cast<double>(trials);
  const double df = 2 * n - 2;
  const double tail = (1 - question.confidence) / (2 * static_cast<double>(question.comparisons));
  const double spread = trials >= kFewestForRanks ? deviation / std::sqrt(3 / std::numbers::pi) : deviation;
  return spread * std::sqrt(2 / n) * (-student_t_quantile(tail, df) + student_t_quantile(question.power, df));
}

}  // namespace

Result<PilotNoise> pilot_noise(std::span<const Arm> arms) {
  std::vector<ArmView> views;
  for (const Arm& arm : arms) {
    if (Status status = check_trials(arm.trials, "arm `" + arm.name + "`"); !status.ok()) {
      return std::move(status).error();
    }
    if (arm.trials.size() > 1) views.push_back({arm.name, arm.trials, ""});
  }
  PilotNoise noise;
  double squares = 0;
  for (const PreparedArm& arm : prepare(views).arms) {
    const Spread spread = spread_of(arm.logs);
    noise.degrees_of_freedom += spread.n - 1;
    squares += spread.df * spread.variance;
  }
  if (noise.degrees_of_freedom == 0) {
    return Error{ErrorKind::kUsage, "pilot", "no arm has two trials", "run a pilot of 3 or more trials per arm"};
  }
  noise.deviation = std::sqrt(squares / static_cast<double>(noise.degrees_of_freedom));
  return noise;
}

Result<std::optional<std::size_t>> recommended_trials(const PilotNoise& noise, const PowerQuestion& question) {
  if (Status status = check_question(noise, question, true); !status.ok()) return std::move(status).error();
  const double deviation = cautious(noise);
  const double wanted = log_of(1 - question.margin) - log_of(1 - question.effect);
  const auto enough = [&](std::size_t trials) { return found_by(trials, deviation, question) <= wanted; };
  for (std::size_t trials = kFewest; trials < kFewestForRanks; ++trials) {
    if (enough(trials)) return std::optional<std::size_t>(trials);
  }
  if (!enough(kMostTrials)) return std::optional<std::size_t>();
  std::size_t low = kFewestForRanks - 1;  // not enough
  std::size_t high = kMostTrials;         // enough
  while (high - low > 1) {
    const std::size_t middle = low + (high - low) / 2;
    (enough(middle) ? high : low) = middle;
  }
  return std::optional<std::size_t>(high);
}

Result<std::optional<double>> detectable_effect(const PilotNoise& noise, std::size_t trials,
                                                const PowerQuestion& question) {
  if (Status status = check_question(noise, question, false); !status.ok()) return std::move(status).error();
  if (trials < kFewest) return std::optional<double>();
  const double log_effect = log_of(1 - question.margin) - found_by(trials, cautious(noise), question);
  return std::optional<double>(1 - exp_of(log_effect));
}

}  // namespace capbench::stats
