// JSON in what a tool prints: among log lines, with numbers written as texts, with nulls. Pure; takes any bytes.
#ifndef CAPBENCH_HARNESS_TARGET_TOOLS_JSON_TEXT_H_
#define CAPBENCH_HARNESS_TARGET_TOOLS_JSON_TEXT_H_

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>

namespace capbench::target {

// The last JSON array of objects that begins at the start of a line. Log lines before and after it may begin with "["
// too. Null if there is none.
nlohmann::json last_json_array(std::string_view text);

// The last line that is a JSON object; null if there is none.
nlohmann::json last_json_line(std::string_view text);

// The first line whose member `name` is the text `value`; null if there is none. Other lines are passed over.
nlohmann::json json_line_where(std::string_view text, const char* name, std::string_view value);

// The whole text; null if it is no JSON.
nlohmann::json whole_json(std::string_view text);

// A member of an object, by path; null when anything on the way is missing or is no object.
const nlohmann::json& member(const nlohmann::json& object, std::initializer_list<const char*> path);

// The text of a member, or "" when it is missing, null or no text.
std::string text_member(const nlohmann::json& object, std::initializer_list<const char*> path);

// A member that is a whole number, or a text that holds nothing else. Not negative.
std::optional<std::int64_t> number_member(const nlohmann::json& object, std::initializer_list<const char*> path);

// "8192Mb", "14G", "8 GiB", "1073741824": bytes, with powers of 1024 as every tool here means them. A number without a
// unit is multiplied by `unit`.
std::optional<std::int64_t> bytes_of(std::string_view text, std::int64_t unit = 1);
std::optional<std::int64_t> bytes_member(const nlohmann::json& object, std::initializer_list<const char*> path,
                                         std::int64_t unit = 1);

}  // namespace capbench::target

#endif  // CAPBENCH_HARNESS_TARGET_TOOLS_JSON_TEXT_H_
