#include <optional>

#include "base/utf8.h"
#include "harness/suite/suite.h"

namespace capbench::suite {
namespace {

// One "[...]" against one character; nothing if the bracket is never closed, and then stands for itself. On entry
// `glob` begins after '['; when closed it is moved past ']'.
std::optional<bool> match_bracket(std::string_view& glob, char32_t character) {
  std::string_view rest = glob;
  bool negated = false;
  if (rest.starts_with('!') || rest.starts_with('^')) {
    negated = true;
    rest.remove_prefix(1);
  }
  bool matched = false;
  for (bool first = true; !rest.empty(); first = false) {
    char32_t low = take_character(rest);
    if (low == U']' && !first) {
      glob = rest;
      return matched != negated;
    }
    if (low == U'\\' && !rest.empty()) low = take_character(rest);
    char32_t high = low;
    if (rest.size() >= 2 && rest[0] == '-' && rest[1] != ']') {
      rest.remove_prefix(1);
      high = take_character(rest);
      if (high == U'\\' && !rest.empty()) high = take_character(rest);
    }
    matched = matched || (low <= character && character <= high);
  }
  return std::nullopt;
}

// One element of the pattern, no star, against one character. Both are moved on if they match.
bool match_one(std::string_view& glob, std::string_view& text) {
  if (glob.empty() || text.empty()) return false;
  std::string_view pattern = glob;
  std::string_view subject = text;
  const char32_t character = take_character(subject);
  char32_t expected = take_character(pattern);
  bool matched = false;
  if (expected == U'?') {
    matched = true;
  } else if (const auto in_bracket = expected == U'[' ? match_bracket(pattern, character) : std::nullopt) {
    matched = *in_bracket;
  } else {
    if (expected == U'\\' && !pattern.empty()) expected = take_character(pattern);
    matched = expected == character;
  }
  if (!matched) return false;
  glob = pattern;
  text = subject;
  return true;
}

}  // namespace

// On a mismatch only the last star takes one more character: an earlier one could not do better. So the time is at most
// the product of the lengths.
bool matches_glob(std::string_view glob, std::string_view text) {
  std::optional<std::string_view> after_star;
  std::string_view text_at_star;
  for (;;) {
    if (glob.starts_with('*')) {
      glob.remove_prefix(1);
      after_star = glob;
      text_at_star = text;
    } else if (text.empty() && glob.empty()) {
      return true;
    } else if (!match_one(glob, text)) {
      if (!after_star || text_at_star.empty()) return false;
      take_character(text_at_star);
      glob = *after_star;
      text = text_at_star;
    }
  }
}

}  // namespace capbench::suite
