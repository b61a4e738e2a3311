#include "reports/server/cursor.h"

#include <cstdint>

namespace capbench::server {
namespace {

constexpr std::string_view kAlphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

// base64url of RFC 4648 without padding.
std::string encode(std::string_view bytes) {
  std::string text;
  std::uint32_t bits = 0;
  unsigned count = 0;
  for (const char c : bytes) {
    bits = (bits << 8U) | static_cast<unsigned char>(c);
    for (count += 8; count >= 6; count -= 6) text.push_back(kAlphabet[(bits >> (count - 6)) & 63U]);
  }
  if (count > 0) text.push_back(kAlphabet[(bits << (6 - count)) & 63U]);
  return text;
}

std::optional<std::string> decode(std::string_view text) {
  std::string bytes;
  std::uint32_t bits = 0;
  unsigned count = 0;
  for (const char c : text) {
    const std::size_t value = kAlphabet.find(c);
    if (value == std::string_view::npos) return std::nullopt;
    bits = (bits << 6U) | static_cast<std::uint32_t>(value);
    count += 6;
    if (count >= 8) {
      count -= 8;
      bytes.push_back(static_cast<char>((bits >> count) & 255U));
    }
  }
  return bytes;
}

}  // namespace

std::string encode_cursor(std::string_view list, std::string_view place) {
  return encode(std::string(list) + ":" + std::string(place));
}

std::optional<std::string> decode_cursor(std::string_view list, std::string_view cursor) {
  std::optional<std::string> text = decode(cursor);
  if (!text || text->size() <= list.size() || text->compare(0, list.size(), list) != 0 || (*text)[list.size()] != ':') {
    return std::nullopt;
  }
  // One spelling a place.
  if (encode(*text) != cursor) return std::nullopt;
  return text->substr(list.size() + 1);
}

}  // namespace capbench::server
