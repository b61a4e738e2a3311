// The pieces of a Markdown page that is read on a terminal too: 80 columns, padded tables, list items.
#ifndef CAPBENCH_REPORTS_MARKDOWN_TEXT_H_
#define CAPBENCH_REPORTS_MARKDOWN_TEXT_H_

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace capbench::reports {

inline constexpr std::size_t kMarkdownColumns = 80;

struct MarkdownColumn {
  std::string header;              // escaped
  bool right = false;              // numbers
  std::vector<std::string> cells;  // escaped

  std::size_t width() const;
};

// One line of valid UTF-8 in which nothing is markup: neither in running text nor in a table's cell.
std::string escape_markdown(std::string_view text);

// Of the whole table with so many spaces beside each bar.
std::size_t markdown_table_width(const std::vector<MarkdownColumn>& columns, std::size_t padding);

// With a space beside each bar if that fits. All columns have as many cells as the first.
void write_markdown_table(const std::vector<MarkdownColumn>& columns, std::string& out);

// One list item of escaped words, broken at spaces so that lines stay within the columns where the words allow it. A
// word that would start a block of its own stays on the line before it.
void write_markdown_item(const std::string& escaped, std::string& out);

}  // namespace capbench::reports

#endif  // CAPBENCH_REPORTS_MARKDOWN_TEXT_H_
