#include "harness/suite/utf8.h"

#include <cstddef>

namespace capbench::suite {
namespace {

constexpr char32_t kBadByte = 0xDC00;

bool is_bad(char32_t character) {
  return character >= 0xD800 && character <= 0xDFFF;
}

}  // namespace

char32_t take_character(std::string_view& text) {
  const auto byte_at = [&](std::size_t i) -> char32_t { return static_cast<unsigned char>(text[i]); };
  const char32_t first = byte_at(0);
  std::size_t length = 0;
  char32_t smallest = 0;
  char32_t character = 0;
  if (first < 0x80U) {
    text.remove_prefix(1);
    return first;
  }
  if (first >= 0xC2U && first <= 0xDFU) {
    length = 2, smallest = 0x80U, character = first & 0x1FU;
  } else if (first >= 0xE0U && first <= 0xEFU) {
    length = 3, smallest = 0x800U, character = first & 0x0FU;
  } else if (first >= 0xF0U && first <= 0xF4U) {
    length = 4, smallest = 0x10000U, character = first & 0x07U;
  }
  bool good = length != 0 && text.size() >= length;
  for (std::size_t i = 1; good && i < length; ++i) {
    good = (byte_at(i) & 0xC0U) == 0x80U;
    character = character << 6U | (byte_at(i) & 0x3FU);
  }
  if (!good || character < smallest || character > 0x10FFFFU || is_bad(character)) {
    text.remove_prefix(1);
    return kBadByte + first;
  }
  text.remove_prefix(length);
  return character;
}

bool is_printable(std::string_view text) {
  while (!text.empty()) {
    const char32_t c = take_character(text);
    if (c < 0x20U || (c >= 0x7FU && c <= 0x9FU) || is_bad(c)) return false;
    if (c >= 0x200BU && c <= 0x200FU) return false;  // no width, direction marks
    if (c >= 0x2028U && c <= 0x202EU) return false;  // separators, embeddings
    if (c >= 0x2060U && c <= 0x206FU) return false;  // invisible operators, isolates
    if (c == 0xFEFFU || (c >= 0xFFF9U && c <= 0xFFFBU) || (c & 0xFFFEU) == 0xFFFEU)
      return false;  // marks, non-characters
  }
  return true;
}

}  // namespace capbench::suite
