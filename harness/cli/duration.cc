#include "harness/cli/duration.h"

#include <charconv>
#include <system_error>

namespace capbench::cli {

std::optional<double> parse_duration_s(std::string_view text) {
  constexpr double kMost = 100.0 * 24 * 3600;
  double total = 0;
  if (text.empty()) return std::nullopt;
  while (!text.empty()) {
    if (text.front() < '0' || text.front() > '9') return std::nullopt;  // no sign, no "inf"
    double number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number, std::chars_format::fixed);
    if (error != std::errc()) return std::nullopt;
    text.remove_prefix(static_cast<std::size_t>(end - text.data()));
    double unit = 1;
    if (!text.empty()) {
      if (text.front() == 'h') {
        unit = 3600;
      } else if (text.front() == 'm') {
        unit = 60;
      } else if (text.front() != 's') {
        return std::nullopt;
      }
      text.remove_prefix(1);
    }
    total += number * unit;
  }
  if (!(total > 0 && total <= kMost)) return std::nullopt;
  return total;
}

}  // namespace capbench::cli
