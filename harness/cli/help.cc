#include "harness/cli/help.h"

namespace capbench::cli {
namespace {

class Wrapping : public CLI::Formatter {
 public:
  Wrapping() { column_width(26); }
  std::string make_help(const CLI::App* app, std::string name, CLI::AppFormatMode mode) const override {
    return wrap_help(CLI::Formatter::make_help(app, std::move(name), mode));
  }
};

// Where the words of a line begin that are to stand under each other.
std::size_t hanging(std::string_view line) {
  const std::size_t first = line.find_first_not_of(' ');
  if (first == std::string_view::npos) return 0;
  const std::size_t gap = line.find("  ", first);
  const std::size_t after = gap == std::string_view::npos ? gap : line.find_first_not_of(' ', gap);
  return after == std::string_view::npos ? first : after;
}

void wrap_line(std::string_view line, std::size_t columns, std::string& out) {
  std::size_t indent = hanging(line);
  if (indent > columns / 2) indent = line.find_first_not_of(' ');
  bool continued = false;
  while (line.size() + (continued ? indent : 0) > columns) {
    const std::size_t room = columns - (continued ? indent : 0);
    std::size_t cut = line.rfind(' ', room);
    // The gap before a description is not a place to break at.
    if (cut == std::string_view::npos || (!continued && cut <= indent)) cut = line.find(' ', room);
    if (cut == std::string_view::npos) break;
    if (continued) out.append(indent, ' ');
    out.append(line.substr(0, cut)).append("\n");
    line.remove_prefix(std::min(line.find_first_not_of(' ', cut), line.size()));
    continued = true;
  }
  if (continued && !line.empty()) out.append(indent, ' ');
  out.append(line).append("\n");
}

}  // namespace

std::string wrap_help(std::string_view text, std::size_t columns) {
  std::string out;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    wrap_line(text.substr(0, end), columns, out);
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return out;
}

std::shared_ptr<CLI::FormatterBase> help_formatter() {
  return std::make_shared<Wrapping>();
}

}  // namespace capbench::cli
