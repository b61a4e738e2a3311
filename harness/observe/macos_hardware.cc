#include "harness/observe/facts.h"

namespace capbench::observe {

void add_macos_hardware(const SourceTexts& texts, Facts& facts) {
  FactGroup& machine = facts.machine;
  // sysctl exits with 1 if this system lacks one of the names, and prints the others.
  const auto source = texts.find("sysctl");
  const TextMap values = source == texts.end() ? TextMap() : key_values(source->second.text, ':');
  const std::string chip = value_of(values, "machdep.cpu.brand_string");
  const std::string model = value_of(values, "hw.model");
  machine.set("cpu", chip);
  machine.set("vendor", "Apple");
  machine.set("product", model);
  machine.set("cpus", to_integer(value_of(values, "hw.ncpu")));
  machine.set("cpu_cores", to_integer(value_of(values, "hw.physicalcpu")));
  machine.set("memory_bytes", to_integer(value_of(values, "hw.memsize")));
  if (to_integer(value_of(values, "hw.nperflevels")) == 2) {
    machine.set("performance_cores", to_integer(value_of(values, "hw.perflevel0.physicalcpu")));
    machine.set("efficiency_cores", to_integer(value_of(values, "hw.perflevel1.physicalcpu")));
  }
  machine.set("gpu_wired_limit_mib", to_integer(value_of(values, "iogpu.wired_limit_mb")));

  // "Darwin Kernel Version 25.6.0: DATE; root:xnu-12377.141.5~1/RELEASE_ARM64_T6000"
  const std::string version = value_of(values, "kern.version");
  if (const std::size_t at = version.find("root:"); at != std::string::npos) {
    machine.set("kernel_build", std::string_view(version).substr(at + 5));
  }
  const bool apple_guest =
      model.starts_with("VirtualMac") || version.find("VMAPPLE") != std::string::npos || chip.ends_with("(Virtual)");
  const bool guest = apple_guest || value_of(values, "kern.hv_vmm_present") == "1";
  machine.set_flag("guest", guest);
  if (guest) machine.set("hypervisor", apple_guest ? "Apple Virtualization" : "an unnamed hypervisor");
}

}  // namespace capbench::observe
