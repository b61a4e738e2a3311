#include "harness/import/markdown.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "harness/import/text.h"

namespace capbench::imports {
namespace {

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

bool is_number_char(char c) {
  return is_digit(c) || c == '.' || c == ',';
}

// Bold, italics, code and HTML emphasis around and inside a cell.
std::string plain_cell(std::string_view cell) {
  std::string plain(trim(cell));
  for (const std::string_view tag : {"<b>", "</b>", "<strong>", "</strong>", "<code>", "</code>", "**", "__", "`"}) {
    for (std::size_t at = plain.find(tag); at != std::string::npos; at = plain.find(tag, at))
      plain.erase(at, tag.size());
  }
  return std::string(trim(plain));
}

// The number at the start of `text`, which it is removed from.
std::optional<std::string_view> take_number(std::string_view& text) {
  std::size_t end = 0;
  while (end < text.size() && is_number_char(text[end])) ++end;
  if (end == 0) return std::nullopt;
  const std::string_view number = text.substr(0, end);
  text.remove_prefix(end);
  return number;
}

// A decimal number with a unit behind it.
std::optional<double> scaled(std::string_view cell, std::initializer_list<std::pair<std::string_view, double>> units) {
  std::string_view rest = trim(cell);
  const auto number = take_number(rest);
  const auto value = number ? parse_local_number(*number) : std::nullopt;
  if (!value) return std::nullopt;
  const std::string_view unit = trim(rest);
  for (const auto& [name, factor] : units) {
    if (unit == name) return *value * factor;
  }
  return std::nullopt;
}

std::optional<std::int64_t> rounded(std::optional<double> value) {
  if (!value || *value >= 9e15) return std::nullopt;
  return static_cast<std::int64_t>(std::llround(*value));
}

// The same number with a point.
std::string with_point(std::string_view number, double value) {
  return number.find(',') == std::string_view::npos ? std::string(number) : fmt::format("{}", value);
}

}  // namespace

std::optional<std::vector<std::string>> split_cells(std::string_view line) {
  line = trim(line);
  if (line.find('|') == std::string_view::npos) return std::nullopt;
  if (line.starts_with('|')) line.remove_prefix(1);
  std::vector<std::string> cells;
  std::string cell;
  for (std::size_t i = 0; i < line.size(); ++i) {
    if (line[i] == '\\' && i + 1 < line.size() && line[i + 1] == '|') {
      cell.push_back('|');
      ++i;
    } else if (line[i] == '|') {
      cells.push_back(plain_cell(cell));
      cell.clear();
    } else {
      cell.push_back(line[i]);
    }
  }
  // What follows the last pipe is a cell unless that pipe was the outer one.
  if (!trim(cell).empty()) cells.push_back(plain_cell(cell));
  return cells;
}

bool is_separator(const std::vector<std::string>& cells) {
  if (cells.empty()) return false;
  return std::all_of(cells.begin(), cells.end(), [](const std::string& cell) {
    return cell.find('-') != std::string::npos && cell.find_first_not_of("-: ") == std::string::npos;
  });
}

bool is_llama_bench_heading(const std::vector<std::string>& cells) {
  const auto has = [&](std::string_view name) { return std::find(cells.begin(), cells.end(), name) != cells.end(); };
  return has("test") && has("t/s") && has("model");
}

std::optional<Rate> parse_rate(std::string_view cell) {
  std::string_view rest = trim(cell);
  if (rest.starts_with('-') || rest.starts_with('+')) return std::nullopt;
  const auto mean = take_number(rest);
  const auto mean_value = mean ? parse_local_number(*mean) : std::nullopt;
  if (!mean_value) return std::nullopt;
  Rate rate{*mean_value, with_point(*mean, *mean_value), std::nullopt, ""};
  // The sign may have passed through any code page: whatever it is, it holds no digit.
  while (!rest.empty() && !is_digit(rest[0])) rest.remove_prefix(1);
  if (rest.empty()) return rate;
  const auto deviation = take_number(rest);
  const auto deviation_value = deviation ? parse_local_number(*deviation) : std::nullopt;
  if (!deviation_value || std::any_of(rest.begin(), rest.end(), is_digit)) return std::nullopt;
  rate.deviation = deviation_value;
  rate.deviation_text = with_point(*deviation, *deviation_value);
  return rate;
}

std::optional<std::int64_t> parse_size(std::string_view cell) {
  constexpr double kKib = 1024;
  return rounded(scaled(
      cell, {{"KiB", kKib}, {"MiB", kKib * kKib}, {"GiB", kKib * kKib * kKib}, {"TiB", kKib * kKib * kKib * kKib}}));
}

std::optional<std::int64_t> parse_parameters(std::string_view cell) {
  return rounded(scaled(cell, {{"K", 1e3}, {"M", 1e6}, {"B", 1e9}, {"T", 1e12}}));
}

std::optional<BuildLine> parse_build_line(std::string_view line) {
  const std::string plain = plain_cell(line);
  std::string_view rest = plain;
  if (!rest.starts_with("build:")) return std::nullopt;
  rest = trim(rest.substr(6));
  const std::size_t end = rest.find(' ');
  const std::string_view commit = rest.substr(0, end);
  if (commit.empty() || commit.size() > 64 ||
      !std::all_of(commit.begin(), commit.end(), [](char c) { return is_digit(c) || (c >= 'a' && c <= 'z'); })) {
    return std::nullopt;
  }
  BuildLine build{std::string(commit), ""};
  if (end == std::string_view::npos) return build;
  rest = trim(rest.substr(end));
  if (!rest.starts_with('(') || !rest.ends_with(')') || rest.size() < 3 || rest.size() > 12) return std::nullopt;
  rest = rest.substr(1, rest.size() - 2);
  if (!std::all_of(rest.begin(), rest.end(), is_digit)) return std::nullopt;
  build.number = rest;
  return build;
}

}  // namespace capbench::imports
