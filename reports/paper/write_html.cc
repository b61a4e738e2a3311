#include <fmt/format.h>

#include "reports/html_style.h"
#include "reports/html_text.h"
#include "reports/paper/paper.h"

namespace capbench::reports::paper {
namespace {

// A number says on pointing at it which command prints it.
std::string html_of(const Line& line, const Numbers& numbers) {
  std::string out;
  for (const Piece& piece : line) {
    const Number* number = piece.is_number ? numbers.find(piece.text) : nullptr;
    out += number == nullptr ? escape_html(piece.text)
                             : fmt::format("<data value=\"{}\" title=\"{}\">{}</data>", escape_html(piece.text),
                                           escape_html(number->query), escape_html(number->text));
  }
  return out;
}

void write_table(const PaperTable& table, const Numbers& numbers, std::string& out) {
  out += fmt::format(
      "<div class=\"wide\" tabindex=\"0\" role=\"region\" aria-label=\"table\">\n<table id=\"{}\">\n"
      "<caption>{}</caption>\n<thead><tr>",
      escape_html(table.label), html_of(table.caption, numbers));
  for (std::size_t i = 0; i < table.headers.size(); ++i) {
    out += fmt::format("<th scope=\"col\"{}>{}</th>", table.right[i] ? " class=\"number\"" : "",
                       escape_html(table.headers[i]));
  }
  out += "</tr></thead>\n<tbody>\n";
  for (const std::vector<Line>& row : table.rows) {
    out += "<tr>";
    for (std::size_t i = 0; i < row.size(); ++i) {
      out += fmt::format("<td{}>{}</td>", table.right[i] ? " class=\"number\"" : "", html_of(row[i], numbers));
    }
    out += "</tr>\n";
  }
  out += "</tbody>\n</table>\n</div>\n";
}

void write_block(const Block& block, const Numbers& numbers, std::string& out) {
  switch (block.kind) {
    case Block::Kind::kParagraph:
      for (const Line& line : block.lines) out += fmt::format("<p>{}</p>\n", html_of(line, numbers));
      break;
    case Block::Kind::kList:
      if (block.lines.empty()) break;
      out += "<ul>\n";
      for (const Line& line : block.lines) out += fmt::format("<li>{}</li>\n", html_of(line, numbers));
      out += "</ul>\n";
      break;
    case Block::Kind::kTable:
      write_table(block.table, numbers, out);
      break;
    case Block::Kind::kFigure:
      out += fmt::format(
          "<figure id=\"{0}\">\n<img src=\"figures/{1}.svg\" alt=\"{2}\">\n<figcaption>{2}</figcaption>\n</figure>\n",
          escape_html(block.figure.label), escape_html(block.figure.name), html_of(block.figure.caption, {}));
      break;
  }
}

constexpr const char* kStyle =
    "body{max-width:48rem;margin:0 auto;padding:1rem;line-height:1.5}"
    ".wide{overflow-x:auto}table{border-collapse:collapse;font-size:.9rem;width:100%}"
    "caption{text-align:left;padding:.5rem 0}th,td{padding:.2rem .5rem;text-align:left;vertical-align:top}"
    "thead{border-top:2px solid;border-bottom:1px solid}tbody{border-bottom:2px solid}"
    ".number{text-align:right;font-variant-numeric:tabular-nums}data{text-decoration:none}"
    "figure{margin:1rem 0}img{max-width:100%;height:auto;background:#fff}";

}  // namespace

std::string paper_html(const Paper& paper) {
  std::string out = fmt::format(
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
      "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; img-src 'self'; style-src "
      "'unsafe-inline'\">\n<title>{0}</title>\n<style>{1}{2}</style>\n</head>\n<body>\n<main>\n<h1>{0}</h1>\n",
      escape_html(paper.title), kHtmlStyle, kStyle);
  for (const PaperSection& section : paper.sections) {
    out += fmt::format("<section>\n<h2>{}</h2>\n", escape_html(section.title));
    for (const Block& block : section.blocks) write_block(block, paper.numbers, out);
    out += "</section>\n";
  }
  return out + "</main>\n</body>\n</html>\n";
}

}  // namespace capbench::reports::paper
