// Where a command runs. One file per kind implements this.
#ifndef CAPBENCH_HARNESS_TARGET_TARGET_H_
#define CAPBENCH_HARNESS_TARGET_TARGET_H_

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "harness/target/job.h"

namespace capbench::target {

// What a running job reports back, called on the thread that runs it.
struct JobWatch {
  // A file descriptor that becomes readable when the job must be ended early (a stop signal); -1: never.
  int stop_fd = -1;
  // Called about once per `tick`; without it the harness sleeps until something happens.
  std::function<void()> on_tick;
  std::chrono::milliseconds tick{1000};
};

class Target {
 public:
  virtual ~Target() = default;
  virtual std::string_view kind() const = 0;
  // Runs one job to its end. An Error means that the target itself failed; a program that fails is a JobResult.
  virtual Result<JobResult> run(const Job& job, const JobWatch& watch) = 0;
};

// The target of that name, or an error that lists the kinds there are.
Result<std::unique_ptr<Target>> make_target(std::string_view name);

// The kinds of target, sorted.
std::vector<std::string_view> target_kinds();

}  // namespace capbench::target

#endif  // CAPBENCH_HARNESS_TARGET_TARGET_H_
