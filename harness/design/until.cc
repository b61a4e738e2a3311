#include "harness/design/until.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace capbench::design {
namespace {

std::string percent(double ratio) {
  return fmt::format("{:.3g} %", 100 * ratio);
}

}  // namespace

StoppingRule stopping_rule(const suite::Protocol& protocol, std::size_t comparisons) {
  const suite::Until until = protocol.until.value_or(suite::Until());
  StoppingRule rule;
  rule.half_width = until.ci_half_width;
  rule.first_look = std::max(kFirstLook, protocol.trials);
  rule.cap = std::max(rule.first_look, until.max_trials);
  rule.confidence = comparisons >= kFewestForTableStop ? kTableConfidence : kStoppingConfidence;
  return rule;
}

std::optional<double> relative_half_width(const Width& width) {
  if (!width.lo || !width.hi) return std::nullopt;
  const double lo = *width.lo;
  const double hi = *width.hi;
  if (!std::isfinite(lo) || !std::isfinite(hi) || lo <= 0 || hi < lo) return std::nullopt;
  return std::exp((std::log(hi) - std::log(lo)) / 2) - 1;
}

Decision decide(const StoppingRule& rule, std::int64_t blocks, std::span<const Width> widths) {
  Decision decision;
  double widest = -1;
  for (const Width& width : widths) {
    const std::optional<double> half = relative_half_width(width);
    if (half && *half <= rule.half_width) continue;
    ++decision.wide;
    // One without an interval is wider than any with one.
    const double size = half.value_or(HUGE_VAL);
    if (size > widest) {
      widest = size;
      decision.widest = width.comparison;
    }
  }
  std::string state;
  if (widths.empty()) {
    state = "no comparison yet";
  } else if (decision.wide == 0) {
    state = fmt::format("all {} comparisons within {}", widths.size(), percent(rule.half_width));
  } else {
    state =
        fmt::format("{} of {} comparisons wider than {}, the widest {} ({})", decision.wide, widths.size(),
                    percent(rule.half_width), decision.widest, std::isfinite(widest) ? percent(widest) : "no interval");
  }
  if (blocks >= rule.cap) {
    decision.next = !widths.empty() && decision.wide == 0 ? Next::kStopNarrow : Next::kStopCap;
  } else if (blocks >= rule.first_look && !widths.empty() && decision.wide == 0) {
    decision.next = Next::kStopNarrow;
  }
  switch (decision.next) {
    case Next::kGoOn:
      decision.text = fmt::format("{} blocks: {}; going on", blocks, state);
      break;
    case Next::kStopNarrow:
      decision.text = fmt::format("{} blocks: {}; done", blocks, state);
      break;
    case Next::kStopCap:
      decision.text = fmt::format("{} blocks: {}; stopped at the cap of {}", blocks, state, rule.cap);
      break;
  }
  return decision;
}

std::string rule_text(const StoppingRule& rule) {
  return fmt::format(
      "blocks are added until the {:.0f} % interval of every comparison of the table is within {} of its middle, "
      "looked "
      "at after {} blocks and after each further one, at most {} blocks; not stopped for significance",
      100 * rule.confidence, percent(rule.half_width), rule.first_look, rule.cap);
}

}  // namespace capbench::design
