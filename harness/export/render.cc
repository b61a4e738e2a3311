#include "harness/export/render.h"

#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "base/utf8.h"
#include "harness/export/values.h"
#include "harness/import/csv.h"
#include "harness/import/json_scan.h"
#include "harness/import/sql.h"
#include "harness/import/text.h"
#include "schema/restated.h"

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

// The line with \u and a number in the place of what cannot be shown. Outside texts JSON is ASCII, and control
// characters within them are escaped already.
std::string escaped(std::string_view line) {
  std::string shown;
  while (!line.empty()) {
    std::string_view rest = line;
    const auto code = static_cast<unsigned>(take_character(rest));
    const std::string_view character = line.substr(0, line.size() - rest.size());
    line = rest;
    if (is_printable(character)) {
      shown += character;
    } else if (code < 0x10000U) {
      shown += fmt::format("\\u{:04x}", code);
    } else {
      shown += fmt::format("\\u{:04x}\\u{:04x}", 0xD7C0U + (code >> 10U), 0xDC00U + (code & 0x3FFU));
    }
  }
  return shown;
}

// Spreadsheets compute what begins like a formula (OWASP, CSV injection). Numbers may begin with a sign.
std::string csv_cell(const std::optional<std::string>& value) {
  if (!value) return "\"\"";
  std::string text = printable(*value);
  constexpr std::string_view kFormula = "=+-@";
  const bool is_formula = !text.empty() && kFormula.find(text[0]) != std::string_view::npos;
  if (is_formula && !imports::parse_number(text)) text.insert(text.begin(), '\'');
  return imports::quote_csv(text);
}

// Why nobody can have measured this; empty if somebody can. An import would say the same of such a row.
std::string impossible_counts(std::int64_t n_prompt, std::int64_t n_gen, std::int64_t n_depth) {
  constexpr std::int64_t kMost = 1'000'000'000;
  for (const std::int64_t count : {n_prompt, n_gen, n_depth}) {
    if (count < 0 || count > kMost) return fmt::format("{} tokens", count);
  }
  return n_prompt + n_gen == 0 ? "no tokens" : "";
}

std::string impossible(const schema::ResultRecord& result) {
  if (std::string why = impossible_counts(result.n_prompt, result.n_gen, result.n_depth); !why.empty()) return why;
  if (result.samples_ns.empty()) return "no samples";
  for (const std::int64_t ns : result.samples_ns) {
    if (ns <= 0) return fmt::format("a sample of {} ns", ns);
  }
  return "";
}

std::string impossible(const schema::StatedResultRecord& stated) {
  if (std::string why = impossible_counts(stated.n_prompt, stated.n_gen, stated.n_depth); !why.empty()) return why;
  if (!std::isfinite(stated.mean_ts) || stated.mean_ts <= 0)
    return fmt::format("a mean of {} tokens/s", stated.mean_ts);
  if (stated.stddev_ts && (!std::isfinite(*stated.stddev_ts) || *stated.stddev_ts < 0)) {
    return fmt::format("a deviation of {} tokens/s", *stated.stddev_ts);
  }
  return "";
}

// The trial's own words, or those of the export that the store knows it from: it is still the same trial.
Origin origin_of(const schema::TrialView& view) {
  const schema::TrialRecord& trial = view.trial;
  const std::string_view fields = !trial.results.empty()  ? std::string_view(trial.results.front().fields)
                                  : !trial.stated.empty() ? std::string_view(trial.stated.front().fields)
                                                          : std::string_view();
  Origin origin{trial.id,       trial.arm,        trial.mode,      trial.guest,        trial.workload,
                trial.model,    trial.model_kind, view.machine_id, view.machine_label, view.suite_name,
                trial.suite_id, trial.run_id,     trial.block};
  if (schema::restated_trial(fields).empty()) return origin;
  const nlohmann::json said = nlohmann::json::parse(fields, nullptr, false);
  const auto take = [&](std::string_view name, std::string& text) {
    const auto found = said.find(name);
    if (found != said.end() && found->is_string()) text = found->get<std::string>();
  };
  take(imports::kOriginTrial, origin.trial);
  take(imports::kOriginSuite, origin.suite);
  take(imports::kOriginSuiteId, origin.suite_id);
  take(imports::kOriginRun, origin.run);
  return origin;
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

ExportRows export_rows(std::span<const schema::TrialView> trials) {
  ExportRows all;
  for (const schema::TrialView& view : trials) {
    // Warm-up and verbose trials are nobody's result.
    if (view.trial.status != "ok" || view.trial.block < 0) continue;
    const auto is_left_out = [&](const auto& result) {
      const std::string why = impossible(result);
      if (why.empty()) return false;
      constexpr std::size_t kShown = 12;
      all.left_out.push_back(
          fmt::format("trial {}: {}: {}", printable(view.trial.id.substr(0, kShown)), printable(result.test), why));
      return true;
    };
    for (const schema::ResultRecord& result : view.trial.results) {
      if (is_left_out(result)) continue;
      all.rows.push_back({result, std::nullopt, std::nullopt, std::nullopt, view.trial.started_at, origin_of(view)});
    }
    for (const schema::StatedResultRecord& stated : view.trial.stated) {
      if (is_left_out(stated)) continue;
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
      all.rows.push_back({std::move(result), stated.mean_ts, stated.stddev_ts, stated.repetitions,
                          view.trial.started_at, origin_of(view)});
    }
  }
  return all;
}

std::string render_jsonl(std::span<const ExportRow> rows) {
  std::string out;
  for (const ExportRow& row : rows) {
    const Values values = values_of(row);
    std::string line;
    const auto add = [&](std::string_view name, std::string_view value) {
      line += line.empty() ? "{" : ", ";
      imports::append_json_string(line, name);
      line.append(": ").append(value);
    };
    const auto add_texts = [&](const auto& names, const auto& texts) {
      for (std::size_t i = 0; i < names.size(); ++i) {
        std::string text;
        if (!texts.at(i) || texts.at(i)->empty()) continue;
        imports::append_json_string(text, *texts.at(i));
        add(names.at(i), text);
      }
    };
    for (const FieldInfo& field : current_fields()) {
      if (field.field == imports::Field::kNPrompt) add_texts(kArmNames, values.arm);
      const auto& value = values.at(field.field);
      add(field.name, value ? json_value(field, *value) : "null");
    }
    for (const auto& [name, value] : values.others) add(name, value);
    add_texts(kTrialNames, values.trial);
    if (!values.samples_ns.empty()) {
      add("samples_ns", values.samples_ns);
      add("samples_ts", values.samples_ts);
    }
    out += escaped(line) + "}\n";
  }
  return out;
}

std::string render_csv(std::span<const ExportRow> rows) {
  std::string out;
  for (const Column& column : table_columns()) out.append(out.empty() ? "" : ",").append(column.name);
  out += "\n";
  for (const ExportRow& row : rows) {
    std::string line;
    for (const auto& value : table_values(values_of(row))) line += (line.empty() ? "" : ",") + csv_cell(value);
    out += line + "\n";
  }
  return out;
}

std::string render_sql(std::span<const ExportRow> rows) {
  std::string columns;
  std::string names;
  for (const Column& column : table_columns()) {
    columns += fmt::format("{}  {} {}", columns.empty() ? "" : ",\n", column.name, sql_type(column.type));
    names += fmt::format("{}{}", names.empty() ? "" : ", ", column.name);
  }
  std::string out = fmt::format("CREATE TABLE IF NOT EXISTS llama_bench (\n{}\n);\n\n", columns);
  for (const ExportRow& row : rows) {
    std::string values;
    for (const auto& value : table_values(values_of(row))) {
      values += (values.empty() ? "" : ", ") + (value ? imports::quote_sql(printable(*value)) : "NULL");
    }
    out += fmt::format("INSERT INTO llama_bench ({}) VALUES ({});\n", names, values);
  }
  return out;
}

}  // namespace capbench::exports
