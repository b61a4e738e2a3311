// JSON inside any text: where it stands, and its strings decoded and spelled again. Pure, linear, no recursion.
#ifndef CAPBENCH_HARNESS_SUBMIT_JSON_TEXT_H_
#define CAPBENCH_HARNESS_SUBMIT_JSON_TEXT_H_

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace capbench::submit {

struct JsonSpan {
  std::size_t begin = 0;
  std::size_t end = 0;  // behind the last byte

  bool operator==(const JsonSpan&) const = default;
};

// Every object and array that stands whole in the text: a line of JSON, a document over many lines, one behind a word
// of a log. In order, without overlap, at most 256 levels deep. Bytes that are not UTF-8 are let through in strings.
std::vector<JsonSpan> json_spans(std::string_view text);

// Behind the string whose opening quote is at `at`; nothing if it is not one.
std::optional<std::size_t> string_end(std::string_view text, std::size_t at);
// Behind the number that begins at `at`.
std::optional<std::size_t> number_end(std::string_view text, std::size_t at);

// The bytes that a string of JSON stands for, without its quotes. Half a surrogate pair becomes U+FFFD.
std::string decoded_string(std::string_view literal);
// With quotes; escapes only what must be, in canonical JSON's spelling.
std::string encoded_string(std::string_view bytes);

// A text as its reader sees it, and where each byte of it came from. Without places: every byte from its own.
struct View {
  std::string text;
  std::vector<std::size_t> from;  // offset in the original of what became each byte
  std::vector<std::size_t> to;    // and behind it
};

// Backslash escapes of JSON, C and shells undone wherever they stand; an unknown one is left.
View without_escapes(std::string_view text);
// "%2F" undone.
View without_percents(std::string_view text);
// A terminal's colours taken out: "ESC [ 1 m jo" reads "jo".
View without_colours(std::string_view text);
// The dot of "10.0.0.1.json" taken for a space: every one between a digit and a letter.
View without_endings(std::string_view text);
// The second, which was made of the first one's text, as a view of the first one's original.
View through(const View& first, View second);

}  // namespace capbench::submit

#endif  // CAPBENCH_HARNESS_SUBMIT_JSON_TEXT_H_
