#include <algorithm>

#include "harness/observe/facts.h"

namespace capbench::observe {
namespace {

constexpr std::string_view kNvidiaVendor = "0x10de";

// "/sys/class/drm/card0/device/vendor" -> "/sys/class/drm/card0"
std::string_view card_of(std::string_view path) {
  return path.substr(0, path.find("/device/"));
}

std::string without_0x(std::string_view text) {
  return std::string(text.starts_with("0x") ? text.substr(2) : text);
}

}  // namespace

void add_linux_gpus(const SourceTexts& texts, Facts& facts) {
  std::vector<FactGroup>& gpus = facts.rows["gpus"];
  const bool nvidia = !gpus.empty();
  for (const FactGroup& device : facts.rows["vulkan_devices"]) {
    if (device.flag("software") || (nvidia && device.text("vendor_id") == kNvidiaVendor)) continue;
    FactGroup gpu;
    gpu.set("name", device.text("name"));
    gpu.set("driver", device.text("driver"));
    gpu.set("driver_version", device.text("driver_info"));
    gpu.set("type", device.text("type"));
    gpus.push_back(std::move(gpu));
  }
  // The kernel's view: there also without a Vulkan driver.
  std::map<std::string, FactGroup, std::less<>> cards;
  for (const PathLine& line : path_lines(text_of(texts, "drm"))) {
    const std::string_view file = base_name(line.path);
    if (line.path == "/sys/module/amdgpu/version") facts.machine.set("amdgpu_version", line.line);
    if (line.path == "/opt/rocm/.info/version") facts.machine.set("rocm_version", line.line);
    if (!line.path.starts_with("/sys/class/drm/")) continue;
    FactGroup& card = cards[std::string(card_of(line.path))];
    if (file == "vendor") card.set("vendor_id", without_0x(line.line));
    if (file == "device") card.set("device_id", without_0x(line.line));
    if (file == "uevent" && line.line.starts_with("DRIVER=")) card.set("driver", line.line.substr(7));
    if (file == "mem_info_vram_total") card.set("memory_bytes", to_integer(line.line));
  }
  for (auto& [path, card] : cards) facts.rows["pci_gpus"].push_back(std::move(card));
  for_each_line(text_of(texts, "render_nodes"), [&](std::string_view line) {
    const std::size_t at = line.find(' ');
    if (at == std::string_view::npos) return;
    facts.lists["render_nodes"].push_back(std::string(base_name(line)) + " " + std::string(line.substr(0, at)));
  });
}

}  // namespace capbench::observe
