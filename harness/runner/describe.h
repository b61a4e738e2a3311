// The commands of a suite, for people to read before anything runs.
#ifndef CAPBENCH_HARNESS_RUNNER_DESCRIBE_H_
#define CAPBENCH_HARNESS_RUNNER_DESCRIBE_H_

#include <filesystem>
#include <string>
#include <vector>

#include "base/result.h"
#include "harness/runner/install.h"
#include "harness/suite/suite.h"

namespace capbench::runner {

// One MODEL/WORKLOAD/ARM.
struct CellCommands {
  std::string cell;
  std::string target;
  std::vector<std::string> commands;  // in the order they run; the last ones may be clean-up
};

// Nothing is run, sent or asked, so a path on another machine stands in angle brackets: "<sent>/llama-bench". An error
// is one that would stop the run too: a target of no kind, a capability that no shim there answers.
Result<std::vector<CellCommands>> describe_commands(const suite::Suite& suite, const std::filesystem::path& suite_dir,
                                                    const Install& install);

}  // namespace capbench::runner

#endif  // CAPBENCH_HARNESS_RUNNER_DESCRIBE_H_
