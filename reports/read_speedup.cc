#include "reports/read_speedup.h"

#include <nlohmann/json.hpp>
#include <utility>

#include "schema/restated.h"

namespace capbench::reports {

std::string suite_description(const std::string& suite_json) {
  const auto json = nlohmann::json::parse(suite_json, nullptr, false);
  if (!json.is_object()) return "";
  const auto found = json.find("description");
  return found != json.end() && found->is_string() ? found->get<std::string>() : "";
}

Result<SpeedupReport> read_speedup(schema::Store& store, const schema::TrialFilter& filter) {
  auto trials = store.trials(filter);
  if (!trials) return std::move(trials).error();
  std::erase_if(*trials, [](const schema::TrialView& view) { return schema::is_superseded(view.trial); });
  auto runs = store.runs("");
  if (!runs) return std::move(runs).error();
  Background background;
  for (const schema::RunRecord& run : *runs) background.capbench_by_run[run.id] = run.harness_version;
  for (const schema::TrialView& view : *trials) {
    const std::string& id = view.trial.suite_id;
    if (background.description_by_suite.contains(id)) continue;
    auto json = store.suite_json(id);
    if (!json) return std::move(json).error();
    background.description_by_suite[id] = *json ? suite_description(**json) : "";
  }
  return build_speedup(*trials, background);
}

}  // namespace capbench::reports
