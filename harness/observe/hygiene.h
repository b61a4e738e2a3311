// The state that a machine is in before and after a trial: what disturbs a measurement and leaves no other trace.
//
// A value that cannot be read without root, or by no tool that is there, is absent. Pure but for collect_hygiene().
// Thread-safe.
#ifndef CAPBENCH_HARNESS_OBSERVE_HYGIENE_H_
#define CAPBENCH_HARNESS_OBSERVE_HYGIENE_H_

#include <cstdint>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "harness/observe/sources.h"

namespace capbench::observe {

struct GpuState {
  std::optional<std::int64_t> index;              // nvidia-smi's; the card's number otherwise
  std::optional<double> use_percent;              // of the time, as the driver averages it
  std::optional<std::int64_t> memory_used_bytes;  // on Apple silicon: of the memory it shares
  std::optional<double> temperature_c;
  std::optional<double> power_w;
  std::optional<double> clock_mhz;
  std::vector<std::string> throttle_reasons;  // "power cap", "thermal", ...; idleness is none

  bool operator==(const GpuState&) const = default;
};

struct Hygiene {
  std::optional<double> load;                   // 1-minute average of runnable threads, all CPUs
  std::optional<std::int64_t> runnable;         // threads running or waiting for a CPU at that moment (Linux)
  std::optional<std::int64_t> cpu_busy_ticks;   // since boot, of all CPUs (Linux)
  std::optional<std::int64_t> cpu_total_ticks;  // busy and idle
  std::map<std::string, std::int64_t> vms;      // running virtual machines by their process's name
  bool processes_known = false;                 // `vms` means something

  std::vector<GpuState> gpus;
  std::optional<std::int64_t> gpu_processes;  // programs that hold a GPU for computing

  std::string thermal_pressure;                         // "nominal", "moderate", "heavy", "trapping", "sleeping"; ""
  std::optional<double> temperature_c;                  // of the hottest CPU sensor
  std::optional<std::int64_t> cpu_speed_limit_percent;  // what thermal management leaves (macOS)
  std::optional<std::int64_t> cpu_throttle_events;      // since boot (Linux)
  std::optional<double> cpu_clock_mhz;                  // of the fastest core at that moment

  std::string power_source;  // "ac", "battery"; "" where there is no telling
  std::optional<std::int64_t> battery_percent;
  std::optional<bool> low_power_mode;

  std::string memory_pressure;                 // "normal", "warning", "critical" (macOS)
  std::optional<double> memory_free_percent;   // what programs could get without swapping
  std::optional<double> memory_stall_percent;  // time that some thread waited for memory, 10 s average (Linux)
  std::optional<std::int64_t> swap_used_bytes;
  std::optional<std::int64_t> swapped_out_bytes;  // since boot
  std::optional<std::int64_t> compressed_bytes;   // memory that the compressor occupies now (macOS)

  bool operator==(const Hygiene&) const = default;
};

Hygiene hygiene_from(const SourceTexts& texts);

// This machine's, now. Less than 3 ms where no GPU tool is installed.
Hygiene collect_hygiene();

// What changed from `before` to `after`. Absent where one of the two is.
struct Growth {
  std::optional<std::int64_t> swapped_out_bytes;
  std::optional<std::int64_t> swap_used_bytes;
  std::optional<std::int64_t> compressed_bytes;
  std::optional<double> memory_free_percent;  // negative: less is free
  std::optional<std::int64_t> cpu_throttle_events;
  std::optional<std::int64_t> gpu_memory_used_bytes;
  std::optional<double> cpu_busy_percent;  // of all CPUs, in between

  bool operator==(const Growth&) const = default;
};

Growth growth(const Hygiene& before, const Hygiene& after);

// Members are named like the fields; absent ones are left out.
nlohmann::json to_json(const Hygiene& hygiene);
nlohmann::json to_json(const Growth& growth);

// Reads what to_json() wrote. An unknown member is passed over (a newer program's), one of another type or a number out
// of range is an error that names it.
Result<Hygiene> hygiene_from_json(const nlohmann::json& object);

// The worst over all GPUs; nothing where none tells.
std::optional<double> busiest_gpu(const Hygiene& hygiene);

// The parts of hygiene_from(), one file each.
void add_linux_hygiene(const SourceTexts& texts, Hygiene& hygiene);
void add_linux_gpu_state(const SourceTexts& texts, Hygiene& hygiene);
void add_nvidia_state(const SourceTexts& texts, Hygiene& hygiene);
void add_macos_hygiene(const SourceTexts& texts, Hygiene& hygiene);
void add_macos_gpu_state(const SourceTexts& texts, Hygiene& hygiene);

// Counts processes that are virtual machines, by the names that `ps` or the kernel gives.
void count_vms(const std::vector<std::string_view>& processes, Hygiene& hygiene);

// The reasons in the driver's mask (nvml.h: nvmlClocksEventReasons), without those that are no disturbance: idleness
// and clocks that a person has set.
std::vector<std::string> nvidia_throttle_reasons(std::uint64_t mask);

}  // namespace capbench::observe

#endif  // CAPBENCH_HARNESS_OBSERVE_HYGIENE_H_
