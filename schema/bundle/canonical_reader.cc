#include "schema/bundle/canonical_reader.h"

#include <charconv>
#include <cmath>
#include <limits>
#include <system_error>

#include "base/utf8.h"
#include "schema/bundle/canonical_writer.h"
#include "schema/bundle/refuse.h"

namespace capbench::bundle {

void CanonicalReader::fail(std::string_view cause) {
  if (error_) return;
  constexpr std::size_t kShown = 24;
  std::string text = "byte " + std::to_string(at_) + ": " + std::string(cause);
  if (at_ < text_.size()) text += ", found " + in_quotes(text_.substr(at_, kShown));
  error_ = refuse(member_, std::move(text), kMakeAgain);
}

void CanonicalReader::expect(std::string_view literal) {
  if (error_) return;
  if (text_.substr(at_, literal.size()) != literal) return fail("expected " + std::string(literal));
  at_ += literal.size();
}

bool CanonicalReader::take(char c) {
  if (at_ >= text_.size() || text_[at_] != c) return false;
  ++at_;
  return true;
}

void CanonicalReader::key(std::string_view name) {
  if (error_) return;
  const std::string_view rest = text_.substr(at_);
  const std::size_t comma = first_ ? 0 : 1;
  first_ = false;
  if (rest.size() >= name.size() + comma + 3 && (comma == 0 || rest[0] == ',') && rest[comma] == '"' &&
      rest.substr(comma + 1, name.size()) == name && rest.substr(comma + 1 + name.size(), 2) == "\":") {
    at_ += name.size() + comma + 3;
    return;
  }
  fail("expected the key \"" + std::string(name) + "\" (keys are sorted, each once, none missing, none added)");
}

std::string_view CanonicalReader::number() {
  const std::size_t end = text_.find_first_not_of("+-.0123456789Ee", at_);
  return text_.substr(at_, end == std::string_view::npos ? end : end - at_);
}

template <class T>
void CanonicalReader::integer(T& content) {
  if (error_) return;
  const std::string_view digits = number();
  if (digits.empty()) return fail("expected an integer");
  const auto [end, code] = std::from_chars(digits.data(), digits.data() + digits.size(), content);
  const std::string_view unsigned_digits = digits.substr(digits[0] == '-' ? 1 : 0);
  const bool leading_zero = unsigned_digits.starts_with('0') && digits.size() > 1;  // -0 too
  if (code == std::errc::result_out_of_range) return fail("an integer out of range");
  if (code != std::errc() || end != digits.data() + digits.size() || leading_zero) return fail("expected an integer");
  at_ += digits.size();
}

void CanonicalReader::value(bool& content) {
  if (error_) return;
  content = text_.substr(at_, 4) == "true";
  if (!content && text_.substr(at_, 5) != "false") return fail("expected true or false");
  at_ += content ? 4 : 5;
}

void CanonicalReader::value(int& content) {
  integer(content);
}

void CanonicalReader::value(std::int64_t& content) {
  integer(content);
}

void CanonicalReader::value(std::uint64_t& content) {
  integer(content);
  if (!error_ && content > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max())) {
    fail("an integer out of range before this place");
  }
}

void CanonicalReader::decimal(std::string_view name, std::uint64_t& content) {
  key(name);
  expect("\"");
  integer(content);
  expect("\"");
}

void CanonicalReader::value(double& content) {
  if (error_) return;
  const std::string_view digits = number();
  if (digits.empty()) return fail("expected a number");
  const auto [end, code] = std::from_chars(digits.data(), digits.data() + digits.size(), content);
  if (code != std::errc() || end != digits.data() + digits.size() || !std::isfinite(content)) {
    return fail("expected a finite number");
  }
  if (spelled(content) != digits) return fail("a number that is not in its shortest form");
  at_ += digits.size();
}

void CanonicalReader::value(std::string& content) {
  if (error_) return;
  if (!take('"')) return fail("expected a text");
  bool ascii = true;
  for (;;) {
    const std::size_t begin = at_;
    while (at_ < text_.size()) {
      const auto byte = static_cast<unsigned char>(text_[at_]);
      if (byte == '"' || byte == '\\' || byte < 0x20) break;
      ascii = ascii && byte < 0x80;
      ++at_;
    }
    content.append(text_.substr(begin, at_ - begin));
    if (at_ == text_.size()) return fail("a text without an end");
    if (take('"')) break;
    if (!take('\\')) return fail("a control character in a text");
    escape(content);
    if (error_) return;
  }
  if (!ascii && !is_utf8(content)) fail("the text before this place is not UTF-8");
}

// Behind the backslash.
void CanonicalReader::escape(std::string& content) {
  constexpr std::string_view kShort = "\"\\bfnrt";
  constexpr std::string_view kMeaning = "\"\\\b\f\n\r\t";
  constexpr std::string_view kDigits = "0123456789abcdef";
  if (at_ >= text_.size()) return fail("a text without an end");
  if (const std::size_t which = kShort.find(text_[at_]); which != std::string_view::npos) {
    content += kMeaning[which];
    ++at_;
    return;
  }
  // Only control characters without a short form are written so, and NUL is in no text.
  const std::string_view code = text_.substr(at_, 5);
  const std::size_t low = code.size() == 5 ? kDigits.find(code[4]) : std::string_view::npos;
  if (!code.starts_with("u00") || low == std::string_view::npos || (code[3] != '0' && code[3] != '1')) {
    return fail("an escape that canonical JSON does not have");
  }
  const char c = static_cast<char>((code[3] == '1' ? 16U : 0U) + low);
  if (c == '\0' || kMeaning.find(c) != std::string_view::npos) {
    return fail("an escape that canonical JSON does not have");
  }
  content += c;
  at_ += code.size();
}

}  // namespace capbench::bundle
