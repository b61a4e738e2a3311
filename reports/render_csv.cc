#include "reports/render_csv.h"

#include <fmt/format.h>

#include <iterator>
#include <optional>
#include <string_view>
#include <vector>

#include "reports/csv_text.h"
#include "reports/group.h"
#include "reports/text.h"

namespace capbench::reports {
namespace {

constexpr std::string_view kModeColumns[] = {"bare_metal", "stock", "unlocked"};

void add_estimate(const std::optional<Estimate>& estimate, std::vector<std::string>& values) {
  values.push_back(estimate ? format_exact(estimate->value) : "");
  values.push_back(estimate && estimate->ci95 ? format_exact(estimate->ci95->low) : "");
  values.push_back(estimate && estimate->ci95 ? format_exact(estimate->ci95->high) : "");
  values.push_back(estimate ? estimate->interval : "");
  values.push_back(estimate ? estimate->estimator : "");
}

std::vector<std::string> header() {
  std::vector<std::string> names = {"suite",    "suite_id", "machine",    "machine_id", "build", "executable_sha256",
                                    "workload", "model",    "model_kind", "test",       "guest"};
  for (const std::string_view mode : kModeColumns) {
    for (const char* column : {"arm", "median_ts", "n_trials", "n_samples", "min_ts", "max_ts"}) {
      names.push_back(fmt::format("{}_{}", mode, column));
    }
  }
  for (const char* estimate : {"speedup", "percent_of_bare_metal"}) {
    names.emplace_back(estimate);
    for (const char* part : {"low", "high", "interval", "estimator"})
      names.push_back(fmt::format("{}_{}", estimate, part));
  }
  for (const char* name : {"treatment", "quality", "flags", "notes", "other_modes", "device", "measured_first",
                           "measured_last", "capbench", "targets"}) {
    names.emplace_back(name);
  }
  return names;
}

std::vector<std::string> values_of(const SpeedupRow& row) {
  std::vector<std::string> values = {
      row.suite,    row.suite_id, row.machine,    row.machine_id, row.build, row.executable_sha256,
      row.workload, row.model,    row.model_kind, row.test,       row.guest};
  for (std::size_t i = 0; i < std::size(kModeColumns); ++i) {
    const ModeSummary& mode = row.modes[i];
    values.push_back(mode.arm);
    values.push_back(mode.stats ? format_exact(mode.stats->median.value) : "");
    values.push_back(mode.stats ? fmt::format("{}", mode.stats->n_trials) : "");
    values.push_back(mode.stats ? fmt::format("{}", mode.stats->n_samples) : "");
    values.push_back(mode.stats ? format_exact(mode.stats->min_ts) : "");
    values.push_back(mode.stats ? format_exact(mode.stats->max_ts) : "");
  }
  add_estimate(row.speedup, values);
  add_estimate(row.percent_of_bare_metal, values);
  std::vector<std::string> others;
  for (std::size_t i = std::size(kModeColumns); i < row.modes.size(); ++i) {
    const ModeSummary& mode = row.modes[i];
    others.push_back(
        fmt::format("{}={}", mode_key(row, mode), mode.stats ? format_exact(mode.stats->median.value) : ""));
  }
  values.push_back(row.treatment);
  values.push_back(row.quality);
  values.push_back(fmt::format("{}", fmt::join(row.flags, "; ")));
  values.push_back(fmt::format("{}", fmt::join(row.notes, "; ")));
  values.push_back(fmt::format("{}", fmt::join(others, "; ")));
  values.push_back(row.device);
  values.push_back(row.measured_first);
  values.push_back(row.measured_last);
  values.push_back(fmt::format("{}", fmt::join(row.capbench, "; ")));
  std::vector<std::string> targets;
  for (const ModeSummary& mode : row.modes) {
    if (!mode.target.empty()) targets.push_back(fmt::format("{}={}", mode_key(row, mode), mode.target));
  }
  values.push_back(fmt::format("{}", fmt::join(targets, "; ")));
  return values;
}

}  // namespace

std::string render_csv(const SpeedupReport& report) {
  std::string out;
  write_csv_line(header(), out);
  for (const SpeedupRow& row : report.rows) write_csv_line(values_of(row), out);
  return out;
}

}  // namespace capbench::reports
