#include "reports/read_ablation.h"

#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>
#include <system_error>
#include <utility>

#include "harness/suite/suite.h"
#include "models/catalog.h"
#include "models/gguf.h"
#include "reports/read_speedup.h"

namespace capbench::reports {
namespace {

std::optional<ModelReads> reads_of_file(const schema::ClosureMember& member) {
  std::error_code error;
  const std::filesystem::path path = member.path;
  if (!std::filesystem::is_regular_file(path, error) ||
      std::filesystem::file_size(path, error) != member.artifact.size) {
    return std::nullopt;
  }
  const auto gguf = models::read_gguf(path);
  return gguf.ok() ? std::optional(reads_of(*gguf)) : std::nullopt;
}

// A twin's shape says what it reads; of a catalog entry the same where the shape is known.
std::optional<ModelReads> reads_of_shape(const suite::Model& model) {
  const std::string& name = model.like.empty() ? model.catalog : model.like;
  if (name.empty()) return std::nullopt;
  const auto shape = models::find_shape(name);
  return shape.ok() ? reads_of(*shape) : std::nullopt;
}

void read_models(const std::vector<schema::TrialView>& trials, AblationBackground& background) {
  for (const auto& [id, suite] : background.suites) {
    for (const suite::Model& model : suite.models) {
      if (auto reads = reads_of_shape(model)) background.reads[{id, model.name}] = *reads;
    }
  }
  std::set<std::string> looked_at;  // model files
  for (const schema::TrialView& view : trials) {
    const std::pair<std::string, std::string> key = {view.trial.suite_id, view.trial.model};
    const auto closure = background.closures.find(view.trial.closure_id);
    if (background.reads.contains(key) || closure == background.closures.end()) continue;
    for (const schema::ClosureMember& member : closure->second) {
      if (member.role != "model" || !looked_at.insert(member.path).second) continue;
      if (const auto reads = reads_of_file(member)) background.reads[key] = *reads;
    }
  }
}

std::optional<std::int64_t> gpu_cores_of(const std::string& environment) {
  const auto json = nlohmann::json::parse(environment, nullptr, false);
  if (!json.is_object()) return std::nullopt;
  const auto found = json.find("gpu_cores");
  if (found == json.end() || !found->is_number_integer()) return std::nullopt;
  return found->get<std::int64_t>();
}

Status read_suite(schema::Store& store, const std::string& id, AblationBackground& background) {
  if (background.names.description_by_suite.contains(id)) return {};
  auto json = store.suite_json(id);
  if (!json) return std::move(json).error();
  background.names.description_by_suite[id] = *json ? suite_description(**json) : "";
  auto runs = store.runs(id);
  if (!runs) return std::move(runs).error();
  for (const schema::RunRecord& run : *runs) background.names.capbench_by_run[run.id] = run.harness_version;
  if (*json) {
    auto suite = suite::parse_suite(**json);
    if (suite.ok()) background.suites.emplace(id, std::move(*suite));
  }
  return {};
}

Status read_closure(schema::Store& store, const std::string& id, AblationBackground& background) {
  if (id.empty() || background.closures.contains(id)) return {};
  auto closure = store.closure(id);
  if (!closure) return std::move(closure).error();
  background.closures[id] = *closure ? std::move((*closure)->members) : std::vector<schema::ClosureMember>{};
  return {};
}

}  // namespace

Result<AblationBackground> read_background(schema::Store& store, const std::vector<schema::TrialView>& trials) {
  AblationBackground background;
  std::set<std::string> environments;
  for (const schema::TrialView& view : trials) {
    if (Status read = read_suite(store, view.trial.suite_id, background); !read) return std::move(read).error();
    if (Status read = read_closure(store, view.trial.closure_id, background); !read) return std::move(read).error();
    if (view.trial.environment_id.empty() || !environments.insert(view.trial.environment_id).second) continue;
    auto environment = store.environment(view.trial.environment_id);
    if (!environment) return std::move(environment).error();
    if (!*environment) continue;
    if (const auto cores = gpu_cores_of((*environment)->json)) background.gpu_cores[view.trial.environment_id] = *cores;
  }
  read_models(trials, background);
  auto sources = load_sources();
  if (!sources) return std::move(sources).error();
  background.sources = std::move(*sources);
  return background;
}

Result<AblationReport> read_ablation(schema::Store& store, const schema::TrialFilter& filter) {
  auto trials = store.trials(filter);
  if (!trials) return std::move(trials).error();
  auto background = read_background(store, *trials);
  if (!background) return std::move(background).error();
  return build_ablation(*trials, *background);
}

}  // namespace capbench::reports
