#include "harness/observe/ggml_log_cuda.h"

#include "harness/observe/log_lines.h"

namespace capbench::observe {

std::vector<CudaDevice> cuda_devices(std::string_view log) {
  constexpr std::string_view kCapability = ", compute capability ";
  std::vector<CudaDevice> devices;
  for_each_line(log, [&](std::string_view line) {
    const auto numbered = after(line, "Device ");
    // The last one: the name is the device's own and may hold anything.
    const std::size_t capability = line.rfind(kCapability);
    if (!numbered || capability == std::string_view::npos) return;
    const auto index = leading_number<std::int64_t>(*numbered);
    const auto named = after(*numbered, ": ");
    const std::size_t start = named ? static_cast<std::size_t>(named->data() - line.data()) : line.size();
    if (!index || *index < 0 || start > capability) return;
    CudaDevice device;
    device.index = *index;
    device.name = line.substr(start, capability - start);
    const std::string_view facts = line.substr(capability + kCapability.size());
    device.major = leading_number<std::int64_t>(facts);
    const auto minor = after(facts, ".");
    if (minor) device.minor = leading_number<std::int64_t>(*minor);
    if (const auto vmm = after(facts, "VMM: ")) {
      if (vmm->starts_with("yes")) device.virtual_memory = true;
      if (vmm->starts_with("no")) device.virtual_memory = false;
    }
    if (const auto vram = after(facts, "VRAM: ")) device.vram_mib = leading_number<std::int64_t>(*vram);
    devices.push_back(std::move(device));
  });
  return devices;
}

}  // namespace capbench::observe
