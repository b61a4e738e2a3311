#include <algorithm>
#include <array>

#include "harness/observe/hygiene.h"
#include "harness/observe/text.h"

namespace capbench::observe {
namespace {

constexpr std::int64_t kMostKib = std::int64_t{1} << 50U;

std::vector<std::string_view> words(std::string_view line) {
  std::vector<std::string_view> result;
  while (true) {
    const std::size_t start = line.find_first_not_of(" \t");
    if (start == std::string_view::npos) return result;
    line.remove_prefix(start);
    const std::size_t end = std::min(line.find_first_of(" \t\n"), line.size());
    result.push_back(line.substr(0, end));
    line.remove_prefix(end);
    if (line.starts_with('\n')) return result;
  }
}

// "0.52 0.58 0.59 2/345 6789": averages over 1, 5 and 15 minutes, threads that can run / all, the last process.
void add_load(std::string_view text, Hygiene& hygiene) {
  const std::vector<std::string_view> parts = words(text);
  if (parts.size() < 4) return;
  hygiene.load = to_number(parts[0]);
  hygiene.runnable = to_integer(parts[3].substr(0, parts[3].find('/')));
}

// "cpu user nice system idle iowait irq softirq steal guest guest_nice"; the last two are in the first two already.
void add_ticks(std::string_view text, Hygiene& hygiene) {
  const std::vector<PathLine> lines = path_lines(text);
  if (lines.empty()) return;
  const std::vector<std::string_view> parts = words(lines.front().line);
  if (parts.size() < 6 || parts[0] != "cpu") return;
  constexpr std::size_t kIdle = 4;
  constexpr std::size_t kWaiting = 5;
  constexpr std::size_t kSteal = 8;
  constexpr std::int64_t kMost = std::int64_t{1} << 58U;
  std::int64_t busy = 0;
  std::int64_t total = 0;
  for (std::size_t i = 1; i < parts.size() && i <= kSteal; ++i) {
    const auto ticks = to_integer(parts[i]);
    if (!ticks || *ticks < 0 || *ticks > kMost) return;
    total += *ticks;
    if (i != kIdle && i != kWaiting) busy += *ticks;
  }
  hygiene.cpu_busy_ticks = busy;
  hygiene.cpu_total_ticks = total;
}

void add_memory(const SourceTexts& texts, Hygiene& hygiene) {
  const TextMap memory = key_values(text_of(texts, "meminfo"), ':');
  const auto kib = [&](std::string_view name) -> std::optional<std::int64_t> {
    const std::string value = value_of(memory, name);
    const auto number = leading_number<std::int64_t>(value);
    return number && *number >= 0 && *number < kMostKib ? number : std::nullopt;
  };
  const auto total = kib("MemTotal");
  const auto available = kib("MemAvailable");
  if (total && available && *total > 0) {
    hygiene.memory_free_percent = 100.0 * static_cast<double>(*available) / static_cast<double>(*total);
  }
  const auto swap = kib("SwapTotal");
  const auto swap_free = kib("SwapFree");
  if (swap && swap_free) hygiene.swap_used_bytes = std::max<std::int64_t>(*swap - *swap_free, 0) * 1024;

  const TextMap counters = key_values(text_of(texts, "vmstat"), ' ');
  constexpr std::int64_t kPage = 4096;  // the unit is the kernel's page: 4 KiB but on a few Arm kernels
  if (const auto pages = to_integer(value_of(counters, "pswpout")); pages && *pages >= 0 && *pages < kMostKib) {
    hygiene.swapped_out_bytes = *pages * kPage;
  }
  for (const PathLine& line : path_lines(text_of(texts, "pressure"))) {
    if (base_name(line.path) != "memory") continue;
    // "some avg10=0.11 avg60=0.05 avg300=0.02 total=44100614"
    if (const auto average = after(line.line, "some avg10=")) hygiene.memory_stall_percent = starting_number(*average);
  }
}

// Sensors come as a file that names them and one that holds 1/1000 degree.
void add_temperature(std::string_view text, Hygiene& hygiene) {
  constexpr std::array<std::string_view, 8> kCpuSensors{"x86_pkg_temp", "coretemp",    "k10temp", "zenpower",
                                                        "cpu-thermal",  "cpu_thermal", "TCPU",    "soc_thermal"};
  const std::vector<PathLine> lines = path_lines(text);
  std::map<std::string_view, std::string_view> names;  // by folder
  const auto folder = [](std::string_view path) { return path.substr(0, path.rfind('/')); };
  for (const PathLine& line : lines) {
    const std::string_view file = base_name(line.path);
    if (file == "type" || file == "name") names[folder(line.path)] = line.line;
  }
  constexpr double kHottest = 200;
  for (const PathLine& line : lines) {
    const std::string_view file = base_name(line.path);
    if (file != "temp" && file != "temp1_input") continue;
    const std::string_view name = names[folder(line.path)];
    if (std::find(kCpuSensors.begin(), kCpuSensors.end(), name) == kCpuSensors.end()) continue;
    const auto degrees = to_number(line.line);
    if (!degrees || *degrees <= 0 || *degrees / 1000 > kHottest) continue;
    hygiene.temperature_c = std::max(hygiene.temperature_c.value_or(0), *degrees / 1000);
  }
}

struct Supply {
  std::string_view type;
  std::string_view scope;
  std::string_view online;
  std::string_view status;
  std::optional<std::int64_t> percent;
};

// A laptop's battery that is being emptied says so; a mouse's (scope "Device") says nothing of this machine.
void add_power(std::string_view text, Hygiene& hygiene) {
  std::map<std::string_view, Supply> supplies;
  for (const PathLine& line : path_lines(text)) {
    const std::string_view file = base_name(line.path);
    if (file == "platform_profile") {
      hygiene.low_power_mode = line.line == "low-power";
      continue;
    }
    Supply& supply = supplies[line.path.substr(0, line.path.rfind('/'))];
    if (file == "type") supply.type = line.line;
    if (file == "scope") supply.scope = line.line;
    if (file == "online") supply.online = line.line;
    if (file == "status") supply.status = line.line;
    if (file == "capacity") supply.percent = to_integer(line.line);
  }
  for (const auto& [folder, supply] : supplies) {
    if (supply.scope == "Device") continue;
    if (supply.type == "Battery") {
      hygiene.battery_percent = supply.percent;
      if (supply.status == "Discharging") hygiene.power_source = "battery";
    } else if (supply.online == "1" && hygiene.power_source.empty()) {
      hygiene.power_source = "ac";
    }
  }
}

void add_clocks(std::string_view text, Hygiene& hygiene) {
  constexpr double kMostKhz = 1e8;
  for (const PathLine& line : path_lines(text)) {
    const std::string_view file = base_name(line.path);
    if (file == "package_throttle_count") hygiene.cpu_throttle_events = to_integer(line.line);
    const auto khz = file == "scaling_cur_freq" ? to_number(line.line) : std::nullopt;
    if (khz && *khz > 0 && *khz < kMostKhz) {
      hygiene.cpu_clock_mhz = std::max(hygiene.cpu_clock_mhz.value_or(0), *khz / 1000);
    }
  }
}

// "/sys/class/drm/card1/device/gpu_busy_percent" -> 1
std::optional<std::int64_t> card_number(std::string_view path) {
  const auto rest = after(path, "/sys/class/drm/card");
  return rest ? leading_number<std::int64_t>(*rest) : std::nullopt;
}

}  // namespace

void add_linux_hygiene(const SourceTexts& texts, Hygiene& hygiene) {
  add_load(text_of(texts, "loadavg"), hygiene);
  add_ticks(text_of(texts, "cpu_time"), hygiene);
  add_memory(texts, hygiene);
  add_temperature(text_of(texts, "temperatures"), hygiene);
  add_power(text_of(texts, "power"), hygiene);
  add_clocks(text_of(texts, "cpu_clocks"), hygiene);
  std::vector<std::string_view> processes;
  for (const PathLine& line : path_lines(text_of(texts, "processes"))) processes.push_back(line.line);
  count_vms(processes, hygiene);
}

void add_linux_gpu_state(const SourceTexts& texts, Hygiene& hygiene) {
  std::map<std::int64_t, GpuState> cards;
  for (const PathLine& line : path_lines(text_of(texts, "drm_state"))) {
    const auto number = card_number(line.path);
    const auto value = to_number(line.line);
    if (!number || !value || *value < 0) continue;
    GpuState& card = cards[*number];
    card.index = number;
    const std::string_view file = base_name(line.path);
    if (file == "gpu_busy_percent") card.use_percent = value;
    if (file == "mem_info_vram_used") card.memory_used_bytes = to_integer(line.line);
    if (file == "temp1_input") card.temperature_c = *value / 1000;
    if (file == "power1_average") card.power_w = *value / 1e6;
    if (file == "freq1_input") card.clock_mhz = *value / 1e6;
    if (file == "gt_act_freq_mhz") card.clock_mhz = value;
  }
  // The display behind nvidia-smi's GPUs is a card too, with none of these files.
  for (auto& [number, card] : cards) hygiene.gpus.push_back(std::move(card));
}

}  // namespace capbench::observe
