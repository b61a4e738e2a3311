#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <set>

#include "base/file.h"
#include "harness/runner/injection.h"
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
  judge(job, {"llama-bench", workload, arm, {}, 0}, 2.5, trial);
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

TEST(Judge, AWrongTreatmentExplainsAFailure) {
  // The process says itself that nothing was applied, and then fails.
  suite::Arm arm;
  arm.set = {{"vulkan.shader_float16", "on"}};
  const std::string refused =
      R"(capshim: {"domain":"vulkan","version":"1","pid":1,"roles":["shim"],"capabilities":{},"error":"no guest"})"
      "\n";
  const auto failed = judged(ended(1, "", refused + "last words\n"), arm);
  EXPECT_EQ(failed.status, "invalid_treatment");
  EXPECT_THAT(failed.reason, HasSubstr("no guest"));
  EXPECT_THAT(failed.reason, HasSubstr("last words"));
  // Without a line the failure may have come first.
  EXPECT_EQ(judged(ended(1, ""), arm).status, "failed");
  // What is known beforehand needs no line, and goes before a missing device.
  suite::Workload workload;
  workload.n_prompt = {8};
  workload.repetitions = 1;
  schema::TrialRecord trial;
  judge(ended(0, kRow), {"llama-bench", workload, arm, {}, 0, "", "the shim cannot be loaded: gone"}, 2.5, trial);
  EXPECT_EQ(trial.status, "invalid_treatment");
  EXPECT_EQ(trial.treatment, "invalid");
  // A trial that was stopped tells nothing.
  target::JobResult stopped;
  stopped.ending = target::Ending::kInterrupted;
  stopped.err = refused;
  EXPECT_EQ(judged(stopped, arm).status, "killed");
}

TEST(Judge, ADeviceThatLlamaBenchRefusesIsMissing) {
  suite::Arm arm;
  arm.device = "Vulkan3";
  const auto refused = judged(ended(1, "", "error: invalid device: Vulkan3\nerror: invalid parameter\n"), arm);
  EXPECT_EQ(refused.status, "no_device");
  EXPECT_THAT(refused.reason, HasSubstr("Vulkan3"));
}

InjectionPlaces places(const fs::path& folder) {
  return {[folder](std::string_view domain) -> Result<fs::path> {
            if (folder.empty()) return Error{ErrorKind::kMachine, "libx.so", "not there", "build it"};
            return folder / ("libcapshim_" + std::string(domain) + ".so");
          },
          [](const fs::path& target, std::string_view) -> Result<std::string> { return target.string(); }};
}

TEST(Injection, PutsEachDomainInPlace) {
  suite::Arm arm;
  arm.guest = {{"cpu.isa", "x64"}, {"vulkan.shader_float16", "off"}};
  arm.set = {{"vulkan.shader_float16", "on"}};
  const auto both = make_injection(arm, "/s", places("/shims"));
  ASSERT_TRUE(both.ok()) << to_string(both.error());
  EXPECT_EQ(both->env.at("LD_PRELOAD"), "/shims/libcapshim_cpu.so");
  EXPECT_EQ(both->env.at("CAPSHIM_GUEST"), "cpu.isa=x64,vulkan.shader_float16=off");
  EXPECT_EQ(both->env.at("CAPSHIM_SET"), "vulkan.shader_float16=on");
  EXPECT_THAT(both->env.at("VK_LAYER_PATH"), HasSubstr(":/shims/"));  // two manifests, the shim's first
  EXPECT_EQ(both->domains, (std::set<std::string>{"cpu", "vulkan"}));
  EXPECT_EQ(both->files.size(), 4U);
  EXPECT_EQ(both->problem, "");
  // One file cannot serve two domains.
  arm.shim = "x.so";
  EXPECT_FALSE(make_injection(arm, "/s", places("/shims")).ok());
  arm.guest.erase("cpu.isa");
  const auto own = make_injection(arm, "/s", places("/shims"));
  ASSERT_TRUE(own.ok());
  EXPECT_THAT(own->env.at("VK_LAYER_PATH"), ::testing::StartsWith("/s/"));
  EXPECT_FALSE(own->env.contains("LD_PRELOAD"));
}

TEST(Injection, AMissingShimIsTheArmsProblemAndABadLevelTheSuites) {
  suite::Arm arm;
  arm.name = "a";
  arm.set = {{"vulkan.shader_float16", "on"}};
  const auto missing = make_injection(arm, "/s", places(""));
  ASSERT_TRUE(missing.ok());
  EXPECT_THAT(missing->problem, HasSubstr("libx.so: not there"));
  arm.set = {{"vulkan.shader_float16", "maybe"}};
  const auto bad = make_injection(arm, "/s", places("/shims"));
  ASSERT_FALSE(bad.ok());
  EXPECT_EQ(bad.error().kind, ErrorKind::kUsage);
  EXPECT_THAT(to_string(bad.error()), HasSubstr("vulkan.shader_float16"));
}

TEST(Injection, SpeaksThePublishedShimsLanguage) {
  const std::map<std::string, std::string> set{
      {"metal.apple_family", "1009"}, {"metal.max_threadgroup_memory", "65536"}, {"metal.bfloat", "on"}};
  const auto lume = published_shim_variables("/x/LumeMetalCapabilities.dylib", set);
  EXPECT_EQ(lume.size(), 2U);
  EXPECT_EQ(lume.at("LUME_METAL_APPLE_FAMILY_MAX"), "1009");
  EXPECT_EQ(published_shim_variables("/x/TartMetalCapabilities.dylib", set).at("TART_METAL_MAX_THREADGROUP_MEMORY"),
            "65536");
  EXPECT_TRUE(published_shim_variables("/x/libcapshim_metal.dylib", set).empty());
}

TEST(Install, FindsAShimOnlyInTheFolderThatIsNamed) {
  const fs::path dir = fs::path(::testing::TempDir()) / "shims";
  fs::create_directories(dir);
  ASSERT_TRUE(replace_file(dir / "libcapshim_vulkan.so", "x").ok());
  ::setenv("CAPBENCH_SHIM_DIR", dir.c_str(), 1);
  const auto without_manifests = find_shim({}, "vulkan");
  ASSERT_FALSE(without_manifests.ok());
  EXPECT_THAT(to_string(without_manifests.error()), HasSubstr("$CAPBENCH_SHIM_DIR"));
  ASSERT_TRUE(replace_file(dir / "VkLayer_capshim.json", "{}").ok());
  ASSERT_TRUE(replace_file(dir / "VkLayer_capshim_guest.json", "{}").ok());
  EXPECT_EQ(*find_shim({}, "vulkan"), fs::canonical(dir) / "libcapshim_vulkan.so");
  EXPECT_FALSE(find_shim({}, "cpu").ok());
  EXPECT_FALSE(find_shim({}, "nonsense").ok());
  ::unsetenv("CAPBENCH_SHIM_DIR");
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
