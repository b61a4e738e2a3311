// JSON as strict as a hand-written file deserves: duplicate keys, deep nesting and trailing bytes are errors that say
// where. Pure, thread-safe.
#ifndef CAPBENCH_HARNESS_SUITE_STRICT_JSON_H_
#define CAPBENCH_HARNESS_SUITE_STRICT_JSON_H_

#include <cstddef>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "base/result.h"

namespace capbench::suite {

struct StrictJsonLimits {
  std::size_t bytes = 1U << 20U;
  std::size_t depth = 16;
};

// The document. A byte-order mark is skipped. A syntax error names line and column (characters, from 1); a duplicate
// key or too deep a nesting names the JSON path ("$.arms[0]").
Result<nlohmann::json> parse_strict_json(std::string_view text, const StrictJsonLimits& limits = {});

// `path` with one more member: "$.a" + "b" is "$.a.b", and ["odd name"] for what is no plain word.
std::string member_path(const std::string& path, std::string_view key);

// A value as it is shown in an error: its JSON, printable and short.
std::string shown(const nlohmann::json& value);

}  // namespace capbench::suite

#endif  // CAPBENCH_HARNESS_SUITE_STRICT_JSON_H_
