// Part of the C library for the cross-build (see README.md beside this folder). Numbers of Darwin's ABI.
#ifndef CAPSHIM_DARWIN_SIGNAL_H_
#define CAPSHIM_DARWIN_SIGNAL_H_

#define SIGPIPE 13
#define SIGTTOU 22
#define SIGXFSZ 25
#define SIG_BLOCK 1
#define SIG_SETMASK 3

using sigset_t = unsigned;

extern "C" {
int pthread_sigmask(int how, const sigset_t* set, sigset_t* before);
int sigpending(sigset_t* set);
int sigwait(const sigset_t* set, int* signal);
}

constexpr sigset_t sigset_bit(int signal) {
  return 1U << static_cast<unsigned>(signal - 1);
}

inline int sigemptyset(sigset_t* set) {
  *set = 0;
  return 0;
}

inline int sigaddset(sigset_t* set, int signal) {
  *set |= sigset_bit(signal);
  return 0;
}

inline int sigismember(const sigset_t* set, int signal) {
  return (*set & sigset_bit(signal)) != 0 ? 1 : 0;
}

#endif  // CAPSHIM_DARWIN_SIGNAL_H_
