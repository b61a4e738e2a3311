#include <fmt/format.h>

#include <array>

#include "harness/observe/facts.h"

namespace capbench::observe {
namespace {

// "[N/A]", "[Not Supported]", "N/A": the driver's ways to say nothing.
std::string known(const TextMap& row, std::string_view column) {
  std::string value = value_of(row, column);
  return value.starts_with('[') || value == "N/A" ? "" : value;
}

struct Column {
  std::string_view title;
  std::string_view fact;
};

constexpr std::array<Column, 4> kTexts{{{"driver_version", "driver_version"},
                                        {"vbios_version", "firmware"},
                                        {"compute_cap", "compute_capability"},
                                        {"mig.mode.current", "mig"}}};
constexpr std::array<Column, 2> kSwitches{{{"ecc.mode.current", "ecc"}, {"persistence_mode", "persistence"}}};
constexpr std::array<Column, 3> kWhole{{{"power.limit", "power_limit_w"},
                                        {"clocks.max.sm", "max_clock_mhz"},
                                        {"clocks.max.memory", "max_memory_clock_mhz"}}};

// "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  580.159.04  Release Build  (...)"
void add_module(std::string_view text, FactGroup& machine) {
  const std::string_view line = text.substr(0, text.find('\n'));
  if (line.find("NVRM version:") == std::string_view::npos) return;
  machine.set("nvidia_module", line.find("Open Kernel Module") != std::string_view::npos ? "open" : "proprietary");
  std::string_view rest = line;
  while (!rest.empty()) {
    const std::size_t end = std::min(rest.find(' '), rest.size());
    const std::string_view word = rest.substr(0, end);
    rest.remove_prefix(std::min(end + 1, rest.size()));
    const bool number = !word.empty() && word.find_first_not_of("0123456789.") == std::string_view::npos;
    if (number && word.find('.') != std::string_view::npos) {
      machine.set("nvidia_driver", word);
      return;
    }
  }
}

}  // namespace

void add_nvidia(const SourceTexts& texts, Facts& facts) {
  add_module(text_of(texts, "nvidia.module"), facts.machine);
  const TextMap versions = key_values(text_of(texts, "nvidia.version"), ':');
  facts.machine.set("cuda_version", value_of(versions, "CUDA Version"));
  facts.machine.set("nvidia_driver", value_of(versions, "DRIVER version"));
  std::vector<FactGroup>& gpus = facts.rows["gpus"];
  for (const TextMap& row : csv_rows(text_of(texts, "nvidia.gpus"), "driver_version")) {
    FactGroup gpu;
    gpu.set("name", known(row, "name"));
    gpu.set("vendor", "NVIDIA");
    gpu.set("driver", "nvidia");
    constexpr double kMebibyte = 1024.0 * 1024;
    constexpr double kMost = 1e9;
    if (const auto mib = to_number(known(row, "memory.total")); mib && *mib > 0 && *mib < kMost) {
      gpu.set("memory_bytes", static_cast<std::int64_t>(*mib * kMebibyte));
    }
    for (const Column& column : kTexts) gpu.set(column.fact, known(row, column.title));
    for (const Column& column : kSwitches) {
      if (const std::string value = known(row, column.title); !value.empty()) {
        gpu.set_flag(column.fact, value == "Enabled");
      }
    }
    for (const Column& column : kWhole) {
      if (const auto value = to_number(known(row, column.title)); value && *value >= 0 && *value < kMost) {
        gpu.set(column.fact, static_cast<std::int64_t>(*value));
      }
    }
    if (facts.machine.text("nvidia_driver").empty()) facts.machine.set("nvidia_driver", gpu.text("driver_version"));
    gpus.push_back(std::move(gpu));
  }
}

}  // namespace capbench::observe
