#include "harness/verify/rows.h"

#include <fmt/format.h>

#include <algorithm>

namespace capbench::verify {
namespace {

constexpr std::size_t kMostRows = 12;  // of one outcome
constexpr std::size_t kLongestDetail = 1000;

// Not in the middle of a character.
std::string cut(std::string text) {
  if (text.size() <= kLongestDetail) return text;
  std::size_t end = kLongestDetail;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0U) == 0x80) --end;
  return text.substr(0, end) + "...";
}

}  // namespace

void Rows::add(Outcome outcome, std::string where, std::string detail) {
  std::size_t same_outcome = 0;
  for (Found& found : found_) {
    if (found.outcome != outcome) continue;
    ++same_outcome;
    if (outcome == Outcome::kSkipped && found.detail == detail) {
      ++found.times;
      return;
    }
  }
  if (same_outcome >= kMostRows) {
    ++dropped_[static_cast<std::size_t>(outcome)];
    return;
  }
  found_.push_back({outcome, std::move(where), cut(std::move(detail)), 1});
}

bool Rows::any(Outcome outcome) const {
  return std::any_of(found_.begin(), found_.end(), [&](const Found& found) { return found.outcome == outcome; });
}

void Rows::append_to(std::vector<Check>& checks) const {
  for (const Outcome outcome : {Outcome::kFailed, Outcome::kFlagged, Outcome::kSkipped}) {
    for (const Found& found : found_) {
      if (found.outcome != outcome) continue;
      std::string detail = found.detail;
      if (found.times > 1) detail += fmt::format(" ({} times, here first)", found.times);
      checks.push_back({name_, outcome, std::move(detail), found.where});
    }
    if (const std::size_t more = dropped_[static_cast<std::size_t>(outcome)]; more > 0) {
      checks.push_back({name_, outcome, fmt::format("and {} more", more), ""});
    }
  }
  if (passed_ > 0) checks.push_back({name_, Outcome::kPassed, fmt::format("{} {}", passed_, noun_), ""});
  if (passed_ == 0 && found_.empty()) {
    checks.push_back({name_, Outcome::kSkipped, fmt::format("there are no {}", noun_), ""});
  }
}

}  // namespace capbench::verify
