#include <array>

#include "harness/observe/hygiene.h"
#include "harness/observe/text.h"

namespace capbench::observe {
namespace {

constexpr double kMostBytes = 1e15;

// "512.00M" as bytes.
std::optional<std::int64_t> sized(std::string_view text) {
  const auto number = starting_number(text);
  if (!number || *number < 0) return std::nullopt;
  double bytes = *number;
  const std::size_t unit = stripped(text).find_first_of("KMGT");
  if (unit != std::string_view::npos) {
    for (const char name : {'K', 'M', 'G', 'T'}) {
      bytes *= 1024;
      if (stripped(text)[unit] == name) break;
    }
  }
  return bytes < kMostBytes ? std::optional(static_cast<std::int64_t>(bytes)) : std::nullopt;
}

void add_kernel_state(const SourceTexts& texts, Hygiene& hygiene) {
  const auto source = texts.find("sysctl.state");
  if (source == texts.end()) return;
  const TextMap values = key_values(source->second.text, ':');
  // "{ 1.52 1.60 1.71 }"
  const std::string load = value_of(values, "vm.loadavg");
  if (const auto first = after(load, "{")) hygiene.load = starting_number(*first);
  // "total = 2048.00M  used = 512.00M  free = 1536.00M  (encrypted)"
  const std::string swap = value_of(values, "vm.swapusage");
  if (const auto used = after(swap, "used =")) hygiene.swap_used_bytes = sized(*used);
  // DISPATCH_MEMORYPRESSURE_NORMAL, _WARN and _CRITICAL.
  const auto level = to_integer(value_of(values, "kern.memorystatus_vm_pressure_level"));
  if (level == 1) hygiene.memory_pressure = "normal";
  if (level == 2) hygiene.memory_pressure = "warning";
  if (level == 4) hygiene.memory_pressure = "critical";
}

void add_pages(std::string_view text, Hygiene& hygiene) {
  // "Mach Virtual Memory Statistics: (page size of 16384 bytes)"
  const auto size = after(text, "page size of ");
  const auto bytes = size ? leading_number<std::int64_t>(*size) : std::nullopt;
  constexpr std::int64_t kLargestPage = 1 << 24;
  if (!bytes || *bytes <= 0 || *bytes > kLargestPage) return;
  const TextMap counters = key_values(text, ':');
  const auto total = [&](std::string_view name) -> std::optional<std::int64_t> {
    const std::string value = value_of(counters, name);
    const auto pages = starting_number(value);
    if (!pages || *pages < 0 || *pages > kMostBytes / static_cast<double>(*bytes)) return std::nullopt;
    return static_cast<std::int64_t>(*pages) * *bytes;
  };
  hygiene.swapped_out_bytes = total("Swapouts");
  hygiene.compressed_bytes = total("Pages occupied by compressor");
}

void add_thermal(const SourceTexts& texts, Hygiene& hygiene) {
  // "com.apple.system.thermalpressurelevel 0"; the levels are OSThermalNotification.h's.
  constexpr std::array<std::string_view, 5> kLevels{"nominal", "moderate", "heavy", "trapping", "sleeping"};
  const std::string line = first_line_of(texts, "thermal_level");
  const auto level = to_integer(std::string_view(line).substr(line.rfind(' ') + 1));
  if (level && *level >= 0 && static_cast<std::size_t>(*level) < kLevels.size()) {
    hygiene.thermal_pressure = kLevels[static_cast<std::size_t>(*level)];
  }
  const TextMap limits = key_values(text_of(texts, "pmset.therm"), '=');
  hygiene.cpu_speed_limit_percent = to_integer(value_of(limits, "CPU_Speed_Limit"));
}

void add_power(const SourceTexts& texts, Hygiene& hygiene) {
  const std::string_view battery = text_of(texts, "pmset.batt");
  if (battery.find("'AC Power'") != std::string_view::npos) hygiene.power_source = "ac";
  if (battery.find("'Battery Power'") != std::string_view::npos) hygiene.power_source = "battery";
  // " -InternalBattery-0 (id=...)\t80%; discharging; 3:10 remaining present: true"
  if (const auto internal = after(battery, "InternalBattery"); internal && internal->find('%') != internal->npos) {
    std::string_view number = internal->substr(0, internal->find('%'));
    number.remove_prefix(number.find_last_not_of("0123456789") + 1);
    hygiene.battery_percent = to_integer(number);
  }
  for_each_line(text_of(texts, "pmset"), [&](std::string_view line) {
    const std::string_view text = stripped(line);
    // Machines that also have a high-power mode say "powermode": 0 is automatic, 1 low, 2 high.
    for (const std::string_view name : {"lowpowermode", "powermode"}) {
      if (text.starts_with(name)) hygiene.low_power_mode = to_integer(text.substr(name.size())) == 1;
    }
  });
}

std::optional<double> statistic(std::string_view text, std::string_view name) {
  const auto value = after(text, "\"" + std::string(name) + "\"=");
  const auto number = value ? starting_number(*value) : std::nullopt;
  return number && *number >= 0 && *number < kMostBytes ? number : std::nullopt;
}

}  // namespace

void add_macos_hygiene(const SourceTexts& texts, Hygiene& hygiene) {
  add_kernel_state(texts, hygiene);
  add_pages(text_of(texts, "vm_stat"), hygiene);
  add_thermal(texts, hygiene);
  add_power(texts, hygiene);
  if (const auto percent = after(text_of(texts, "memory_pressure"), "free percentage:")) {
    hygiene.memory_free_percent = starting_number(*percent);
  }
  std::vector<std::string_view> processes;
  for_each_line(text_of(texts, "processes"), [&](std::string_view line) { processes.push_back(stripped(line)); });
  count_vms(processes, hygiene);
}

void add_macos_gpu_state(const SourceTexts& texts, Hygiene& hygiene) {
  // One object per GPU, each with "PerformanceStatistics" = {"Device Utilization %"=3,"In use system memory"=...}.
  std::string_view rest = text_of(texts, "ioreg.accelerator");
  std::int64_t index = 0;
  constexpr std::size_t kMostGpus = 16;
  while (const auto start = after(rest, "\"PerformanceStatistics\" = {")) {
    const std::size_t end = std::min(start->find('\n'), start->size());
    const std::string_view statistics = start->substr(0, end);
    rest = start->substr(end);
    GpuState gpu;
    gpu.index = index++;
    gpu.use_percent = statistic(statistics, "Device Utilization %");
    if (const auto bytes = statistic(statistics, "In use system memory")) {
      gpu.memory_used_bytes = static_cast<std::int64_t>(*bytes);
    }
    hygiene.gpus.push_back(std::move(gpu));
    if (hygiene.gpus.size() >= kMostGpus) return;
  }
}

}  // namespace capbench::observe
