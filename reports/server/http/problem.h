// Errors as replies: {"error":{"name":...,"cause":...,"remedy":...}}.
#ifndef CAPBENCH_REPORTS_SERVER_HTTP_PROBLEM_H_
#define CAPBENCH_REPORTS_SERVER_HTTP_PROBLEM_H_

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "base/error.h"
#include "reports/server/http/message.h"

namespace capbench::http {

// JSON text that stays text wherever it is put: bytes that are not UTF-8 become U+FFFD, and <, > and & are written as
// escapes, so that no page that shows it unescaped runs it. Ends with a line break.
std::string safe_json(const nlohmann::json& value);
// The same of a JSON text.
std::string safe_json_text(std::string_view json);

Reply json_reply(int status, const nlohmann::json& value);
Reply problem(int status, const Error& error);

}  // namespace capbench::http

#endif  // CAPBENCH_REPORTS_SERVER_HTTP_PROBLEM_H_
