// One harness at a time on a machine: a host and its guests share one GPU, and trials disturb each other.
#ifndef CAPBENCH_HARNESS_RUNNER_MACHINE_LOCK_H_
#define CAPBENCH_HARNESS_RUNNER_MACHINE_LOCK_H_

#include <filesystem>
#include <functional>
#include <string>

#include "base/fd.h"
#include "base/result.h"

namespace capbench::runner {

// Held until it is destroyed (or the process and its keepers are gone).
class MachineLock {
 public:
  explicit MachineLock(Fd fd) : fd_(std::move(fd)) {}
  int fd() const { return fd_.get(); }

 private:
  Fd fd_;
};

struct LockOptions {
  std::filesystem::path path;                              // the same for every user of the machine
  bool wait = true;                                        // false: refuse at once if another harness holds it
  int stop_fd = -1;                                        // readable: stop waiting
  std::function<void(const std::string& holder)> on_wait;  // called once, before waiting
};

// /tmp/capbench.lock: one name for all users, whatever their TMPDIR says. $CAPBENCH_LOCK_FILE names another, for
// machines where users do not share /tmp.
std::filesystem::path machine_lock_path();

Result<MachineLock> lock_machine(const LockOptions& options);

}  // namespace capbench::runner

#endif  // CAPBENCH_HARNESS_RUNNER_MACHINE_LOCK_H_
