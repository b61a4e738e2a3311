// What a suite requires of a target, checked against the facts that were collected there. Pure, thread-safe.
//
//   os                 "linux" or "macos", alone or with a version: "macos 26.5.2", "macos >=26"
//   os_build           the build: "25F84"
//   kernel             a glob over the kernel's release
//   vcpu               logical CPUs: "8", ">=8", "<=16"
//   memory_gib         memory; a plain number allows the 6 % that a kernel keeps for itself
//   chip               a glob over the CPU's name: "Apple M1*"
//   gpu                a glob that one GPU's name matches: "*H200*", "none" for no GPU
//   guest              "true" or "false": is the target a virtual machine?
//   hypervisor         a glob over what makes it one
//   sip                "enabled", "disabled" or "custom"
//   host_preference    ForceUnrestrictedDeviceFeatureLevel of the host: "on", or "off" for off and unset
//   frontend           of the host: "lume", "lume 0.5.1", "lume >=0.5"
//   injected           "none": no shim is installed or switched on for every program of the target
#ifndef CAPBENCH_HARNESS_OBSERVE_REQUIREMENTS_H_
#define CAPBENCH_HARNESS_OBSERVE_REQUIREMENTS_H_

#include <map>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace capbench::observe {

struct RequirementFinding {
  std::string name;    // "vcpu"
  std::string wanted;  // "8"
  std::string is;      // "4"; "unknown"
  std::string why;     // "the target has 4 CPUs, and the suite requires 8"
  std::string remedy;
  bool known = true;  // false: the facts do not tell
};

// Keys with or without "require." before them. `facts`: an environment record's JSON of the target; `host_facts`: of
// the machine that the target lives on, the same where the target is the machine. Empty: all is as required. What the
// facts do not tell is a finding too, with `known` false.
std::vector<RequirementFinding> check_requirements(const std::map<std::string, std::string>& required,
                                                   const nlohmann::json& facts, const nlohmann::json& host_facts);

// Before anything runs: is every key one of the above, and its value of the form that it takes? The error names the
// key.
Status check_requirement_names(const std::map<std::string, std::string>& required);

}  // namespace capbench::observe

#endif  // CAPBENCH_HARNESS_OBSERVE_REQUIREMENTS_H_
