#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>

#include "base/file.h"
#include "harness/runner/inputs.h"
#include "harness/runner/install.h"
#include "harness/runner/judge.h"
#include "harness/runner/machine_lock.h"
#include "harness/runner/progress.h"
#include "harness/runner/stop_signal.h"

namespace capbench::runner {
namespace {

using ::testing::HasSubstr;
namespace fs = std::filesystem;
using namespace std::chrono_literals;  // NOLINT: literals are for this

const char kRow[] = R"({"n_prompt":8,"n_gen":0,"samples_ns":[5]})"
                    "\n";

schema::TrialRecord judged(const target::JobResult& job, const suite::Arm& arm = {}) {
  suite::Workload workload;
  workload.n_prompt = {8};
  workload.n_gen = {0};
  workload.repetitions = 1;
  schema::TrialRecord trial;
  judge(job, {workload, arm, {}, 0}, 2.5, trial);
  return trial;
}

target::JobResult ended(int status, std::string out, std::string err = "") {
  target::JobResult job;
  job.ending = target::Ending::kExited;
  job.exit_status = status;
  job.out = std::move(out);
  job.err = std::move(err);
  return job;
}

TEST(Judge, TellsTheEndingsApart) {
  EXPECT_EQ(judged(ended(0, kRow)).status, "ok");
  const auto failed = judged(ended(1, "", "first\nthe reason\n"));
  EXPECT_EQ(failed.status, "failed");
  EXPECT_THAT(failed.reason, HasSubstr("the reason"));
  EXPECT_EQ(judged(ended(0, "")).status, "failed");
  target::JobResult job;
  job.ending = target::Ending::kTimedOut;
  EXPECT_EQ(judged(job).status, "timeout");
  EXPECT_THAT(judged(job).reason, HasSubstr("2.5 s"));
  job.ending = target::Ending::kSignaled;
  job.signal = SIGABRT;
  EXPECT_EQ(judged(job).status, "killed");
  EXPECT_THAT(judged(job).reason, HasSubstr("SIGABRT"));
  job.ending = target::Ending::kInterrupted;
  EXPECT_EQ(judged(job).status, "killed");
}

TEST(Judge, ATrialWithoutItsDeviceIsNotMerelySlow) {
  suite::Arm arm;
  arm.device = "Vulkan0";
  EXPECT_EQ(judged(ended(0, kRow), arm).status, "no_device");
}

TEST(Judge, KeepsRowsMeasuredBeforeAFailure) {
  EXPECT_EQ(judged(ended(1, kRow)).results.size(), 1U);
}

TEST(MachineLock, SecondHarnessWaitsOrIsRefused) {
  LockOptions options{fs::path(::testing::TempDir()) / "lock", false, -1, {}};
  {
    const auto first = lock_machine(options);
    ASSERT_TRUE(first.ok());
    const auto second = lock_machine(options);
    ASSERT_FALSE(second.ok());
    EXPECT_EQ(second.error().kind, ErrorKind::kMachine);
    EXPECT_THAT(to_string(second.error()), HasSubstr(std::to_string(::getpid())));
    // Waiting ends when the user says so.
    const StopSignal stop;
    ::raise(SIGINT);
    int told = 0;
    LockOptions waiting{options.path, true, stop.fd(), [&](const std::string&) { ++told; }};
    const auto stopped = lock_machine(waiting);
    ASSERT_FALSE(stopped.ok());
    EXPECT_EQ(stopped.error().kind, ErrorKind::kInterrupted);
    EXPECT_EQ(told, 1);
  }
  EXPECT_TRUE(lock_machine(options).ok());
}

TEST(StopSignal, IsSeenByEveryLook) {
  const StopSignal stop;
  EXPECT_FALSE(stop.raised());
  ::raise(SIGTERM);
  EXPECT_TRUE(stop.raised());
  EXPECT_TRUE(stop.raised());
}

TEST(StageDir, LinksOnlyWhatNeedsIt) {
  auto stage = StageDir::make();
  ASSERT_TRUE(stage.ok());
  EXPECT_EQ(*(*stage)->harmless_path("/plain/m.gguf", ","), "/plain/m.gguf");
  const fs::path odd = fs::path(::testing::TempDir()) / "a,b c.gguf";
  ASSERT_TRUE(replace_file(odd, "x").ok());
  const auto link = (*stage)->harmless_path(odd, ", ");
  ASSERT_TRUE(link.ok());
  EXPECT_EQ(link->find(','), std::string::npos);
  EXPECT_EQ(*read_file(*link), "x");
}

TEST(Install, FindsLlamaBenchInItsOrder) {
  const fs::path dir = fs::path(::testing::TempDir()) / "install";
  fs::create_directories(dir / "bin");
  fs::create_directories(dir / "build/llama");
  const auto program = [&](const fs::path& path) {
    ASSERT_TRUE(replace_file(path, "#!/bin/sh\n").ok());
    ::chmod(path.c_str(), 0755);
  };
  program(dir / "build/llama/llama-bench");
  ::setenv("PATH", "/nonexistent", 1);
  ::unsetenv("CAPBENCH_LLAMA_BENCH");
  Install install;
  install.invoked_dir = dir / "bin";
  EXPECT_EQ(*find_llama_bench(install, "", dir), dir / "build/llama/llama-bench");
  program(dir / "own");
  ::setenv("CAPBENCH_LLAMA_BENCH", (dir / "own").c_str(), 1);
  EXPECT_EQ(*find_llama_bench(install, "", dir), dir / "own");
  EXPECT_EQ(*find_llama_bench(install, "./own", dir), dir / "own");
  const auto missing = find_llama_bench(install, "./none", dir);
  ASSERT_FALSE(missing.ok());
  EXPECT_EQ(missing.error().kind, ErrorKind::kMachine);
}

TEST(Progress, BarFitsItsColumns) {
  ProgressState state{4, 15, "stock  a-model-with-quite-a-long-name  pp128+tg32", 31s, 62s};
  EXPECT_EQ(progress_bar(state, 200),
            "[####............] 4/15  stock  a-model-with-quite-a-long-name  pp128+tg32  0:31 elapsed, 1:02 left");
  for (std::size_t columns = 1; columns < 120; ++columns) EXPECT_LT(progress_bar(state, columns).size(), columns + 0U);
  EXPECT_EQ(clock_text(3 * 3600s + 7s), "3:00:07");
}

}  // namespace
}  // namespace capbench::runner
