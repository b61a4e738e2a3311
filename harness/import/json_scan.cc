#include "harness/import/json_scan.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "harness/import/text.h"

namespace capbench::imports {
namespace {

constexpr int kMaxNesting = 16;

constexpr std::array<bool, 256> make_string_stops() {
  std::array<bool, 256> stops{};
  for (std::size_t c = 0; c < stops.size(); ++c) stops[c] = c < 0x20 || c >= 0x80 || c == '"' || c == '\\';
  return stops;
}

// The bytes of a string that want a second look.
constexpr std::array<bool, 256> kStringStops = make_string_stops();

// What each byte means inside a number.
enum NumberByte : std::uint8_t { kDigit, kPoint, kExponent, kSign, kOther };

constexpr std::array<NumberByte, 256> make_number_bytes() {
  std::array<NumberByte, 256> bytes{};
  for (std::size_t c = 0; c < bytes.size(); ++c) {
    bytes[c] = c >= '0' && c <= '9'   ? kDigit
               : c == '.'             ? kPoint
               : c == 'e' || c == 'E' ? kExponent
               : c == '+' || c == '-' ? kSign
                                      : kOther;
  }
  return bytes;
}

constexpr std::array<NumberByte, 256> kNumberBytes = make_number_bytes();

NumberByte number_byte(char c) {
  return kNumberBytes[static_cast<unsigned char>(c)];
}

// The end of the JSON number that begins at `at`, or `at` if there is none. One pass.
std::size_t number_end(std::string_view text, std::size_t at) {
  std::size_t i = at;
  const std::size_t size = text.size();
  const auto digits = [&] {
    const std::size_t start = i;
    while (i < size && number_byte(text[i]) == kDigit) ++i;
    return i - start;
  };
  if (i < size && text[i] == '-') ++i;
  const std::size_t first = i;
  const std::size_t whole = digits();
  if (whole == 0 || (whole > 1 && text[first] == '0')) return at;
  if (i < size && text[i] == '.') {
    ++i;
    if (digits() == 0) return at;
  }
  if (i < size && number_byte(text[i]) == kExponent) {
    ++i;
    if (i < size && number_byte(text[i]) == kSign) ++i;
    if (digits() == 0) return at;
  }
  return i;
}

bool is_space(char c) {
  return c == ' ' || c == '\n' || c == '\r' || c == '\t';
}

// The bytes of a flat list of numbers, without its brackets.
constexpr std::array<bool, 256> make_list_bytes() {
  std::array<bool, 256> bytes{};
  for (std::size_t c = 0; c < bytes.size(); ++c) {
    bytes[c] = kNumberBytes[c] != kOther || c == ',' || c == ' ' || c == '\n' || c == '\r' || c == '\t';
  }
  return bytes;
}

constexpr std::array<bool, 256> kListBytes = make_list_bytes();

bool is_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

std::optional<unsigned> hex_value(std::string_view digits) {
  unsigned value = 0;
  for (const char c : digits) {
    value *= 16;
    if (is_digit(c)) {
      value += static_cast<unsigned>(c - '0');
    } else if (c >= 'a' && c <= 'f') {
      value += static_cast<unsigned>(c - 'a' + 10);
    } else if (c >= 'A' && c <= 'F') {
      value += static_cast<unsigned>(c - 'A' + 10);
    } else {
      return std::nullopt;
    }
  }
  return value;
}

class Scanner {
 public:
  Scanner(std::string_view text, std::vector<JsonMember>& members, std::vector<std::size_t>* ends = nullptr)
      : text_(text), members_(members), ends_(ends) {}

  JsonScan object() {
    members_.clear();
    at_ = 1;
    if (!skip_to_member()) return result();
    if (peek() == '}') return whole();
    return rest();
  }

  // The object from behind a comma on; the members before it are there.
  JsonScan object_from(std::size_t at) {
    at_ = at;
    if (!skip_to_member()) return result();
    if (peek() == '}') return wrong("a comma before the closing brace");
    return rest();
  }

 private:
  JsonScan rest() {
    while (true) {
      JsonMember& member = members_.emplace_back();
      if (!member_name(member) || !(is_sample_list(member) ? sample_list(member.value) : value(member.value))) {
        members_.pop_back();
        return result();
      }
      if (!skip_to_separator()) return result();
      if (peek() == '}') return whole();
      ++at_;  // the comma
      if (ends_ != nullptr) ends_->push_back(at_);
      if (!skip_to_member()) return result();
      if (peek() == '}') return wrong("a comma before the closing brace");
    }
  }

  char peek() const { return text_[at_]; }
  bool at_end() const { return at_ >= text_.size(); }

  JsonScan whole() {
    scan_.state = JsonScan::State::kWhole;
    scan_.end = at_ + 1;
    return scan_;
  }

  JsonScan wrong(std::string_view what) {
    fail(what);
    return scan_;
  }

  JsonScan result() const { return scan_; }

  bool fail(std::string_view what) {
    scan_.state = JsonScan::State::kWrong;
    scan_.end = at_;
    scan_.what = what;
    return false;
  }

  // False at the end of the text.
  bool skip_space() {
    while (!at_end() && is_space(peek())) ++at_;
    return !at_end();
  }

  // Whether only white space stands between the start of the line and here.
  bool is_first_of_line() const {
    std::size_t i = at_;
    while (i > 0 && (text_[i - 1] == ' ' || text_[i - 1] == '\t')) --i;
    return i > 0 && text_[i - 1] == '\n';
  }

  // Past a line of somebody's log. False at the end of the text.
  bool skip_log_line() {
    if (scan_.first_log_line == 0) scan_.first_log_line = at_;
    const std::size_t newline = text_.find('\n', at_);
    at_ = newline == std::string_view::npos ? text_.size() : newline;
    return !at_end();
  }

  // To the quote of a name or the closing brace.
  bool skip_to_member() {
    while (skip_space()) {
      const char c = peek();
      if (c == '"' || c == '}') return true;
      if (c == '{' || c == '[' || !is_first_of_line()) return fail("expected the name of a field");
      if (!skip_log_line()) return false;
    }
    return false;
  }

  // To the comma or the closing brace behind a value.
  bool skip_to_separator() {
    while (skip_space()) {
      const char c = peek();
      if (c == ',' || c == '}') return true;
      if (c == '{' || c == '[' || c == '"' || !is_first_of_line()) return fail("expected a comma or a closing brace");
      if (!skip_log_line()) return false;
    }
    return false;
  }

  // From the opening quote past the closing one.
  bool string(std::string_view& text, bool& plain) {
    plain = true;
    const std::size_t start = ++at_;
    while (true) {
      while (!at_end() && !kStringStops[static_cast<unsigned char>(peek())]) ++at_;
      if (at_end()) return false;
      const char c = peek();
      if (c == '"') {
        text = text_.substr(start, at_ - start);
        ++at_;
        return true;
      }
      if (static_cast<unsigned char>(c) < 0x20) return fail("a line break or control character inside a text");
      plain = false;
      if (c != '\\') {
        ++at_;
        continue;
      }
      if (at_ + 1 >= text_.size()) return false;
      const char escaped = text_[at_ + 1];
      if (escaped == 'u') {
        if (at_ + 6 > text_.size()) return false;
        if (!hex_value(text_.substr(at_ + 2, 4))) return fail("an escape \\u without its four digits");
        at_ += 6;
      } else if (std::string_view("\"\\/bfnrt").find(escaped) != std::string_view::npos) {
        at_ += 2;
      } else {
        return fail("a backslash that escapes nothing");
      }
    }
  }

  bool member_name(JsonMember& member) {
    if (!string(member.name, member.plain_name)) return false;
    if (!skip_space()) return false;
    if (peek() != ':') return fail("expected a colon");
    ++at_;
    return true;
  }

  bool value(JsonValue& value) {
    if (!skip_space()) return false;
    const char c = peek();
    if (c == '"') {
      value.kind = JsonKind::kString;
      return string(value.text, value.plain);
    }
    if (c == '[' || c == '{') {
      value.kind = c == '[' ? JsonKind::kArray : JsonKind::kObject;
      const std::size_t start = at_;
      if (!nested()) return false;
      value.text = text_.substr(start, at_ - start);
      return true;
    }
    return scalar(value);
  }

  bool scalar(JsonValue& value) {
    const std::size_t start = at_;
    const std::size_t end = number_end(text_, start);
    if (end > start && end < text_.size() && !is_letter(text_[end]) && number_byte(text_[end]) == kOther) {
      value.kind = JsonKind::kNumber;
      value.text = text_.substr(start, end - start);
      at_ = end;
      return true;
    }
    while (!at_end() && (is_digit(peek()) || is_letter(peek()) || peek() == '.' || peek() == '-' || peek() == '+'))
      ++at_;
    if (at_end()) return false;  // the rest of it may still come
    value.text = text_.substr(start, at_ - start);
    if (value.text == "true") {
      value.kind = JsonKind::kTrue;
    } else if (value.text == "false") {
      value.kind = JsonKind::kFalse;
    } else if (value.text == "null") {
      value.kind = JsonKind::kNull;
    } else if (value.text.find("nan") != std::string_view::npos || value.text.find("inf") != std::string_view::npos) {
      value.kind = JsonKind::kWord;
    } else {
      at_ = start;
      return fail("expected a value");
    }
    return true;
  }

  // The two lists that make up a good part of every row. Whoever reads their numbers checks each.
  bool is_sample_list(const JsonMember& member) {
    while (!at_end() && is_space(peek())) ++at_;
    return !at_end() && peek() == '[' && (member.name == "samples_ns" || member.name == "samples_ts");
  }

  bool sample_list(JsonValue& list) {
    const std::size_t start = at_++;
    while (!at_end() && kListBytes[static_cast<unsigned char>(peek())]) ++at_;
    if (at_end()) return false;
    if (peek() != ']') {
      at_ = start;
      return value(list);
    }
    ++at_;
    list.kind = JsonKind::kArray;
    list.text = text_.substr(start, at_ - start);
    return true;
  }

  // From an opening bracket past its closing one: the grammar of JSON, without recursion.
  bool nested() {
    std::array<char, kMaxNesting> open{};
    std::size_t depth = 0;
    bool expects_value = true;  // else: a separator or a closing bracket
    bool may_close = true;      // directly behind the opening bracket
    while (true) {
      if (!skip_space()) return false;
      const char c = peek();
      const bool closes = c == ']' || c == '}';
      if (closes && (may_close || !expects_value)) {
        if (depth == 0 || open.at(depth - 1) != (c == ']' ? '[' : '{'))
          return fail("a closing bracket of the wrong kind");
        ++at_;
        if (--depth == 0) return true;
        expects_value = false;
        may_close = false;
        continue;
      }
      if (!expects_value) {
        if (c != ',') return fail("expected a comma or a closing bracket");
        ++at_;
        expects_value = true;
        may_close = false;
        continue;
      }
      if (depth > 0 && open.at(depth - 1) == '{') {
        if (c != '"') return fail("expected the name of a field");
        JsonMember ignored;
        if (!member_name(ignored)) return false;
        if (!skip_space()) return false;
      }
      if (peek() == '[' || peek() == '{') {
        if (depth == open.size()) return fail("nested deeper than 16 levels");
        open.at(depth++) = peek();
        ++at_;
        may_close = true;
        continue;
      }
      JsonValue ignored;
      if (!value(ignored)) return false;
      expects_value = false;
      may_close = false;
    }
  }

  std::string_view text_;
  std::vector<JsonMember>& members_;
  std::vector<std::size_t>* ends_;  // behind the comma of each member that is scanned
  std::size_t at_ = 0;
  JsonScan scan_;
};

// The text between the quotes with its escapes resolved. Checked by the scanner before.
void resolve_escapes(std::string_view text, std::string& out) {
  while (!text.empty()) {
    const std::size_t at = text.find('\\');
    out.append(text.substr(0, at));
    if (at == std::string_view::npos || at + 1 >= text.size()) return;
    const char c = text[at + 1];
    text.remove_prefix(at + 2);
    if (c != 'u') {
      constexpr std::string_view kLetters = "bfnrt";
      constexpr std::string_view kValues = "\b\f\n\r\t";
      const std::size_t index = kLetters.find(c);
      out.push_back(index == std::string_view::npos ? c : kValues[index]);
      continue;
    }
    std::uint32_t code_point = hex_value(text.substr(0, 4)).value_or(0xFFFD);
    text.remove_prefix(std::min<std::size_t>(4, text.size()));
    if (code_point >= 0xD800 && code_point < 0xDC00 && text.starts_with("\\u") && text.size() >= 6) {
      const std::uint32_t low = hex_value(text.substr(2, 4)).value_or(0);
      if (low >= 0xDC00 && low < 0xE000) {
        code_point = 0x10000 + ((code_point - 0xD800) << 10U) + (low - 0xDC00);
        text.remove_prefix(6);
      }
    }
    append_utf8(out, code_point);
  }
}

}  // namespace

JsonScan scan_object(std::string_view text, std::vector<JsonMember>& members) {
  return Scanner(text, members).object();
}

JsonScan ObjectScanner::scan(std::string_view text, std::vector<JsonMember>& members) {
  const std::size_t shorter = std::min(text.size(), last_.size());
  const auto common = static_cast<std::size_t>(
      std::mismatch(last_.begin(), last_.begin() + static_cast<std::ptrdiff_t>(shorter), text.begin()).first -
      last_.begin());
  same_ = 0;
  while (same_ < known_.size() && known_[same_].end <= common) ++same_;
  ends_.clear();
  members.clear();
  for (std::size_t i = 0; i < same_; ++i) {
    const Known& known = known_[i];
    JsonMember& member = members.emplace_back(known.member);
    member.name = text.substr(known.name, known.member.name.size());
    member.value.text = text.substr(known.value, known.member.value.text.size());
  }
  Scanner scanner(text, members, &ends_);
  const JsonScan scan = same_ == 0 ? scanner.object() : scanner.object_from(known_[same_ - 1].end);
  remember(text, scan, members);
  return scan;
}

void ObjectScanner::remember(std::string_view text, const JsonScan& scan, const std::vector<JsonMember>& members) {
  constexpr std::size_t kLongest = 16384;  // longer ones are nobody's rows
  if (scan.state != JsonScan::State::kWhole) return;
  if (scan.first_log_line != 0 || scan.end > kLongest) {
    last_.clear();
    known_.clear();
    return;
  }
  const std::size_t from = same_ == 0 ? 0 : known_[same_ - 1].end;
  last_.resize(from);
  last_.append(text.substr(from, scan.end - from));
  known_.resize(same_);
  for (std::size_t i = 0; i < ends_.size() && same_ + i < members.size(); ++i) {
    const JsonMember& member = members[same_ + i];
    known_.push_back({static_cast<std::size_t>(member.name.data() - text.data()),
                      static_cast<std::size_t>(member.value.text.data() - text.data()), ends_[i], member});
  }
}

bool decode_string(const JsonValue& value, std::string& out) {
  out.clear();
  if (value.plain) {
    out.assign(value.text);
    return false;
  }
  resolve_escapes(value.text, out);
  bool repaired = repair_signed_escapes(out);
  if (!is_utf8(out)) {
    out = to_utf8(out);
    repaired = true;
  }
  return repaired;
}

namespace {

// JSON's grammar has no limit; whoever reads it has. Looked at closely only if it can be: few numbers are this long or
// have an exponent.
bool is_out_of_range(std::string_view number) {
  constexpr std::size_t kAlwaysInRange = 300;  // digits; a double ends at 1.8e308
  if (number.size() <= kAlwaysInRange && number.find_first_of("eE") == std::string_view::npos) return false;
  return !parse_number(number);
}

}  // namespace

bool append_compact(std::string& out, const JsonValue& value) {
  bool repaired = false;
  switch (value.kind) {
    case JsonKind::kString:
      if (value.plain) {
        out.push_back('"');
        out.append(value.text);
        out.push_back('"');
      } else {
        std::string decoded;
        repaired = decode_string(value, decoded);
        append_json_string(out, decoded);
      }
      return repaired;
    case JsonKind::kWord:
      out.append("null");
      return false;
    case JsonKind::kArray:
    case JsonKind::kObject:
      break;
    case JsonKind::kNumber:
      if (!is_out_of_range(value.text)) {
        out.append(value.text);
        return false;
      }
      append_json_string(out, value.text);
      return true;
    default:
      out.append(value.text);
      return false;
  }
  std::string_view rest = value.text;
  while (!rest.empty()) {
    const char c = rest[0];
    if (c == '"') {
      std::size_t end = 1;
      JsonValue text{JsonKind::kString, {}, true};
      while (end < rest.size() && rest[end] != '"') {
        if (kStringStops[static_cast<unsigned char>(rest[end])]) text.plain = false;
        end += rest[end] == '\\' ? 2U : 1U;
      }
      end = std::min(end, rest.size());
      text.text = rest.substr(1, end - 1);
      repaired |= append_compact(out, text);
      rest.remove_prefix(std::min(end + 1, rest.size()));
    } else if (is_letter(c) || c == '-' || is_digit(c)) {
      std::size_t end = 1;
      while (end < rest.size() && (is_letter(rest[end]) || is_digit(rest[end]) || rest[end] == '.' ||
                                   rest[end] == '-' || rest[end] == '+')) {
        ++end;
      }
      const std::string_view token = rest.substr(0, end);
      const bool is_word = !is_json_number(token) && token != "true" && token != "false" && token != "null";
      append_compact(out, {is_word ? JsonKind::kWord : JsonKind::kNumber, token, true});
      rest.remove_prefix(end);
    } else {
      if (!is_space(c)) out.push_back(c);
      rest.remove_prefix(1);
    }
  }
  return repaired;
}

bool is_json_number(std::string_view text) {
  return !text.empty() && number_end(text, 0) == text.size();
}

}  // namespace capbench::imports
