#include "harness/suite/machine.h"

namespace capbench::suite {

std::string machine_of(const std::string& target, const std::map<std::string, TargetSpec>& targets) {
  const auto found = targets.find(target);
  if (found == targets.end()) return "local";
  const TargetSpec& spec = found->second;
  if (!spec.machine.empty()) return spec.machine;
  return spec.kind == "ssh" ? target : "local";
}

std::string guest_of(const std::string& target, const std::map<std::string, TargetSpec>& targets) {
  const auto found = targets.find(target);
  if (found == targets.end()) return "";
  const TargetSpec& spec = found->second;
  if (const auto stated = spec.options.find("guest"); stated != spec.options.end()) return stated->second;
  if (spec.kind == "local" || spec.kind == "ssh" || spec.kind == "command") return "";
  return spec.kind == "container" ? "container" : "vm";
}

}  // namespace capbench::suite
