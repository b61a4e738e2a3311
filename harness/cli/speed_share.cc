#include "harness/cli/speed_share.h"

#include <fmt/format.h>

#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "models/catalog.h"
#include "reports/device.h"
#include "reports/devices.h"
#include "reports/roofline.h"

namespace capbench::cli {
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

// Of catalog entries that were asked for, by name. Nothing for one without a shape.
using KnownReads = std::map<std::string, std::optional<reports::ModelReads>>;

// By the tensors where the catalog knows the shape, else by what llama-bench printed of the file.
std::optional<reports::ModelReads> reads_of(const verify::SpeedQuestion& asked, KnownReads& known) {
  const std::string name = asked.model == nullptr      ? ""
                           : asked.model->like.empty() ? asked.model->catalog
                                                       : asked.model->like;
  const auto [found, is_new] = known.try_emplace(name);
  if (is_new && !name.empty()) {
    if (const auto shape = models::find_shape(name); shape) found->second = reports::reads_of(*shape);
  }
  return found->second ? found->second : reports::reads_of(asked.result);
}

verify::SpeedShare speed_share(const verify::SpeedQuestion& asked, KnownReads& known) {
  verify::SpeedShare share;
  const std::string device = reports::device_of(asked.result);
  const auto limits = reports::find_device(device, gpu_cores_of(asked.environment));
  if (!limits) {
    share.why = "unknown device";
    return share;
  }
  const reports::RooflineShare found = reports::roofline_share(asked.tokens_per_second, asked.result.n_prompt,
                                                               asked.result.n_gen, limits, reads_of(asked, known));
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

std::function<verify::SpeedShare(const verify::SpeedQuestion&)> make_speed_share() {
  return [known = KnownReads()](const verify::SpeedQuestion& asked) mutable { return speed_share(asked, known); };
}

}  // namespace capbench::cli
