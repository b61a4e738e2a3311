// What all lanes of a run share.
#ifndef CAPBENCH_HARNESS_RUNNER_LANE_CONTEXT_H_
#define CAPBENCH_HARNESS_RUNNER_LANE_CONTEXT_H_

#include <filesystem>

#include "harness/runner/inputs.h"
#include "harness/runner/install.h"
#include "harness/runner/journal.h"
#include "harness/runner/place.h"
#include "harness/runner/shared_progress.h"
#include "harness/runner/stop_signal.h"
#include "harness/suite/suite.h"
#include "harness/target/tool.h"

namespace capbench::runner {

// Everything in it is safe to use from several threads, or constant.
struct LaneContext {
  const suite::Suite& suite;
  const std::filesystem::path& suite_dir;
  const Install& install;
  const Inputs& inputs;
  Journal& journal;
  SharedDigests& digests;
  MachineRegister& machines;
  SharedProgress& progress;
  target::ToolRunner& tools;
  const StopSignal& stop;
  bool wait_for_machine = true;
};

}  // namespace capbench::runner

#endif  // CAPBENCH_HARNESS_RUNNER_LANE_CONTEXT_H_
