#include "harness/import/decoder.h"

#include <algorithm>

#include "harness/import/text.h"

namespace capbench::imports {
namespace {

constexpr std::string_view kUtf8Mark = "\xEF\xBB\xBF";
constexpr std::string_view kLittleMark = "\xFF\xFE";
constexpr std::string_view kBigMark = "\xFE\xFF";
constexpr char kEsc = '\x1B';

}  // namespace

bool TextDecoder::decide_encoding(std::string_view& bytes) {
  const std::size_t wanted = std::min(kUtf8Mark.size() - std::min(start_.size(), kUtf8Mark.size()), bytes.size());
  start_.append(bytes.substr(0, wanted));
  bytes.remove_prefix(wanted);
  if (start_.starts_with(kLittleMark) || start_.starts_with(kBigMark)) {
    encoding_ = start_.starts_with(kLittleMark) ? Encoding::kUtf16Little : Encoding::kUtf16Big;
    start_.erase(0, 2);
    return true;
  }
  // A longer mark may still come.
  if (start_.size() < kUtf8Mark.size() && (kUtf8Mark.starts_with(start_) || start_ == "\xFF" || start_ == "\xFE")) {
    return false;
  }
  encoding_ = Encoding::kUtf8;
  if (start_ == kUtf8Mark) start_.clear();
  return true;
}

void TextDecoder::feed(std::string_view bytes, std::string& out) {
  if (encoding_ == Encoding::kUnknown) {
    if (!decide_encoding(bytes)) return;
    const std::string start = std::move(start_);
    start_.clear();
    feed(start, out);
  }
  if (encoding_ == Encoding::kUtf8) {
    text(bytes, out);
  } else {
    utf16(bytes, out);
  }
}

void TextDecoder::finish(std::string& out) {
  if (encoding_ == Encoding::kUnknown) {
    encoding_ = Encoding::kUtf8;
    const std::string start = std::move(start_);
    start_.clear();
    text(start, out);
  }
  if (has_half_unit_ || high_surrogate_ != 0) append_utf8(out, 0xFFFD);
}

void TextDecoder::text(std::string_view utf8, std::string& out) {
  while (!utf8.empty()) {
    if (escape_ == Escape::kNone) {
      const std::size_t at = utf8.find(kEsc);
      out.append(utf8.substr(0, at));
      if (at == std::string_view::npos) return;
      utf8.remove_prefix(at + 1);
      escape_ = Escape::kStart;
      removed_escapes_ = true;
      continue;
    }
    const char c = utf8[0];
    if (c == '\n') {  // no sequence crosses the end of a line
      escape_ = Escape::kNone;
      continue;
    }
    utf8.remove_prefix(1);
    switch (escape_) {
      case Escape::kStart:
        escape_ = c == '[' ? Escape::kControl : c == ']' ? Escape::kString : Escape::kNone;
        break;
      case Escape::kControl:  // parameters, then one final byte from '@' on
        if (static_cast<unsigned char>(c) >= 0x40) escape_ = Escape::kNone;
        break;
      case Escape::kString:  // up to BEL or ESC backslash
        if (c == '\a') escape_ = Escape::kNone;
        if (c == kEsc) escape_ = Escape::kStringEscape;
        break;
      default:
        escape_ = Escape::kNone;
        break;
    }
  }
}

void TextDecoder::utf16(std::string_view bytes, std::string& out) {
  std::string decoded;
  for (const char c : bytes) {
    const auto byte = static_cast<unsigned char>(c);
    if (!has_half_unit_) {
      half_unit_ = byte;
      has_half_unit_ = true;
      continue;
    }
    has_half_unit_ = false;
    const std::uint32_t unit = encoding_ == Encoding::kUtf16Little
                                   ? half_unit_ | static_cast<std::uint32_t>(byte) << 8U
                                   : byte | static_cast<std::uint32_t>(half_unit_) << 8U;
    if (high_surrogate_ != 0) {
      if (unit >= 0xDC00 && unit < 0xE000) {
        append_utf8(decoded, 0x10000 + ((high_surrogate_ - 0xD800) << 10U) + (unit - 0xDC00));
        high_surrogate_ = 0;
        continue;
      }
      append_utf8(decoded, 0xFFFD);
      high_surrogate_ = 0;
    }
    if (unit >= 0xD800 && unit < 0xDC00) {
      high_surrogate_ = unit;
    } else {
      append_utf8(decoded, unit);
    }
  }
  text(decoded, out);
}

}  // namespace capbench::imports
