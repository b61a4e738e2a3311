#include "reports/render_json.h"

#include <nlohmann/json.hpp>

#include "reports/group.h"
#include "reports/json_text.h"
#include "reports/text.h"

namespace capbench::reports {
namespace {

using Json = OrderedJson;

Json mode_json(const ModeSummary& mode) {
  if (!mode.stats) return nullptr;
  return {
      {"median_ts", mode.stats->median.value},
      {"n_samples", mode.stats->n_samples},
      {"n_trials", mode.stats->n_trials},
      {"min_ts", mode.stats->min_ts},
      {"max_ts", mode.stats->max_ts},
      {"ci95", interval_json(mode.stats->median.ci95)},
      {"interval", mode.stats->median.interval},
      {"estimator", mode.stats->median.estimator},
  };
}

Json speedup_json(const std::optional<Estimate>& speedup) {
  if (!speedup) return nullptr;
  return {
      {"ratio", speedup->value},
      {"ci95", interval_json(speedup->ci95)},
      {"interval", speedup->interval},
      {"estimator", speedup->estimator},
  };
}

Json percent_json(const std::optional<Estimate>& percent) {
  if (!percent) return nullptr;
  return {
      {"value", percent->value},
      {"ci95", interval_json(percent->ci95)},
      {"interval", percent->interval},
      {"estimator", percent->estimator},
  };
}

Json not_ok_json(const NotOk& entry) {
  return {
      {"mode", valid_utf8(entry.mode)}, {"arm", valid_utf8(entry.arm)},       {"status", valid_utf8(entry.status)},
      {"count", entry.count},           {"reason", valid_utf8(entry.reason)}, {"trials", texts(entry.trials)},
  };
}

Json row_json(const SpeedupRow& row) {
  Json modes = Json::object();
  Json arms = Json::object();
  Json devices = Json::object();
  Json targets = Json::object();
  for (const ModeSummary& mode : row.modes) {
    const std::string name = mode_key(row, mode);
    modes[name] = mode_json(mode);
    arms[name] = text_or_null(mode.arm);
    devices[name] = text_or_null(mode.device);
    targets[name] = text_or_null(mode.target);
  }
  Json not_ok = Json::array();
  for (const NotOk& entry : row.not_ok) not_ok.push_back(not_ok_json(entry));
  return {
      {"suite", valid_utf8(row.suite)},
      {"machine", valid_utf8(row.machine)},
      {"build", valid_utf8(row.build)},
      {"workload", valid_utf8(row.workload)},
      {"model", valid_utf8(row.model)},
      {"test", text_or_null(row.test)},
      {"guest", text_or_null(row.guest)},
      {"modes", std::move(modes)},
      {"speedup", speedup_json(row.speedup)},
      {"percent_of_bare_metal", percent_json(row.percent_of_bare_metal)},
      {"treatment", row.treatment},
      {"quality", row.quality},
      {"flags", texts(row.flags)},
      {"suite_id", valid_utf8(row.suite_id)},
      {"machine_id", valid_utf8(row.machine_id)},
      {"executable_sha256", text_or_null(row.executable_sha256)},
      {"model_kind", valid_utf8(row.model_kind)},
      {"arms", std::move(arms)},
      {"runs", texts(row.runs)},
      {"not_ok", std::move(not_ok)},
      {"notes", texts(row.notes)},
      {"device", text_or_null(row.device)},
      {"devices", std::move(devices)},
      {"targets", std::move(targets)},
      {"measured", measured_json(row)},
      {"capbench", texts(row.capbench)},
      {"suite_description", text_or_null(row.suite_description)},
  };
}

}  // namespace

std::string render_json(const SpeedupReport& report) {
  Json rows = Json::array();
  for (const SpeedupRow& row : report.rows) rows.push_back(row_json(row));
  const Json document = {{"report", "speedup"}, {"rows", std::move(rows)}};
  return document.dump(2) + "\n";
}

}  // namespace capbench::reports
