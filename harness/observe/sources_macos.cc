#include "harness/observe/source_table.h"

namespace capbench::observe {
namespace {

Source macos_source(std::string name, Purpose purpose, SourceKind kind) {
  Source source;
  source.name = std::move(name);
  source.os = Os::kMacos;
  source.purpose = purpose;
  source.kind = kind;
  return source;
}

Source command(std::string name, Purpose purpose, std::vector<std::string> argv, int limit_s = 5) {
  Source source = macos_source(std::move(name), purpose, SourceKind::kCommand);
  source.commands = {std::move(argv)};
  source.limit_s = limit_s;
  source.max_bytes = 1U << 20U;
  return source;
}

Source paths(std::string name, std::vector<std::string> patterns) {
  Source source = macos_source(std::move(name), Purpose::kEnvironment, SourceKind::kPaths);
  source.patterns = std::move(patterns);
  return source;
}

}  // namespace

std::vector<Source> macos_environment() {
  constexpr Purpose kWhat = Purpose::kEnvironment;
  // The published images start their guest agent with a shim; its settings stand in the agent's property list.
  constexpr const char* kAgents =
      "grep -h -A1 -E '<key>(TART_METAL_|LUME_METAL_|DYLD_INSERT_LIBRARIES)' /Library/LaunchAgents/*.plist "
      "/Library/LaunchDaemons/*.plist \"$HOME\"/Library/LaunchAgents/*.plist";
  return {
      macos_source("variables", kWhat, SourceKind::kVariables),
      macos_source("personal", kWhat, SourceKind::kPersonal),
      macos_source("uname", kWhat, SourceKind::kUname),
      command("personal.computer", kWhat, {"scutil", "--get", "ComputerName"}),
      command("personal.name", kWhat, {"id", "-F"}),
      command("platform", kWhat, {"ioreg", "-r", "-d", "1", "-w", "0", "-c", "IOPlatformExpertDevice"}),
      command("sysctl", kWhat,
              {"sysctl", "machdep.cpu.brand_string", "hw.model", "hw.memsize", "hw.ncpu", "hw.physicalcpu",
               "hw.nperflevels", "hw.perflevel0.physicalcpu", "hw.perflevel1.physicalcpu", "kern.osversion",
               "kern.osproductversion", "kern.version", "kern.hv_vmm_present", "iogpu.wired_limit_mb"}),
      command("sw_vers", kWhat, {"sw_vers"}),
      command("system_profiler", kWhat, {"system_profiler", "-json", "SPHardwareDataType", "SPDisplaysDataType"}, 30),
      command("ioreg.agx", kWhat, {"ioreg", "-r", "-d", "1", "-w", "0", "-c", "AGXAccelerator"}),
      command("csrutil", kWhat, {"csrutil", "status"}),
      command("host_preference", kWhat,
              {"defaults", "read", "com.apple.gpusw.ParavirtualizedGraphics", "ForceUnrestrictedDeviceFeatureLevel"}),
      command("launchd.DYLD_INSERT_LIBRARIES", kWhat, {"launchctl", "getenv", "DYLD_INSERT_LIBRARIES"}),
      command("launchd.TART_METAL_APPLE_FAMILY_MAX", kWhat, {"launchctl", "getenv", "TART_METAL_APPLE_FAMILY_MAX"}),
      command("launchd.LUME_METAL_APPLE_FAMILY_MAX", kWhat, {"launchctl", "getenv", "LUME_METAL_APPLE_FAMILY_MAX"}),
      command("launchd_jobs", kWhat, {"sh", "-c", kAgents}),
      paths("installed_shims",
            {"/usr/local/lib/*MetalCapabilities*.dylib", "/opt/homebrew/lib/*MetalCapabilities*.dylib"}),
      command("frontend.lume", kWhat, {"lume", "--version"}),
      command("frontend.tart", kWhat, {"tart", "--version"}),
      command("frontend.parallels", kWhat, {"prlctl", "--version"}),
      command("frontend.anka", kWhat, {"anka", "version"}),
      command("frontend.lima", kWhat, {"limactl", "--version"}),
      command("frontend.podman", kWhat, {"podman", "--version"}),
      command("frontend.krunkit", kWhat, {"krunkit", "--version"}),
      command("frontend.multipass", kWhat, {"multipass", "version"}),
      command("frontend.qemu", kWhat, {"qemu-system-aarch64", "--version"}),
      // Asked from the application's folder: the programs inside would start the application.
      command("frontend.utm", kWhat,
              {"defaults", "read", "/Applications/UTM.app/Contents/Info", "CFBundleShortVersionString"}),
      command("frontend.virtualbuddy", kWhat,
              {"defaults", "read", "/Applications/VirtualBuddy.app/Contents/Info", "CFBundleShortVersionString"}),
  };
}

std::vector<Source> macos_hygiene() {
  constexpr Purpose kWhat = Purpose::kHygiene;
  return {
      command("sysctl.state", kWhat,
              {"sysctl", "vm.loadavg", "vm.swapusage", "kern.memorystatus_vm_pressure_level", "hw.ncpu"}),
      command("vm_stat", kWhat, {"vm_stat"}),
      command("memory_pressure", kWhat, {"memory_pressure", "-Q"}),
      command("thermal_level", kWhat, {"notifyutil", "-g", "com.apple.system.thermalpressurelevel"}),
      command("pmset.therm", kWhat, {"pmset", "-g", "therm"}),
      command("pmset.batt", kWhat, {"pmset", "-g", "batt"}),
      command("pmset", kWhat, {"pmset", "-g"}),
      command("processes", kWhat, {"ps", "-A", "-o", "comm="}),
      command("ioreg.accelerator", kWhat, {"ioreg", "-r", "-d", "1", "-w", "0", "-c", "IOAccelerator"}),
  };
}

}  // namespace capbench::observe
