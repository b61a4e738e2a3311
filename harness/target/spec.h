// What a suite says about a target, looked at without asking anything of it.
#ifndef CAPBENCH_HARNESS_TARGET_SPEC_H_
#define CAPBENCH_HARNESS_TARGET_SPEC_H_

#include <string>
#include <string_view>

#include "base/result.h"
#include "harness/suite/target_spec.h"  // IWYU pragma: export

namespace capbench::target {

using suite::TargetSpec;

// The option's text, or `otherwise` where it is absent.
std::string option(const TargetSpec& spec, std::string_view key, std::string_view otherwise = {});

// Whether the kind exists, takes these keys and can use their values. Pure. An error names the key ("ssh: prot") and
// the nearest known one as the remedy.
Status check_spec(const TargetSpec& spec);

}  // namespace capbench::target

#endif  // CAPBENCH_HARNESS_TARGET_SPEC_H_
