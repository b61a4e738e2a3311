#include "reports/server/http/problem.h"

#include <nlohmann/json.hpp>
#include <utility>

namespace capbench::http {

using nlohmann::json;

std::string safe_json_text(std::string_view text) {
  // Outside of texts these characters do not occur in JSON.
  std::string safe;
  safe.reserve(text.size() + text.size() / 16);
  for (const char c : text) {
    switch (c) {
      case '<':
        safe += "\\u003c";
        break;
      case '>':
        safe += "\\u003e";
        break;
      case '&':
        safe += "\\u0026";
        break;
      default:
        safe.push_back(c);
    }
  }
  return safe;
}

std::string safe_json(const json& value) {
  return safe_json_text(value.dump(-1, ' ', false, json::error_handler_t::replace)) + "\n";
}

Reply json_reply(int status, const json& value) {
  return reply(status, "application/json", safe_json(value));
}

Reply problem(int status, const Error& error) {
  return json_reply(status, {{"error", {{"name", error.what}, {"cause", error.cause}, {"remedy", error.remedy}}}});
}

}  // namespace capbench::http
