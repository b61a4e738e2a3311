#include <fmt/format.h>

#include <algorithm>

#include "reports/document.h"
#include "reports/html_page.h"
#include "reports/html_text.h"

namespace capbench::reports {
namespace {

// Tables of many columns: smaller, names may break, and on a phone long texts do too.
constexpr std::string_view kStyle = R"css(
.wide { font-size: .875rem; margin-top: 1.5rem; }
.wide caption { font-weight: 650; color: var(--ink); }
.wide th, .wide td { padding-left: .45rem; padding-right: .45rem; }
.wide th:first-child { padding-left: 0; }
.wide th:last-child, .wide td:last-child { padding-right: 0; }
.wide tbody th { font-weight: 400; min-width: 9rem; white-space: normal; }
.wide td.text { white-space: normal; min-width: 5rem; }
.wide td.key, .findings { font-weight: 650; }
.findings { margin: 0 0 1.25rem; padding-left: 1.1rem; }
.findings li { margin: .3rem 0; overflow-wrap: anywhere; }
@media (max-width: 40rem) {
  .wide tbody th { font-weight: 650; font-size: .925rem; overflow-wrap: anywhere; }
  .wide td { padding-left: 0; padding-right: 0; }
  .wide td > span { flex: 0 1 auto; overflow-wrap: anywhere; min-width: 0; }
  .wide td.num > span { flex: none; }
  .wide td.text { min-width: 0; }
}
@media print {
  .wide { font-size: 8pt; }
  .wide tbody th { min-width: 0; }
}
)css";

std::string cell_html(const Cell& cell) {
  std::string out = cell.text.empty() ? std::string(kHtmlNothing) : escape_html(cell.text);
  for (const std::string* small : {&cell.beside, &cell.aside}) {
    if (!small->empty()) out += fmt::format(" <span class=\"range\">{}</span>", escape_html(*small));
  }
  return out;
}

void write_table(const Table& table, std::string& out) {
  if (table.columns.empty() || table.rows.empty()) return;
  out += "<div class=\"scroll\">\n<table role=\"table\" class=\"main wide\">\n";
  if (!table.caption.empty()) out += fmt::format("<caption>{}</caption>\n", escape_html(table.caption));
  out += "<thead role=\"rowgroup\"><tr role=\"row\">\n";
  for (const Table::Column& column : table.columns) {
    out += fmt::format("<th role=\"columnheader\" scope=\"col\"{}>{}</th>\n", column.right ? " class=\"num\"" : "",
                       escape_html(column.header));
  }
  out += "</tr></thead>\n<tbody role=\"rowgroup\">\n";
  for (const std::vector<Cell>& row : table.rows) {
    out += fmt::format("<tr role=\"row\">\n<th role=\"rowheader\" scope=\"row\">{}</th>\n", cell_html(row.front()));
    for (std::size_t i = 1; i < row.size(); ++i) {
      const std::string css =
          fmt::format("{}{}{}", table.columns[i].right ? "num" : "text", row[i].tone.empty() ? "" : " ", row[i].tone);
      out += html_cell(table.columns[i].header, css, cell_html(row[i]));
    }
    out += "</tr>\n";
  }
  out += "</tbody>\n</table>\n</div>\n";
}

void write_charts(const Section& section, std::size_t number, std::string& out) {
  std::string charts;
  bool whiskers = false;
  for (std::size_t i = 0; i < section.charts.size(); ++i) {
    const Chart& chart = section.charts[i];
    const std::string svg = bar_chart(chart.bars, chart.title + ": median tokens per second by arm",
                                      fmt::format("chart-{}-{}", number, i + 1));
    if (svg.empty()) continue;
    whiskers = whiskers ||
               std::any_of(chart.bars.begin(), chart.bars.end(), [](const Bar& bar) { return bar.ci95.has_value(); });
    charts += fmt::format("<figure>\n<figcaption>{} <span class=\"soft\">tokens/s</span></figcaption>\n{}</figure>\n",
                          escape_html(chart.title), svg);
  }
  if (charts.empty()) return;
  out += "<div class=\"charts\">\n" + charts + "</div>\n";
  if (whiskers) {
    out +=
        "<p class=\"small\">Bars start at zero; each chart has its own scale. Whiskers: 95 % interval of the median; "
        "of two trials, their range.</p>\n";
  }
}

void write_section(const Section& section, std::size_t number, std::string& out) {
  out += fmt::format("<section aria-labelledby=\"group-{0}\">\n<h2 id=\"group-{0}\">{1}</h2>\n", number,
                     escape_html(section.title));
  if (!section.about.empty()) out += fmt::format("<p class=\"about\">{}</p>\n", escape_html(section.about));
  if (!section.details.empty()) {
    out += "<dl>\n";
    for (const auto& [name, value] : section.details) {
      out += fmt::format("<dt>{}</dt><dd>{}</dd>\n", escape_html(name), escape_html(value));
    }
    out += "</dl>\n";
  }
  if (!section.findings.empty()) {
    out += "<ul class=\"findings\">\n";
    for (const std::string& finding : section.findings) out += fmt::format("<li>{}</li>\n", escape_html(finding));
    out += "</ul>\n";
  }
  for (const Table& table : section.tables) write_table(condensed(table), out);
  write_charts(section, number, out);
  if (!section.notes.empty()) {
    out += "<ul class=\"notes\">\n";
    for (const std::string& note : section.notes) out += fmt::format("<li>{}</li>\n", escape_html(note));
    out += "</ul>\n";
  }
  out += "</section>\n";
}

}  // namespace

std::string document_html(const Document& document) {
  std::string out = html_page_start(document.title, document.lead, kStyle);
  if (document.sections.empty()) {
    out += fmt::format("<section>\n<p>{}</p>\n</section>\n", escape_html(document.if_empty));
  }
  for (std::size_t i = 0; i < document.sections.size(); ++i) write_section(document.sections[i], i + 1, out);
  return out + html_page_end(document.explanations);
}

}  // namespace capbench::reports
