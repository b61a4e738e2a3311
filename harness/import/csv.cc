#include "harness/import/csv.h"

#include "harness/import/text.h"

namespace capbench::imports {

bool split_csv(std::string_view record, char delimiter, std::vector<std::string>& values) {
  values.clear();
  std::size_t at = 0;
  while (true) {
    std::string& value = values.emplace_back();
    while (at < record.size() && record[at] == ' ') ++at;
    if (at < record.size() && record[at] == '"') {
      ++at;
      while (true) {
        const std::size_t quote = record.find('"', at);
        if (quote == std::string_view::npos) {
          value.append(record.substr(at));
          return false;
        }
        value.append(record.substr(at, quote - at));
        at = quote + 1;
        if (at == record.size() || record[at] != '"') break;
        value.push_back('"');
        ++at;
      }
    }
    // Whatever follows a closing quote belongs to the value: not RFC 4180, but nothing is lost.
    const std::size_t end = std::min(record.find(delimiter, at), record.size());
    value.append(trim(record.substr(at, end - at)));
    if (end == record.size()) return true;
    at = end + 1;
  }
}

std::string quote_csv(std::string_view value) {
  std::string quoted = "\"";
  for (const char c : value) {
    if (c == '"') quoted.push_back('"');
    quoted.push_back(c);
  }
  quoted.push_back('"');
  return quoted;
}

}  // namespace capbench::imports
