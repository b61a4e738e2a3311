// Bytes that should be UTF-8 text (Unicode 15, table 3-7: no overlong forms, no surrogates). Pure, thread-safe.
#ifndef CAPBENCH_BASE_UTF8_H_
#define CAPBENCH_BASE_UTF8_H_

#include <cstddef>
#include <string>
#include <string_view>

namespace capbench {

struct Utf8Character {
  char32_t code = 0;
  std::size_t length = 0;  // bytes, 1 to 4; 0: the bytes begin with no character
};

// The character that non-empty `bytes` begin with.
Utf8Character decode_utf8(std::string_view bytes);

// Takes the first character off non-empty text. A byte that begins none is taken alone and comes back as 0xDC00 + byte,
// which no valid text contains.
char32_t take_character(std::string_view& text);

bool is_utf8(std::string_view bytes);

// The bytes as valid UTF-8: each byte that is part of no character becomes U+FFFD.
std::string to_utf8(std::string_view bytes);

// No control character, no line or paragraph separator, nothing that turns the writing direction or has no width, and
// valid UTF-8: what can be shown in a table or on a terminal as it is.
bool is_printable(std::string_view text);

// Foreign text in quotes for an error: printable ("\x00" for what is not) and short.
std::string in_quotes(std::string_view text);

}  // namespace capbench

#endif  // CAPBENCH_BASE_UTF8_H_
