#include "schema/bundle/json_text.h"

#include <charconv>
#include <cmath>
#include <cstdlib>
#include <system_error>

namespace capbench::bundle {
namespace {

// Which brackets are open, as bits, is all that has to be remembered; a bundle's limit may be higher.
constexpr std::size_t kMostDepth = 512;

class Scan {
 public:
  Scan(std::string_view text, std::size_t depth) : text_(text), most_(depth < kMostDepth ? depth : kMostDepth) {}

  std::string why_not() {
    blanks();
    if (peek() != '{') return "not a JSON object";
    while (why_.empty() && step()) {
    }
    return std::move(why_);
  }

 private:
  enum class Next { kValue, kKey, kAfterValue };

  char peek() const { return at_ < text_.size() ? text_[at_] : '\0'; }
  bool digit() const { return peek() >= '0' && peek() <= '9'; }
  bool fail(std::string_view cause) {
    why_ = "at byte " + std::to_string(at_) + " " + std::string(cause);
    return false;
  }
  void blanks() {
    while (at_ < text_.size() &&
           (text_[at_] == ' ' || text_[at_] == '\n' || text_[at_] == '\r' || text_[at_] == '\t')) {
      ++at_;
    }
  }
  bool in_object() const { return depth_ > 0 && objects_[depth_ - 1]; }

  // One token; false at the end or at the first thing wrong.
  bool step() {
    blanks();
    switch (next_) {
      case Next::kValue:
        return value();
      case Next::kKey:
        return key();
      case Next::kAfterValue:
        return after_value();
    }
    return false;
  }

  bool open(bool object) {
    if (depth_ == most_) return fail("nested deeper than " + std::to_string(most_));
    objects_[depth_++] = object;
    ++at_;
    blanks();
    if (peek() == (object ? '}' : ']')) return close();
    next_ = object ? Next::kKey : Next::kValue;
    return true;
  }

  bool close() {
    ++at_;
    --depth_;
    next_ = Next::kAfterValue;
    return true;
  }

  bool value() {
    switch (peek()) {
      case '{':
        return open(true);
      case '[':
        return open(false);
      case '"':
        next_ = Next::kAfterValue;
        return string();
      case 't':
        return word("true");
      case 'f':
        return word("false");
      case 'n':
        return word("null");
      default:
        next_ = Next::kAfterValue;
        return number();
    }
  }

  bool key() {
    if (peek() != '"') return fail("a key is missing");
    if (!string()) return false;
    blanks();
    if (peek() != ':') return fail("a colon is missing");
    ++at_;
    next_ = Next::kValue;
    return true;
  }

  bool after_value() {
    if (depth_ == 0) {
      if (at_ != text_.size()) return fail("something follows its end");
      return false;
    }
    if (peek() == ',') {
      ++at_;
      next_ = in_object() ? Next::kKey : Next::kValue;
      return true;
    }
    if (peek() != (in_object() ? '}' : ']')) return fail("a comma or a closing bracket is missing");
    return close();
  }

  bool word(std::string_view name) {
    if (text_.substr(at_, name.size()) != name) return fail("no value begins so");
    at_ += name.size();
    next_ = Next::kAfterValue;
    return true;
  }

  // The four digits behind "\u"; -1 if they are none.
  int code_unit() {
    const std::string_view digits = text_.substr(at_, 4);
    unsigned unit = 0;
    const auto [end, code] = std::from_chars(digits.data(), digits.data() + digits.size(), unit, 16);
    if (digits.size() != 4 || code != std::errc() || end != digits.data() + 4) return -1;
    at_ += 4;
    return static_cast<int>(unit);
  }

  bool escape() {
    constexpr std::string_view kShort = "\"\\/bfnrt";
    const char c = peek();
    ++at_;
    if (c != '\0' && kShort.find(c) != std::string_view::npos) return true;
    if (c != 'u') return fail("an escape that JSON does not have");
    const int unit = code_unit();
    if (unit < 0 || (unit >= 0xDC00 && unit <= 0xDFFF)) return fail("an escape that is no character");
    if (unit < 0xD800 || unit > 0xDBFF) return true;
    if (text_.substr(at_, 2) != "\\u") return fail("half of a character");
    at_ += 2;
    const int low = code_unit();
    return (low >= 0xDC00 && low <= 0xDFFF) || fail("half of a character");
  }

  bool string() {
    ++at_;
    while (at_ < text_.size()) {
      const auto byte = static_cast<unsigned char>(text_[at_]);
      if (byte < 0x20) return fail("a control character in a text");
      ++at_;
      if (byte == '"') return true;
      if (byte == '\\' && !escape()) return false;
    }
    return fail("a text without an end");
  }

  bool number() {
    const std::size_t begin = at_;
    bool plain = true;
    if (peek() == '-') ++at_;
    if (!digit()) return fail("no value begins so");
    if (peek() == '0') {
      ++at_;
    } else {
      while (digit()) ++at_;
    }
    if (peek() == '.') {
      ++at_;
      if (!digit()) return fail("a digit is missing");
      while (digit()) ++at_;
    }
    if (peek() == 'e' || peek() == 'E') {
      plain = false;
      ++at_;
      if (peek() == '+' || peek() == '-') ++at_;
      if (!digit()) return fail("a digit is missing");
      while (digit()) ++at_;
    }
    // Only an exponent, or hundreds of digits, lead beyond the largest double.
    constexpr std::size_t kAlwaysFinite = 300;
    if (plain && at_ - begin < kAlwaysFinite) return true;
    const std::string copy(text_.substr(begin, at_ - begin));
    return std::isfinite(std::strtod(copy.c_str(), nullptr)) || fail("a number beyond the largest double");
  }

  std::string_view text_;
  std::size_t most_;
  std::size_t at_ = 0;
  std::size_t depth_ = 0;
  bool objects_[kMostDepth] = {};  // per open bracket: whether it is an object's
  Next next_ = Next::kValue;
  std::string why_;
};

}  // namespace

std::string why_no_object(std::string_view text, std::size_t depth) {
  return Scan(text, depth).why_not();
}

}  // namespace capbench::bundle
