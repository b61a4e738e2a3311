#include "reports/site/html.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <nlohmann/json.hpp>

#include "base/counted.h"
#include "reports/html_text.h"
#include "reports/speedup.h"
#include "reports/text.h"

namespace capbench::site {
namespace {

struct Entry {
  std::string_view file;
  std::string_view name;
};
constexpr std::array<Entry, 8> kNavigation{{{"index.html", "Overview"},
                                            {"speedup.html", "Speedup"},
                                            {"ablation.html", "Ablation"},
                                            {"history.html", "History"},
                                            {"compare.html", "Compare"},
                                            {"map.html", "Map"},
                                            {"machines.html", "Machines"},
                                            {"submissions.html", "Submissions"}}};

std::string navigation(const Frame& frame) {
  std::string html = "<nav class=\"site\" aria-label=\"Pages\"><ul>\n";
  for (const Entry& entry : kNavigation) {
    html += fmt::format("<li><a href=\"{}{}\"{}>{}</a></li>\n", frame.root, entry.file,
                        entry.file == frame.active ? " aria-current=\"page\"" : "", entry.name);
  }
  return html + "</ul></nav>\n";
}

std::string with_thousands(const std::string& text) {
  const std::size_t end = std::min(text.find('.'), text.size());
  const std::size_t begin = !text.empty() && text.front() == '-' ? 1 : 0;
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (i > begin && i < end && (end - i) % 3 == 0) out += ',';
    out += text[i];
  }
  return out;
}

}  // namespace

std::string esc(std::string_view text) {
  return reports::escape_html(text);
}

std::string page(const Frame& frame, std::string_view body) {
  return fmt::format(
      R"html(<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; base-uri 'none'; form-action 'none'">
<meta name="color-scheme" content="light dark">
<title>{0} - capbench</title>
<link rel="icon" href="{1}assets/icon.svg">
<link rel="stylesheet" href="{1}assets/style.css">
<script src="{1}assets/app.js" defer></script>
</head>
<body data-root="{1}">
<a class="skip" href="#main">Skip to the content</a>
<header class="site"><div class="bar">
<a class="brand" href="{1}index.html">capbench</a>
{2}<button type="button" class="theme" hidden>Theme</button>
</div></header>
<main id="main" tabindex="-1">
{5}<h1>{0}</h1>
<p class="lead">{3}</p>
{4}</main>
<footer class="site"><p>{6}</p></footer>
</body>
</html>
)html",
      esc(frame.title), frame.root, navigation(frame), frame.lead, body,
      frame.parent.empty() ? "" : fmt::format("<p class=\"parent\">{}</p>\n", frame.parent), frame.stamp);
}

namespace {

// How many bytes at the beginning turn the direction of writing (U+061C, U+200E, U+200F, U+202A to U+202E, U+2066 to
// U+2069): 0 if they are none.
std::size_t turns_direction(std::string_view utf8) {
  if (utf8.starts_with("\xD8\x9C")) return 2;
  if (utf8.size() < 3) return 0;
  const auto last = static_cast<unsigned char>(utf8[2]);
  if (utf8.starts_with("\xE2\x80")) return last == 0x8E || last == 0x8F || (last >= 0xAA && last <= 0xAE) ? 3 : 0;
  return utf8.starts_with("\xE2\x81") && last >= 0xA6 && last <= 0xA9 ? 3 : 0;
}

}  // namespace

std::string safe_json(const Json& data) {
  const std::string plain = data.dump(-1, ' ', false, Json::error_handler_t::replace);
  std::string text;
  text.reserve(plain.size() + plain.size() / 16);
  // Of the rest nothing is special, so that it is copied by the stretch.
  const auto is_special = [](char c) { return c == '<' || c == '>' || c == '&' || c == '\xD8' || c == '\xE2'; };
  for (std::size_t i = 0; i < plain.size(); ++i) {
    const auto from = plain.begin() + static_cast<std::ptrdiff_t>(i);
    const auto next = std::find_if(from, plain.end(), is_special);
    text.append(from, next);
    if (next == plain.end()) break;
    i = static_cast<std::size_t>(next - plain.begin());
    const char c = plain[i];
    // U+2028 and U+2029 end a line in older JavaScript.
    const bool separator = c == '\xE2' && i + 2 < plain.size() && plain[i + 1] == '\x80' &&
                           (plain[i + 2] == '\xA8' || plain[i + 2] == '\xA9');
    if (const std::size_t length = turns_direction(std::string_view(plain).substr(i, 3)); length > 0) {
      text += "\\ufffd";  // as in every other text of ours
      i += length - 1;
    } else if (c == '<') {
      text += "\\u003c";
    } else if (c == '>') {
      text += "\\u003e";
    } else if (c == '&') {
      text += "\\u0026";
    } else if (separator) {
      text += plain[i + 2] == '\xA8' ? "\\u2028" : "\\u2029";
      i += 2;
    } else {
      text += c;
    }
  }
  return text;
}

std::string data_block(std::string_view id, const Json& data) {
  return fmt::format("<script type=\"application/json\" id=\"{}\">{}</script>\n", id, safe_json(data));
}

std::string figure(std::string_view id, std::string_view caption, const Json& drawing) {
  return fmt::format(
      "<figure class=\"plot\" id=\"{0}\" data-drawing=\"{0}-drawing\"><figcaption>{1}</figcaption>"
      "<div class=\"canvas\"></div></figure>\n{2}",
      id, esc(caption), data_block(fmt::format("{}-drawing", id), drawing));
}

std::string number(double value) {
  if (!std::isfinite(value)) return "\xE2\x80\x93";
  const double size = std::fabs(value);
  const int digits = size >= 1000 ? 0 : size >= 100 ? 1 : size >= 10 ? 2 : 3;
  return with_thousands(fmt::format("{:.{}f}", value, digits));
}

std::string count(std::size_t value) {
  return with_thousands(std::to_string(value));
}

std::string count_of(std::size_t value, std::string_view noun) {
  return count(value) + " " + noun_of(value, noun);
}

std::string times(double ratio) {
  if (!std::isfinite(ratio)) return "\xE2\x80\x93";
  return fmt::format("{:.{}f}\xC3\x97", ratio, ratio >= 100 ? 0 : ratio >= 10 ? 1 : ratio >= 2 ? 2 : 3);
}

std::string range(const std::optional<reports::Interval>& interval, bool ratio) {
  if (!interval) return "";
  const auto text = [&](double value) { return ratio ? times(value) : number(value); };
  return fmt::format("<span class=\"range\">[{}, {}]</span>", text(interval->low), text(interval->high));
}

std::string estimate(const std::optional<reports::Estimate>& estimate, bool ratio) {
  if (!estimate) return "<span class=\"soft\">\xE2\x80\x93</span>";
  return "<span class=\"value\">" + (ratio ? times(estimate->value) : number(estimate->value)) + "</span> " +
         range(estimate->ci95, ratio);
}

std::string minute(std::string_view time) {
  std::string text(time.substr(0, 16));
  if (text.size() > 10 && text[10] == 'T') text[10] = ' ';
  return text;
}

std::string day(std::string_view time) {
  return std::string(time.substr(0, 10));
}

std::string badge(std::string_view text, std::string_view kind) {
  return fmt::format("<span class=\"badge {}\">{}</span>", kind, esc(text));
}

std::string_view mode_class(std::string_view mode) {
  return mode == reports::kBareMetal  ? "bare"
         : mode == reports::kStock    ? "stock"
         : mode == reports::kUnlocked ? "unlocked"
                                      : "other";
}

std::string mode_name(std::string_view mode) {
  return fmt::format("<span class=\"mode {}\">{}</span>", mode_class(mode), esc(mode));
}

std::string table(std::string_view id, std::string_view caption, const std::vector<Column>& columns,
                  const std::vector<TableRow>& rows, bool filter) {
  std::string html =
      fmt::format("<div class=\"scroll\" role=\"region\" tabindex=\"0\" aria-label=\"{}\">\n", esc(caption));
  html += fmt::format("<table class=\"data\" id=\"{}\"{}>\n<caption>{}</caption>\n<thead><tr>", id,
                      filter ? " data-filter" : "", esc(caption));
  for (const Column& column : columns) {
    html += fmt::format("<th scope=\"col\" class=\"{}\"{}>{}</th>", column.kind,
                        column.title.empty() ? "" : fmt::format(" title=\"{}\"", esc(column.title)), esc(column.name));
  }
  html += "</tr></thead>\n<tbody>\n";
  for (const TableRow& row : rows) {
    html += "<tr>";
    for (std::size_t i = 0; i < row.size() && i < columns.size(); ++i) {
      const TableCell& cell = row[i];
      const std::string_view tag = i == 0 ? "th" : "td";
      html += fmt::format("<{}{} class=\"{}{}{}\" data-label=\"{}\"{}>{}</{}>", tag, i == 0 ? " scope=\"row\"" : "",
                          columns[i].kind, cell.css.empty() ? "" : " ", cell.css, esc(columns[i].name),
                          cell.sort.empty() ? "" : fmt::format(" data-sort=\"{}\"", esc(cell.sort)), cell.html, tag);
    }
    html += "</tr>\n";
  }
  return html + "</tbody>\n</table></div>\n";
}

std::string part_name(std::string_view stem, std::size_t part) {
  return part <= 1 ? fmt::format("{}.html", stem) : fmt::format("{}-{}.html", stem, part);
}

std::string pager(std::string_view stem, std::size_t part, std::size_t parts) {
  if (parts <= 1) return "";
  std::string html = "<nav class=\"pager\" aria-label=\"Parts of this list\"><ul>\n";
  for (std::size_t i = 1; i <= parts; ++i) {
    // First, last and the neighbours; a list of a hundred parts is no help.
    if (i != 1 && i != parts && (i + 2 < part || i > part + 2)) {
      if (i + 3 == part || i == part + 3) html += "<li aria-hidden=\"true\">\xE2\x80\xA6</li>\n";
      continue;
    }
    html += fmt::format("<li><a href=\"{}\"{}>{}</a></li>\n", part_name(stem, i),
                        i == part ? " aria-current=\"page\"" : "", i);
  }
  return html + "</ul></nav>\n";
}

}  // namespace capbench::site
