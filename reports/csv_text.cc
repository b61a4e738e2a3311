#include "reports/csv_text.h"

#include <string_view>

#include "reports/text.h"

namespace capbench::reports {
namespace {

std::string field(std::string_view text) {
  const std::string valid = valid_utf8(text);
  if (valid.find_first_of(",\"\r\n") == std::string::npos) return valid;
  std::string out = "\"";
  for (const char c : valid) {
    if (c == '"') out += '"';
    out += c;
  }
  return out + "\"";
}

}  // namespace

void write_csv_line(const std::vector<std::string>& values, std::string& out) {
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (i > 0) out += ',';
    out += field(values[i]);
  }
  out += "\r\n";
}

}  // namespace capbench::reports
