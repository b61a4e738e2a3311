#include "shim/cpu/execute.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <thread>
#include <vector>

#include "shim/cpu/detect.h"

namespace capbench::shim::cpu {
namespace {

bool good() {
  return true;
}
bool wrong_result() {
  return false;
}
bool ends_its_process() {
  _exit(0);
}
bool wild_store() {
  volatile int* volatile nowhere = nullptr;
  *nowhere = 1;
  return true;
}
bool illegal() {
#if defined(__x86_64__)
  asm volatile("ud2");
#else
  raise(SIGILL);
#endif
  return true;
}

// Set by a handler of this process if it ran in the child, whose memory is ours.
volatile std::sig_atomic_t g_handler_ran = 0;

TEST(RunProbes, AnIllegalInstructionDoesNotExecute) {
  const std::array<Probe, 1> probes = {illegal};
  EXPECT_EQ(run_probes(probes.data(), probes.size()), 0U);
}

TEST(RunProbes, EachFaultCostsItsOwnProbeOnly) {
  const std::array<Probe, 9> probes = {good,    illegal, good, wild_store, wrong_result, ends_its_process,
                                       illegal, illegal, good};
  EXPECT_EQ(run_probes(probes.data(), probes.size()), 0b100000101U);
  EXPECT_EQ(run_probes(probes.data(), 0), 0U);
}

TEST(RunProbes, LeavesTheHostsSignalsChildrenAndErrnoAlone) {
  g_handler_ran = 0;
  const auto note = [](int) { g_handler_ran = 1; };
  const auto old_ill = std::signal(SIGILL, note);
  const auto old_child = std::signal(SIGCHLD, note);
  sigset_t before;
  sigset_t after;
  pthread_sigmask(SIG_SETMASK, nullptr, &before);
  errno = EDOM;
  const std::array<Probe, 2> probes = {illegal, good};
  EXPECT_EQ(run_probes(probes.data(), probes.size()), 2U);
  EXPECT_EQ(errno, EDOM);
  EXPECT_EQ(g_handler_ran, 0);
  pthread_sigmask(SIG_SETMASK, nullptr, &after);
  for (int signal = 1; signal < 32; ++signal)
    EXPECT_EQ(sigismember(&before, signal), sigismember(&after, signal)) << signal;
  errno = 0;
  EXPECT_EQ(waitpid(-1, nullptr, WNOHANG), -1);
  EXPECT_EQ(errno, ECHILD);
  EXPECT_EQ(std::signal(SIGILL, old_ill), static_cast<void (*)(int)>(note));
  std::signal(SIGCHLD, old_child);
}

TEST(RunProbes, WorksFromSeveralThreadsAtOnce) {
  const std::array<Probe, 3> probes = {good, illegal, good};
  std::array<std::uint32_t, 4> results{};
  std::vector<std::thread> threads;
  for (std::uint32_t& result : results) {
    threads.emplace_back([&] {
      for (int i = 0; i < 20; ++i) result = run_probes(probes.data(), probes.size());
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const std::uint32_t result : results) EXPECT_EQ(result, 0b101U);
}

// CPUID and the kernel say which instructions this machine has; running them must say the same of each. Where CPUID is
// masked more may run.
TEST(Execute, WhatCpuidShowsReallyRuns) {
  const CpuFacts facts = detect_cpu();
  if (!facts.known) GTEST_SKIP() << "not x86-64: there is nothing to execute";
  for (const FeatureInfo& feature : kFeatures) {
    if ((facts.usable() & feature.bit) == 0) continue;
    EXPECT_EQ(execute_features(feature.bit), feature.bit) << feature.name;
  }
  EXPECT_EQ(execute_features(facts.usable()), facts.usable());
}

TEST(Execute, WhatTheKernelHasNotEnabledDoesNotRun) {
  const CpuFacts facts = detect_cpu();
  if (!facts.known) GTEST_SKIP() << "not x86-64: there is nothing to execute";
  const FeatureSet off = kAllFeatures & ~facts.enabled;
  if (off == 0) GTEST_SKIP() << "this kernel has enabled every feature";
  EXPECT_EQ(execute_features(off), 0U);
  EXPECT_EQ(execute_features(kAllFeatures) & ~off, execute_features(facts.enabled));
}

}  // namespace
}  // namespace capbench::shim::cpu
