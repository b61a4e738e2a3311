// This machine.
#ifndef CAPBENCH_HARNESS_TARGET_LOCAL_H_
#define CAPBENCH_HARNESS_TARGET_LOCAL_H_

#include <memory>

#include "harness/target/target.h"

namespace capbench::target {

// Runs jobs as child processes of the harness, each under a keeper. While a job runs the harness sleeps in poll(2).
std::unique_ptr<Target> make_local_target();

}  // namespace capbench::target

#endif  // CAPBENCH_HARNESS_TARGET_LOCAL_H_
