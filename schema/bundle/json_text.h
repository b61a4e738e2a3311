// JSON that a record carries as text. Pure. For this room only.
#ifndef CAPBENCH_SCHEMA_BUNDLE_JSON_TEXT_H_
#define CAPBENCH_SCHEMA_BUNDLE_JSON_TEXT_H_

#include <cstddef>
#include <string>
#include <string_view>

namespace capbench::bundle {

// Why `text` is not one JSON object (RFC 8259) of finite numbers, nested at most `depth` deep, as one clause; empty if
// it is. Needs no memory and no recursion, so that whoever parses it afterwards is safe. `text` is UTF-8 already.
std::string why_no_object(std::string_view text, std::size_t depth);

}  // namespace capbench::bundle

#endif  // CAPBENCH_SCHEMA_BUNDLE_JSON_TEXT_H_
