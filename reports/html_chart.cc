#include "reports/html_chart.h"

#include <fmt/format.h>

#include <algorithm>

#include "reports/html_text.h"
#include "reports/subject.h"
#include "reports/text.h"

namespace capbench::reports {
namespace {

// Pixels.
constexpr int kBarPitch = 44;
constexpr int kValueBaseline = 31;  // beside the bar
constexpr int kTextBaseline = 13;
constexpr int kTextLine = 16;  // of a name's second line
constexpr int kBarTop = 21;
constexpr int kBarHeight = 12;
constexpr int kWhiskerReach = 3;  // beyond the bar, up and down

// Names this long stand beside the value on the narrowest screen; longer ones get one or two lines of their own, each
// up to what that screen holds, and the value goes beside the bar.
constexpr std::size_t kShortName = 20;
constexpr std::size_t kLongestLine = 44;
constexpr double kBarShare = 0.74;  // of the width, with the value beside

std::string description(const std::vector<Bar>& bars) {
  std::vector<std::string> parts;
  for (const Bar& bar : bars) {
    std::string part = fmt::format("{} {} tokens per second", bar.name, format_number(bar.value));
    if (bar.ci95)
      part += fmt::format(", interval {} to {}", format_number(bar.ci95->low), format_number(bar.ci95->high));
    parts.push_back(part);
  }
  return fmt::format("{}.", fmt::join(parts, "; "));
}

// The bytes of as many characters.
std::string first_characters(const std::string& text, std::size_t count) {
  std::string out;
  for (const char c : text) {
    const bool starts_character = (static_cast<unsigned char>(c) & 0xC0U) != 0x80U;
    if (starts_character && count-- == 0) break;
    out += c;
  }
  return out;
}

// The description and the tables have the whole name.
std::string shortened(const std::string& name) {
  if (display_width(name) <= kLongestLine) return name;
  return first_characters(name, kLongestLine - 1) + "\xE2\x80\xA6";
}

// One line, or two, broken at a space if there is one: names of arms differ at their ends.
std::vector<std::string> lines_of(const std::string& name) {
  if (display_width(name) <= kLongestLine) return {name};
  std::string first = first_characters(name, kLongestLine);
  if (const std::size_t space = first.rfind(' '); space != std::string::npos && space > 0) first.resize(space);
  const std::size_t rest = name.find_first_not_of(' ', first.size());
  if (rest == std::string::npos) return {first};
  return {first, shortened(name.substr(rest))};
}

void draw_whisker(const Interval& interval, double full, int top, std::string& out) {
  const double low = 100 * interval.low / full;
  const double high = 100 * interval.high / full;
  const int middle = top + kBarHeight / 2;
  const int above = top - kWhiskerReach;
  const int below = top + kBarHeight + kWhiskerReach;
  const auto line = [&](double x1, int y1, double x2, int y2) {
    out += fmt::format("<line class=\"whisker\" x1=\"{:.3f}%\" y1=\"{}\" x2=\"{:.3f}%\" y2=\"{}\"/>\n", x1, y1, x2, y2);
  };
  line(low, middle, high, middle);
  line(low, above, low, below);
  line(high, above, high, below);
}

}  // namespace

std::string_view bar_class(std::string_view mode) {
  if (mode == kBareMetal) return "bare";
  if (mode == kStock) return "stock";
  return mode == kUnlocked ? "unlocked" : "other";
}

std::string bar_chart(const std::vector<Bar>& bars, std::string_view title, std::string_view id) {
  if (bars.empty()) return "";
  double most = 0;
  for (const Bar& bar : bars) most = std::max({most, bar.value, bar.ci95 ? bar.ci95->high : 0});
  // A whisker's end must not be cut off at the edge.
  const double largest = most * 1.005;
  const bool names_short =
      std::all_of(bars.begin(), bars.end(), [](const Bar& bar) { return display_width(bar.name) <= kShortName; });
  const double share = names_short ? 1 : kBarShare;
  const double full = largest / share;

  std::size_t second_lines = 0;
  for (const Bar& bar : bars) second_lines += lines_of(bar.name).size() - 1;

  std::string out = fmt::format(
      "<svg role=\"img\" aria-labelledby=\"{0}-title {0}-desc\" width=\"100%\" height=\"{1}\">\n"
      "<title id=\"{0}-title\">{2}</title>\n<desc id=\"{0}-desc\">{3}</desc>\n",
      id, kBarPitch * static_cast<int>(bars.size()) + kTextLine * static_cast<int>(second_lines), escape_html(title),
      escape_html(description(bars)));
  int y = 0;
  for (const Bar& bar : bars) {
    const std::vector<std::string> lines = lines_of(bar.name);
    if (lines.size() > 1) {
      out += fmt::format("<text class=\"name\" x=\"0\" y=\"{}\">{}</text>\n", y + kTextBaseline,
                         escape_html(lines.front()));
      y += kTextLine;
    }
    out += fmt::format(
        "<text class=\"name\" x=\"0\" y=\"{0}\">{1}</text>\n"
        "<text class=\"value\" x=\"100%\" y=\"{7}\" text-anchor=\"end\">{2}</text>\n"
        "<rect class=\"track\" x=\"0\" y=\"{3}\" width=\"{8:.0f}%\" height=\"{4}\"/>\n"
        "<rect class=\"{5}\" x=\"0\" y=\"{3}\" width=\"{6:.3f}%\" height=\"{4}\"/>\n",
        y + kTextBaseline, escape_html(lines.back()), format_number(bar.value), y + kBarTop, kBarHeight, bar.css_class,
        100 * bar.value / full, y + (names_short ? kTextBaseline : kValueBaseline), 100 * share);
    if (bar.ci95) draw_whisker(*bar.ci95, full, y + kBarTop, out);
    y += kBarPitch;
  }
  return out + "</svg>\n";
}

}  // namespace capbench::reports
