// Ctrl-C, SIGTERM and SIGHUP as a readable file descriptor.
#ifndef CAPBENCH_HARNESS_RUNNER_STOP_SIGNAL_H_
#define CAPBENCH_HARNESS_RUNNER_STOP_SIGNAL_H_

#include <csignal>

#include "base/fd.h"

namespace capbench::runner {

// While it lives, the three signals are blocked in this thread and make `fd` readable instead. One at a time per
// process.
class StopSignal {
 public:
  StopSignal();
  ~StopSignal();
  StopSignal(const StopSignal&) = delete;
  StopSignal& operator=(const StopSignal&) = delete;

  int fd() const { return fd_.get(); }
  bool raised() const;

 private:
  sigset_t old_mask_ = {};
  Fd fd_;
};

}  // namespace capbench::runner

#endif  // CAPBENCH_HARNESS_RUNNER_STOP_SIGNAL_H_
