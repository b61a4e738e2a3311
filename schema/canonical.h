// One spelling for every JSON value, so that its SHA-256 can name it.
//
// Keys sorted by their bytes, no white space, UTF-8 unescaped except `"`, `\` and control characters, integers exact,
// other numbers in the fewest digits that read back as the same double. Parsing the result and spelling it again
// changes nothing. A double with a whole value is spelled like that integer where its shortest form has no exponent
// (2.0 is 2; -0.0 is 0). Pure; safe to call from several threads.
#ifndef CAPBENCH_SCHEMA_CANONICAL_H_
#define CAPBENCH_SCHEMA_CANONICAL_H_

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

#include "base/result.h"

namespace capbench::schema {

// Errors: NaN or an infinity, text that is not UTF-8, a binary value, nesting deeper than 500. The error names the
// place.
Result<std::string> try_canonical(const nlohmann::json& value);

// The same for values that the program made itself and knows to be spellable; throws std::invalid_argument where
// try_canonical gives an error.
std::string canonical(const nlohmann::json& value);

// The spelling of single values, for callers that know their form and build no tree. `text` is UTF-8 and `number`
// finite.
void append_canonical(std::string& out, std::string_view text);
void append_canonical(std::string& out, std::int64_t number);
void append_canonical(std::string& out, std::uint64_t number);
void append_canonical(std::string& out, double number);

}  // namespace capbench::schema

#endif  // CAPBENCH_SCHEMA_CANONICAL_H_
