// How reports write numbers and foreign text. Every renderer goes through here, so a number reads the same everywhere.
#ifndef CAPBENCH_REPORTS_TEXT_H_
#define CAPBENCH_REPORTS_TEXT_H_

#include <cstddef>
#include <string>
#include <string_view>

namespace capbench::reports {

// For people: fixed notation, correctly rounded, at least two decimals and at least four significant digits:
// 4871.99, 431.86, 12.63, 3.415, 0.9929. "-" for what is not finite.
std::string format_number(double value);

// For programs: the shortest text that reads back as the same double.
std::string format_exact(double value);

// `bytes` as valid UTF-8; every byte that is part of no character becomes U+FFFD. Overlong forms and surrogates are not
// characters.
std::string valid_utf8(std::string_view bytes);

// Valid UTF-8 on one line: line breaks and tabs become a space, other control characters and those that turn the
// direction of writing become U+FFFD.
std::string one_line(std::string_view bytes);

// Characters, not bytes: how far a text reaches on a terminal (wide and combining characters count as one).
std::size_t display_width(std::string_view utf8);

// "1 trial", "5 trials".
std::string count_of(std::size_t count, std::string_view noun);

}  // namespace capbench::reports

#endif  // CAPBENCH_REPORTS_TEXT_H_
