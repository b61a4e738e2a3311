// Reading what files and commands print: any bytes, cut anywhere. Pure.
#ifndef CAPBENCH_HARNESS_OBSERVE_TEXT_H_
#define CAPBENCH_HARNESS_OBSERVE_TEXT_H_

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/path.h"  // IWYU pragma: export
#include "harness/observe/log_lines.h"
#include "harness/observe/sources.h"

namespace capbench::observe {

using TextMap = std::map<std::string, std::string, std::less<>>;

// Without white space, quotes and NULs at either end.
std::string_view stripped(std::string_view text);

// "KEY SEPARATOR VALUE" lines, both stripped; the first value of a key counts.
TextMap key_values(std::string_view text, char separator);

// The value of a key, or "".
std::string value_of(const TextMap& values, std::string_view key);

// A whole decimal number, with nothing else but white space around it; nothing if it is out of range.
std::optional<std::int64_t> to_integer(std::string_view text);

// A finite decimal number of at most 1e18, likewise.
std::optional<double> to_number(std::string_view text);

// The number that the text starts with, after white space: "92%", "512.00M".
std::optional<double> starting_number(std::string_view text);

// The text of a source that succeeded, or "".
std::string_view text_of(const SourceTexts& texts, std::string_view name);

// The first line, stripped.
std::string first_line_of(const SourceTexts& texts, std::string_view name);

struct PathLine {
  std::string_view path;
  std::string_view line;
};

// The lines of a kFirstLines source ("PATH TAB LINE").
std::vector<PathLine> path_lines(std::string_view text);

// Comma-separated values with a header line that holds `column`: one map per row, by the header's names without their
// units ("memory.total [MiB]" is "memory.total"). Lines before the header are passed over.
std::vector<TextMap> csv_rows(std::string_view text, std::string_view column);

}  // namespace capbench::observe

#endif  // CAPBENCH_HARNESS_OBSERVE_TEXT_H_
