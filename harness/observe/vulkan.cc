#include <array>

#include "harness/observe/facts.h"

namespace capbench::observe {
namespace {

struct Field {
  std::string_view key;
  std::string_view fact;
};

// What `vulkaninfo --summary` says of a device, without its UUIDs.
constexpr std::array<Field, 7> kFields{{{"apiVersion", "api_version"},
                                        {"driverVersion", "driver_version"},
                                        {"vendorID", "vendor_id"},
                                        {"deviceID", "device_id"},
                                        {"deviceName", "name"},
                                        {"driverName", "driver"},
                                        {"driverInfo", "driver_info"}}};

std::string lower_after(std::string_view text, std::string_view prefix) {
  if (text.starts_with(prefix)) text.remove_prefix(prefix.size());
  std::string result(text);
  for (char& c : result) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  return result;
}

void set_field(std::string_view key, std::string_view value, FactGroup& device) {
  if (key == "deviceType") device.set("type", lower_after(value, "PHYSICAL_DEVICE_TYPE_"));
  if (key == "driverID") device.set("driver_id", lower_after(value, "DRIVER_ID_"));
  // Old versions print "4206816 (1.3.224)".
  if (const std::size_t at = value.find(" ("); key == "apiVersion" && at != std::string_view::npos) {
    value = value.substr(at + 2, value.find(')') - at - 2);
  }
  for (const Field& field : kFields) {
    if (field.key == key) device.set(field.fact, value);
  }
}

// A program on the CPU is not a GPU, whatever it answers.
bool is_software(const FactGroup& device) {
  const std::string driver = device.text("driver_id") + " " + lower_after(device.text("driver"), "") + " " +
                             lower_after(device.text("name"), "");
  return device.text("type") == "cpu" || driver.find("llvmpipe") != std::string::npos ||
         driver.find("lavapipe") != std::string::npos || driver.find("swiftshader") != std::string::npos;
}

// "VK_LAYER_MESA_overlay       Mesa Overlay layer           1.3.211  version 1" -> "VK_LAYER_MESA_overlay 1.3.211"
std::string layer(std::string_view line) {
  std::string name(line.substr(0, line.find_first_of(" \t")));
  const std::size_t end = line.rfind("version ");
  if (end == std::string_view::npos) return name;
  const std::string_view before = stripped(line.substr(0, end));
  return name + " " + std::string(before.substr(before.find_last_of(" \t") + 1));
}

}  // namespace

void add_vulkan(const SourceTexts& texts, Facts& facts) {
  std::vector<FactGroup>& devices = facts.rows["vulkan_devices"];
  std::vector<std::string>& layers = facts.lists["vulkan_layers"];
  for_each_line(text_of(texts, "vulkan"), [&](std::string_view line) {
    const std::string_view text = stripped(line);
    if (text.starts_with("VK_LAYER_")) layers.push_back(layer(text));
    if (text.starts_with("Vulkan Instance Version:")) {
      facts.machine.set("vulkan_instance", stripped(text.substr(text.find(':') + 1)));
    }
    if (text.starts_with("GPU") && text.ends_with(':')) devices.emplace_back();
    const std::size_t at = text.find('=');
    if (devices.empty() || at == std::string_view::npos) return;
    set_field(stripped(text.substr(0, at)), stripped(text.substr(at + 1)), devices.back());
  });
  std::erase_if(devices, [](const FactGroup& device) { return device.text("name").empty(); });
  for (FactGroup& device : devices) device.set_flag("software", is_software(device));
  for_each_line(text_of(texts, "implicit_layers"),
                [&](std::string_view line) { facts.lists["implicit_layers"].emplace_back(base_name(line)); });
}

}  // namespace capbench::observe
