// Writing to a peer that has gone raises SIGPIPE, also where a library writes with write(). While a NoPipeSignal lives,
// its thread does not get it; other threads and signals are left alone. Made and destroyed on one thread.
#ifndef CAPBENCH_BASE_NO_PIPE_SIGNAL_H_
#define CAPBENCH_BASE_NO_PIPE_SIGNAL_H_

#include <pthread.h>
#include <signal.h>

namespace capbench {

class NoPipeSignal {
 public:
  NoPipeSignal() {
    ::sigemptyset(&pipe_);
    ::sigaddset(&pipe_, SIGPIPE);
    ::pthread_sigmask(SIG_BLOCK, &pipe_, &old_);
  }
  NoPipeSignal(const NoPipeSignal&) = delete;
  NoPipeSignal& operator=(const NoPipeSignal&) = delete;
  ~NoPipeSignal() {
    sigset_t pending;
    ::sigpending(&pending);
    if (::sigismember(&old_, SIGPIPE) == 0 && ::sigismember(&pending, SIGPIPE) == 1) {
      int signal = 0;
      ::sigwait(&pipe_, &signal);
    }
    ::pthread_sigmask(SIG_SETMASK, &old_, nullptr);
  }

 private:
  sigset_t pipe_ = {};
  sigset_t old_ = {};
};

}  // namespace capbench

#endif  // CAPBENCH_BASE_NO_PIPE_SIGNAL_H_
