#include "harness/observe/source_table.h"

namespace capbench::observe {
namespace {

constexpr std::size_t kLarge = 4U << 20U;

Source linux_source(std::string name, Purpose purpose, SourceKind kind) {
  Source source;
  source.name = std::move(name);
  source.os = Os::kLinux;
  source.purpose = purpose;
  source.kind = kind;
  return source;
}

Source files(SourceKind kind, std::string name, Purpose purpose, std::vector<std::string> patterns,
             std::size_t max_bytes = 64U << 10U) {
  Source source = linux_source(std::move(name), purpose, kind);
  source.patterns = std::move(patterns);
  source.max_bytes = max_bytes;
  return source;
}

Source command(std::string name, Purpose purpose, std::vector<std::vector<std::string>> commands, int limit_s = 5) {
  Source source = linux_source(std::move(name), purpose, SourceKind::kCommand);
  source.commands = std::move(commands);
  source.limit_s = limit_s;
  source.max_bytes = 1U << 20U;
  return source;
}

std::vector<std::string> nvidia_smi(const char* query) {
  return {"nvidia-smi", query, "--format=csv,nounits"};
}

// Seconds: without its persistence daemon the driver starts a GPU for every question.
constexpr int kNvidiaLimit = 20;

// Loading every driver takes a tenth of a second of each run. Where no GPU has a device file, all that it could find is
// a program on the CPU, whose files are in the closure of the trials that it took part in.
Source vulkan_summary(Purpose purpose) {
  Source source = command("vulkan", purpose, {{"vulkaninfo", "--summary"}}, 20);
  source.only_with = {"/dev/dri/card*", "/dev/dri/renderD*", "/dev/nvidiactl", "/dev/nvidia[0-9]*",
                      "/dev/dxg",       "/dev/kgsl-3d[0-9]", "/dev/mali*",     "/dev/kfd"};
  return source;
}

}  // namespace

std::vector<Source> linux_environment() {
  using enum SourceKind;
  constexpr Purpose kWhat = Purpose::kEnvironment;
  return {
      linux_source("variables", kWhat, kVariables),
      linux_source("personal", kWhat, kPersonal),
      linux_source("uname", kWhat, kUname),
      files(kFile, "machine_id", kWhat, {"/etc/machine-id"}),
      files(kFile, "os_release", kWhat, {"/etc/os-release"}),
      files(kFile, "cpuinfo", kWhat, {"/proc/cpuinfo"}, kLarge),
      files(kFile, "meminfo", kWhat, {"/proc/meminfo"}),
      command("lscpu", kWhat, {{"lscpu", "-J"}}),
      files(kFirstLines, "cpu_settings", kWhat,
            {"/sys/devices/system/cpu/cpufreq/policy*/scaling_governor",
             "/sys/devices/system/cpu/cpufreq/policy*/scaling_driver", "/sys/devices/system/cpu/cpufreq/boost",
             "/sys/devices/system/cpu/intel_pstate/no_turbo", "/sys/devices/system/cpu/smt/control",
             "/sys/kernel/mm/transparent_hugepage/enabled"},
            kLarge),
      files(kFirstLines, "dmi", kWhat, {"/sys/class/dmi/id/sys_vendor", "/sys/class/dmi/id/product_name"}),
      files(kFile, "device_tree", kWhat, {"/proc/device-tree/model"}),
      files(kFile, "hypervisor_type", kWhat, {"/sys/hypervisor/type"}),
      command("detect_virt", kWhat, {{"systemd-detect-virt", "--vm"}}),
      command("detect_container", kWhat, {{"systemd-detect-virt", "--container"}}),
      files(kPaths, "container_marks", kWhat,
            {"/.dockerenv", "/run/.containerenv", "/proc/sys/fs/binfmt_misc/WSLInterop*", "/dev/dxg"}),
      files(kFirstLines, "cgroup_limits", kWhat,
            {"/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/cpu.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"}),
      files(kFile, "ld_so_preload", kWhat, {"/etc/ld.so.preload"}),
      files(kFirstLines, "drm", kWhat,
            {"/sys/class/drm/card[0-9]/device/vendor", "/sys/class/drm/card[0-9]/device/device",
             "/sys/class/drm/card[0-9]/device/uevent", "/sys/class/drm/card[0-9]/device/mem_info_vram_total",
             "/sys/module/amdgpu/version", "/opt/rocm/.info/version"}),
      files(kPaths, "render_nodes", kWhat, {"/dev/dri/renderD*", "/dev/kfd", "/dev/nvidiactl"}),
      files(kFile, "nvidia.module", kWhat, {"/proc/driver/nvidia/version"}),
      command("nvidia.version", kWhat, {{"nvidia-smi", "--version"}}, kNvidiaLimit),
      // Old drivers refuse the whole question if they do not know one of its fields.
      command("nvidia.gpus", kWhat,
              {nvidia_smi("--query-gpu=index,name,driver_version,vbios_version,compute_cap,memory.total,power.limit,"
                          "clocks.max.sm,clocks.max.memory,ecc.mode.current,mig.mode.current,persistence_mode"),
               nvidia_smi("--query-gpu=index,name,driver_version,memory.total")},
              kNvidiaLimit),
      vulkan_summary(kWhat),
      files(kPaths, "implicit_layers", kWhat,
            {"/etc/vulkan/implicit_layer.d/*.json", "/usr/share/vulkan/implicit_layer.d/*.json",
             "/usr/local/share/vulkan/implicit_layer.d/*.json", "/usr/local/etc/vulkan/implicit_layer.d/*.json",
             "~/.local/share/vulkan/implicit_layer.d/*.json", "~/.config/vulkan/implicit_layer.d/*.json"}),
      command("frontend.docker", kWhat, {{"docker", "--version"}}),
      command("frontend.podman", kWhat, {{"podman", "--version"}}),
      command("frontend.lima", kWhat, {{"limactl", "--version"}}),
      command("frontend.multipass", kWhat, {{"multipass", "version"}}),
      command("frontend.qemu", kWhat, {{"qemu-system-x86_64", "--version"}, {"qemu-system-aarch64", "--version"}}),
      command("frontend.virtualbox", kWhat, {{"VBoxManage", "--version"}}),
  };
}

std::vector<Source> linux_hygiene() {
  using enum SourceKind;
  constexpr Purpose kWhat = Purpose::kHygiene;
  return {
      files(kFile, "loadavg", kWhat, {"/proc/loadavg"}),
      files(kFirstLines, "cpu_time", kWhat, {"/proc/stat"}),
      files(kFile, "meminfo", kWhat, {"/proc/meminfo"}),
      files(kFile, "vmstat", kWhat, {"/proc/vmstat"}),
      files(kFirstLines, "pressure", kWhat, {"/proc/pressure/cpu", "/proc/pressure/memory"}),
      files(kFirstLines, "processes", kWhat, {"/proc/[0-9]*/comm"}, kLarge),
      files(kFirstLines, "temperatures", kWhat,
            {"/sys/class/thermal/thermal_zone*/temp", "/sys/class/thermal/thermal_zone*/type",
             "/sys/class/hwmon/hwmon*/name", "/sys/class/hwmon/hwmon*/temp1_input"}),
      files(kFirstLines, "power", kWhat,
            {"/sys/class/power_supply/*/type", "/sys/class/power_supply/*/scope", "/sys/class/power_supply/*/online",
             "/sys/class/power_supply/*/capacity", "/sys/class/power_supply/*/status",
             "/sys/firmware/acpi/platform_profile"}),
      files(kFirstLines, "cpu_clocks", kWhat,
            {"/sys/devices/system/cpu/cpufreq/policy[0-9]/scaling_cur_freq",
             "/sys/devices/system/cpu/cpu0/thermal_throttle/package_throttle_count"}),
      files(kFirstLines, "drm_state", kWhat,
            {"/sys/class/drm/card[0-9]/device/gpu_busy_percent", "/sys/class/drm/card[0-9]/device/mem_info_vram_used",
             "/sys/class/drm/card[0-9]/device/hwmon/hwmon*/temp1_input",
             "/sys/class/drm/card[0-9]/device/hwmon/hwmon*/power1_average",
             "/sys/class/drm/card[0-9]/device/hwmon/hwmon*/freq1_input", "/sys/class/drm/card[0-9]/gt_act_freq_mhz"}),
      command("nvidia.state", kWhat,
              {nvidia_smi("--query-gpu=index,utilization.gpu,memory.used,temperature.gpu,power.draw,clocks.sm,pstate,"
                          "clocks_throttle_reasons.active"),
               nvidia_smi("--query-gpu=index,utilization.gpu,memory.used,temperature.gpu,power.draw,clocks.sm,pstate,"
                          "clocks_event_reasons.active"),
               nvidia_smi("--query-gpu=index,utilization.gpu,memory.used,temperature.gpu")},
              kNvidiaLimit),
      command("nvidia.processes", kWhat, {nvidia_smi("--query-compute-apps=pid,used_gpu_memory")}, kNvidiaLimit),
  };
}

}  // namespace capbench::observe
