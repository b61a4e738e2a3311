#include "reports/html_text.h"

#include "reports/text.h"

namespace capbench::reports {

std::string escape_html(std::string_view text) {
  std::string line = one_line(text);
  if (line.find_first_of("&<>\"'") == std::string::npos) return line;
  std::string out;
  for (const char c : line) {
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      case '\'':
        out += "&#39;";
        break;
      default:
        out += c;
    }
  }
  return out;
}

}  // namespace capbench::reports
