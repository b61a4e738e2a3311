#include "harness/observe/hygiene_flags.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace capbench::observe {
namespace {

constexpr double kBusyGpuPercent = 10;
constexpr double kHotC = 90;
constexpr double kMebibyte = 1024.0 * 1024;
constexpr std::int64_t kSwapped = 1 << 20;
constexpr std::int64_t kCompressed = 256 << 20;
constexpr double kLessFree = 5;
constexpr std::string_view kPowerCap = "power cap";

struct Moment {
  const Hygiene& hygiene;
  const char* when;
};

std::string load_reason(const Hygiene& before, std::int64_t cpus) {
  const double most = std::max(1.0, static_cast<double>(cpus) / 10);
  if (!before.load || *before.load <= most) return "";
  return fmt::format("the load average was {:.2f} before the trial", *before.load);
}

std::string busy_reason(const Hygiene& before) {
  if (const auto use = busiest_gpu(before); use && *use > kBusyGpuPercent) {
    return fmt::format("the GPU was {:.0f} % busy before the trial", *use);
  }
  if (before.gpu_processes && *before.gpu_processes > 0) {
    return fmt::format("{} other program{} the GPU before the trial", *before.gpu_processes,
                       *before.gpu_processes == 1 ? " held" : "s held");
  }
  return "";
}

std::string thermal_reason(const Moment& moment) {
  const Hygiene& hygiene = moment.hygiene;
  if (!hygiene.thermal_pressure.empty() && hygiene.thermal_pressure != "nominal") {
    return fmt::format("the thermal pressure was {} {} the trial", hygiene.thermal_pressure, moment.when);
  }
  double hottest = hygiene.temperature_c.value_or(0);
  for (const GpuState& gpu : hygiene.gpus) hottest = std::max(hottest, gpu.temperature_c.value_or(0));
  if (hottest < kHotC) return "";
  return fmt::format("a sensor showed {:.0f} degrees Celsius {} the trial", hottest, moment.when);
}

std::string throttle_reason(const Moment& moment, bool idle) {
  for (const GpuState& gpu : moment.hygiene.gpus) {
    for (const std::string& reason : gpu.throttle_reasons) {
      if (reason == kPowerCap && !idle) continue;
      return fmt::format("the GPU gave \"{}\" as a reason for lower clocks {} the trial", reason, moment.when);
    }
  }
  const auto limit = moment.hygiene.cpu_speed_limit_percent;
  if (!limit || *limit >= 100) return "";
  return fmt::format("the CPU was limited to {} % of its speed {} the trial", *limit, moment.when);
}

std::string battery_reason(const Moment& moment) {
  return moment.hygiene.power_source == "battery" ? fmt::format("on battery {} the trial", moment.when) : "";
}

std::string low_power_reason(const Moment& moment) {
  return moment.hygiene.low_power_mode == true ? fmt::format("low-power mode was on {} the trial", moment.when) : "";
}

std::string swap_reason(const Growth& grown) {
  const std::int64_t most = std::max(grown.swapped_out_bytes.value_or(0), grown.swap_used_bytes.value_or(0));
  if (most < kSwapped) return "";
  return fmt::format("{:.1f} MiB swapped out during the trial", static_cast<double>(most) / kMebibyte);
}

std::string memory_reason(const Growth& grown) {
  if (const double change = grown.memory_free_percent.value_or(0); change < -kLessFree) {
    return fmt::format("{:.1f} points less memory free after the trial", -change);
  }
  const std::int64_t compressed = grown.compressed_bytes.value_or(0);
  if (compressed < kCompressed) return "";
  return fmt::format("{:.0f} MiB more in the memory compressor after the trial",
                     static_cast<double>(compressed) / kMebibyte);
}

}  // namespace

std::vector<HygieneFlag> flag_hygiene(const Hygiene& before, const Hygiene& after, std::int64_t cpus) {
  const Moment first{before, "before"};
  const Moment last{after, "after"};
  const Growth grown = growth(before, after);
  std::vector<HygieneFlag> flags;
  const auto add = [&](const char* name, std::string reason, std::string otherwise = "") {
    if (reason.empty()) reason = std::move(otherwise);
    if (!reason.empty()) flags.push_back({name, std::move(reason)});
  };
  add("load", load_reason(before, cpus));
  add("gpu busy", busy_reason(before));
  add("on battery", battery_reason(first), battery_reason(last));
  add("low power mode", low_power_reason(first), low_power_reason(last));
  add("thermal", thermal_reason(first), thermal_reason(last));
  std::string throttled = throttle_reason(first, true);
  if (throttled.empty()) throttled = throttle_reason(last, false);
  if (throttled.empty() && grown.cpu_throttle_events.value_or(0) > 0) {
    throttled = fmt::format("the CPU throttled {} times during the trial", *grown.cpu_throttle_events);
  }
  add("throttled", std::move(throttled));
  add("swapped", swap_reason(grown));
  add("memory grew", memory_reason(grown));
  return flags;
}

}  // namespace capbench::observe
