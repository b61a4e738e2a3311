#include "harness/runner/stop_signal.h"

#include <poll.h>
#include <sys/signalfd.h>

namespace capbench::runner {

StopSignal::StopSignal() {
  sigset_t signals;
  sigemptyset(&signals);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) sigaddset(&signals, signal);
  sigprocmask(SIG_BLOCK, &signals, &old_mask_);
  fd_ = Fd(::signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK));
}

// A pending signal takes its usual effect once the mask is back, unless somebody has read it; nobody does, so that
// every later look sees it too. It is taken here: its meaning has been acted on.
StopSignal::~StopSignal() {
  signalfd_siginfo info = {};
  while (::read(fd_.get(), &info, sizeof info) > 0) {
  }
  sigprocmask(SIG_SETMASK, &old_mask_, nullptr);
}

bool StopSignal::raised() const {
  pollfd poll_fd{fd_.get(), POLLIN, 0};
  return ::poll(&poll_fd, 1, 0) > 0;
}

}  // namespace capbench::runner
