// What every HTML report shares: the page around it, and cells that become lines of a card on a phone.
#ifndef CAPBENCH_REPORTS_HTML_PAGE_H_
#define CAPBENCH_REPORTS_HTML_PAGE_H_

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "reports/estimates.h"

namespace capbench::reports {

inline constexpr std::string_view kHtmlNothing = "\xE2\x80\x93";  // en dash

// Up to <main>: a self-contained page whose content security policy forbids scripts and the network. Title and lead are
// not escaped; `style` is what a report's style sheet has besides the common one.
std::string html_page_start(std::string_view title, std::string_view lead, std::string_view style = "");

// A last section with the sentences, if there are any, and the end of the page.
std::string html_page_end(const std::vector<std::string>& sentences);

// " [low, high]" in small print; empty for none.
std::string html_range(const std::optional<Interval>& interval);

// "good", "bad" or "soft": how a word of judgement is set.
std::string_view html_word_class(std::string_view word);

// A cell of a table of class "main". `html` is escaped already, the label is not.
std::string html_cell(std::string_view label, std::string_view css_class, const std::string& html);

}  // namespace capbench::reports

#endif  // CAPBENCH_REPORTS_HTML_PAGE_H_
