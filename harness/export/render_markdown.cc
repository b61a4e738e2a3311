#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>
#include <utility>

#include "harness/export/render.h"
#include "harness/export/values.h"
#include "harness/import/fields.h"
#include "harness/import/text.h"

namespace capbench::exports {
namespace {

using imports::Field;
using imports::FieldInfo;

// The settings in the order of llama-bench's table with what v0.5.0 takes when nothing is said. An empty default: it
// depends on the machine, and only a difference between rows shows the column.
constexpr auto kSettings = std::to_array<std::pair<Field, std::string_view>>(
    {{Field::kNCpuMoe, "0"},        {Field::kNThreads, ""},
     {Field::kCpuMask, "0x0"},      {Field::kCpuStrict, "0"},
     {Field::kPoll, "50"},          {Field::kNBatch, "2048"},
     {Field::kNUbatch, "512"},      {Field::kTypeK, "f16"},
     {Field::kTypeV, "f16"},        {Field::kMainGpu, "0"},
     {Field::kSplitMode, "layer"},  {Field::kNoKvOffload, "0"},
     {Field::kFlashAttn, "-1"},     {Field::kDevices, "auto"},
     {Field::kTensorSplit, "0.00"}, {Field::kTensorBuftOverrides, "none"},
     {Field::kLoadMode, "auto"},    {Field::kLazyMode, "auto"},
     {Field::kEmbeddings, "0"},     {Field::kNoOpOffload, "0"},
     {Field::kNoHost, "0"},         {Field::kFitTarget, "0"},
     {Field::kFitMinCtx, "0"}});

struct Line {
  const ExportRow* row;
  Values values;
};

struct TableColumn {
  std::string heading;
  int width;  // negative: aligned to the left
  std::string (*cell)(const Line& line, Field field);
  Field field;
};

// Cells must not end the column or the line.
std::string cell_text(std::string_view text) {
  std::string cell;
  for (const char c : text) {
    if (c == '|') cell.push_back('\\');
    cell.push_back(c == '\n' || c == '\r' || c == '\t' ? ' ' : c);
  }
  return printable(cell);
}

std::string setting_cell(const Line& line, Field field) {
  return cell_text(line.values.at(field).value_or(""));
}

std::string size_cell(const Line& line, Field) {
  const auto bytes = static_cast<double>(line.row->result.model_size);
  constexpr double kMib = 1024.0 * 1024.0;
  if (bytes <= 0) return "";
  return bytes < 1024 * kMib ? fmt::format("{:.2f} MiB", bytes / kMib) : fmt::format("{:.2f} GiB", bytes / kMib / 1024);
}

std::string parameters_cell(const Line& line, Field) {
  const auto count = static_cast<double>(line.row->result.model_n_params);
  if (count <= 0) return "";
  return count < 1e9 ? fmt::format("{:.2f} M", count / 1e6) : fmt::format("{:.2f} B", count / 1e9);
}

std::string test_cell(const Line& line, Field) {
  return cell_text(line.row->result.test);
}

std::string rate_cell(const Line& line, Field) {
  const auto number = [&](Field field) -> std::optional<double> {
    const auto& text = line.values.at(field);
    return text ? imports::parse_number(*text) : std::nullopt;
  };
  const auto mean = number(Field::kAvgTs);
  const auto deviation = number(Field::kStddevTs);
  if (!mean) return "";
  return deviation ? fmt::format("{:.2f} \xC2\xB1 {:.2f}", *mean, *deviation) : fmt::format("{:.2f}", *mean);
}

bool is_cpu_only(const std::string& backends) {
  for (const std::string_view name : {"CPU", "BLAS", "ZenDNN"}) {
    if (backends.find(name) != std::string::npos) return true;
  }
  return backends.empty();
}

bool is_shown(std::span<const Line> lines, Field field, std::string_view usual, bool is_cpu) {
  if (field == Field::kNThreads && is_cpu) return true;
  const auto& first = lines.front().values.at(field);
  return std::any_of(lines.begin(), lines.end(), [&](const Line& line) {
    const auto& value = line.values.at(field);
    return value != first || (value && !usual.empty() && *value != usual);
  });
}

std::vector<TableColumn> columns_for(std::span<const Line> lines) {
  const bool is_cpu =
      std::all_of(lines.begin(), lines.end(), [](const Line& line) { return is_cpu_only(line.row->result.backends); });
  std::vector<TableColumn> columns{{"model", -30, setting_cell, Field::kModelType},
                                   {"size", 10, size_cell, Field::kModelSize},
                                   {"params", 10, parameters_cell, Field::kModelNParams},
                                   {"backend", -10, setting_cell, Field::kBackends}};
  const auto add = [&](Field field) {
    const FieldInfo& known = imports::info(field);
    columns.push_back({std::string(known.heading), known.width, setting_cell, field});
  };
  if (!is_cpu) add(Field::kNGpuLayers);
  for (const auto& [field, usual] : kSettings) {
    if (is_shown(lines, field, usual, is_cpu)) add(field);
  }
  columns.push_back({"test", 15, test_cell, Field::kNPrompt});
  columns.push_back({"t/s", 20, rate_cell, Field::kAvgTs});
  return columns;
}

// Columns on the screen, not bytes.
std::size_t displayed(std::string_view text) {
  return static_cast<std::size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xC0U) != 0x80; }));
}

void append_cell(std::string& out, const std::string& text, int width) {
  const auto wanted = static_cast<std::size_t>(std::abs(width));
  const std::string padding(wanted > displayed(text) ? wanted - displayed(text) : 0, ' ');
  out += width < 0 ? " " + text + padding + " |" : " " + padding + text + " |";
}

void append_table(std::string& out, std::span<const Line> lines) {
  const std::vector<TableColumn> columns = columns_for(lines);
  out += "|";
  for (const TableColumn& column : columns) append_cell(out, column.heading, column.width);
  out += "\n|";
  for (const TableColumn& column : columns) {
    out += " " + std::string(static_cast<std::size_t>(std::abs(column.width)) - 1, '-') +
           (column.width > 0 ? ":" : "-") + " |";
  }
  out += "\n";
  for (const Line& line : lines) {
    out += "|";
    for (const TableColumn& column : columns) append_cell(out, column.cell(line, column.field), column.width);
    out += "\n";
  }
}

std::string build_of(const Line& line) {
  const auto& commit = line.values.at(Field::kBuildCommit);
  if (!commit) return "";
  const auto& number = line.values.at(Field::kBuildNumber);
  return number ? fmt::format("{} ({})", *commit, *number) : *commit;
}

}  // namespace

std::string render_markdown(std::span<const ExportRow> rows) {
  std::vector<Line> lines;
  lines.reserve(rows.size());
  for (const ExportRow& row : rows) lines.push_back({&row, values_of(row)});
  std::string out;
  for (std::size_t start = 0; start < lines.size();) {
    const std::string build = build_of(lines[start]);
    std::size_t end = start;
    while (end < lines.size() && build_of(lines[end]) == build) ++end;
    if (!out.empty()) out += "\n";
    append_table(out, std::span(lines).subspan(start, end - start));
    if (!build.empty()) out += "\nbuild: " + printable(build) + "\n";
    start = end;
  }
  return out;
}

}  // namespace capbench::exports
