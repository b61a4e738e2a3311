#include "harness/observe/environment.h"

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <sys/utsname.h>

#if defined(__x86_64__)
#include <cpuid.h>
#endif

#include <algorithm>
#include <charconv>
#include <chrono>
#include <ctime>
#include <map>
#include <nlohmann/json.hpp>
#include <string_view>

#include "base/digest.h"
#include "base/file.h"
#include "schema/canonical.h"

namespace capbench::observe {
namespace {

using nlohmann::json;

std::string trimmed(std::string_view text) {
  constexpr std::string_view kSpace = " \t\n\r\"";
  const std::size_t first = text.find_first_not_of(kSpace);
  if (first == std::string_view::npos) return "";
  return std::string(text.substr(first, text.find_last_not_of(kSpace) - first + 1));
}

std::string first_line(const std::filesystem::path& path) {
  const auto text = read_file(path, 1U << 20U);
  return text ? trimmed(text->substr(0, text->find('\n'))) : "";
}

// "key SEPARATOR value" lines; the first value of a key counts.
std::map<std::string, std::string> key_values(const std::filesystem::path& path, char separator) {
  std::map<std::string, std::string> result;
  const auto text = read_file(path, 16U << 20U);
  if (!text) return result;
  std::string_view rest = *text;
  while (!rest.empty()) {
    const std::size_t end = rest.find('\n');
    const std::string_view line = rest.substr(0, end);
    rest.remove_prefix(end == std::string_view::npos ? rest.size() : end + 1);
    const std::size_t at = line.find(separator);
    if (at != std::string_view::npos) result.emplace(trimmed(line.substr(0, at)), trimmed(line.substr(at + 1)));
  }
  return result;
}

std::size_t count_processors(const std::filesystem::path& cpuinfo) {
  const auto text = read_file(cpuinfo, 16U << 20U);
  if (!text) return 0;
  std::size_t count = 0;
  for (std::size_t at = 0; (at = text->find("processor", at)) != std::string::npos; at += 9) {
    if (at == 0 || (*text)[at - 1] == '\n') ++count;
  }
  return count;
}

std::string hypervisor_name(const std::string& vendor, const std::string& product) {
  const std::string both = vendor + " " + product;
  struct Known {
    std::string_view mark;
    std::string_view name;
  };
  constexpr Known kKnown[] = {{"QEMU", "KVM"},
                              {"KVM", "KVM"},
                              {"VMware", "VMware"},
                              {"VirtualBox", "VirtualBox"},
                              {"Microsoft", "Hyper-V"},
                              {"Xen", "Xen"},
                              {"Amazon EC2", "Amazon EC2"},
                              {"Google", "Google Compute Engine"},
                              {"Apple", "Apple Virtualization"},
                              {"Parallels", "Parallels"},
                              {"prlhyperv", "Parallels"},
                              {"bhyve", "bhyve"},
                              {"TCGTCGTCG", "QEMU (emulated)"}};
  for (const Known& known : kKnown) {
    if (both.find(known.mark) != std::string::npos) return std::string(known.name);
  }
  return "an unnamed hypervisor";
}

// The name that the hypervisor itself gives (CPUID leaf 0x40000000), for guests without a DMI table.
std::string hypervisor_signature() {
#if defined(__x86_64__)
  unsigned int eax = 0;
  unsigned int name[3] = {};
  __cpuid(1, eax, name[0], name[1], name[2]);
  constexpr unsigned int kHypervisorBit = 1U << 31U;
  if ((name[1] & kHypervisorBit) == 0) return "";
  __cpuid(0x40000000, eax, name[0], name[1], name[2]);
  std::string signature;
  for (const unsigned int part : name) {
    for (unsigned int shift = 0; shift < 32; shift += 8) {
      const char c = static_cast<char>((part >> shift) & 0xFFU);
      if (c > ' ' && c < 0x7F) signature += c;
    }
  }
  return signature;
#else
  return "";
#endif
}

void set_if_known(json& facts, const char* name, const std::string& value) {
  if (!value.empty()) facts[name] = value;
}

std::string label(const json& facts) {
  std::string text = facts.value("cpu", facts.value("arch", "unknown CPU"));
  const std::size_t cores = facts.value("cpus", std::size_t{0});
  if (cores > 0) text += fmt::format(", {} {}", cores, cores == 1 ? "core" : "cores");
  const double memory = facts.value("memory_bytes", 0.0);
  if (memory > 0) text += fmt::format(", {:.0f} GiB", memory / (1024.0 * 1024 * 1024));
  return text;
}

}  // namespace

schema::EnvironmentRecord collect_environment(const std::filesystem::path& root) {
  json facts;
  utsname system = {};
  if (::uname(&system) == 0) {
    facts["os"] = system.sysname;
    facts["kernel"] = system.release;
    facts["arch"] = system.machine;
  }
  const auto release = key_values(root / "etc/os-release", '=');
  if (const auto it = release.find("PRETTY_NAME"); it != release.end()) facts["os_release"] = it->second;

  auto cpu = key_values(root / "proc/cpuinfo", ':');
  set_if_known(facts, "cpu", cpu["model name"]);
  set_if_known(facts, "cpu_vendor", cpu["vendor_id"]);
  set_if_known(facts, "cpu_family", cpu["cpu family"]);
  set_if_known(facts, "cpu_model", cpu["model"]);
  set_if_known(facts, "cpu_stepping", cpu["stepping"]);
  set_if_known(facts, "cpu_microcode", cpu["microcode"]);
  set_if_known(facts, "cpu_flags", cpu.contains("flags") ? cpu["flags"] : cpu["Features"]);
  if (const std::size_t cpus = count_processors(root / "proc/cpuinfo"); cpus > 0) facts["cpus"] = cpus;

  const auto memory = key_values(root / "proc/meminfo", ':');
  if (const auto it = memory.find("MemTotal"); it != memory.end()) {
    std::uint64_t kib = 0;
    std::from_chars(it->second.data(), it->second.data() + it->second.size(), kib);
    if (kib > 0) facts["memory_bytes"] = kib * 1024;
  }
  set_if_known(facts, "cpu_governor", first_line(root / "sys/devices/system/cpu/cpu0/cpufreq/scaling_governor"));
  set_if_known(facts, "cpu_boost", first_line(root / "sys/devices/system/cpu/cpufreq/boost"));
  set_if_known(facts, "smt", first_line(root / "sys/devices/system/cpu/smt/control"));
  set_if_known(facts, "transparent_hugepage", first_line(root / "sys/kernel/mm/transparent_hugepage/enabled"));
  const std::string vendor = first_line(root / "sys/class/dmi/id/sys_vendor");
  const std::string product = first_line(root / "sys/class/dmi/id/product_name");
  set_if_known(facts, "vendor", vendor);
  set_if_known(facts, "product", product);

  const std::string hypervisor_type = first_line(root / "sys/hypervisor/type");
  const std::string flags = " " + facts.value("cpu_flags", "") + " ";
  if (flags.find(" hypervisor ") != std::string::npos || !hypervisor_type.empty()) {
    // CPUID tells of this machine; a test's folder describes another.
    const std::string signature = root == "/" ? hypervisor_signature() : "";
    facts["hypervisor"] = hypervisor_name(vendor + " " + hypervisor_type + " " + signature, product);
  }

  schema::EnvironmentRecord environment;
  environment.machine_label = label(facts);
  environment.is_virtual = facts.contains("hypervisor");
  const std::string machine_id = first_line(root / "etc/machine-id");
  std::string identity = "capbench machine\n";
  if (!machine_id.empty()) {
    identity += machine_id;
  } else {
    for (const char* name : {"arch", "cpu", "cpus", "memory_bytes", "vendor", "product"}) {
      if (facts.contains(name)) identity += fmt::format("{}={}\n", name, facts[name].dump());
    }
  }
  environment.machine_id = sha256(identity).substr(0, 16);
  facts["machine_id"] = environment.machine_id;
  environment.json = schema::canonical(facts);
  environment.id = sha256(environment.json);
  return environment;
}

std::string virtualization(const schema::EnvironmentRecord& environment) {
  const json facts = json::parse(environment.json, nullptr, false);
  return facts.is_object() ? facts.value("hypervisor", "") : "";
}

std::string utc_now() {
  const auto now = std::chrono::system_clock::now();
  const auto ms = std::chrono::duration_cast<std::chrono::milliseconds>(now.time_since_epoch()).count() % 1000;
  return fmt::format("{:%Y-%m-%dT%H:%M:%S}.{:03}Z", fmt::gmtime(std::chrono::system_clock::to_time_t(now)), ms);
}

}  // namespace capbench::observe
