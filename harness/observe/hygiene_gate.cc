#include "harness/observe/hygiene_gate.h"

#include <fmt/format.h>

#include <algorithm>

namespace capbench::observe {
namespace {

using Findings = std::vector<HygieneFinding>;

std::string shown(double value) {
  return fmt::format("{:.6g}", value);
}

void add_unknown(const char* name, std::string limit, const char* what, Findings& findings) {
  findings.push_back({name, "unknown", std::move(limit), fmt::format("nothing here tells {}", what),
                      fmt::format("leave `{}` out for this machine", name), false});
}

Hygiene only_gpus(const HygieneLimits& limits, Hygiene hygiene) {
  if (limits.gpus.empty()) return hygiene;
  std::erase_if(hygiene.gpus, [&](const GpuState& gpu) {
    return gpu.index && std::find(limits.gpus.begin(), limits.gpus.end(), *gpu.index) == limits.gpus.end();
  });
  // Which GPU a program computes on is not told.
  hygiene.gpu_processes.reset();
  return hygiene;
}

void check_load(const HygieneLimits& limits, const Hygiene& hygiene, Findings& findings) {
  if (!limits.max_load) return;
  if (!hygiene.load) return add_unknown("max_load", shown(*limits.max_load), "the load", findings);
  if (*hygiene.load <= *limits.max_load) return;
  findings.push_back(
      {"max_load", fmt::format("{:.2f}", *hygiene.load), shown(*limits.max_load),
       fmt::format("the 1-minute load average is {:.2f}, more than {:.6g}", *hygiene.load, *limits.max_load),
       "end other programs, or wait"});
}

void check_gpus(const HygieneLimits& limits, const Hygiene& hygiene, Findings& findings) {
  if (!limits.max_gpu_use_percent) return;
  const char* name = "max_gpu_use_percent";
  const std::string limit = shown(*limits.max_gpu_use_percent);
  const std::optional<double> use = busiest_gpu(hygiene);
  if (!use && !hygiene.gpu_processes) return add_unknown(name, limit, "how busy the GPU is", findings);
  if (use && *use > *limits.max_gpu_use_percent) {
    findings.push_back({name, shown(*use), limit, fmt::format("the GPU is {:.6g} % busy, more than {}", *use, limit),
                        "end what uses the GPU, or wait"});
  } else if (hygiene.gpu_processes && *hygiene.gpu_processes > 0) {
    findings.push_back({name, fmt::format("{} programs", *hygiene.gpu_processes), limit,
                        fmt::format("{} other program{} the GPU", *hygiene.gpu_processes,
                                    *hygiene.gpu_processes == 1 ? " holds" : "s hold"),
                        "see `nvidia-smi`, and end them or wait"});
  }
}

void check_memory(const HygieneLimits& limits, const Hygiene& hygiene, Findings& findings) {
  if (!limits.min_memory_free_percent) return;
  const char* name = "min_memory_free_percent";
  const std::string limit = shown(*limits.min_memory_free_percent);
  if (!hygiene.memory_free_percent) return add_unknown(name, limit, "how much memory is free", findings);
  if (*hygiene.memory_free_percent >= *limits.min_memory_free_percent) return;
  findings.push_back({name, fmt::format("{:.1f}", *hygiene.memory_free_percent), limit,
                      fmt::format("{:.1f} % of the memory is free, less than {}", *hygiene.memory_free_percent, limit),
                      "end other programs"});
}

void check_temperature(const HygieneLimits& limits, const Hygiene& hygiene, Findings& findings) {
  if (!limits.max_temperature_c) return;
  const char* name = "max_temperature_c";
  const std::string limit = shown(*limits.max_temperature_c);
  std::optional<double> hottest = hygiene.temperature_c;
  for (const GpuState& gpu : hygiene.gpus) {
    if (gpu.temperature_c) hottest = std::max(hottest.value_or(*gpu.temperature_c), *gpu.temperature_c);
  }
  const std::string& pressure = hygiene.thermal_pressure;
  if (!hottest && pressure.empty()) return add_unknown(name, limit, "a temperature", findings);
  if (hottest && *hottest > *limits.max_temperature_c) {
    findings.push_back({name, fmt::format("{:.1f}", *hottest), limit,
                        fmt::format("a sensor shows {:.1f} degrees Celsius, more than {}", *hottest, limit),
                        "let the machine cool down, or set `cooldown_s`"});
  } else if (!pressure.empty() && pressure != "nominal") {
    findings.push_back({name, pressure, limit, fmt::format("the thermal pressure is {}", pressure),
                        "let the machine cool down, or set `cooldown_s`"});
  }
}

void check_power(const HygieneLimits& limits, const Hygiene& hygiene, Findings& findings) {
  if (!limits.require_ac) return;
  if (hygiene.power_source == "battery") {
    findings.push_back({"require_ac", "battery", "ac", "the machine runs on its battery", "plug it in"});
  }
  if (hygiene.low_power_mode == true) {
    findings.push_back({"require_ac", "low power mode", "ac", "low-power mode is on", "switch it off"});
  }
  // A desktop or a server has no supply that tells, and no battery either: that is mains power.
}

void check_vms(const HygieneLimits& limits, const Hygiene& hygiene, Findings& findings) {
  if (!limits.vms_stopped) return;
  if (!hygiene.processes_known) return add_unknown("vms", "stopped", "which programs run", findings);
  for (const auto& [name, count] : hygiene.vms) {
    findings.push_back(
        {"vms", fmt::format("{} {}", count, name), "stopped",
         fmt::format("{} virtual machine{} on this host ({})", count, count == 1 ? " runs" : "s run", name),
         "stop it, or give its target `stop`"});
  }
}

}  // namespace

std::vector<HygieneFinding> evaluate(const HygieneLimits& limits, const Hygiene& hygiene) {
  const Hygiene counted = only_gpus(limits, hygiene);
  Findings findings;
  check_load(limits, counted, findings);
  check_gpus(limits, counted, findings);
  check_memory(limits, counted, findings);
  check_temperature(limits, counted, findings);
  check_power(limits, counted, findings);
  check_vms(limits, counted, findings);
  return findings;
}

}  // namespace capbench::observe
