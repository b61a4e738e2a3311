#include "harness/observe/hygiene.h"

#include <algorithm>
#include <array>

#include "harness/observe/run_command.h"
#include "harness/observe/text.h"

namespace capbench::observe {
namespace {

template <class T>
std::optional<T> difference(const std::optional<T>& before, const std::optional<T>& after) {
  if (!before || !after) return std::nullopt;
  return *after - *before;
}

std::optional<std::int64_t> gpu_memory(const Hygiene& hygiene) {
  std::optional<std::int64_t> sum;
  constexpr std::int64_t kMost = std::int64_t{1} << 60U;
  for (const GpuState& gpu : hygiene.gpus) {
    if (gpu.memory_used_bytes) sum = std::min(sum.value_or(0), kMost) + std::min(*gpu.memory_used_bytes, kMost);
  }
  return sum;
}

}  // namespace

Hygiene hygiene_from(const SourceTexts& texts) {
  Hygiene hygiene;
  if (texts.contains("sysctl.state") || texts.contains("vm_stat")) {
    add_macos_hygiene(texts, hygiene);
    add_macos_gpu_state(texts, hygiene);
  } else {
    add_linux_hygiene(texts, hygiene);
    add_nvidia_state(texts, hygiene);
    add_linux_gpu_state(texts, hygiene);
  }
  return hygiene;
}

Hygiene collect_hygiene() {
  return hygiene_from(read_sources_locally(sources(this_os(), Purpose::kHygiene), run_command));
}

Growth growth(const Hygiene& before, const Hygiene& after) {
  Growth grown;
  grown.swapped_out_bytes = difference(before.swapped_out_bytes, after.swapped_out_bytes);
  grown.swap_used_bytes = difference(before.swap_used_bytes, after.swap_used_bytes);
  grown.compressed_bytes = difference(before.compressed_bytes, after.compressed_bytes);
  grown.memory_free_percent = difference(before.memory_free_percent, after.memory_free_percent);
  grown.cpu_throttle_events = difference(before.cpu_throttle_events, after.cpu_throttle_events);
  grown.gpu_memory_used_bytes = difference(gpu_memory(before), gpu_memory(after));
  const auto busy = difference(before.cpu_busy_ticks, after.cpu_busy_ticks);
  const auto total = difference(before.cpu_total_ticks, after.cpu_total_ticks);
  if (busy && total && *total > 0 && *busy >= 0 && *busy <= *total) {
    grown.cpu_busy_percent = 100.0 * static_cast<double>(*busy) / static_cast<double>(*total);
  }
  return grown;
}

std::optional<double> busiest_gpu(const Hygiene& hygiene) {
  std::optional<double> most;
  for (const GpuState& gpu : hygiene.gpus) {
    if (gpu.use_percent) most = std::max(most.value_or(0), *gpu.use_percent);
  }
  return most;
}

void count_vms(const std::vector<std::string_view>& processes, Hygiene& hygiene) {
  // The kernel cuts names to 15 bytes, so a name counts by its start.
  constexpr std::array<std::string_view, 13> kVirtualMachines{"com.apple.Virtualization.VirtualMachine",
                                                              "qemu-system",
                                                              "qemu-kvm",
                                                              "krunkit",
                                                              "vfkit",
                                                              "prl_vm_app",
                                                              "prl_vm_app_macvm",
                                                              "VBoxHeadless",
                                                              "VirtualBoxVM",
                                                              "vmware-vmx",
                                                              "firecracker",
                                                              "cloud-hypervis",
                                                              "crosvm"};
  hygiene.processes_known = hygiene.processes_known || !processes.empty();
  for (const std::string_view process : processes) {
    const std::string_view name = base_name(process);
    const auto* known = std::find_if(kVirtualMachines.begin(), kVirtualMachines.end(),
                                     [&](std::string_view start) { return name.starts_with(start); });
    if (known != kVirtualMachines.end()) ++hygiene.vms[std::string(*known)];
  }
}

}  // namespace capbench::observe
