// What a suite says about a target, before anything is asked of it.
#ifndef CAPBENCH_HARNESS_SUITE_TARGET_SPEC_H_
#define CAPBENCH_HARNESS_SUITE_TARGET_SPEC_H_

#include <map>
#include <string>
#include <vector>

namespace capbench::suite {

// Where an arm runs. Only the shape is checked here; harness/target knows the kinds and what each takes.
struct TargetSpec {
  std::string kind;                            // "ssh", "lume", ...
  std::string machine;                         // "local" or a target's name, the physical host; empty: see machine.h
  std::map<std::string, std::string> options;  // numbers and booleans as text; {"require": {"os": x}} is "require.os"
  std::map<std::string, std::vector<std::string>> lists;  // argv lists: "start", "stop", "run", ...

  friend bool operator==(const TargetSpec&, const TargetSpec&) = default;
};

}  // namespace capbench::suite

#endif  // CAPBENCH_HARNESS_SUITE_TARGET_SPEC_H_
