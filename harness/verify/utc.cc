#include "harness/verify/utc.h"

#include <chrono>
#include <cstddef>

namespace capbench::verify {
namespace {

// The next `count` digits.
std::optional<int> digits(std::string_view& text, std::size_t count) {
  if (text.size() < count) return std::nullopt;
  int value = 0;
  for (std::size_t i = 0; i < count; ++i) {
    if (text[i] < '0' || text[i] > '9') return std::nullopt;
    value = 10 * value + (text[i] - '0');
  }
  text.remove_prefix(count);
  return value;
}

bool skip(std::string_view& text, char c) {
  if (!text.starts_with(c)) return false;
  text.remove_prefix(1);
  return true;
}

// The part of a second behind the point, in whole milliseconds.
std::optional<int> milliseconds(std::string_view& text) {
  if (!skip(text, '.')) return 0;
  constexpr std::size_t kMostDigits = 9;
  int value = 0;
  std::size_t count = 0;
  for (; !text.empty() && text.front() >= '0' && text.front() <= '9'; ++count) {
    if (count < 3) value = 10 * value + (text.front() - '0');
    text.remove_prefix(1);
  }
  if (count == 0 || count > kMostDigits) return std::nullopt;
  for (; count < 3; ++count) value *= 10;
  return value;
}

}  // namespace

std::optional<std::int64_t> parse_utc(std::string_view text) {
  const auto year = digits(text, 4);
  if (!year || !skip(text, '-')) return std::nullopt;
  const auto month = digits(text, 2);
  if (!month || !skip(text, '-')) return std::nullopt;
  const auto day = digits(text, 2);
  if (!day || !skip(text, 'T')) return std::nullopt;
  const auto hour = digits(text, 2);
  if (!hour || !skip(text, ':')) return std::nullopt;
  const auto minute = digits(text, 2);
  if (!minute || !skip(text, ':')) return std::nullopt;
  const auto second = digits(text, 2);
  if (!second) return std::nullopt;
  const auto part = milliseconds(text);
  if (!part || text != "Z" || *hour > 23 || *minute > 59 || *second > 60) return std::nullopt;
  const std::chrono::year_month_day date{std::chrono::year(*year), std::chrono::month(static_cast<unsigned>(*month)),
                                         std::chrono::day(static_cast<unsigned>(*day))};
  if (!date.ok()) return std::nullopt;
  const std::int64_t days = std::chrono::sys_days(date).time_since_epoch().count();
  return (((days * 24 + *hour) * 60 + *minute) * 60 + *second) * 1000 + *part;
}

}  // namespace capbench::verify
