#include "harness/observe/observation.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>

#include "harness/observe/device.h"
#include "harness/observe/ggml_log_cpu.h"
#include "harness/observe/ggml_log_cuda.h"
#include "harness/observe/ggml_log_llama.h"
#include "harness/observe/ggml_log_metal.h"
#include "harness/observe/ggml_log_vulkan.h"
#include "harness/observe/published_shims.h"

namespace capbench::observe {
namespace {

using nlohmann::json;

class Collector {
 public:
  explicit Collector(Source source) : source_(source) {}

  void add(std::string_view name, std::string value) {
    if (!value.empty()) all_.push_back({std::string(name), std::move(value), source_, 0});
  }
  void add(std::string_view name, std::optional<bool> value) {
    if (value) add(name, std::string(*value ? "on" : "off"));
  }
  void add(std::string_view name, std::optional<std::int64_t> value, std::int64_t tolerance = 0) {
    if (value) all_.push_back({std::string(name), std::to_string(*value), source_, tolerance});
  }
  std::vector<Observation> take() { return std::move(all_); }

 private:
  Source source_;
  std::vector<Observation> all_;
};

void collect(const MetalDevice& device, Collector& out) {
  out.add("metal.apple_family", device.apple_family);
  out.add("metal.mac_family", device.mac_family);
  out.add("metal.common_family", device.common_family);
  out.add("metal.metal_family", device.metal_family);
  out.add("metal.unified_memory", device.unified_memory);
  out.add("metal.recommended_working_set", device.recommended_working_set, kWorkingSetRounding);
  out.add("ggml.simdgroup_reduction", device.simdgroup_reduction);
  out.add("ggml.simdgroup_matrix_multiply", device.simdgroup_matrix_multiply);
  out.add("ggml.bfloat", device.bfloat);
  out.add("ggml.tensor", device.tensor);
  out.add("ggml.residency_sets", device.residency_sets);
  out.add("ggml.shared_buffers", device.shared_buffers);
}

void collect(const VulkanDevice& device, Collector& out) {
  out.add("vulkan.shader_float16", device.fp16);
  // Printed only on top of float16: without that, "0" says nothing of it.
  if (device.fp16.value_or(false)) out.add("vulkan.mixed_float_dot_product", device.fp16_dot2);
  out.add("vulkan.bfloat16", device.bf16);
  out.add("vulkan.ocp_fp4", device.fp4);
  out.add("vulkan.integer_dot_product", device.int_dot);
  out.add("vulkan.subgroup_size", device.warp_size);
  out.add("vulkan.max_compute_shared_memory", device.shared_memory);
  const std::string& cores = device.matrix_cores;
  if (cores.empty()) return;
  out.add("ggml.matrix_cores", cores);
  const bool second = cores.starts_with("NV_coopmat2");
  out.add("vulkan.cooperative_matrix2", std::optional<bool>(second));
  if (second) out.add("vulkan.cooperative_matrix_decode_vector", std::optional<bool>(cores == "NV_coopmat2v"));
  // Where ggml has the second kind it does not say whether the first is there.
  if (!second) out.add("vulkan.cooperative_matrix", std::optional<bool>(cores == "KHR_coopmat"));
}

// A level as the settings write it; nothing for what is none.
std::optional<std::string> level_text(const json& value) {
  if (value.is_string()) return value.get<std::string>();
  if (value.is_boolean()) return std::string(value.get<bool>() ? "on" : "off");
  if (value.is_number_integer()) return value.dump();
  return std::nullopt;
}

Error not_a_probe(std::string cause) {
  return {ErrorKind::kUsage, "the probe's output", std::move(cause), "`capbench probe vulkan --format json` by hand"};
}

Result<ProbedDevice> read_device(const json& node) {
  if (!node.is_object()) return not_a_probe("a device is no object");
  const auto capabilities = node.find("capabilities");
  if (capabilities == node.end() || !capabilities->is_object()) return not_a_probe("no object \"capabilities\"");
  ProbedDevice device;
  const auto name = node.find("name");
  if (name != node.end() && name->is_string()) device.name = name->get<std::string>();
  for (const auto& [key, value] : capabilities->items()) {
    if (auto level = level_text(value)) device.capabilities.emplace(key, std::move(*level));
  }
  return device;
}

}  // namespace

std::string_view source_name(Source source) {
  switch (source) {
    case Source::kGgmlLog:
      return "ggml log";
    case Source::kProbe:
      return "probe";
    case Source::kShimBanner:
      return "shim banner";
    case Source::kPublishedBanner:
      return "published shim's banner";
  }
  return "";
}

std::vector<Observation> observe_ggml_log(std::string_view log, std::string_view device) {
  Collector out(Source::kGgmlLog);
  out.add("cpu.isa", cpu_variant_loaded(log));
  const DeviceChoice choice = chosen_devices(device);
  const auto metal = metal_devices(log);
  for (std::size_t i = 0; i < metal.size(); ++i) {
    if (choice.uses("MTL", static_cast<std::int64_t>(i))) collect(metal[i], out);
  }
  for (const VulkanDevice& vulkan : vulkan_devices(log)) {
    if (choice.uses("Vulkan", vulkan.index)) collect(vulkan, out);
  }
  for (const CudaDevice& cuda : cuda_devices(log)) {
    if (choice.uses("CUDA", cuda.index) && cuda.major && cuda.minor) {
      out.add("cuda.compute_capability", fmt::format("{}.{}", *cuda.major, *cuda.minor));
    }
  }
  out.add("ggml.flash_attn", resolved_flash_attention(log).value_or(""));
  out.add("ggml.kernels", fmt::format("{}", fmt::join(metal_kernels(log), " ")));
  return out.take();
}

std::vector<Observation> observe_published_banners(std::string_view log) {
  Collector out(Source::kPublishedBanner);
  for (const PublishedBanner& banner : published_banners(log)) {
    if (!banner.enabled) continue;
    for (const auto& [name, value] : banner.capabilities()) out.add(name, value);
  }
  return out.take();
}

Result<std::vector<ProbedDevice>> parse_probe(std::string_view output) {
  const json document = json::parse(output, nullptr, false);
  if (!document.is_object()) return not_a_probe("no JSON object");
  std::vector<ProbedDevice> devices;
  const auto list = document.find("devices");
  if (list == document.end()) {
    auto device = read_device(document);
    if (!device) return std::move(device).error();
    devices.push_back(std::move(*device));
    return devices;
  }
  if (!list->is_array()) return not_a_probe("\"devices\" is no list");
  for (const json& node : *list) {
    auto device = read_device(node);
    if (!device) return std::move(device).error();
    devices.push_back(std::move(*device));
  }
  return devices;
}

std::vector<Observation> observe_probe(std::string_view output, std::string_view log, std::string_view device) {
  if (output.empty()) return {};
  auto devices = parse_probe(output);
  if (!devices) return {};
  const DeviceChoice choice = chosen_devices(device);
  std::set<std::string> names;
  for (const VulkanDevice& vulkan : vulkan_devices(log)) {
    if (choice.uses("Vulkan", vulkan.index)) names.insert(vulkan.name);
  }
  const auto metal = metal_devices(log);
  for (std::size_t i = 0; i < metal.size(); ++i) {
    if (choice.uses("MTL", static_cast<std::int64_t>(i))) names.insert(metal[i].description);
  }
  const bool named =
      std::any_of(devices->begin(), devices->end(), [&](const ProbedDevice& d) { return names.contains(d.name); });
  Collector out(Source::kProbe);
  for (const ProbedDevice& probed : *devices) {
    if (named && !names.contains(probed.name)) continue;
    for (const auto& [name, value] : probed.capabilities) out.add(name, value);
  }
  return out.take();
}

}  // namespace capbench::observe
