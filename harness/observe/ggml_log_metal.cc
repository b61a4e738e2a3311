#include "harness/observe/ggml_log_metal.h"

#include <array>

#include "harness/observe/log_lines.h"

namespace capbench::observe {
namespace {

// "MTL0 (Apple M4 Max)" or, in older builds, only "Apple M4 Max" or "MTL0".
void read_name(std::string_view text, MetalDevice& device) {
  text = trimmed(text);
  const std::size_t open = text.find(" (");
  if (open != std::string_view::npos && text.ends_with(')')) {
    device.name = text.substr(0, open);
    device.description = text.substr(open + 2, text.size() - open - 3);
  } else if (text.starts_with("MTL")) {
    device.name = text;
  } else {
    device.description = text;
  }
}

// "MTLGPUFamilyApple9  (1009)": the number tells which family it is.
void read_family(std::string_view text, MetalDevice& device) {
  const auto number = after(text, "(");
  const auto family = number ? leading_number<std::int64_t>(*number) : std::nullopt;
  if (!family) return;
  switch (*family / 1000) {
    case 1:
      device.apple_family = family;
      break;
    case 2:
      device.mac_family = family;
      break;
    case 3:
      device.common_family = family;
      break;
    case 5:
      device.metal_family = family;
      break;
    default:
      break;
  }
}

// "11453.25 MB", in units of 10^6 bytes.
std::optional<std::int64_t> read_megabytes(std::string_view text) {
  constexpr std::int64_t kMost = 1'000'000'000'000;
  const auto whole = leading_number<std::int64_t>(text);
  if (!whole || *whole < 0 || *whole > kMost) return std::nullopt;
  std::int64_t bytes = *whole * 1'000'000;
  std::string_view digits = after(text, ".").value_or("");
  for (std::int64_t unit = 100'000; unit > 0 && !digits.empty() && digits[0] >= '0' && digits[0] <= '9'; unit /= 10) {
    bytes += unit * (digits[0] - '0');
    digits.remove_prefix(1);
  }
  return bytes;
}

struct Flag {
  std::string_view label;
  std::optional<bool> MetalDevice::*member;
};

constexpr std::array<Flag, 7> kFlags{{
    {"simdgroup reduction", &MetalDevice::simdgroup_reduction},
    {"simdgroup matrix mul.", &MetalDevice::simdgroup_matrix_multiply},
    {"has unified memory", &MetalDevice::unified_memory},
    {"has bfloat", &MetalDevice::bfloat},
    {"has tensor", &MetalDevice::tensor},
    {"use residency sets", &MetalDevice::residency_sets},
    {"use shared buffers", &MetalDevice::shared_buffers},
}};

// "has bfloat            = true"; older builds add "support" to some labels.
void read_flag(std::string_view text, MetalDevice& device) {
  const std::size_t equals = text.find('=');
  if (equals == std::string_view::npos) return;
  const std::string_view label = trimmed(text.substr(0, equals));
  const std::string_view value = trimmed(text.substr(equals + 1));
  for (const Flag& flag : kFlags) {
    if (!label.starts_with(flag.label)) continue;
    if (value == "true") device.*flag.member = true;
    if (value == "false") device.*flag.member = false;
    return;
  }
  if (label == "recommendedMaxWorkingSetSize") {
    device.recommended_working_set = read_megabytes(value);
  }
}

}  // namespace

std::vector<MetalDevice> metal_devices(std::string_view log) {
  std::vector<MetalDevice> devices;
  for_each_line(log, [&](std::string_view line) {
    const auto printed = after(line, "ggml_metal_");
    const auto said = printed ? after(*printed, ": ") : std::nullopt;
    if (!said) return;
    if (const auto name = after(*said, "GPU name:")) {
      devices.emplace_back();
      read_name(*name, devices.back());
      return;
    }
    if (devices.empty()) return;
    if (const auto family = after(*said, "GPU family:")) {
      read_family(*family, devices.back());
    } else {
      read_flag(*said, devices.back());
    }
  });
  return devices;
}

}  // namespace capbench::observe
