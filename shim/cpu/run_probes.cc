#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>

#include "shim/cpu/execute.h"

namespace capbench::shim::cpu {
namespace {

constexpr std::size_t kStackBytes = 256U * 1024U;  // a signal frame with tile registers takes 11 KiB of it

// Shared by the caller and the child. Atomic, since a fault may come between any two stores.
struct Progress {
  const Probe* probes = nullptr;
  std::size_t count = 0;
  std::atomic<std::size_t> at{0};  // the probe that runs now, or `count` when all have run
  std::atomic<std::uint32_t> passed{0};
};

extern "C" void end_child(int) {
  _exit(1);
}

// The host's handlers must not run in the child: they would change the host's memory.
void catch_faults() {
  struct sigaction action {};
  action.sa_handler = end_child;
  sigset_t faults;
  sigemptyset(&faults);
  for (const int signal : {SIGILL, SIGSEGV, SIGBUS, SIGFPE, SIGTRAP, SIGSYS}) {
    sigaction(signal, &action, nullptr);
    sigaddset(&faults, signal);
  }
  sigprocmask(SIG_UNBLOCK, &faults, nullptr);
}

int child(void* argument) {
  Progress& progress = *static_cast<Progress*>(argument);
  catch_faults();
  for (std::size_t i = progress.at; i < progress.count; i = progress.at) {
    if (progress.probes[i]()) progress.passed |= 1U << i;
    progress.at = i + 1;
  }
  return 0;
}

// Runs the rest of the probes in one child and waits for its end. False if there was no child.
bool run_rest(Progress& progress, char* stack) {
  const int pid = clone(child, stack + kStackBytes, CLONE_VM | CLONE_VFORK, &progress);
  if (pid < 0) return false;
  // Not waitpid(): that is a cancellation point.
  while (syscall(SYS_wait4, pid, nullptr, __WALL, nullptr) < 0) {
    if (errno != EINTR) return false;
  }
  return true;
}

}  // namespace

std::uint32_t run_probes(const Probe* probes, std::size_t count) {
  const int errno_before = errno;
  Progress progress;
  progress.probes = probes;
  progress.count = count < kMaxProbes ? count : kMaxProbes;
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  void* stack = mmap(nullptr, kStackBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);
  if (stack == MAP_FAILED) {
    errno = errno_before;
    return 0;
  }
  pthread_sigmask(SIG_SETMASK, &all, &before);
  while (progress.at < progress.count && run_rest(progress, static_cast<char*>(stack))) {
    // Where the child did not get past a probe, the next child begins behind it.
    if (progress.at < progress.count) progress.at += 1;
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  munmap(stack, kStackBytes);
  errno = errno_before;
  return progress.passed;
}

}  // namespace capbench::shim::cpu
