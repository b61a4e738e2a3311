// The frame of every page and the pieces that pages share. Pure, thread-safe. No page has a script, a style or an event
// handler of its own inside it: a content security policy without exceptions fits them all.
#ifndef CAPBENCH_REPORTS_SITE_HTML_H_
#define CAPBENCH_REPORTS_SITE_HTML_H_

#include <cstddef>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "reports/estimates.h"

namespace capbench::site {

// Foreign text as HTML: one line of valid UTF-8, safe as element text and inside a quoted attribute.
std::string esc(std::string_view text);

// Members in the order written.
using Json = nlohmann::ordered_json;

struct Frame {
  std::string title;   // not escaped
  std::string lead;    // HTML: a sentence or two under the heading
  std::string active;  // which entry of the navigation: "index.html", ...
  std::string root;    // "" or "../": how to get to the first page
  std::string stamp;   // HTML: what the page was made from
  std::string parent;  // HTML: a link to where this page belongs; empty for a page of the navigation
};

// The whole page. `body` is HTML.
std::string page(const Frame& frame, std::string_view body);

// A block of data for the scripts; `id` is ours.
std::string data_block(std::string_view id, const Json& data);

// A drawing (drawing.h), made when it comes into view. `caption` is not escaped. The table that says the same belongs
// beside it: a figure is not read without scripts.
std::string figure(std::string_view id, std::string_view caption, const Json& drawing);

// JSON that is also safe between <script> tags and as a script's literal.
std::string safe_json(const Json& data);

// "1,691.7", "68.11": four or more significant digits, thousands apart.
std::string number(double value);
std::string count(std::size_t value);
// "3 trials"
std::string count_of(std::size_t value, std::string_view noun);
// "19.8x"
std::string times(double ratio);
// "[18.6, 23.5]" in small print; empty for none.
std::string range(const std::optional<reports::Interval>& interval, bool ratio = false);
// A number with its interval below it.
std::string estimate(const std::optional<reports::Estimate>& estimate, bool ratio = false);
// "2026-11-30 04:25" of a time of day; not escaped.
std::string minute(std::string_view time);
std::string day(std::string_view time);

// A small label: kind is "good", "bad", "warn" or "". The text is not escaped.
std::string badge(std::string_view text, std::string_view kind = "");
// Colour key of a mode, then its name.
std::string mode_name(std::string_view mode);
// "bare", "stock", "unlocked", "other": the name of the mode's colour.
std::string_view mode_class(std::string_view mode);

struct Column {
  std::string name;   // not escaped
  std::string kind;   // "num" is right-aligned and sorted by number; "text"; "wide" may break
  std::string title;  // explains it; may be empty
};
struct TableCell {
  std::string html;
  std::string sort = {};  // what it is sorted by, if not its text; not escaped
  std::string css = {};   // class
};
using TableRow = std::vector<TableCell>;
// Sorted and filtered by the scripts if there are any. On a phone each row becomes a card with the columns' names.
// `id` is ours and names the table in the page's address. The caption is not escaped.
std::string table(std::string_view id, std::string_view caption, const std::vector<Column>& columns,
                  const std::vector<TableRow>& rows, bool filter = false);

// Links to the other parts of a list: "history", part 2 of 5 -> history-2.html. Empty for a single part.
std::string pager(std::string_view stem, std::size_t part, std::size_t parts);
std::string part_name(std::string_view stem, std::size_t part);

}  // namespace capbench::site

#endif  // CAPBENCH_REPORTS_SITE_HTML_H_
