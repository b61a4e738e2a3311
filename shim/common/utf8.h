// The little of UTF-8 that the shims need: where a character ends, and whether bytes are text at all. Their own, since
// base/utf8.h makes strings and a shim must not need libstdc++.
#ifndef CAPBENCH_SHIM_COMMON_UTF8_H_
#define CAPBENCH_SHIM_COMMON_UTF8_H_

#include <cstddef>
#include <string_view>

namespace capbench::shim {

// Bytes of the well-formed sequence (Unicode 15, table 3-7) at the beginning of `text`: 1 to 4, or 0 if there is none
// (empty text, a stray or overlong byte, a surrogate, more than U+10FFFF, a sequence cut short).
constexpr std::size_t utf8_length(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const auto within = [&](std::size_t i, unsigned low, unsigned high) {
    return i < text.size() && byte(i) >= low && byte(i) <= high;
  };
  if (text.empty()) return 0;
  const unsigned first = byte(0);
  if (first < 0x80) return 1;
  if (first >= 0xC2 && first <= 0xDF) return within(1, 0x80, 0xBF) ? 2 : 0;
  if (first >= 0xE0 && first <= 0xEF) {
    const unsigned low = first == 0xE0 ? 0xA0 : 0x80;
    const unsigned high = first == 0xED ? 0x9F : 0xBF;
    return within(1, low, high) && within(2, 0x80, 0xBF) ? 3 : 0;
  }
  if (first >= 0xF0 && first <= 0xF4) {
    const unsigned low = first == 0xF0 ? 0x90 : 0x80;
    const unsigned high = first == 0xF4 ? 0x8F : 0xBF;
    return within(1, low, high) && within(2, 0x80, 0xBF) && within(3, 0x80, 0xBF) ? 4 : 0;
  }
  return 0;
}

// Offset of the first byte that is not well-formed, or text.size() if all of it is.
constexpr std::size_t utf8_valid_prefix(std::string_view text) {
  std::size_t at = 0;
  while (at < text.size()) {
    const std::size_t length = utf8_length(std::string_view(text.data() + at, text.size() - at));
    if (length == 0) break;
    at += length;
  }
  return at;
}

}  // namespace capbench::shim

#endif  // CAPBENCH_SHIM_COMMON_UTF8_H_
