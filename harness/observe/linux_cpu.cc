#include <algorithm>
#include <set>

#include "harness/observe/facts.h"

namespace capbench::observe {
namespace {

std::optional<std::int64_t> count_processors(std::string_view cpuinfo) {
  std::int64_t count = 0;
  for_each_line(cpuinfo, [&](std::string_view line) {
    if (line.starts_with("processor") && stripped(line.substr(9)).starts_with(':')) ++count;
  });
  return count > 0 ? std::optional(count) : std::nullopt;
}

// What all files of this name say, "performance" or, where they differ, "performance, powersave".
std::string all_values(const std::vector<PathLine>& lines, std::string_view file) {
  std::set<std::string_view> values;
  for (const PathLine& line : lines) {
    if (base_name(line.path) == file) values.insert(line.line);
  }
  std::string text;
  for (const std::string_view value : values) text.append(text.empty() ? "" : ", ").append(value);
  return text;
}

}  // namespace

void add_linux_cpu(const SourceTexts& texts, Facts& facts) {
  FactGroup& machine = facts.machine;
  const std::string_view cpuinfo = text_of(texts, "cpuinfo");
  // Every processor repeats the keys, so the first block is enough.
  const TextMap cpu = key_values(cpuinfo.substr(0, cpuinfo.find("\n\n")), ':');
  const TextMap more = lscpu_fields(text_of(texts, "lscpu"));
  machine.set("cpu", cpu.contains("model name") ? value_of(cpu, "model name") : value_of(more, "Model name"));
  machine.set("cpu_vendor", cpu.contains("vendor_id") ? value_of(cpu, "vendor_id") : value_of(more, "Vendor ID"));
  machine.set("cpu_family", value_of(cpu, "cpu family"));
  machine.set("cpu_model", value_of(cpu, "model"));
  machine.set("cpu_stepping", value_of(cpu, "stepping"));
  machine.set("cpu_microcode", value_of(cpu, "microcode"));
  machine.set("cpu_flags", cpu.contains("flags") ? value_of(cpu, "flags") : value_of(cpu, "Features"));
  machine.set("cpus", count_processors(cpuinfo));

  const auto sockets = to_integer(value_of(more, "Socket(s)"));
  const auto cores = to_integer(value_of(more, "Core(s) per socket"));
  constexpr std::int64_t kMany = 1 << 20;
  if (sockets && cores && *sockets > 0 && *cores > 0 && *sockets < kMany && *cores < kMany) {
    machine.set("cpu_cores", *sockets * *cores);
    machine.set("cpu_sockets", sockets);
  }
  machine.set("threads_per_core", to_integer(value_of(more, "Thread(s) per core")));
  machine.set("numa_nodes", to_integer(value_of(more, "NUMA node(s)")));
  machine.set("cache_l2", value_of(more, "L2 cache"));
  machine.set("cache_l3", value_of(more, "L3 cache"));

  const std::vector<PathLine> settings = path_lines(text_of(texts, "cpu_settings"));
  machine.set("cpu_governor", all_values(settings, "scaling_governor"));
  machine.set("cpu_driver", all_values(settings, "scaling_driver"));
  machine.set("cpu_boost", all_values(settings, "boost"));
  if (const std::string off = all_values(settings, "no_turbo"); !off.empty()) {
    machine.set("cpu_boost", off == "0" ? "1" : "0");
  }
  machine.set("smt", all_values(settings, "control"));
  machine.set("transparent_hugepage", all_values(settings, "enabled"));
}

}  // namespace capbench::observe
