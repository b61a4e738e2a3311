#include <fmt/format.h>

#include "harness/observe/facts.h"

namespace capbench::observe {
namespace {

constexpr std::int64_t kLargestKib = std::int64_t{1} << 52U;

void add_limits(const SourceTexts& texts, FactGroup& machine) {
  for (const PathLine& line : path_lines(text_of(texts, "cgroup_limits"))) {
    const std::string_view file = base_name(line.path);
    if (file == "cpu.max") {
      // "QUOTA PERIOD" in microseconds; "max" is no limit.
      const std::size_t at = line.line.find(' ');
      const auto quota = to_number(line.line.substr(0, at));
      const auto period = at == std::string_view::npos ? std::nullopt : to_number(line.line.substr(at));
      if (quota && period && *quota > 0 && *period > 0)
        machine.set("cpu_limit", fmt::format("{:.6g}", *quota / *period));
    } else if (const auto bytes = to_integer(line.line); bytes && *bytes > 0 && *bytes < kLargestKib) {
      // The first control groups wrote "no limit" as the largest number of pages.
      machine.set("memory_limit_bytes", bytes);
    }
  }
}

}  // namespace

void add_linux_system(const SourceTexts& texts, Facts& facts) {
  FactGroup& machine = facts.machine;
  const TextMap release = key_values(text_of(texts, "os_release"), '=');
  machine.set("os_release", value_of(release, "PRETTY_NAME"));
  machine.set("os_version", value_of(release, "VERSION_ID"));
  const TextMap memory = key_values(text_of(texts, "meminfo"), ':');
  const std::string total = value_of(memory, "MemTotal");
  if (const auto kib = leading_number<std::int64_t>(total); kib && *kib > 0 && *kib < kLargestKib) {
    machine.set("memory_bytes", *kib * 1024);
  }
  for (const PathLine& line : path_lines(text_of(texts, "dmi"))) {
    machine.set(base_name(line.path) == "sys_vendor" ? "vendor" : "product", line.line);
  }
  if (machine.text("product").empty()) machine.set("product", first_line_of(texts, "device_tree"));
  add_limits(texts, machine);

  // A list of libraries, separated by spaces, colons or lines.
  std::string preload;
  for_each_line(text_of(texts, "ld_so_preload"), [&](std::string_view line) {
    const std::string_view names = stripped(line.substr(0, line.find('#')));
    if (!names.empty()) preload.append(preload.empty() ? "" : " ").append(names);
  });
  machine.set("ld_so_preload", preload);
}

}  // namespace capbench::observe
