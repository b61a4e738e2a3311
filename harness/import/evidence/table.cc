#include "harness/import/evidence/table.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>

#include "harness/import/csv.h"
#include "harness/import/evidence/names.h"
#include "harness/import/row_builder.h"
#include "harness/import/text.h"
#include "harness/observe/log_lines.h"
#include "harness/runtime/llama_bench.h"
#include "harness/stats/summary.h"

namespace capbench::imports::evidence {
namespace {

constexpr std::size_t kMostLines = 10000;

struct ColumnWord {
  std::string_view part;
  Figure figure;
};
// In this order: "shim_to_host_percent" is a percentage, "safe_shim_guest" no guest as shipped.
constexpr auto kColumnWords = std::to_array<ColumnWord>({
    {"percent", Figure::kPercent},
    {"pct", Figure::kPercent},
    {"%", Figure::kPercent},
    {"ratio", Figure::kRatio},
    {"speedup", Figure::kRatio},
    {"speed-up", Figure::kRatio},
    {"factor", Figure::kRatio},
    {"shim", Figure::kUnlocked},
    {"unlock", Figure::kUnlocked},
    {"hook", Figure::kUnlocked},
    {"stock", Figure::kStock},
    {"vanilla", Figure::kStock},
    {"host", Figure::kBareMetal},
    {"bare", Figure::kBareMetal},
    {"native", Figure::kBareMetal},
});

std::optional<Figure> figure_of(std::string_view column) {
  const std::string name = lower(column);
  for (const ColumnWord& word : kColumnWords) {
    if (name.find(word.part) != std::string::npos) return word.figure;
  }
  return std::nullopt;
}

std::optional<std::string> test_of(std::string_view cell) {
  const auto test = parse_test_name(trim(cell));
  if (!test) return std::nullopt;
  return runtime::test_name(test->n_prompt, test->n_gen, test->n_depth);
}

// "11.08x", "98.25 %", "4,786.70".
std::optional<PrintedFigure> read_figure(std::string_view cell, bool comma_is_point) {
  std::string_view text = trim(cell);
  while (!text.empty() && (text.back() == 'x' || text.back() == 'X' || text.back() == '%' || text.back() == ' ')) {
    text.remove_suffix(1);
  }
  PrintedFigure figure;
  figure.text = text;
  const auto value = comma_is_point ? parse_local_number(text) : parse_number(text);
  const auto grouped = value ? value : parse_local_number(text);
  if (!grouped || !std::isfinite(*grouped)) return std::nullopt;
  figure.value = *grouped;
  if (text.find_first_of("eE") != std::string_view::npos) {
    figure.half_digit = std::abs(figure.value) * 5e-7;
    return figure;
  }
  const std::size_t point = text.find_last_of(comma_is_point ? ".," : ".");
  const auto decimals = point == std::string_view::npos ? 0.0 : static_cast<double>(text.size() - point - 1);
  figure.half_digit = 0.5 * std::pow(10.0, -decimals);
  return figure;
}

char delimiter_of(std::string_view header) {
  char best = ',';
  std::ptrdiff_t most = 0;
  for (const char c : {',', ';', '\t'}) {
    const auto count = std::count(header.begin(), header.end(), c);
    if (count > most) {
      most = count;
      best = c;
    }
  }
  return best;
}

std::optional<std::size_t> test_column(const std::vector<std::vector<std::string>>& records) {
  for (std::size_t column = 0; column < records.front().size(); ++column) {
    if (!test_of(records.front()[column])) continue;
    return column;
  }
  return std::nullopt;
}

struct Match {
  const Cell* cell = nullptr;
  std::string why_not;
};

// The cell that a line is about: of its test, the one whose words its label uses most.
Match match(const TableLine& line, const std::vector<Cell>& cells) {
  const std::set<std::string> label = word_set(line.label);
  std::size_t best = 0;
  std::vector<const Cell*> found;
  std::size_t of_test = 0;
  for (const Cell& cell : cells) {
    if (cell.test != line.test) continue;
    ++of_test;
    const std::size_t score = common_words(label, word_set(cell.about));
    if (score < best) continue;
    if (score > best) found.clear();
    best = score;
    found.push_back(&cell);
  }
  if (of_test == 0) return {nullptr, "no result has that test"};
  // Half of what the label says; a label that says nothing is about the only candidate.
  if (best * 2 < label.size()) return {nullptr, "no result is called that"};
  if (found.size() > 1) return {nullptr, "several results could be meant"};
  return {found.front(), ""};
}

double headline(const Samples& trials, bool six_digits) {
  std::vector<stats::Trial> rounded;
  for (const std::vector<double>& samples : trials) {
    stats::Trial trial{static_cast<std::int64_t>(rounded.size()), samples};
    if (six_digits) {
      for (double& sample : trial.samples) sample = std::strtod(fmt::format("{:.6g}", sample).c_str(), nullptr);
    }
    rounded.push_back(std::move(trial));
  }
  return stats::median_of_trial_medians(rounded);
}

std::string shown(double value) {
  return fmt::format("{:.9g}", value);
}

bool agrees(const PrintedFigure& printed, double ours) {
  // The least more than half a digit, for what binary fractions do to a five at the end.
  return std::abs(printed.value - ours) <= printed.half_digit * (1 + 1e-6) + std::abs(ours) * 1e-12;
}

}  // namespace

std::string_view figure_name(Figure figure) {
  switch (figure) {
    case Figure::kBareMetal:
      return "bare metal";
    case Figure::kStock:
      return "stock";
    case Figure::kUnlocked:
      return "unlocked";
    case Figure::kRatio:
      return "ratio";
    case Figure::kPercent:
      return "percent of bare metal";
  }
  return "";
}

std::optional<std::vector<TableLine>> parse_table(std::string_view text) {
  if (text.starts_with("\xEF\xBB\xBF")) text.remove_prefix(3);
  std::vector<std::string> header;
  std::vector<std::vector<std::string>> records;
  std::vector<std::size_t> numbers;
  char delimiter = ',';
  std::size_t number = 0;
  observe::for_each_line(text, [&](std::string_view line) {
    ++number;
    if (trim(line).empty() || records.size() >= kMostLines) return;
    std::vector<std::string> cells;
    if (header.empty()) {
      delimiter = delimiter_of(line);
      split_csv(line, delimiter, header);
    } else if (split_csv(line, delimiter, cells)) {
      records.push_back(std::move(cells));
      numbers.push_back(number);
    }
  });
  if (header.size() < 2 || records.empty()) return std::nullopt;
  const auto test = test_column(records);
  if (!test) return std::nullopt;
  std::map<std::size_t, Figure> figures;
  std::set<Figure> taken;
  for (std::size_t i = 0; i < header.size(); ++i) {
    const auto figure = figure_of(header[i]);
    if (figure && i != *test && taken.insert(*figure).second) figures.emplace(i, *figure);
  }
  if (figures.empty()) return std::nullopt;

  std::vector<TableLine> lines;
  for (std::size_t r = 0; r < records.size(); ++r) {
    TableLine line;
    line.line = numbers[r];
    for (std::size_t i = 0; i < records[r].size(); ++i) {
      const std::string& cell = records[r][i];
      const auto figure = figures.find(i);
      if (i == *test) {
        line.test = test_of(cell).value_or("");
      } else if (figure != figures.end()) {
        if (auto read = read_figure(cell, delimiter == ';')) line.figures.emplace(figure->second, std::move(*read));
      } else if (lower(cell).find("token") == std::string::npos && lower(cell) != "t/s" && !parse_number(cell)) {
        line.label += (line.label.empty() ? "" : " ") + std::string(trim(cell));
      }
    }
    if (!line.test.empty() && !line.figures.empty()) lines.push_back(std::move(line));
  }
  return lines;
}

std::map<Figure, double> figures_of(const Cell& cell, bool six_digits) {
  std::map<Figure, double> figures;
  if (!cell.bare_metal.empty()) figures[Figure::kBareMetal] = headline(cell.bare_metal, six_digits);
  if (!cell.stock.empty()) figures[Figure::kStock] = headline(cell.stock, six_digits);
  if (!cell.unlocked.empty()) figures[Figure::kUnlocked] = headline(cell.unlocked, six_digits);
  const auto divide = [&](Figure into, Figure denominator, double scale) {
    if (!figures.contains(Figure::kUnlocked) || !figures.contains(denominator)) return;
    figures[into] = scale * figures[Figure::kUnlocked] / figures[denominator];
  };
  divide(Figure::kRatio, Figure::kStock, 1);
  divide(Figure::kPercent, Figure::kBareMetal, 100);
  return figures;
}

TableCheck check_table(const std::string& name, const std::vector<TableLine>& lines, const std::vector<Cell>& cells) {
  TableCheck check;
  for (const TableLine& line : lines) {
    const std::string where = fmt::format("{} line {}", name, line.line);
    const Match about = match(line, cells);
    if (about.cell == nullptr) {
      check.notes.push_back(
          fmt::format("{} (\"{}\", {}) is not compared: {}", where, to_utf8(line.label), line.test, about.why_not));
      continue;
    }
    const auto exact = figures_of(*about.cell, false);
    const auto rounded = figures_of(*about.cell, true);
    for (const auto& [figure, printed] : line.figures) {
      const auto ours = exact.find(figure);
      if (ours == exact.end()) {
        check.notes.push_back(fmt::format("{}: {} {} of {} is not compared: no samples give it", where,
                                          figure_name(figure), printed.text, about.cell->name));
        continue;
      }
      if (agrees(printed, ours->second)) {
        ++check.exactly;
        continue;
      }
      if (agrees(printed, rounded.at(figure))) {
        ++check.rounded;
        continue;
      }
      check.findings.push_back(fmt::format("{}: {} of {} is {} there, {} from the samples", where, figure_name(figure),
                                           about.cell->name, printed.text, shown(ours->second)));
    }
  }
  return check;
}

}  // namespace capbench::imports::evidence
