// Text as people paste it: colours, stray byte-order marks, commas for decimal points, bytes that are not UTF-8. Pure.
#ifndef CAPBENCH_HARNESS_IMPORT_TEXT_H_
#define CAPBENCH_HARNESS_IMPORT_TEXT_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/utf8.h"  // IWYU pragma: export

namespace capbench::imports {

std::string_view trim(std::string_view text);

// Whole texts only. Digits with an optional sign; nothing on overflow.
std::optional<std::int64_t> parse_integer(std::string_view text);

// A finite decimal number, '.' as the point.
std::optional<double> parse_number(std::string_view text);

// A number as a person's locale prints it: a comma may be the decimal point ("132,19"), or separate thousands when a
// point follows ("1,234.56"). Exactly three digits behind a lone comma could be either: nothing.
std::optional<double> parse_local_number(std::string_view text);

void append_utf8(std::string& out, std::uint32_t code_point);

// Appends `text` (any bytes) as a JSON string with its quotes.
void append_json_string(std::string& out, std::string_view text);

// llama-bench's JSON printers take a char for a signed number, so on most machines each byte of a UTF-8 text above
// 0x7F comes out as "\uffffffc3", or cut to "\ufffff" by their buffer. This takes the text as a JSON reader decodes it
// (U+FFFF and the hexadecimal digits behind it) and restores the bytes; bytes that the buffer cut away are one U+FFFD
// each. False: there was nothing to repair.
bool repair_signed_escapes(std::string& text);

}  // namespace capbench::imports

#endif  // CAPBENCH_HARNESS_IMPORT_TEXT_H_
