// Text inside HTML and SVG.
#ifndef CAPBENCH_REPORTS_HTML_TEXT_H_
#define CAPBENCH_REPORTS_HTML_TEXT_H_

#include <string>
#include <string_view>

namespace capbench::reports {

// One line of valid UTF-8 that is safe as element text and inside a quoted attribute.
std::string escape_html(std::string_view text);

}  // namespace capbench::reports

#endif  // CAPBENCH_REPORTS_HTML_TEXT_H_
