#include "harness/observe/text.h"

#include <cmath>
#include <cstdlib>

namespace capbench::observe {
namespace {

constexpr std::size_t kLongestNumber = 64;

struct Read {
  double value = 0;
  std::size_t length = 0;
};

std::optional<Read> read_number(std::string_view text) {
  // strtod would also take "nan", "inf" and hexadecimal digits.
  const std::string digits(text.substr(0, std::min(text.find_first_not_of("+-.0123456789eE"), kLongestNumber)));
  char* end = nullptr;
  const double value = std::strtod(digits.c_str(), &end);
  constexpr double kLargest = 1e18;
  if (end == digits.c_str() || !std::isfinite(value) || std::fabs(value) > kLargest) return std::nullopt;
  return Read{value, static_cast<std::size_t>(end - digits.c_str())};
}

std::string_view without_unit(std::string_view title) {
  const std::size_t at = title.find(" [");
  return at == std::string_view::npos ? title : title.substr(0, at);
}

std::vector<std::string_view> split(std::string_view line, char separator) {
  std::vector<std::string_view> parts;
  for (;;) {
    const std::size_t at = line.find(separator);
    parts.push_back(stripped(line.substr(0, at)));
    if (at == std::string_view::npos) return parts;
    line.remove_prefix(at + 1);
  }
}

}  // namespace

std::string_view stripped(std::string_view text) {
  constexpr std::string_view kOutside(" \t\n\r\f\v\"\0", 8);
  const std::size_t first = text.find_first_not_of(kOutside);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kOutside) - first + 1);
}

TextMap key_values(std::string_view text, char separator) {
  TextMap values;
  for_each_line(text, [&](std::string_view line) {
    const std::size_t at = line.find(separator);
    if (at != std::string_view::npos) values.emplace(stripped(line.substr(0, at)), stripped(line.substr(at + 1)));
  });
  return values;
}

std::string value_of(const TextMap& values, std::string_view key) {
  const auto it = values.find(key);
  return it == values.end() ? "" : it->second;
}

std::optional<std::int64_t> to_integer(std::string_view text) {
  text = stripped(text);
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

std::optional<double> to_number(std::string_view text) {
  text = stripped(text);
  const std::optional<Read> read = read_number(text);
  if (!read || read->length != text.size()) return std::nullopt;
  return read->value;
}

std::optional<double> starting_number(std::string_view text) {
  const std::optional<Read> read = read_number(stripped(text));
  if (!read) return std::nullopt;
  return read->value;
}

std::string_view text_of(const SourceTexts& texts, std::string_view name) {
  const auto it = texts.find(name);
  return it == texts.end() || it->second.status != 0 ? std::string_view() : std::string_view(it->second.text);
}

std::string first_line_of(const SourceTexts& texts, std::string_view name) {
  const std::string_view text = text_of(texts, name);
  return std::string(stripped(text.substr(0, text.find('\n'))));
}

std::vector<PathLine> path_lines(std::string_view text) {
  std::vector<PathLine> lines;
  for_each_line(text, [&](std::string_view line) {
    const std::size_t at = line.find('\t');
    if (at != std::string_view::npos) lines.push_back({line.substr(0, at), stripped(line.substr(at + 1))});
  });
  return lines;
}

std::vector<TextMap> csv_rows(std::string_view text, std::string_view column) {
  std::vector<std::string_view> titles;
  std::vector<TextMap> rows;
  for_each_line(text, [&](std::string_view line) {
    const std::vector<std::string_view> cells = split(line, ',');
    if (titles.empty()) {
      bool header = false;
      for (const std::string_view cell : cells) header = header || without_unit(cell) == column;
      if (header) titles = cells;
      return;
    }
    if (cells.size() != titles.size()) return;
    TextMap row;
    for (std::size_t i = 0; i < cells.size(); ++i) row.emplace(without_unit(titles[i]), cells[i]);
    rows.push_back(std::move(row));
  });
  return rows;
}

}  // namespace capbench::observe
