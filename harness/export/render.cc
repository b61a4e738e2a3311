#include "harness/export/render.h"

#include <fmt/format.h>

#include "harness/export/values.h"
#include "harness/import/csv.h"
#include "harness/import/json_scan.h"
#include "harness/import/sql.h"
#include "harness/import/text.h"

namespace capbench::exports {
namespace {

using imports::FieldInfo;
using imports::FieldType;

std::span<const FieldInfo> current_fields() {
  return imports::fields().first(imports::kCurrentFields);
}

// A value with the type that llama-bench's JSON has for its field.
std::string json_value(const FieldInfo& field, const std::string& value) {
  if (field.type == FieldType::kBool && (value == "0" || value == "1")) return value == "0" ? "false" : "true";
  if ((field.type == FieldType::kInteger || field.type == FieldType::kReal) && imports::is_json_number(value))
    return value;
  std::string text;
  imports::append_json_string(text, value);
  return text;
}

std::string_view sql_type(FieldType type) {
  switch (type) {
    case FieldType::kBool:
    case FieldType::kInteger:
      return "INTEGER";
    case FieldType::kReal:
      return "REAL";
    default:
      return "TEXT";
  }
}

}  // namespace

std::vector<ExportRow> export_rows(std::span<const schema::TrialView> trials) {
  std::vector<ExportRow> rows;
  for (const schema::TrialView& view : trials) {
    // Warm-up and verbose trials are nobody's result.
    if (view.trial.status != "ok" || view.trial.block < 0) continue;
    for (const schema::ResultRecord& result : view.trial.results) {
      rows.push_back({result, std::nullopt, std::nullopt, std::nullopt, view.trial.started_at});
    }
    for (const schema::StatedResultRecord& stated : view.trial.stated) {
      schema::ResultRecord result;
      result.test = stated.test;
      result.build = stated.build;
      result.n_prompt = stated.n_prompt;
      result.n_gen = stated.n_gen;
      result.n_depth = stated.n_depth;
      result.model_type = stated.model_type;
      result.model_size = stated.model_size;
      result.model_n_params = stated.model_n_params;
      result.backends = stated.backends;
      result.cpu_info = stated.cpu_info;
      result.gpu_info = stated.gpu_info;
      result.fields = stated.fields;
      rows.push_back({std::move(result), stated.mean_ts, stated.stddev_ts, stated.repetitions, view.trial.started_at});
    }
  }
  return rows;
}

std::string render_jsonl(std::span<const ExportRow> rows) {
  std::string out;
  for (const ExportRow& row : rows) {
    const Values values = values_of(row);
    char separator = '{';
    const auto add = [&](std::string_view name, std::string_view value) {
      out.push_back(separator);
      if (separator == ',') out.push_back(' ');
      imports::append_json_string(out, name);
      out.append(": ").append(value);
      separator = ',';
    };
    for (const FieldInfo& field : current_fields()) {
      const auto& value = values.at(field.field);
      add(field.name, value ? json_value(field, *value) : "null");
    }
    for (const auto& [name, value] : values.others) add(name, value);
    if (!values.samples_ns.empty()) {
      add("samples_ns", values.samples_ns);
      add("samples_ts", values.samples_ts);
    }
    out += "}\n";
  }
  return out;
}

std::string render_csv(std::span<const ExportRow> rows) {
  std::string out;
  for (const FieldInfo& field : current_fields()) out.append(field.name).push_back(',');
  out += "samples_ns\n";
  for (const ExportRow& row : rows) {
    const Values values = values_of(row);
    for (const auto& value : values.current) out.append(imports::quote_csv(value.value_or(""))).push_back(',');
    out.append(imports::quote_csv(values.samples_ns)).push_back('\n');
  }
  return out;
}

std::string render_sql(std::span<const ExportRow> rows) {
  std::string out = "CREATE TABLE IF NOT EXISTS llama_bench (\n";
  std::string names;
  for (const FieldInfo& field : current_fields()) {
    out += fmt::format("  {} {},\n", field.name, sql_type(field.type));
    names += fmt::format("{}, ", field.name);
  }
  out += "  samples_ns TEXT\n);\n\n";
  names += "samples_ns";
  for (const ExportRow& row : rows) {
    const Values values = values_of(row);
    out += fmt::format("INSERT INTO llama_bench ({}) VALUES (", names);
    for (const auto& value : values.current) out.append(value ? imports::quote_sql(*value) : "NULL").append(", ");
    out.append(values.samples_ns.empty() ? "NULL" : imports::quote_sql(values.samples_ns)).append(");\n");
  }
  return out;
}

}  // namespace capbench::exports
