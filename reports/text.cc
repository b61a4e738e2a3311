#include "reports/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/counted.h"
#include "base/utf8.h"

namespace capbench::reports {
namespace {

constexpr std::string_view kReplacement = "\xEF\xBF\xBD";

bool is_control(char32_t code) {
  return code < 0x20 || (code >= 0x7F && code < 0xA0);
}

bool turns_direction(char32_t code) {
  return code == 0x061C || code == 0x200E || code == 0x200F || (code >= 0x202A && code <= 0x202E) ||
         (code >= 0x2066 && code <= 0x2069);
}

bool breaks_line(char32_t code) {
  return (code >= 0x09 && code <= 0x0D) || code == 0x85 || code == 0x2028 || code == 0x2029;
}

template <class Write>
void each_character(std::string_view bytes, Write write) {
  while (!bytes.empty()) {
    const Utf8Character character = decode_utf8(bytes);
    const std::size_t length = std::max<std::size_t>(1, character.length);
    write(character, bytes.substr(0, length));
    bytes.remove_prefix(length);
  }
}

}  // namespace

std::string format_number(double value) {
  if (!std::isfinite(value)) return "-";
  constexpr int kSignificant = 4;
  constexpr int kMostDecimals = 12;
  const double size = std::fabs(value);
  int decimals = 2;
  if (size > 0 && size < 10) {
    decimals = std::clamp(kSignificant - 1 - static_cast<int>(std::floor(std::log10(size))), 2, kMostDecimals);
  }
  return fmt::format("{:.{}f}", value, decimals);
}

std::string format_exact(double value) {
  return fmt::format("{}", value);
}

std::string valid_utf8(std::string_view bytes) {
  return to_utf8(bytes);
}

std::string one_line(std::string_view bytes) {
  // Most is plain ASCII, which is as it should be.
  const auto is_plain = [](char c) { return c >= 0x20 && c < 0x7F; };
  if (std::all_of(bytes.begin(), bytes.end(), is_plain)) return std::string(bytes);
  std::string out;
  out.reserve(bytes.size());
  each_character(bytes, [&](const Utf8Character& character, std::string_view raw) {
    const bool is_text = character.length > 0 && !is_control(character.code) && !turns_direction(character.code);
    if (character.length > 0 && breaks_line(character.code)) {
      out += ' ';
    } else {
      out += is_text ? raw : kReplacement;
    }
  });
  return out;
}

std::size_t display_width(std::string_view utf8) {
  std::size_t width = 0;
  each_character(utf8, [&](const Utf8Character&, std::string_view) { ++width; });
  return width;
}

std::string count_of(std::size_t count, std::string_view noun) {
  return counted(count, noun);
}

}  // namespace capbench::reports
