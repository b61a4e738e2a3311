#include <array>
#include <charconv>

#include "harness/observe/hygiene.h"
#include "harness/observe/text.h"

namespace capbench::observe {
namespace {

constexpr double kMost = 1e9;

// Not a number: "[N/A]", "[Not Supported]", "[Unknown Error]".
std::optional<double> number_in(const TextMap& row, std::string_view column) {
  const auto value = to_number(value_of(row, column));
  return value && *value >= 0 && *value < kMost ? value : std::nullopt;
}

std::optional<std::uint64_t> mask_in(const TextMap& row) {
  std::string text = value_of(row, "clocks_event_reasons.active");
  if (text.empty()) text = value_of(row, "clocks_throttle_reasons.active");
  if (!text.starts_with("0x")) return std::nullopt;
  std::uint64_t mask = 0;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data() + 2, end, mask, 16);
  if (error != std::errc() || stop != end) return std::nullopt;
  return mask;
}

}  // namespace

std::vector<std::string> nvidia_throttle_reasons(std::uint64_t mask) {
  struct Reason {
    std::uint64_t bit;
    std::string_view name;
  };
  constexpr std::array<Reason, 6> kReasons{{{0x4, "power cap"},
                                            {0x8, "hardware slowdown"},
                                            {0x10, "sync boost"},
                                            {0x20, "thermal"},
                                            {0x40, "hardware thermal"},
                                            {0x80, "hardware power brake"}}};
  std::vector<std::string> names;
  for (const Reason& reason : kReasons) {
    if ((mask & reason.bit) != 0) names.emplace_back(reason.name);
  }
  return names;
}

void add_nvidia_state(const SourceTexts& texts, Hygiene& hygiene) {
  constexpr double kMebibyte = 1024.0 * 1024;
  for (const TextMap& row : csv_rows(text_of(texts, "nvidia.state"), "utilization.gpu")) {
    GpuState gpu;
    gpu.index = to_integer(value_of(row, "index"));
    gpu.use_percent = number_in(row, "utilization.gpu");
    if (const auto mib = number_in(row, "memory.used")) {
      gpu.memory_used_bytes = static_cast<std::int64_t>(*mib * kMebibyte);
    }
    gpu.temperature_c = number_in(row, "temperature.gpu");
    gpu.power_w = number_in(row, "power.draw");
    gpu.clock_mhz = number_in(row, row.contains("clocks.current.sm") ? "clocks.current.sm" : "clocks.sm");
    if (const auto mask = mask_in(row)) gpu.throttle_reasons = nvidia_throttle_reasons(*mask);
    hygiene.gpus.push_back(std::move(gpu));
  }
  const std::string_view processes = text_of(texts, "nvidia.processes");
  if (processes.find("pid") != std::string_view::npos) {
    hygiene.gpu_processes = static_cast<std::int64_t>(csv_rows(processes, "pid").size());
  }
}

}  // namespace capbench::observe
