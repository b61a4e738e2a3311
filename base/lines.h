// A text's lines.
#ifndef CAPBENCH_BASE_LINES_H_
#define CAPBENCH_BASE_LINES_H_

#include <string_view>
#include <vector>

namespace capbench {

// Without the line feeds that end them; views of `text`. What is behind the last line feed is a line unless it is
// empty.
inline std::vector<std::string_view> lines_of(std::string_view text) {
  std::vector<std::string_view> lines;
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    lines.push_back(text.substr(0, end));
    if (end == std::string_view::npos) break;
    text.remove_prefix(end + 1);
  }
  return lines;
}

}  // namespace capbench

#endif  // CAPBENCH_BASE_LINES_H_
