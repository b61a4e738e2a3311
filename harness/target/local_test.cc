#include "harness/target/local.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <random>
#include <thread>

#include "base/fd.h"
#include "base/file.h"
#include "harness/target/hooks.h"
#include "harness/target/mapped_files.h"

namespace capbench::target {
namespace {

using std::chrono::milliseconds;

JobResult run_shell(const std::string& script, milliseconds limit = milliseconds(20'000), const JobWatch& watch = {},
                    std::size_t max_output = 1U << 20U) {
  Job job;
  job.argv = {"/bin/sh", "-c", script};
  job.time_limit = limit;
  job.max_output_bytes = max_output;
  auto result = make_local_target()->run(job, watch);
  EXPECT_TRUE(result.ok());
  return std::move(*result);
}

bool alive(pid_t pid) {
  return ::kill(pid, 0) == 0;
}

// Gone, or a zombie that its new parent has not reaped yet.
bool wait_until_gone(pid_t pid) {
  for (int i = 0; i < 500; ++i) {
    if (!alive(pid)) return true;
    const auto stat = read_file("/proc/" + std::to_string(pid) + "/stat");
    if (!stat || stat->find(") Z") != std::string::npos) return true;
    std::this_thread::sleep_for(milliseconds(10));
  }
  return false;
}

TEST(LocalTarget, KeepsBothStreamsApartAndReportsTheEnd) {
  const JobResult result = run_shell("printf out; printf err >&2; exit 7");
  EXPECT_EQ(result.ending, Ending::kExited);
  EXPECT_EQ(result.exit_status, 7);
  EXPECT_EQ(result.out, "out");
  EXPECT_EQ(result.err, "err");
  EXPECT_GT(result.wall_ns, 0);
  EXPECT_GT(result.max_rss_bytes, 0);
}

TEST(LocalTarget, SaysWhyAProgramDidNotStart) {
  Job job;
  job.argv = {"/no/such/program"};
  const auto result = make_local_target()->run(job, {});
  ASSERT_TRUE(result.ok());
  EXPECT_EQ(result->ending, Ending::kNotStarted);
  EXPECT_EQ(result->reason, "No such file or directory");
}

TEST(LocalTarget, ReportsASignal) {
  const JobResult result = run_shell("kill -SEGV $$");
  EXPECT_EQ(result.ending, Ending::kSignaled);
  EXPECT_EQ(result.signal, SIGSEGV);
}

TEST(LocalTarget, SetsAndUnsetsVariables) {
  ::setenv("CAPBENCH_TEST_GONE", "1", 1);
  ::setenv("CAPBENCH_TEST_CHANGED", "old", 1);
  Job job;
  job.argv = {"/bin/sh", "-c", "printf '%s|%s|%s' \"${CAPBENCH_TEST_GONE-unset}\" \"$CAPBENCH_TEST_CHANGED\" \"$NEW\""};
  job.set_env = {"CAPBENCH_TEST_CHANGED=a b=c", "NEW=\xc3\xa9 'x' $y\n"};
  job.unset_env = {"CAPBENCH_TEST_GONE"};
  const auto result = make_local_target()->run(job, {});
  ASSERT_TRUE(result.ok());
  EXPECT_EQ(result->out, "unset|a b=c|\xc3\xa9 'x' $y\n");
}

TEST(LocalTarget, GivesNoStandardInput) {
  EXPECT_EQ(run_shell("cat; echo end").out, "end\n");
}

TEST(LocalTarget, EndsTheWholeGroupAtTheTimeLimit) {
  const auto start = std::chrono::steady_clock::now();
  const JobResult result = run_shell("sleep 600 & echo $!; wait", milliseconds(300));
  EXPECT_EQ(result.ending, Ending::kTimedOut);
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(10));
  EXPECT_TRUE(wait_until_gone(std::stoi(result.out)));
}

TEST(LocalTarget, EndsAJobThatIgnoresSigterm) {
  const JobResult result = run_shell("trap '' TERM; echo $$; while :; do sleep 1; done", milliseconds(200));
  EXPECT_EQ(result.ending, Ending::kTimedOut);
  EXPECT_TRUE(wait_until_gone(std::stoi(result.out)));
}

TEST(LocalTarget, LeavesNothingBehindWhenTheProgramEndsFirst) {
  const JobResult in_group = run_shell("sleep 600 >/dev/null 2>&1 & echo $!");
  EXPECT_EQ(in_group.ending, Ending::kExited);
  EXPECT_TRUE(wait_until_gone(std::stoi(in_group.out)));
  // A daemon that left the group and closed the pipes is found through the keeper.
  const JobResult daemon = run_shell("setsid sh -c 'echo $$; exec sleep 600 >/dev/null 2>&1' & sleep 0.3");
  EXPECT_EQ(daemon.ending, Ending::kExited);
  EXPECT_TRUE(wait_until_gone(std::stoi(daemon.out)));
}

TEST(LocalTarget, StopsWhenTold) {
  const Fd stop(::eventfd(0, EFD_CLOEXEC));
  JobWatch watch;
  watch.stop_fd = stop.get();
  watch.tick = milliseconds(50);
  int ticks = 0;
  watch.on_tick = [&] {
    if (++ticks == 3) {
      const std::uint64_t one = 1;
      ASSERT_EQ(::write(stop.get(), &one, sizeof one), static_cast<ssize_t>(sizeof one));
    }
  };
  const JobResult result = run_shell("echo $$; sleep 600", milliseconds(20'000), watch);
  EXPECT_EQ(result.ending, Ending::kInterrupted);
  EXPECT_GE(ticks, 3);
  EXPECT_TRUE(wait_until_gone(std::stoi(result.out)));
}

TEST(LocalTarget, EndsAJobThatFloods) {
  const JobResult result = run_shell("yes", milliseconds(20'000), {}, 100'000);
  EXPECT_EQ(result.ending, Ending::kFlooded);
  EXPECT_EQ(result.out.size(), 100'000U);
}

TEST(LocalTarget, ReadsLargeOutputOnBothStreamsWhole) {
  const JobResult result = run_shell("head -c 700000 /dev/zero; head -c 700000 /dev/zero >&2");
  EXPECT_EQ(result.out.size(), 700'000U);
  EXPECT_EQ(result.err.size(), 700'000U);
}

TEST(LocalTarget, SeesWhatTheProgramMapped) {
  const JobResult result = run_shell("echo x; sleep 0.2");
  EXPECT_TRUE(std::any_of(result.mapped_files.begin(), result.mapped_files.end(),
                          [](const std::string& f) { return f.find("libc") != std::string::npos; }));
  EXPECT_TRUE(std::is_sorted(result.mapped_files.begin(), result.mapped_files.end()));
}

// The shell is gone by the first line of output: the closure is what ran while that line was made.
TEST(LocalTarget, ForgetsWhatWasMappedOnlyWhileLoading) {
  const auto names = [](const JobResult& result, const std::string& name) {
    return std::count_if(result.mapped_files.begin(), result.mapped_files.end(),
                         [&](const std::string& f) { return f.ends_with(name); });
  };
  const std::string shell = std::filesystem::canonical("/bin/sh");
  const std::string awk = std::filesystem::canonical("/usr/bin/awk");
  const JobResult loading = run_shell("echo loading >&2; sleep 0.2");
  EXPECT_EQ(names(loading, shell), 1);
  const JobResult result = run_shell(
      "echo loading >&2; sleep 0.2; exec awk 'BEGIN { print \"row\"; fflush(); while ((\"sleep 0.3\" | getline) > 0); "
      "}'");
  EXPECT_EQ(names(result, shell), 0);
  EXPECT_EQ(names(result, awk), 1);
}

// It ignores SIGTERM and joins the group of its parent, which no signal to its own group reaches.
TEST(LocalTarget, EndsAProgramThatLeftItsGroup) {
  Job job;
  job.argv = {"/usr/bin/perl", "-e",
              "$SIG{TERM} = 'IGNORE'; setpgrp(0, getpgrp(getppid())); print 'left'; close STDOUT; sleep 60"};
  job.time_limit = milliseconds(500);
  const auto begin = std::chrono::steady_clock::now();
  const auto result = make_local_target()->run(job, {});
  ASSERT_TRUE(result.ok());
  EXPECT_EQ(result->ending, Ending::kTimedOut);
  EXPECT_EQ(result->out, "left");
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(30));
}

TEST(LocalTarget, ManyJobsLeakNoDescriptors) {
  const auto count = [] {
    return std::distance(std::filesystem::directory_iterator("/proc/self/fd"), std::filesystem::directory_iterator{});
  };
  run_shell("true");
  const auto before = count();
  for (int i = 0; i < 50; ++i) run_shell("true");
  EXPECT_EQ(count(), before);
}

// The harness is killed at a random moment; neither the program nor its children survive.
TEST(LocalTarget, AKilledHarnessLeavesNothingBehind) {
  std::mt19937 random(7);  // NOLINT: the same moments every time
  for (int round = 0; round < 20; ++round) {
    const std::string path = ::testing::TempDir() + "/pids-" + std::to_string(round);
    std::filesystem::remove(path);
    const pid_t harness = ::fork();
    if (harness == 0) {
      run_shell("sleep 600 & echo $! $$ > " + path + "; wait");
      ::_exit(0);
    }
    std::this_thread::sleep_for(milliseconds(random() % 40));
    ::kill(harness, SIGKILL);
    ::waitpid(harness, nullptr, 0);
    std::this_thread::sleep_for(milliseconds(20));
    std::ifstream pids(path);
    for (pid_t pid = 0; pids >> pid;) EXPECT_TRUE(wait_until_gone(pid)) << "round " << round;
  }
}

TEST(MappedFiles, TakesCodeOnlyAndSurvivesAnything) {
  std::set<std::string> files;
  collect_mapped_files(
      "55d0-55d1 r--p 00000000 08:01 1   /usr/bin/a\n"
      "55d1-55d2 r-xp 00001000 08:01 1   /usr/bin/with space\n"
      "7f00-7f01 r-xp 00000000 08:01 2   /tmp/gone.so (deleted)\n"
      "7f02-7f03 r-xp 00000000 00:00 0   [vdso]\n"
      "7f04-7f05 rwxp 00000000 00:00 0\n"
      "x\n\n r-x\n",
      files);
  EXPECT_EQ(files, std::set<std::string>{"/usr/bin/with space"});
}

// As the runner does it: a thread for each machine. Each job's keeper must see its own harness end and no other's.
TEST(LocalTarget, ManyThreadsRunJobsAtOnce) {
  constexpr int kThreads = 6;
  constexpr int kJobs = 15;
  std::vector<std::thread> threads;
  std::array<int, kThreads> right{};
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([t, &right] {
      const auto target = make_local_target();
      for (int i = 0; i < kJobs; ++i) {
        const std::string word = std::to_string(t) + "-" + std::to_string(i);
        Job job;
        job.argv = {"/bin/sh", "-c", "printf '%s' " + word + "; printf '%s' $WORD >&2; exit " + std::to_string(i)};
        job.set_env = {"WORD=" + word};
        const auto result = target->run(job, {});
        if (result.ok() && result->out == word && result->err == word && result->exit_status == i)
          ++right[static_cast<std::size_t>(t)];
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const int count : right) EXPECT_EQ(count, kJobs);
}

// Neither the program nor its keeper holds what is the harness's, whether it closes itself on exec or not; but the
// keeper holds the locks that it was given.
TEST(LocalTarget, InheritsNoDescriptorsButTheLocks) {
  const std::string path = ::testing::TempDir() + "/lock";
  const Fd lock(::open(path.c_str(), O_CREAT | O_RDWR | O_CLOEXEC, 0600));
  const Fd leaking(::open("/dev/null", O_RDONLY));  // not closed on exec
  ASSERT_TRUE(lock.valid() && leaking.valid());
  Job job;
  job.argv = {"/bin/sh", "-c", "ls /proc/$$/fd; echo keeper $PPID; ls -l /proc/$PPID/fd"};
  job.keep_fds = {lock.get()};
  const auto result = make_local_target()->run(job, {});
  ASSERT_TRUE(result.ok());
  const std::size_t keeper = result->out.find("keeper");
  ASSERT_NE(keeper, std::string::npos);
  EXPECT_EQ(result->out.substr(0, keeper), "0\n1\n2\n");
  EXPECT_NE(result->out.find("/lock", keeper), std::string::npos) << result->out;
  // stdin, stdout and stderr are nobody's; then the socket, the signal descriptor, the lock.
  EXPECT_LE(std::count(result->out.begin(), result->out.end(), '\n'), 3 + 1 + 1 + 3 + 4) << result->out;
}

// A harness of two threads is killed while both have a job: both jobs end, though each keeper was forked while the
// other's socket was open.
TEST(LocalTarget, AKilledHarnessOfTwoThreadsLeavesNothingBehind) {
  for (int round = 0; round < 5; ++round) {
    const std::string path = ::testing::TempDir() + "/both-" + std::to_string(round);
    std::filesystem::remove(path + "0");
    std::filesystem::remove(path + "1");
    const pid_t harness = ::fork();
    if (harness == 0) {
      std::thread other([&] { run_shell("echo $$ > " + path + "1; sleep 600"); });
      run_shell("echo $$ > " + path + "0; sleep 600");
      ::_exit(0);
    }
    std::vector<pid_t> pids;
    for (int i = 0; i < 2; ++i) {
      pid_t pid = 0;
      for (int wait = 0; wait < 500 && pid == 0; ++wait) {
        std::this_thread::sleep_for(milliseconds(10));
        std::ifstream file(path + std::to_string(i));
        if (!(file >> pid)) pid = 0;
      }
      pids.push_back(pid);
    }
    ::kill(harness, SIGKILL);
    ::waitpid(harness, nullptr, 0);
    for (const pid_t pid : pids) {
      ASSERT_GT(pid, 0);
      EXPECT_TRUE(wait_until_gone(pid)) << "round " << round;
    }
  }
}

// What a tool without stdin gets: a command that ends its far side, run when the harness is gone.
TEST(LocalTools, RunsTheFarewellWhenTheHarnessVanishes) {
  const std::string path = ::testing::TempDir() + "/farewell";
  std::filesystem::remove(path);
  const auto start = [&](const std::string& pid_file, bool kill_it) {
    const pid_t harness = ::fork();
    if (harness == 0) {
      ToolSession session;
      session.command.argv = {"sh", "-c", "echo $$ > " + pid_file + "; sleep " + (kill_it ? "600" : "0.1")};
      session.if_abandoned.argv = {"sh", "-c", "echo bye > " + path};
      (void)make_local_tools()->run_session(session, {}).ok();
      ::_exit(0);
    }
    for (int i = 0; i < 500 && !std::filesystem::exists(pid_file); ++i) std::this_thread::sleep_for(milliseconds(10));
    if (kill_it) ::kill(harness, SIGKILL);
    ::waitpid(harness, nullptr, 0);
  };
  start(path + "-1", false);
  std::this_thread::sleep_for(milliseconds(200));
  EXPECT_FALSE(std::filesystem::exists(path));
  start(path + "-2", true);
  for (int i = 0; i < 500 && !std::filesystem::exists(path); ++i) std::this_thread::sleep_for(milliseconds(10));
  EXPECT_TRUE(std::filesystem::exists(path));
}

TEST(LocalTools, GivesInputFromAnOffsetAndTakesOutputToAFile) {
  const std::string in = ::testing::TempDir() + "/in";
  const std::string out = ::testing::TempDir() + "/out";
  std::ofstream(in) << "0123456789";
  ToolCommand command;
  command.argv = {"cat"};
  command.stdin_file = in;
  command.stdin_offset = 7;
  command.stdout_file = out;
  const auto output = make_local_tools()->run(command, {});
  ASSERT_TRUE(output.ok());
  EXPECT_EQ(output->out, "");
  EXPECT_EQ(*read_file(out), "789");
}

TEST(LocalTools, SaysWhatIsMissingAndWhatTakesTooLong) {
  ToolCommand command;
  command.argv = {"no-such-tool-anywhere"};
  const auto missing = make_local_tools()->run(command, {});
  ASSERT_FALSE(missing.ok());
  EXPECT_NE(to_string(missing.error()).find("not found on the PATH"), std::string::npos);
  command.argv = {"sleep", "600"};
  ToolLimits limits;
  limits.time_limit = milliseconds(200);
  const auto late = make_local_tools()->run(command, limits);
  ASSERT_FALSE(late.ok());
  EXPECT_NE(to_string(late.error()).find("did not end within"), std::string::npos);
}

TEST(LocalTarget, WorksInAFolderAndReadsAFile) {
  const std::string in = ::testing::TempDir() + "/input";
  std::ofstream(in) << "words";
  Job job;
  job.argv = {"/bin/sh", "-c", "pwd; cat"};
  job.working_dir = "/usr";
  job.stdin_file = in;
  const auto result = make_local_target()->run(job, {});
  ASSERT_TRUE(result.ok());
  EXPECT_EQ(result->out, "/usr\nwords");
}

TargetSpec spec_of(std::string kind, std::map<std::string, std::string> options = {},
                   std::map<std::string, std::vector<std::string>> lists = {}) {
  return {std::move(kind), "", std::move(options), std::move(lists)};
}

std::string problem(const TargetSpec& spec) {
  const auto status = check_spec(spec);
  return status ? "" : to_string(status.error());
}

TEST(TargetSpecs, AreCheckedKeyByKey) {
  EXPECT_EQ(problem(spec_of("local")), "");
  EXPECT_EQ(problem(spec_of("ssh", {{"address", "mac.local"}, {"port", "22"}, {"require.vcpu", "8"}})), "");
  EXPECT_EQ(problem(spec_of("lume", {{"name", "vm"}}, {{"start", {"lume", "run", "vm"}}})), "");
  EXPECT_NE(problem(spec_of("sshh")).find("try: \"ssh\""), std::string::npos);
  EXPECT_NE(problem(spec_of("ssh", {{"adress", "x"}})).find("try: \"address\""), std::string::npos);
  EXPECT_NE(problem(spec_of("ssh", {{"prot", "22"}})).find("try: \"port\""), std::string::npos);
  EXPECT_NE(problem(spec_of("ssh")).find("ssh: address: missing"), std::string::npos);
  EXPECT_NE(problem(spec_of("ssh", {{"address", "x"}, {"port", "many"}})).find("whole number"), std::string::npos);
  EXPECT_NE(problem(spec_of("ssh", {{"address", "x"}, {"port", "70000"}})).find("no port"), std::string::npos);
  EXPECT_NE(problem(spec_of("ssh", {{"address", "-oProxyCommand=id"}})).find("dash"), std::string::npos);
  EXPECT_NE(problem(spec_of("ssh", {{"address", "x"}, {"identity", "/${HOME}/key"}})).find("variable"),
            std::string::npos);
  EXPECT_NE(problem(spec_of("ssh", {{"address", "x\ny"}})).find("newline"), std::string::npos);
  EXPECT_NE(problem(spec_of("ssh", {{"address", "x"}, {"start", "cmd"}})).find("no list"), std::string::npos);
  EXPECT_NE(problem(spec_of("ssh", {{"address", "x"}}, {{"user", {"a"}}})).find("is a list"), std::string::npos);
  EXPECT_NE(problem(spec_of("ssh", {{"address", "x"}, {"work_dir", "here"}})).find("absolute"), std::string::npos);
  EXPECT_NE(problem(spec_of("command")).find("run: missing"), std::string::npos);
  EXPECT_NE(problem(spec_of("command", {}, {{"run", {"vm", "exec"}}})).find("says nowhere"), std::string::npos);
  EXPECT_NE(problem(spec_of("command", {}, {{"run", {"vm", "{script}"}}, {"copy_in", {"{local}", "{remote}"}}}))
                .find("only one"),
            std::string::npos);
}

TEST(TargetSpecs, StateAnImage) {
  const std::string hex(64, 'a');
  EXPECT_EQ(stated_image(spec_of("ssh")), ImageIdentity{});
  EXPECT_EQ(stated_image(spec_of("ssh", {{"image", "vm@sha256:" + hex}})),
            (ImageIdentity{"sha256:" + hex, "stated", "vm@sha256:" + hex, ""}));
  EXPECT_EQ(stated_image(spec_of("ssh", {{"image", "golden-7"}})), (ImageIdentity{"", "stated", "golden-7", ""}));
}

TEST(TargetSpecs, DescribeTheirCommands) {
  Job job;
  job.argv = {"/opt/llama bench", "-p", "512"};
  job.set_env = {"A=b c"};
  const auto lines = describe_job("mac", spec_of("ssh", {{"address", "mac.local"}}), job);
  ASSERT_EQ(lines.size(), 2U);
  EXPECT_NE(lines[0].find("mac.local 'exec /bin/sh WORK/jobs/JOB/job.sh'"), std::string::npos) << lines[0];
  EXPECT_EQ(lines[1], "there: A='b c' '/opt/llama bench' -p 512");
}

TEST(TargetKinds, AreListedWhenUnknown) {
  EXPECT_TRUE(make_target("local").ok());
  const auto unknown = make_target("lokal");
  ASSERT_FALSE(unknown.ok());
  EXPECT_NE(to_string(unknown.error()).find("local"), std::string::npos);
}

}  // namespace
}  // namespace capbench::target
