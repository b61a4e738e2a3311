// What a suite says about a target, before anything is asked of it.
#ifndef CAPBENCH_HARNESS_TARGET_SPEC_H_
#define CAPBENCH_HARNESS_TARGET_SPEC_H_

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace capbench::target {

struct TargetSpec {
  std::string kind;                            // "ssh", "lume", ...
  std::string machine;                         // the physical host: "local" or another target; empty: see machine_of
  std::map<std::string, std::string> options;  // numbers and booleans as text: "22", "true"
  std::map<std::string, std::vector<std::string>> lists;  // argv lists: "start", "stop", "run", ...

  friend bool operator==(const TargetSpec&, const TargetSpec&) = default;
};

// The option's text, or `otherwise` where it is absent.
std::string option(const TargetSpec& spec, std::string_view key, std::string_view otherwise = {});

// Whether the kind exists, takes these keys and can use their values. Pure. An error names the key ("ssh: prot") and
// the nearest known one as the remedy.
Status check_spec(const TargetSpec& spec);

// The machine that the target lives on. Targets of one machine run one trial at a time. `name` is the target's.
std::string machine_of(std::string_view name, const TargetSpec& spec);

}  // namespace capbench::target

#endif  // CAPBENCH_HARNESS_TARGET_SPEC_H_
