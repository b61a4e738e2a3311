#include "harness/design/fit.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <string_view>
#include <utility>

#include "harness/design/expand.h"
#include "harness/design/fraction.h"
#include "harness/design/problems.h"
#include "harness/design/until.h"
#include "harness/suite/machine.h"

namespace capbench::design {
namespace {

using suite::DesignKind;
using suite::Suite;

std::string duration_text(double seconds) {
  const auto whole = static_cast<std::int64_t>(std::llround(std::min(std::max(seconds, 0.0), 1e15)));
  if (whole < 120) return fmt::format("{} s", whole);
  if (whole < 7200) return fmt::format("{} min", (whole + 59) / 60);
  return fmt::format("{} h {} min", whole / 3600, whole % 3600 / 60);
}

std::int64_t most_blocks(const suite::Protocol& protocol) {
  return protocol.until ? std::max(certain_blocks(protocol), protocol.until->max_trials) : protocol.trials;
}

std::string kinds_text(const std::vector<DesignKind>& kinds) {
  std::string text;
  for (const DesignKind kind : kinds) {
    if (!text.empty()) text += " with ";
    text += kind_name(kind);
  }
  return text;
}

// The same suite with other kinds; nothing if its factors do not allow them.
std::optional<Suite> with_kinds(const Suite& suite, std::vector<DesignKind> kinds) {
  Suite other = suite;
  other.design->kinds = std::move(kinds);
  if (!expand_into(other)) return std::nullopt;
  return other;
}

// Smaller designs than the suite's, largest first.
std::vector<Suite> smaller_designs(const Suite& suite) {
  std::vector<Suite> ladder;
  if (!suite.design) return ladder;
  std::size_t arms = suite.arms.size();
  for (auto& kinds : std::vector<std::vector<DesignKind>>{{DesignKind::kFractional},
                                                          {DesignKind::kOneAtATime, DesignKind::kLeaveOneOut},
                                                          {DesignKind::kLeaveOneOut},
                                                          {DesignKind::kOneAtATime}}) {
    auto other = with_kinds(suite, std::move(kinds));
    if (!other || other->arms.size() >= arms) continue;
    arms = other->arms.size();
    ladder.push_back(std::move(*other));
  }
  return ladder;
}

std::string lost_with(const suite::Design& design) {
  const auto has = [&](DesignKind kind) {
    return std::find(design.kinds.begin(), design.kinds.end(), kind) != design.kinds.end();
  };
  if (const auto aliases = aliases_of(design)) {
    const std::string together = alias_text(*aliases);
    return together.empty() ? "interactions of three and more factors are not free"
                            : "two-factor interactions are not all free; " + together;
  }
  const std::string redundancy = "capabilities that stand in for each other cannot be seen";
  if (!has(DesignKind::kOneAtATime)) return redundancy + ", nor what one alone adds to stock";
  if (!has(DesignKind::kLeaveOneOut)) return redundancy + ", nor what leaving one out costs";
  return redundancy;
}

std::string without_design(const Suite& whole, const Suite& cut, double trial_s) {
  return fmt::format("{}: {} arms, {}; {} in its place, {} arms: {}", kinds_text(whole.design->kinds),
                     whole.arms.size(), duration_text(duration_s(whole, trial_s)), kinds_text(cut.design->kinds),
                     cut.arms.size(), lost_with(*cut.design));
}

Suite with_blocks(const Suite& suite, std::int64_t blocks) {
  Suite other = suite;
  suite::Protocol& protocol = other.protocol;
  protocol.trials = std::min(protocol.trials, blocks);
  if (protocol.until && blocks < kFirstLook) {
    protocol.until.reset();
    protocol.trials = blocks;
  } else if (protocol.until) {
    protocol.until->max_trials = std::min(protocol.until->max_trials, blocks);
  }
  return other;
}

// The most blocks that fit, of those with which the suite can answer.
std::optional<Suite> fewer_blocks(const Suite& suite, double trial_s, double max_s) {
  const std::size_t comparisons = comparisons_per_table(suite);
  for (std::int64_t blocks = most_blocks(suite.protocol) - 1; blocks >= 3; --blocks) {
    if (!can_answer(blocks, comparisons)) continue;
    Suite other = with_blocks(suite, blocks);
    if (duration_s(other, trial_s) <= max_s) return other;
  }
  return std::nullopt;
}

std::string without_blocks(const Suite& whole, const Suite& cut) {
  std::string text = fmt::format("{} of {} blocks", most_blocks(whole.protocol) - most_blocks(cut.protocol),
                                 most_blocks(whole.protocol));
  if (whole.protocol.until && !cut.protocol.until) text += ", and adding blocks until intervals are narrow";
  if (cut.protocol.trials < fewest_trials(comparisons_per_table(cut))) {
    text += fmt::format("; with {} the intervals are weak", cut.protocol.trials);
  }
  return text;
}

Error nothing_fits(const Suite& smallest, double trial_s, double max_s) {
  const std::size_t comparisons = comparisons_per_table(smallest);
  Suite least = smallest;
  if (most_blocks(smallest.protocol) >= 3 && can_answer(3, comparisons)) least = with_blocks(smallest, 3);
  return {ErrorKind::kUsage, fmt::format("a time of {}", duration_text(max_s)),
          fmt::format("the least that can answer takes {} ({} arms, {} blocks)",
                      duration_text(duration_s(least, trial_s)), least.arms.size(), most_blocks(least.protocol)),
          "more time, fewer factors, models or workloads"};
}

}  // namespace

double duration_s(const Suite& suite, double trial_s) {
  const double each = trial_s + suite.protocol.cooldown_s + suite.protocol.preload_s;
  std::map<std::string, double> arms_on;
  for (const suite::Arm& arm : suite.arms) ++arms_on[suite::machine_of(arm.target, suite.targets)];
  const auto cells = static_cast<double>(suite.models.size() * suite.workloads.size());
  double longest = 0;
  for (const auto& [machine, arms] : arms_on) {
    const double rounds = static_cast<double>(most_blocks(suite.protocol)) + (suite.protocol.verbose_trial ? 1 : 0);
    const double trials = arms * cells * rounds + static_cast<double>(suite.protocol.warmup_trials);
    longest = std::max(longest, trials * each);
  }
  return longest;
}

Result<Fitted> largest_design_that_fits(const Suite& suite, double trial_s, double max_s) {
  if (!(trial_s > 0) || !std::isfinite(trial_s) || !(max_s > 0)) {
    return Error{ErrorKind::kUsage, "a time for the suite", "a trial and the limit take more than no time",
                 "a first run of one block, which shows what a trial takes"};
  }
  const double whole_s = duration_s(suite, trial_s);
  if (whole_s <= max_s) return Fitted{suite, whole_s, {}};
  const Suite* smallest = &suite;
  const std::vector<Suite> ladder = smaller_designs(suite);
  for (const Suite& cut : ladder) {
    smallest = &cut;
    const double seconds = duration_s(cut, trial_s);
    if (seconds <= max_s) return Fitted{cut, seconds, {without_design(suite, cut, trial_s)}};
  }
  auto cut = fewer_blocks(*smallest, trial_s, max_s);
  if (!cut) return nothing_fits(*smallest, trial_s, max_s);
  Fitted fitted{std::move(*cut), 0, {}};
  fitted.seconds = duration_s(fitted.suite, trial_s);
  if (smallest != &suite) fitted.left_out.push_back(without_design(suite, *smallest, trial_s));
  fitted.left_out.push_back(without_blocks(suite, fitted.suite));
  return fitted;
}

}  // namespace capbench::design
