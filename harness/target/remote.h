// A target behind a tool: job directories, files by digest, second attempts. The same for every Transport.
#ifndef CAPBENCH_HARNESS_TARGET_REMOTE_H_
#define CAPBENCH_HARNESS_TARGET_REMOTE_H_

#include <memory>
#include <string>

#include "harness/target/target.h"
#include "harness/target/transport.h"

namespace capbench::target {

// `kind` and `tools` must outlive it.
//
// Second attempts are made for what is safe to repeat: questions, copies, making and reading a job's folder. A job is
// started once. When the tool ends and the job has left no end, the job is ended if it can be reached and is kLost.
std::unique_ptr<Target> make_remote_target(std::string name, const TargetSpec& spec, const KindInfo& kind,
                                           ToolRunner& tools);

// Runs tools on the host behind `host`. Neither may go before it.
std::unique_ptr<ToolRunner> make_remote_tools(std::unique_ptr<Transport> host, const Traits& traits, ToolRunner& tools);

// After how many silent seconds a connection counts as lost: the option `lost_after_s`.
int lost_after_seconds(const TargetSpec& spec);

}  // namespace capbench::target

#endif  // CAPBENCH_HARNESS_TARGET_REMOTE_H_
