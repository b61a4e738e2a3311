#include "shim/common/text.h"

#include <cstring>

#include "shim/common/utf8.h"

namespace capbench::shim {
namespace {

constexpr std::size_t kQuotedBytes = 48;
constexpr std::string_view kHex = "0123456789abcdef";

std::uint32_t code_point(std::string_view text, std::size_t length) {
  const auto byte = [&](std::size_t i) { return static_cast<std::uint32_t>(static_cast<unsigned char>(text[i])); };
  switch (length) {
    case 1:
      return byte(0);
    case 2:
      return (byte(0) & 0x1FU) << 6U | (byte(1) & 0x3FU);
    case 3:
      return (byte(0) & 0x0FU) << 12U | (byte(1) & 0x3FU) << 6U | (byte(2) & 0x3FU);
    default:
      return (byte(0) & 0x07U) << 18U | (byte(1) & 0x3FU) << 12U | (byte(2) & 0x3FU) << 6U | (byte(3) & 0x3FU);
  }
}

void append_escape(TextBuilder& out, std::uint32_t unit) {
  const char escape[6] = {
      '\\', 'u', kHex[unit >> 12U & 0xFU], kHex[unit >> 8U & 0xFU], kHex[unit >> 4U & 0xFU], kHex[unit & 0xFU]};
  out.append({escape, sizeof escape});
}

}  // namespace

void TextBuilder::append(std::string_view text) {
  if (overflowed_ || text.size() > capacity_ - size_) {
    overflowed_ = true;
    return;
  }
  if (!text.empty()) std::memcpy(buffer_ + size_, text.data(), text.size());
  size_ += text.size();
}

void TextBuilder::append_number(std::int64_t number) {
  char digits[20];
  std::size_t at = sizeof digits;
  // Negated as unsigned, so the smallest number has a magnitude too.
  std::uint64_t rest = number < 0 ? ~static_cast<std::uint64_t>(number) + 1U : static_cast<std::uint64_t>(number);
  do {
    digits[--at] = static_cast<char>('0' + rest % 10U);
    rest /= 10U;
  } while (rest != 0);
  if (number < 0) digits[--at] = '-';
  append({digits + at, sizeof digits - at});
}

void TextBuilder::append_quoted(std::string_view untrusted) {
  append("\"");
  std::size_t at = 0;
  while (at < untrusted.size()) {
    const std::string_view rest(untrusted.data() + at, untrusted.size() - at);
    const std::size_t length = utf8_length(rest);
    const std::size_t step = length == 0 ? 1 : length;
    if (at + step > kQuotedBytes) {
      append("...");
      break;
    }
    const bool printable = length > 1 || (length == 1 && rest[0] >= ' ' && rest[0] != '\x7f');
    append(printable ? std::string_view(rest.data(), length) : std::string_view("?"));
    at += step;
  }
  append("\"");
}

void TextBuilder::append_json(std::string_view untrusted) {
  append("\"");
  while (!untrusted.empty()) {
    const std::size_t length = utf8_length(untrusted);
    if (length == 0) {
      append_escape(*this, 0xFFFD);
      untrusted.remove_prefix(1);
      continue;
    }
    const std::uint32_t point = code_point(untrusted, length);
    if (point == '"' || point == '\\') {
      append("\\");
      append({untrusted.data(), 1});
    } else if (point >= 0x20 && point < 0x7F) {
      append({untrusted.data(), 1});
    } else if (point < 0x10000) {
      append_escape(*this, point);
    } else {
      append_escape(*this, 0xD800U + ((point - 0x10000U) >> 10U));
      append_escape(*this, 0xDC00U + ((point - 0x10000U) & 0x3FFU));
    }
    untrusted.remove_prefix(length);
  }
  append("\"");
}

}  // namespace capbench::shim
