#include "harness/import/text.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdlib>

namespace capbench::imports {
namespace {

constexpr std::string_view kReplacement = "\xEF\xBF\xBD";  // U+FFFD
constexpr std::string_view kWrongEscape = "\xEF\xBF\xBF";  // U+FFFF, how "\uffff" reads

unsigned byte(char c) {
  return static_cast<unsigned char>(c);
}

int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  return -1;
}

// The text with every "ffXX" behind U+FFFF as the byte XX; nothing unless the whole becomes UTF-8.
std::optional<std::string> restore_bytes(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    const std::size_t at = text.find(kWrongEscape);
    out.append(text.substr(0, at));
    if (at == std::string_view::npos) break;
    text.remove_prefix(at + kWrongEscape.size());
    if (text.size() < 4 || !text.starts_with("ff")) return std::nullopt;
    const int high = hex_digit(text[2]);
    const int low = hex_digit(text[3]);
    if (high < 8 || low < 0) return std::nullopt;
    out.push_back(static_cast<char>(static_cast<unsigned char>(high * 16 + low)));
    text.remove_prefix(4);
  }
  return is_utf8(out) ? std::optional(std::move(out)) : std::nullopt;
}

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

}  // namespace

std::string_view trim(std::string_view text) {
  constexpr std::string_view kSpace = " \t\r\n\f\v";
  const std::size_t first = text.find_first_not_of(kSpace);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kSpace) - first + 1);
}

std::optional<std::int64_t> parse_integer(std::string_view text) {
  if (text.starts_with('+')) text.remove_prefix(1);
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

std::optional<double> parse_number(std::string_view text) {
  if (text.starts_with('+')) text.remove_prefix(1);
  // [-]digits[.digits][e[sign]digits], as JSON has it but with leading zeros and bare points.
  std::size_t i = text.starts_with('-') ? 1 : 0;
  std::uint64_t mantissa = 0;
  int digits = 0;    // significant ones
  int exponent = 0;  // of ten
  bool any = false;
  bool exact = true;
  const auto take = [&](bool behind_point) {
    for (; i < text.size() && is_digit(text[i]); ++i) {
      any = true;
      if (digits < 18) {
        mantissa = mantissa * 10 + byte(text[i]) - '0';
        if (mantissa > 0) ++digits;
        if (behind_point) --exponent;
      } else {
        exact = false;
      }
    }
  };
  take(false);
  if (i < text.size() && text[i] == '.') {
    ++i;
    take(true);
  }
  if (!any) return std::nullopt;
  if (i < text.size() && (text[i] == 'e' || text[i] == 'E')) {
    ++i;
    if (i < text.size() && (text[i] == '+' || text[i] == '-')) ++i;
    if (i == text.size()) return std::nullopt;
    for (; i < text.size(); ++i) {
      if (!is_digit(text[i])) return std::nullopt;
    }
    exact = false;
  }
  if (i != text.size()) return std::nullopt;
  // Two exactly known doubles give a correctly rounded quotient (Clinger 1990); nearly every number here is one.
  constexpr std::uint64_t kExactIntegers = 1ULL << 53U;
  constexpr auto kPowers =
      std::to_array<double>({1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
                             1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22});
  if (exact && mantissa <= kExactIntegers && exponent >= -22) {
    const double value = static_cast<double>(mantissa) / kPowers.at(static_cast<std::size_t>(-exponent));
    return text.starts_with('-') ? -value : value;
  }
  // Not every C++ library has from_chars for double; the form is checked above, so strtod reads the whole of it.
  const double value = std::strtod(std::string(text).c_str(), nullptr);
  return std::isfinite(value) ? std::optional(value) : std::nullopt;
}

std::optional<double> parse_local_number(std::string_view text) {
  const std::size_t comma = text.rfind(',');
  if (comma == std::string_view::npos) return parse_number(text);
  std::string plain;
  if (text.find('.', comma) != std::string_view::npos) {
    // Thousands: groups of exactly three digits between the commas and up to the point.
    std::size_t start = 0;
    const std::size_t point = text.find('.');
    for (std::size_t at = text.find(','); at != std::string_view::npos; at = text.find(',', at + 1)) {
      plain.append(text.substr(start, at - start));
      start = at + 1;
      const std::size_t next = std::min(text.find(',', start), point);
      if (next - start != 3) return std::nullopt;
    }
    plain.append(text.substr(start));
    return parse_number(plain);
  }
  const std::string_view decimals = text.substr(comma + 1);
  if (decimals.empty() || !std::all_of(decimals.begin(), decimals.end(), is_digit)) return std::nullopt;
  const std::string_view whole = text.substr(0, comma);
  if (decimals.size() == 3 && whole != "0") return std::nullopt;
  for (const char c : whole) {
    if (c == '.' || c == ',') return std::nullopt;
  }
  plain.append(whole).append(".").append(decimals);
  return parse_number(plain);
}

void append_utf8(std::string& out, std::uint32_t code_point) {
  const auto put = [&out](std::uint32_t value) { out.push_back(static_cast<char>(static_cast<unsigned char>(value))); };
  if (code_point < 0x80) {
    put(code_point);
  } else if (code_point < 0x800) {
    put(0xC0U | (code_point >> 6U));
    put(0x80U | (code_point & 0x3FU));
  } else if (code_point >= 0xD800 && code_point <= 0xDFFF) {
    out.append(kReplacement);
  } else if (code_point < 0x10000) {
    put(0xE0U | (code_point >> 12U));
    put(0x80U | ((code_point >> 6U) & 0x3FU));
    put(0x80U | (code_point & 0x3FU));
  } else if (code_point < 0x110000) {
    put(0xF0U | (code_point >> 18U));
    put(0x80U | ((code_point >> 12U) & 0x3FU));
    put(0x80U | ((code_point >> 6U) & 0x3FU));
    put(0x80U | (code_point & 0x3FU));
  } else {
    out.append(kReplacement);
  }
}

void append_json_string(std::string& out, std::string_view text) {
  constexpr std::string_view kHex = "0123456789abcdef";
  out.push_back('"');
  while (!text.empty()) {
    const char c = text[0];
    if (byte(c) < 0x80) {
      if (c == '"' || c == '\\') {
        out.push_back('\\');
        out.push_back(c);
      } else if (byte(c) < 0x20) {
        out.append("\\u00");
        out.push_back(kHex[byte(c) >> 4U]);
        out.push_back(kHex[byte(c) & 0xFU]);
      } else {
        out.push_back(c);
      }
      text.remove_prefix(1);
      continue;
    }
    const std::size_t length = decode_utf8(text).length;
    out.append(length == 0 ? kReplacement : text.substr(0, length));
    text.remove_prefix(std::max<std::size_t>(length, 1));
  }
  out.push_back('"');
}

bool repair_signed_escapes(std::string& text) {
  if (text.find(kWrongEscape) == std::string::npos) return false;
  if (std::optional<std::string> restored = restore_bytes(text)) {
    text = std::move(*restored);
    return true;
  }
  // Cut by the buffer: U+FFFF and the one 'f' that still fitted. U+FFFF without it is somebody's own.
  std::string out;
  std::string_view rest = text;
  bool repaired = false;
  while (!rest.empty()) {
    const std::size_t at = rest.find(kWrongEscape);
    out.append(rest.substr(0, at));
    if (at == std::string_view::npos) break;
    rest.remove_prefix(at + kWrongEscape.size());
    if (rest.starts_with('f')) {
      out.append(kReplacement);
      rest.remove_prefix(1);
      repaired = true;
    } else {
      out.append(kWrongEscape);
    }
  }
  text = std::move(out);
  return repaired;
}

}  // namespace capbench::imports
