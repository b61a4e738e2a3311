#include "harness/submit/json_text.h"

#include <array>
#include <cstdint>

namespace capbench::submit {
namespace {

constexpr std::size_t kDeepest = 256;

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

bool is_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

bool is_space(char c) {
  return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

std::optional<std::uint32_t> hex_value(std::string_view digits) {
  std::uint32_t value = 0;
  for (const char c : digits) {
    const int digit = is_digit(c)              ? c - '0'
                      : (c >= 'a' && c <= 'f') ? c - 'a' + 10
                      : (c >= 'A' && c <= 'F') ? c - 'A' + 10
                                               : -1;
    if (digit < 0) return std::nullopt;
    value = value << 4U | static_cast<std::uint32_t>(digit);
  }
  return value;
}

void append_utf8(std::uint32_t code, std::string& out) {
  const auto put = [&](std::uint32_t byte) { out += static_cast<char>(byte); };
  if (code < 0x80) {
    put(code);
  } else if (code < 0x800) {
    put(0xC0U | code >> 6U);
    put(0x80U | (code & 0x3FU));
  } else if (code < 0x10000) {
    put(0xE0U | code >> 12U);
    put(0x80U | (code >> 6U & 0x3FU));
    put(0x80U | (code & 0x3FU));
  } else {
    put(0xF0U | code >> 18U);
    put(0x80U | (code >> 12U & 0x3FU));
    put(0x80U | (code >> 6U & 0x3FU));
    put(0x80U | (code & 0x3FU));
  }
}

// What "\uXXXX" (or a pair of them) at `at` stands for, and how long it is. Nothing if it is not one.
struct Escape {
  std::uint32_t code = 0;
  std::size_t length = 0;
};

std::optional<Escape> unicode_escape(std::string_view text, std::size_t at) {
  constexpr std::size_t kLength = 6;
  if (text.size() - at < kLength || text[at + 1] != 'u') return std::nullopt;
  const auto code = hex_value(text.substr(at + 2, 4));
  if (!code) return std::nullopt;
  constexpr std::uint32_t kReplacement = 0xFFFD;
  if (*code < 0xD800 || *code > 0xDFFF) return Escape{*code, kLength};
  if (*code > 0xDBFF) return Escape{kReplacement, kLength};
  const std::string_view second = text.substr(at + kLength, kLength);
  if (second.size() == kLength && second.starts_with("\\u")) {
    const auto low = hex_value(second.substr(2));
    if (low && *low >= 0xDC00 && *low <= 0xDFFF) {
      return Escape{0x10000 + ((*code - 0xD800) << 10U) + (*low - 0xDC00), 2 * kLength};
    }
  }
  return Escape{kReplacement, kLength};
}

// What one letter behind a backslash stands for in JSON; NUL if nothing.
char simple_escape(char letter) {
  switch (letter) {
    case '"':
    case '\\':
    case '/':
      return letter;
    case 'b':
      return '\b';
    case 'f':
      return '\f';
    case 'n':
      return '\n';
    case 'r':
      return '\r';
    case 't':
      return '\t';
    default:
      return '\0';
  }
}

std::optional<std::size_t> word_end(std::string_view text, std::size_t at) {
  for (const std::string_view word : {"true", "false", "null"}) {
    if (text.substr(at).starts_with(word)) return at + word.size();
  }
  return std::nullopt;
}

// Walks over one value of JSON with a stack of its own.
class Walker {
 public:
  Walker(std::string_view text, std::size_t at) : text_(text), at_(at) {}

  // Behind the value, if it is one. `looked` is increased by the bytes that were looked at.
  std::optional<std::size_t> end(std::size_t& looked) {
    const std::size_t begin = at_;
    bool goes_on = true;
    do {
      while (at_ < text_.size() && is_space(text_[at_])) ++at_;
      goes_on = at_ < text_.size() && step();
    } while (goes_on && !open_.empty());
    looked += at_ - begin;
    return goes_on ? std::optional(at_) : std::nullopt;
  }

 private:
  enum class Next { kValue, kValueOrEnd, kKeyOrEnd, kKey, kColon, kCommaOrEnd };

  bool step() {
    const char c = text_[at_];
    switch (next_) {
      case Next::kValueOrEnd:
        if (c == ']') return close();
        return value(c);
      case Next::kValue:
        return value(c);
      case Next::kKeyOrEnd:
        if (c == '}') return close();
        return c == '"' && take(string_end(text_, at_), Next::kColon);
      case Next::kKey:
        return c == '"' && take(string_end(text_, at_), Next::kColon);
      case Next::kColon:
        return c == ':' && take(at_ + 1, Next::kValue);
      case Next::kCommaOrEnd:
        if (c == ',') return take(at_ + 1, open_.back() == '{' ? Next::kKey : Next::kValue);
        return (c == '}' && open_.back() == '{') || (c == ']' && open_.back() == '[') ? close() : false;
    }
    return false;
  }

  bool value(char c) {
    if (c == '{' || c == '[') {
      if (open_.size() == kDeepest) return false;
      open_ += c;
      return take(at_ + 1, c == '{' ? Next::kKeyOrEnd : Next::kValueOrEnd);
    }
    if (c == '"') return take(string_end(text_, at_), Next::kCommaOrEnd);
    return take(c == '-' || is_digit(c) ? number_end(text_, at_) : word_end(text_, at_), Next::kCommaOrEnd);
  }

  bool close() {
    open_.pop_back();
    return take(at_ + 1, Next::kCommaOrEnd);
  }

  bool take(std::optional<std::size_t> end, Next next) {
    if (!end) return false;
    at_ = *end;
    next_ = next;
    return true;
  }

  std::string_view text_;
  std::size_t at_;
  std::string open_;  // the brackets that are
  Next next_ = Next::kValue;
};

}  // namespace

std::optional<std::size_t> string_end(std::string_view text, std::size_t at) {
  for (++at; at < text.size(); ++at) {
    const char c = text[at];
    if (c == '"') return at + 1;
    if (static_cast<unsigned char>(c) < 0x20) return std::nullopt;
    if (c != '\\') continue;
    if (++at == text.size()) return std::nullopt;
    if (text[at] == 'u') {
      if (text.size() - at < 5 || !hex_value(text.substr(at + 1, 4))) return std::nullopt;
      at += 4;
    } else if (simple_escape(text[at]) == '\0') {
      return std::nullopt;
    }
  }
  return std::nullopt;
}

std::optional<std::size_t> number_end(std::string_view text, std::size_t at) {
  const auto digits = [&] {
    const std::size_t first = at;
    while (at < text.size() && is_digit(text[at])) ++at;
    return at > first;
  };
  if (at < text.size() && text[at] == '-') ++at;
  if (at < text.size() && text[at] == '0') {
    ++at;
  } else if (!digits()) {
    return std::nullopt;
  }
  if (at < text.size() && text[at] == '.') {
    ++at;
    if (!digits()) return std::nullopt;
  }
  if (at < text.size() && (text[at] == 'e' || text[at] == 'E')) {
    ++at;
    if (at < text.size() && (text[at] == '-' || text[at] == '+')) ++at;
    if (!digits()) return std::nullopt;
  }
  return at;
}

std::vector<JsonSpan> json_spans(std::string_view text) {
  std::vector<JsonSpan> spans;
  // Brackets that lead nowhere are given up on before they cost more than a few readings of the whole.
  constexpr std::size_t kMostReadings = 16;
  std::size_t wasted = 0;
  for (std::size_t at = 0; (at = text.find_first_of("{[", at)) != std::string_view::npos;) {
    std::size_t looked = 0;
    const auto end = wasted / kMostReadings > text.size() ? std::nullopt : Walker(text, at).end(looked);
    if (end) {
      spans.push_back({at, *end});
      at = *end;
    } else {
      wasted += looked;
      ++at;
    }
  }
  return spans;
}

std::string decoded_string(std::string_view literal) {
  const std::string_view text = literal.substr(1, literal.size() - 2);
  std::string out;
  for (std::size_t at = 0; at < text.size();) {
    if (text[at] != '\\') {
      out += text[at++];
    } else if (const auto escape = unicode_escape(text, at)) {
      append_utf8(escape->code, out);
      at += escape->length;
    } else {
      out += simple_escape(text[at + 1]);
      at += 2;
    }
  }
  return out;
}

std::string encoded_string(std::string_view bytes) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string out = "\"";
  for (const char c : bytes) {
    const auto byte = static_cast<unsigned char>(c);
    constexpr std::array<std::pair<char, char>, 7> kShort{
        {{'"', '"'}, {'\\', '\\'}, {'\b', 'b'}, {'\f', 'f'}, {'\n', 'n'}, {'\r', 'r'}, {'\t', 't'}}};
    char letter = '\0';
    for (const auto& [from, to] : kShort) letter = c == from ? to : letter;
    if (letter != '\0') {
      out += '\\';
      out += letter;
    } else if (byte < 0x20) {
      out += "\\u00";
      out += kDigits[byte >> 4U];
      out += kDigits[byte & 0xFU];
    } else {
      out += c;
    }
  }
  return out + '"';
}

View without_escapes(std::string_view text) {
  View view;
  std::size_t at = 0;
  const auto put = [&](std::string_view bytes, std::size_t length) {
    view.text += bytes;
    view.from.resize(view.text.size(), at);
    at += length;
    view.to.resize(view.text.size(), at);
  };
  while (at < text.size()) {
    const std::string_view rest = text.substr(at);
    if (rest[0] != '\\' || rest.size() == 1) {
      put(rest.substr(0, 1), 1);
    } else if (const auto escape = unicode_escape(text, at)) {
      std::string bytes;
      append_utf8(escape->code, bytes);
      put(bytes, escape->length);
    } else if (const char simple = simple_escape(rest[1]); simple != '\0') {
      put({&simple, 1}, 2);
    } else if (const auto hex = rest[1] == 'x' && rest.size() > 3 ? hex_value(rest.substr(2, 2)) : std::nullopt) {
      const char byte = static_cast<char>(*hex);
      put({&byte, 1}, 4);
    } else if (rest.size() > 3 && rest[1] >= '0' && rest[1] <= '3' && is_digit(rest[2]) && is_digit(rest[3])) {
      const char byte = static_cast<char>((rest[1] - '0') * 64 + (rest[2] - '0') * 8 + (rest[3] - '0'));
      put({&byte, 1}, 4);
    } else {
      put(rest.substr(0, 1), 1);
    }
  }
  return view;
}

View without_percents(std::string_view text) {
  View view;
  for (std::size_t at = 0; at < text.size();) {
    const auto hex = text[at] == '%' && text.size() - at > 2 ? hex_value(text.substr(at + 1, 2)) : std::nullopt;
    view.text += hex ? static_cast<char>(*hex) : text[at];
    view.from.push_back(at);
    at += hex ? 3U : 1U;
    view.to.push_back(at);
  }
  return view;
}

View without_colours(std::string_view text) {
  View view;
  const auto skip = [&](std::size_t at, char first, char last) {
    while (at < text.size() && text[at] >= first && text[at] <= last) ++at;
    return at;
  };
  for (std::size_t at = 0; at < text.size();) {
    if (text[at] == '\x1B' && at + 1 < text.size() && text[at + 1] == '[') {
      // Parameters, intermediate bytes, and the letter that says what to do.
      const std::size_t end = skip(skip(at + 2, '0', '?'), ' ', '/');
      if (end < text.size() && text[end] >= '@' && text[end] <= '~') {
        at = end + 1;
        continue;
      }
    }
    view.text += text[at];
    view.from.push_back(at++);
    view.to.push_back(at);
  }
  return view;
}

View without_endings(std::string_view text) {
  View view;
  view.text = text;
  for (std::size_t at = 0; at < text.size(); ++at) {
    const bool inside = text[at] == '.' && at > 0 && at + 1 < text.size();
    if (inside && is_digit(text[at - 1]) && is_letter(text[at + 1])) view.text[at] = ' ';
  }
  return view;
}

View through(const View& first, View second) {
  for (std::size_t& from : second.from) from = first.from[from];
  for (std::size_t& to : second.to) to = first.to[to - 1];
  return second;
}

}  // namespace capbench::submit
