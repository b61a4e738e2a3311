#include "harness/observe/ggml_log_vulkan.h"

#include "harness/observe/log_lines.h"

namespace capbench::observe {
namespace {

constexpr std::string_view kFirstField = " | uma: ";
constexpr std::string_view kSeparator = " | ";

// "0 = NAME (DRIVER)" behind "ggml_vulkan: ", "Vulkan0: NAME (DRIVER)", or "Using NAME" of the oldest builds.
bool read_head(std::string_view head, VulkanDevice& device) {
  std::string_view name;
  if (const auto said = after(head, "ggml_vulkan: ")) {
    if (said->starts_with("Using ")) {
      name = said->substr(6);
    } else {
      const auto index = leading_number<std::int64_t>(*said);
      const auto rest = after(*said, " = ");
      if (!index || *index < 0 || !rest) return false;
      device.index = *index;
      name = *rest;
    }
  } else if (const auto numbered = after(head, "Vulkan")) {
    const auto index = leading_number<std::int64_t>(*numbered);
    const auto rest = after(*numbered, ": ");
    if (!index || *index < 0 || !rest) return false;
    device.index = *index;
    name = *rest;
  } else {
    return false;
  }
  name = trimmed(name);
  // The name may hold parentheses itself: the driver is in the last pair.
  const std::size_t open = name.rfind(" (");
  if (open != std::string_view::npos && name.ends_with(')')) {
    device.driver = name.substr(open + 2, name.size() - open - 3);
    name = name.substr(0, open);
  }
  device.name = name;
  return true;
}

std::optional<bool> zero_or_one(std::string_view value) {
  if (value == "0") return false;
  if (value == "1") return true;
  return std::nullopt;
}

void read_field(std::string_view field, VulkanDevice& device) {
  const std::size_t colon = field.find(": ");
  if (colon == std::string_view::npos) return;
  const std::string_view key = trimmed(field.substr(0, colon));
  const std::string_view value = trimmed(field.substr(colon + 2));
  if (key == "uma") device.uma = zero_or_one(value);
  if (key == "fp16") {
    const bool dot2 = value == "dot2";
    device.fp16 = dot2 ? true : zero_or_one(value);
    if (device.fp16) device.fp16_dot2 = dot2;
  }
  if (key == "bf16") device.bf16 = zero_or_one(value);
  if (key == "fp4") device.fp4 = zero_or_one(value);
  if (key == "warp size") device.warp_size = leading_number<std::int64_t>(value);
  if (key == "shared memory") device.shared_memory = leading_number<std::int64_t>(value);
  if (key == "int dot") device.int_dot = zero_or_one(value);
  if (key == "matrix cores") device.matrix_cores = value;
}

}  // namespace

std::vector<VulkanDevice> vulkan_devices(std::string_view log) {
  std::vector<VulkanDevice> devices;
  for_each_line(log, [&](std::string_view line) {
    const std::size_t fields = line.find(kFirstField);
    if (fields == std::string_view::npos) return;
    VulkanDevice device;
    if (!read_head(line.substr(0, fields), device)) return;
    std::string_view rest = line.substr(fields + kSeparator.size());
    while (!rest.empty()) {
      const std::size_t end = rest.find(kSeparator);
      read_field(rest.substr(0, end), device);
      rest.remove_prefix(end == std::string_view::npos ? rest.size() : end + kSeparator.size());
    }
    devices.push_back(std::move(device));
  });
  return devices;
}

bool vulkan_found_no_device(std::string_view log) {
  bool none = false;
  for_each_line(log, [&](std::string_view line) {
    const auto said = after(line, "ggml_vulkan: ");
    if (!said) return;
    none = none || said->starts_with("No devices found") ||
           (said->starts_with("Device with index") && said->find("does not exist") != std::string_view::npos);
  });
  return none;
}

}  // namespace capbench::observe
