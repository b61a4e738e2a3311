// This machine.
#ifndef CAPBENCH_HARNESS_TARGET_LOCAL_H_
#define CAPBENCH_HARNESS_TARGET_LOCAL_H_

#include <memory>
#include <string>

#include "harness/target/target.h"

namespace capbench::target {

// Runs jobs as child processes of the harness, each under a keeper. Nothing is copied: put gives the path back.
std::unique_ptr<Target> make_local_target(const TargetSpec& spec = {}, std::string name = "local");

const Traits& local_traits();

}  // namespace capbench::target

#endif  // CAPBENCH_HARNESS_TARGET_LOCAL_H_
