#include "harness/export/values.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "base/utf8.h"
#include "harness/stats/summary.h"

namespace capbench::exports {
namespace {

using imports::Field;
using nlohmann::json;

std::string dump(const json& value) {
  return value.dump(-1, ' ', false, json::error_handler_t::replace);
}

// A JSON value as llama-bench's formats without types print it.
std::optional<std::string> plain(const json& value) {
  if (value.is_null()) return std::nullopt;
  if (value.is_string()) return value.get<std::string>();
  if (value.is_boolean()) return value.get<bool>() ? "1" : "0";
  return dump(value);
}

struct Statistics {
  double mean = 0;
  double deviation = 0;
};

Statistics statistics(const std::vector<double>& values) {
  Statistics result;
  const auto n = static_cast<double>(values.size());
  for (const double value : values) result.mean += value / n;
  if (values.size() < 2) return result;
  double squares = 0;
  for (const double value : values) squares += (value - result.mean) * (value - result.mean);
  result.deviation = std::sqrt(squares / (n - 1));
  return result;
}

void set(Values& values, Field field, std::string text) {
  values.current.at(static_cast<std::size_t>(field)) = std::move(text);
}

void set_if_unknown(Values& values, Field field, const std::string& text) {
  if (!text.empty() && !values.at(field)) set(values, field, text);
}

void add_samples(const ExportRow& row, Values& values) {
  const auto& samples = row.result.samples_ns;
  const std::vector<double> rates = stats::tokens_per_second(row.result.n_prompt + row.result.n_gen, samples);
  std::vector<double> times;
  for (const std::int64_t ns : samples) times.push_back(static_cast<double>(ns));
  const Statistics time = statistics(times);
  const Statistics rate = statistics(rates);
  set(values, Field::kAvgNs, fmt::format("{:.0f}", std::floor(time.mean)));
  set(values, Field::kStddevNs, fmt::format("{:.0f}", std::floor(time.deviation)));
  set(values, Field::kAvgTs, fmt::format("{:.6f}", rate.mean));
  set(values, Field::kStddevTs, fmt::format("{:.6f}", rate.deviation));
  values.samples_ns = fmt::format("[{}]", fmt::join(samples, ", "));
  // Six significant digits, as a C++ stream prints a double.
  for (const double value : rates)
    values.samples_ts += fmt::format("{}{:g}", values.samples_ts.empty() ? "[" : ", ", value);
  values.samples_ts += "]";
}

void add_stated(const ExportRow& row, Values& values) {
  if (row.mean_ts) set(values, Field::kAvgTs, fmt::format("{}", *row.mean_ts));
  if (row.stddev_ts) set(values, Field::kStddevTs, fmt::format("{}", *row.stddev_ts));
  // llama-bench's way to say that there was one repetition.
  if (row.repetitions == 1) set(values, Field::kStddevTs, "0.000000");
}

// "abc1234 (7)" or "abc1234".
void add_build(const std::string& build, Values& values) {
  const std::size_t space = build.find(" (");
  set_if_unknown(values, Field::kBuildCommit, build.substr(0, space));
  if (space == std::string::npos || !build.ends_with(')')) return;
  const std::string number = build.substr(space + 2, build.size() - space - 3);
  const bool is_number =
      !number.empty() && std::all_of(number.begin(), number.end(), [](char c) { return c >= '0' && c <= '9'; });
  if (is_number) set_if_unknown(values, Field::kBuildNumber, number);
}

void add_origin(const Origin& origin, Values& values) {
  if (origin.trial.empty()) return;
  values.arm = {origin.arm,     origin.mode,          origin.guest, origin.workload, origin.model, origin.model_kind,
                origin.machine, origin.machine_label, origin.suite, origin.suite_id, origin.run};
  values.trial = {origin.trial, std::to_string(origin.block)};
}

}  // namespace

std::vector<Column> table_columns() {
  std::vector<Column> columns;
  for (const imports::FieldInfo& field : imports::fields().first(imports::kCurrentFields)) {
    if (field.field == Field::kNPrompt) {
      for (const std::string_view name : kArmNames) columns.push_back({name, imports::FieldType::kText, std::nullopt});
    }
    columns.push_back({field.name, field.type, field.field});
  }
  columns.push_back({imports::kOriginTrial, imports::FieldType::kText, std::nullopt});
  columns.push_back({imports::kOriginBlock, imports::FieldType::kInteger, std::nullopt});
  columns.push_back({"samples_ns", imports::FieldType::kText, std::nullopt});
  return columns;
}

std::vector<std::optional<std::string>> table_values(const Values& values) {
  std::vector<std::optional<std::string>> row;
  for (std::size_t i = 0; i < values.current.size(); ++i) {
    if (i == static_cast<std::size_t>(Field::kNPrompt)) row.insert(row.end(), values.arm.begin(), values.arm.end());
    row.push_back(values.current.at(i));
  }
  row.insert(row.end(), values.trial.begin(), values.trial.end());
  row.push_back(values.samples_ns.empty() ? std::nullopt : std::optional(values.samples_ns));
  return row;
}

std::string printable(std::string_view text) {
  std::string shown;
  while (!text.empty()) {
    std::string_view rest = text;
    take_character(rest);
    const std::string_view character = text.substr(0, text.size() - rest.size());
    shown += is_printable(character) ? character : std::string_view("\xEF\xBF\xBD");
    text = rest;
  }
  return shown;
}

Values values_of(const ExportRow& row) {
  Values values;
  const schema::ResultRecord& result = row.result;
  const json fields = json::parse(result.fields, nullptr, false);
  if (fields.is_object()) {
    for (const auto& [name, value] : fields.items()) {
      const auto field = imports::field_named(name);
      if (field && static_cast<std::size_t>(*field) < imports::kCurrentFields) {
        if (auto text = plain(value)) set(values, *field, std::move(*text));
      } else if (field != Field::kSamplesNs && field != Field::kSamplesTs &&
                 !name.starts_with(imports::kOriginPrefix)) {
        values.others.emplace_back(name, dump(value));
      }
    }
  }
  set(values, Field::kNPrompt, std::to_string(result.n_prompt));
  set(values, Field::kNGen, std::to_string(result.n_gen));
  if (result.n_depth > 0) set(values, Field::kNDepth, std::to_string(result.n_depth));
  add_build(result.build, values);
  set_if_unknown(values, Field::kModelType, result.model_type);
  set_if_unknown(values, Field::kBackends, result.backends);
  set_if_unknown(values, Field::kCpuInfo, result.cpu_info);
  set_if_unknown(values, Field::kGpuInfo, result.gpu_info);
  if (result.model_size > 0) set_if_unknown(values, Field::kModelSize, std::to_string(result.model_size));
  if (result.model_n_params > 0) set_if_unknown(values, Field::kModelNParams, std::to_string(result.model_n_params));
  // llama-bench gives whole seconds.
  if (row.started_at.size() >= 19) set_if_unknown(values, Field::kTestTime, row.started_at.substr(0, 19) + "Z");
  add_origin(row.origin, values);
  if (result.samples_ns.empty()) {
    add_stated(row, values);
  } else {
    add_samples(row, values);
  }
  return values;
}

}  // namespace capbench::exports
