#include "reports/html_page.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>

#include "reports/html_style.h"
#include "reports/html_text.h"
#include "reports/text.h"

namespace capbench::reports {

std::string html_page_start(std::string_view title, std::string_view lead, std::string_view style) {
  std::string lower(title);
  std::transform(lower.begin(), lower.end(), lower.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return fmt::format(
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
      "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">\n"
      "<title>capbench: {}</title>\n<style>{}{}</style>\n</head>\n<body>\n<header>\n<h1>{}</h1>\n"
      "<p class=\"lead\">{}</p>\n</header>\n<main>\n",
      escape_html(lower), kHtmlStyle, style, escape_html(title), escape_html(lead));
}

std::string html_page_end(const std::vector<std::string>& sentences) {
  std::string out;
  if (!sentences.empty()) {
    out += "<section aria-labelledby=\"reading\">\n<h2 id=\"reading\">How to read this</h2>\n<ul class=\"notes\">\n";
    for (const std::string& sentence : sentences) out += fmt::format("<li>{}</li>\n", escape_html(sentence));
    out += "</ul>\n</section>\n";
  }
  return out + "</main>\n</body>\n</html>\n";
}

std::string html_range(const std::optional<Interval>& interval) {
  if (!interval) return "";
  return fmt::format(" <span class=\"range\">[{}, {}]</span>", format_number(interval->low),
                     format_number(interval->high));
}

std::string_view html_word_class(std::string_view word) {
  constexpr std::array<std::string_view, 2> kGood = {"proven", "passed"};
  constexpr std::array<std::string_view, 2> kBad = {"invalid", "wrong"};
  if (std::find(kGood.begin(), kGood.end(), word) != kGood.end()) return "good";
  return std::find(kBad.begin(), kBad.end(), word) != kBad.end() ? "bad" : "soft";
}

// On a phone a row becomes a card: display:block takes a table's meaning away, so roles give it back.
std::string html_cell(std::string_view label, std::string_view css_class, const std::string& html) {
  return fmt::format("<td role=\"cell\" class=\"{}\" data-label=\"{}\"><span>{}</span></td>\n", css_class,
                     escape_html(label), html);
}

}  // namespace capbench::reports
