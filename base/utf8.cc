#include "base/utf8.h"

#include <algorithm>
#include <cstdint>
#include <cstring>

namespace capbench {
namespace {

constexpr char32_t kBadByte = 0xDC00;

bool is_surrogate(char32_t code) {
  return code >= 0xD800U && code <= 0xDFFFU;
}

// How many bytes at the beginning are ASCII, counted in whole words of eight.
std::size_t ascii_words(std::string_view bytes) {
  constexpr std::uint64_t kHighBits = 0x8080808080808080U;
  std::size_t size = 0;
  for (std::uint64_t word = 0; size + sizeof word <= bytes.size(); size += sizeof word) {
    std::memcpy(&word, bytes.data() + size, sizeof word);
    if ((word & kHighBits) != 0) break;
  }
  return size;
}

}  // namespace

Utf8Character decode_utf8(std::string_view bytes) {
  const auto byte = [&](std::size_t i) -> char32_t { return static_cast<unsigned char>(bytes[i]); };
  const char32_t first = byte(0);
  if (first < 0x80U) return {first, 1};
  Utf8Character character;
  char32_t smallest = 0;
  if ((first & 0xE0U) == 0xC0U) {
    character = {first & 0x1FU, 2}, smallest = 0x80U;
  } else if ((first & 0xF0U) == 0xE0U) {
    character = {first & 0x0FU, 3}, smallest = 0x800U;
  } else if ((first & 0xF8U) == 0xF0U) {
    character = {first & 0x07U, 4}, smallest = 0x10000U;
  }
  if (bytes.size() < character.length) return {};
  for (std::size_t i = 1; i < character.length; ++i) {
    if ((byte(i) & 0xC0U) != 0x80U) return {};
    character.code = character.code << 6U | (byte(i) & 0x3FU);
  }
  if (character.code < smallest || character.code > 0x10FFFFU || is_surrogate(character.code)) return {};
  return character;
}

char32_t take_character(std::string_view& text) {
  const Utf8Character character = decode_utf8(text);
  const char32_t code = character.length > 0 ? character.code : kBadByte + static_cast<unsigned char>(text[0]);
  text.remove_prefix(std::max<std::size_t>(1, character.length));
  return code;
}

bool is_utf8(std::string_view bytes) {
  while (!bytes.empty()) {
    bytes.remove_prefix(ascii_words(bytes));
    if (bytes.empty()) break;
    const std::size_t length = decode_utf8(bytes).length;
    if (length == 0) return false;
    bytes.remove_prefix(length);
  }
  return true;
}

std::string to_utf8(std::string_view bytes) {
  std::string text;
  text.reserve(bytes.size());
  while (!bytes.empty()) {
    const std::size_t ascii = ascii_words(bytes);
    text += bytes.substr(0, ascii);
    bytes.remove_prefix(ascii);
    if (bytes.empty()) break;
    const std::size_t length = decode_utf8(bytes).length;
    text += length == 0 ? "\xEF\xBF\xBD" : bytes.substr(0, length);
    bytes.remove_prefix(std::max<std::size_t>(1, length));
  }
  return text;
}

bool is_printable(std::string_view text) {
  while (!text.empty()) {
    const char32_t c = take_character(text);
    if (c < 0x20U || (c >= 0x7FU && c <= 0x9FU) || is_surrogate(c)) return false;
    if (c >= 0x200BU && c <= 0x200FU) return false;  // no width, direction marks
    if (c >= 0x2028U && c <= 0x202EU) return false;  // separators, embeddings
    if (c >= 0x2060U && c <= 0x206FU) return false;  // invisible operators, isolates
    if (c == 0xFEFFU || (c >= 0xFFF9U && c <= 0xFFFBU) || (c & 0xFFFEU) == 0xFFFEU)
      return false;  // marks, non-characters
  }
  return true;
}

std::string in_quotes(std::string_view text) {
  constexpr std::size_t kShownBytes = 60;
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string result = "\"";
  while (!text.empty() && result.size() <= kShownBytes) {
    const std::string_view before = text;
    take_character(text);
    const std::string_view character = before.substr(0, before.size() - text.size());
    if (is_printable(character)) {
      result += character;
      continue;
    }
    for (const char c : character) {
      const auto byte = static_cast<unsigned char>(c);
      result += "\\x";
      result += kDigits[byte >> 4U];
      result += kDigits[byte & 0xFU];
    }
  }
  return result + (text.empty() ? "\"" : "...\"");
}

}  // namespace capbench
