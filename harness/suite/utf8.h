// Text by characters. Pure, thread-safe.
#ifndef CAPBENCH_HARNESS_SUITE_UTF8_H_
#define CAPBENCH_HARNESS_SUITE_UTF8_H_

#include <string_view>

namespace capbench::suite {

// Takes the first character off non-empty UTF-8 text. A byte that begins no well-formed sequence is taken alone and
// comes back as 0xDC00 + byte, which no valid text contains.
char32_t take_character(std::string_view& text);

// No control character, no line or paragraph separator, nothing that turns the writing direction or has no width, and
// valid UTF-8: what can be shown in a table or on a terminal as it is.
bool is_printable(std::string_view text);

}  // namespace capbench::suite

#endif  // CAPBENCH_HARNESS_SUITE_UTF8_H_
