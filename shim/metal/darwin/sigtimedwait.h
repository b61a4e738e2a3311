// macOS has no sigtimedwait. Force-included into both builds for it, before shim/common/banner.cc, which takes back one
// SIGPIPE that its own write raised.
#ifndef CAPSHIM_DARWIN_SIGTIMEDWAIT_H_
#define CAPSHIM_DARWIN_SIGTIMEDWAIT_H_

#include <signal.h>

#include <ctime>

// With no time to wait: takes a pending signal of the set, or fails. There is no information about it.
inline int sigtimedwait(const sigset_t* set, void* /*information*/, const timespec* /*at_once*/) {
  sigset_t pending;
  sigemptyset(&pending);
  sigpending(&pending);
  int signal = 0;
  const bool there = sigismember(set, SIGPIPE) == 1 && sigismember(&pending, SIGPIPE) == 1;
  return there && sigwait(set, &signal) == 0 ? signal : -1;
}

#endif  // CAPSHIM_DARWIN_SIGTIMEDWAIT_H_
