#include "reports/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>

namespace capbench::reports {
namespace {

constexpr std::string_view kReplacement = "\xEF\xBF\xBD";

struct Character {
  std::uint32_t code = 0;
  std::size_t length = 0;  // 0: the bytes at this place are no character
};

// RFC 3629, table 3-7 of the Unicode standard.
Character decode(std::string_view bytes) {
  const auto byte = [&](std::size_t i) { return static_cast<std::uint32_t>(static_cast<unsigned char>(bytes[i])); };
  const std::uint32_t first = byte(0);
  if (first < 0x80) return {first, 1};
  std::size_t length = 0;
  std::uint32_t code = 0;
  std::uint32_t smallest = 0;
  if ((first & 0xE0U) == 0xC0U) {
    length = 2;
    code = first & 0x1FU;
    smallest = 0x80;
  } else if ((first & 0xF0U) == 0xE0U) {
    length = 3;
    code = first & 0x0FU;
    smallest = 0x800;
  } else if ((first & 0xF8U) == 0xF0U) {
    length = 4;
    code = first & 0x07U;
    smallest = 0x10000;
  } else {
    return {};
  }
  if (bytes.size() < length) return {};
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xC0U) != 0x80U) return {};
    code = (code << 6U) | (byte(i) & 0x3FU);
  }
  const bool surrogate = code >= 0xD800 && code <= 0xDFFF;
  if (code < smallest || code > 0x10FFFF || surrogate) return {};
  return {code, length};
}

bool is_control(std::uint32_t code) {
  return code < 0x20 || (code >= 0x7F && code < 0xA0);
}

bool turns_direction(std::uint32_t code) {
  return code == 0x061C || code == 0x200E || code == 0x200F || (code >= 0x202A && code <= 0x202E) ||
         (code >= 0x2066 && code <= 0x2069);
}

bool breaks_line(std::uint32_t code) {
  return (code >= 0x09 && code <= 0x0D) || code == 0x85 || code == 0x2028 || code == 0x2029;
}

template <class Write>
void each_character(std::string_view bytes, Write write) {
  while (!bytes.empty()) {
    const Character character = decode(bytes);
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
  std::string out;
  out.reserve(bytes.size());
  each_character(bytes, [&](const Character& character, std::string_view raw) {
    out += character.length == 0 ? kReplacement : raw;
  });
  return out;
}

std::string one_line(std::string_view bytes) {
  std::string out;
  out.reserve(bytes.size());
  each_character(bytes, [&](const Character& character, std::string_view raw) {
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
  each_character(utf8, [&](const Character&, std::string_view) { ++width; });
  return width;
}

std::string count_of(std::size_t count, std::string_view noun) {
  return fmt::format("{} {}{}", count, noun, count == 1 ? "" : "s");
}

}  // namespace capbench::reports
