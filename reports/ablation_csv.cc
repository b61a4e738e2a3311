#include <fmt/format.h>

#include <map>
#include <string_view>
#include <vector>

#include "reports/ablation_data.h"
#include "reports/csv_text.h"
#include "reports/text.h"

namespace capbench::reports {
namespace {

constexpr std::string_view kColumns[] = {"view",
                                         "suite",
                                         "suite_id",
                                         "machine",
                                         "machine_id",
                                         "build",
                                         "executable_sha256",
                                         "workload",
                                         "model",
                                         "model_kind",
                                         "test",
                                         "guest",
                                         "device",
                                         "arm",
                                         "mode",
                                         "status",
                                         "treatment",
                                         "quality",
                                         "n_trials",
                                         "n_samples",
                                         "median_ts",
                                         "median_low",
                                         "median_high",
                                         "median_interval",
                                         "median_estimator",
                                         "x_stock",
                                         "x_stock_low",
                                         "x_stock_high",
                                         "x_stock_interval",
                                         "percent_of_bare_metal",
                                         "percent_low",
                                         "percent_high",
                                         "gap_closed",
                                         "gap_low",
                                         "gap_high",
                                         "roofline_percent",
                                         "roofline_bound",
                                         "roofline_why_not",
                                         "roofline_compared",
                                         "roofline_source",
                                         "reported",
                                         "derived",
                                         "factor",
                                         "levels",
                                         "depends_on",
                                         "why",
                                         "condition",
                                         "removing_costs",
                                         "removing_low",
                                         "removing_high",
                                         "adding_gives",
                                         "adding_low",
                                         "adding_high",
                                         "expected",
                                         "expected_flags",
                                         "agreement",
                                         "margin",
                                         "floor",
                                         "floor_label",
                                         "sentence",
                                         "flags",
                                         "notes"};

using Values = std::map<std::string_view, std::string>;

void put(Values& values, std::string_view name, const std::optional<double>& number, double scale = 1) {
  if (number) values[name] = format_exact(*number * scale);
}

void put_subject(const AblationRow& row, Values& values) {
  values["suite"] = row.suite;
  values["suite_id"] = row.suite_id;
  values["machine"] = row.machine;
  values["machine_id"] = row.machine_id;
  values["build"] = row.build;
  values["executable_sha256"] = row.executable_sha256;
  values["workload"] = row.workload;
  values["model"] = row.model;
  values["model_kind"] = row.model_kind;
  values["test"] = row.test;
  values["guest"] = row.guest;
  values["device"] = row.device;
  put(values, "margin", row.margin);
  if (row.floor) put(values, "floor", row.floor->floor);
  if (row.floor) values["floor_label"] = row.floor->label;
  values["flags"] = fmt::format("{}", fmt::join(row.flags, "; "));
  values["notes"] = fmt::format("{}", fmt::join(row.notes, "; "));
}

std::string observed_text(const std::vector<Observed>& list) {
  std::vector<std::string> parts;
  for (const Observed& seen : list) {
    if (!seen.value.empty()) parts.push_back(fmt::format("{}={}", seen.name, seen.value));
  }
  return fmt::format("{}", fmt::join(parts, "; "));
}

void put_arm(const AblationArm& arm, Values& values) {
  values["view"] = "arm";
  values["arm"] = arm.name;
  values["mode"] = arm.mode;
  values["guest"] = arm.guest;
  values["device"] = arm.device;
  values["status"] = arm.status;
  values["treatment"] = arm.treatment;
  values["quality"] = arm.quality;
  if (arm.numbers.summary) {
    values["n_trials"] = fmt::format("{}", arm.numbers.summary->n_trials);
    values["n_samples"] = fmt::format("{}", arm.numbers.summary->n_samples);
  }
  if (const auto& median = arm.numbers.median) {
    put(values, "median_ts", median->median);
    put(values, "median_low", median->lo);
    put(values, "median_high", median->hi);
    values["median_interval"] = median->label;
    values["median_estimator"] = median->estimator;
  }
  if (const auto& stock = arm.numbers.against_reference; stock && stock->alone) {
    put(values, "x_stock", stock->alone->ratio);
    put(values, "x_stock_low", stock->alone->lo);
    put(values, "x_stock_high", stock->alone->hi);
    values["x_stock_interval"] = stock->alone->label;
  }
  if (const auto& bare = arm.numbers.against_bare_metal; bare && bare->alone) {
    put(values, "percent_of_bare_metal", bare->alone->ratio, 100);
    put(values, "percent_low", bare->alone->lo, 100);
    put(values, "percent_high", bare->alone->hi, 100);
  }
  if (const auto& gap = arm.numbers.gap) {
    put(values, "gap_closed", gap->share);
    put(values, "gap_low", gap->lo);
    put(values, "gap_high", gap->hi);
  }
  put(values, "roofline_percent", arm.roofline.percent);
  values["roofline_bound"] = arm.roofline.bound;
  values["roofline_why_not"] = arm.roofline.why;
  if (arm.roofline.percent) {
    values["roofline_compared"] = arm.roofline.compared ? "yes" : "no";
    values["roofline_source"] = arm.roofline.source;
  }
  values["reported"] = observed_text(arm.capabilities);
  values["derived"] = observed_text(arm.derived);
}

void put_factor(const AblationFactor& factor, Values& values) {
  values["view"] = "factor";
  values["factor"] = factor.factor.name;
  values["levels"] = fmt::format("{}", fmt::join(factor.factor.levels, "; "));
  values["depends_on"] = factor.depends;
  values["why"] = factor.why;
  values["condition"] = factor.condition;
  if (const auto* removing = stats::deciding(factor.removing); removing != nullptr) {
    const stats::Loss loss = stats::loss_of(*removing);
    put(values, "removing_costs", loss.value);
    put(values, "removing_low", loss.lo);
    put(values, "removing_high", loss.hi);
  }
  if (const auto* adding = stats::deciding(factor.adding); adding != nullptr) {
    put(values, "adding_gives", adding->ratio);
    put(values, "adding_low", adding->lo);
    put(values, "adding_high", adding->hi);
  }
  values["expected"] = factor.expected.verdict;
  values["expected_flags"] = fmt::format("{}", fmt::join(factor.expected.flags, "; "));
  values["agreement"] = factor.agreement;
}

void write(const Values& values, std::string& out) {
  std::vector<std::string> line;
  for (const std::string_view column : kColumns) {
    const auto found = values.find(column);
    line.push_back(found == values.end() ? "" : found->second);
  }
  write_csv_line(line, out);
}

}  // namespace

std::string ablation_csv(const AblationReport& report) {
  std::string out;
  write_csv_line({std::begin(kColumns), std::end(kColumns)}, out);
  for (const AblationRow& row : report.rows) {
    for (const AblationArm& arm : row.arms) {
      Values values;
      put_subject(row, values);
      put_arm(arm, values);
      write(values, out);
    }
    for (const AblationFamily& family : row.families) {
      for (const AblationFactor& factor : family.factors) {
        Values values;
        put_subject(row, values);
        put_factor(factor, values);
        if (family.dependence) values["sentence"] = family.dependence->sentence;
        write(values, out);
      }
    }
  }
  return out;
}

}  // namespace capbench::reports
