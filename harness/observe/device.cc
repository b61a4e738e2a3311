#include "harness/observe/device.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>

#include "harness/observe/ggml_log_vulkan.h"
#include "harness/observe/log_lines.h"

namespace capbench::observe {
namespace {

constexpr bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

// The name that llama-bench's `backends` has for the backend of a device or a domain; older builds wrote "Metal".
struct BackendNames {
  std::string_view device;   // as in -dev
  std::string_view domain;   // of capabilities; empty: none
  std::string_view listed;   // in `backends`
  std::string_view earlier;  // in `backends` of older builds
};

constexpr std::array<BackendNames, 5> kBackends{{
    {"Vulkan", "vulkan", "Vulkan", "Vulkan"},
    {"MTL", "metal", "MTL", "Metal"},
    {"CUDA", "", "CUDA", "CUDA"},
    {"ROCm", "", "ROCm", "HIP"},
    {"SYCL", "", "SYCL", "SYCL"},
}};

bool lists(std::string_view backends, std::string_view name) {
  while (!backends.empty()) {
    const std::size_t end = backends.find(',');
    if (trimmed(backends.substr(0, end)) == name) return true;
    backends.remove_prefix(end == std::string_view::npos ? backends.size() : end + 1);
  }
  return false;
}

// The backends that the arm cannot do without.
std::set<const BackendNames*> needed_backends(const suite::Arm& arm, const DeviceChoice& choice) {
  std::set<const BackendNames*> needed;
  for (const BackendNames& names : kBackends) {
    for (const DeviceChoice::Named& device : choice.devices) {
      if (device.backend == names.device) needed.insert(&names);
    }
    for (const auto* settings : {&arm.guest, &arm.set}) {
      for (const auto& [name, value] : *settings) {
        if (!names.domain.empty() && std::string_view(name).substr(0, name.find('.')) == names.domain) {
          needed.insert(&names);
        }
      }
    }
  }
  return needed;
}

}  // namespace

bool DeviceChoice::uses(std::string_view backend, std::int64_t index) const {
  if (none) return false;
  return devices.empty() || std::any_of(devices.begin(), devices.end(), [&](const Named& device) {
           return device.backend == backend && device.index == index;
         });
}

DeviceChoice chosen_devices(std::string_view dev) {
  DeviceChoice choice;
  if (dev.empty() || dev == "auto") return choice;
  if (dev == "none") {
    choice.none = true;
    return choice;
  }
  while (!dev.empty()) {
    const std::size_t end = dev.find('/');
    const std::string_view name = dev.substr(0, end);
    dev.remove_prefix(end == std::string_view::npos ? dev.size() : end + 1);
    std::size_t digits = name.size();
    while (digits > 0 && is_digit(name[digits - 1])) --digits;
    if (name.empty()) continue;
    choice.devices.push_back(
        {std::string(name.substr(0, digits)), leading_number<std::int64_t>(name.substr(digits)).value_or(0)});
  }
  return choice;
}

std::string missing_device(const suite::Arm& arm, const std::vector<schema::ResultRecord>& results,
                           std::string_view log) {
  std::string refused;
  for_each_line(log, [&](std::string_view line) {
    if (const auto name = after(line, "error: invalid device: ")) refused = trimmed(*name);
  });
  if (!refused.empty()) return fmt::format("there is no device {}", refused);
  const DeviceChoice choice = chosen_devices(arm.device);
  if (choice.none) return "";
  const std::set<const BackendNames*> needed = needed_backends(arm, choice);
  if (needed.empty() && choice.devices.empty()) return "";
  const std::string asked =
      arm.device.empty() || arm.device == "auto"
          ? fmt::format("set capabilities of {}", needed.empty() ? "a GPU" : (*needed.begin())->device)
          : fmt::format("asked for device {}", arm.device);
  for (const schema::ResultRecord& result : results) {
    if (result.gpu_info.empty()) return asked + ", ran without a GPU";
    for (const BackendNames* names : needed) {
      // Builds of 2024 have no such field.
      if (!result.backends.empty() && !lists(result.backends, names->listed) &&
          !lists(result.backends, names->earlier)) {
        return fmt::format("{}, ran with the backends {}", asked, result.backends);
      }
    }
  }
  if (results.empty() && vulkan_found_no_device(log)) return asked + ", which found none";
  return "";
}

}  // namespace capbench::observe
