// Drives a plan: one fresh process per trial, each journalled in one transaction, resumable at any point.
#ifndef CAPBENCH_HARNESS_RUNNER_RUN_H_
#define CAPBENCH_HARNESS_RUNNER_RUN_H_

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>

#include "base/result.h"
#include "harness/runner/install.h"
#include "harness/runner/progress.h"
#include "harness/runner/stop_signal.h"
#include "harness/suite/shard.h"
#include "harness/suite/suite.h"
#include "schema/store.h"

namespace capbench::runner {

struct RunOptions {
  bool resume = false;                // go on with the newest run of this suite on this machine
  bool same_program_only = false;     // with resume: runs that began with another program are left alone, not errors
  std::string only;                   // glob over "MODEL/WORKLOAD/ARM"; empty: all
  suite::Shard shard;                 // the part of the plan to run
  std::optional<std::uint64_t> seed;  // of the order; a resumed run keeps its own
  bool wait_for_machine = true;       // while another harness measures
};

struct RunSummary {
  std::string run_id;
  std::size_t planned = 0;
  std::size_t ran = 0;                           // in this sitting
  std::map<std::string, std::size_t> by_status;  // of the run's latest attempts, this sitting and earlier ones
  // Of arms that the suite expects to fail.
  std::size_t failed_as_expected = 0;
  std::size_t unexpected_successes = 0;
  bool interrupted = false;
  bool target_lost = false;  // a machine went away; --resume goes on when it is back
  bool machine_is_virtual = false;
};

// Errors end the run: wrong input before the first trial, a store that cannot be written, a target that broke. What was
// stored before stays. A trial that fails is a row and the run goes on.
Result<RunSummary> run_suite(const suite::Suite& suite, const std::filesystem::path& suite_dir, schema::Store& store,
                             const Install& install, const RunOptions& options, Progress& progress,
                             const StopSignal& stop);

}  // namespace capbench::runner

#endif  // CAPBENCH_HARNESS_RUNNER_RUN_H_
