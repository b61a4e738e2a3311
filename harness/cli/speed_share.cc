#include "harness/cli/speed_share.h"

#include <fmt/format.h>

#include <map>
#include <mutex>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>

#include "models/catalog.h"
#include "reports/device.h"
#include "reports/devices.h"
#include "reports/roofline.h"

namespace capbench::cli {

class CatalogReads {
 public:
  // Nothing for a name that the catalog has no shape of.
  std::optional<reports::ModelReads> of(const std::string& name) {
    const std::lock_guard lock(mutex_);
    if (const auto found = known_.find(name); found != known_.end()) return found->second;
    const auto shape = models::find_shape(name);
    // Names that others make up are not remembered.
    if (!shape) return std::nullopt;
    return known_.emplace(name, reports::reads_of(*shape)).first->second;
  }

 private:
  std::mutex mutex_;
  std::map<std::string, std::optional<reports::ModelReads>> known_;
};

namespace {

// Of the machine's only GPU, where its facts say it: chips of one name differ in it.
std::optional<std::int64_t> gpu_cores_of(std::string_view environment) {
  const auto facts = nlohmann::json::parse(environment, nullptr, false);
  if (!facts.is_object() || !facts.contains("gpus")) return std::nullopt;
  const auto& gpus = facts["gpus"];
  if (!gpus.is_array() || gpus.size() != 1 || !gpus[0].is_object()) return std::nullopt;
  const auto cores = gpus[0].find("cores");
  if (cores == gpus[0].end() || !cores->is_number_integer()) return std::nullopt;
  return cores->get<std::int64_t>();
}

// By the tensors where the catalog knows the shape, else by what llama-bench printed of the file.
std::optional<reports::ModelReads> reads_of(const verify::SpeedQuestion& asked, CatalogReads& catalog) {
  const std::string name = asked.model == nullptr      ? ""
                           : asked.model->like.empty() ? asked.model->catalog
                                                       : asked.model->like;
  const auto known = name.empty() ? std::nullopt : catalog.of(name);
  return known ? known : reports::reads_of(asked.result);
}

// By facts, of one bundle's machines.
using GpuCores = std::map<std::string, std::optional<std::int64_t>, std::less<>>;

// Facts of one machine are parsed once.
std::optional<std::int64_t> gpu_cores(std::string_view environment, GpuCores& known) {
  auto found = known.find(environment);
  if (found == known.end()) found = known.emplace(std::string(environment), gpu_cores_of(environment)).first;
  return found->second;
}

verify::SpeedShare speed_share(const verify::SpeedQuestion& asked, CatalogReads& catalog, GpuCores& cores) {
  verify::SpeedShare share;
  const std::string device = reports::device_of(asked.result);
  const auto limits = reports::find_device(device, gpu_cores(asked.environment, cores));
  if (!limits) {
    share.why = "unknown device";
    return share;
  }
  const reports::RooflineShare found = reports::roofline_share(asked.tokens_per_second, asked.result.n_prompt,
                                                               asked.result.n_gen, limits, reads_of(asked, catalog));
  share.percent = found.percent;
  share.why = found.why;
  share.approximate = found.approximate;
  if (found.percent) {
    share.of = fmt::format("the {} of {} ({}{})", found.bound, device, found.source,
                           found.compared ? "" : "; a figure that nobody published");
  }
  return share;
}

}  // namespace

std::shared_ptr<CatalogReads> make_catalog_reads() {
  return std::make_shared<CatalogReads>();
}

std::function<verify::SpeedShare(const verify::SpeedQuestion&)> make_speed_share(
    std::shared_ptr<CatalogReads> catalog) {
  return [catalog = std::move(catalog), cores = GpuCores()](const verify::SpeedQuestion& asked) mutable {
    return speed_share(asked, *catalog, cores);
  };
}

}  // namespace capbench::cli
