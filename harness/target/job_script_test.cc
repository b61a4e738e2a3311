#include "harness/target/job_script.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <optional>
#include <random>
#include <sstream>
#include <thread>

#include "base/file.h"
#include "harness/target/frame.h"
#include "harness/target/kept_run.h"
#include "harness/target/shell.h"

namespace capbench::target {
namespace {

namespace fs = std::filesystem;
using std::chrono::milliseconds;
using std::chrono::seconds;

// Shells that may read our words: as /bin/sh, and as the login shell that gets a joined command line.
struct Shell {
  std::string name;
  std::vector<std::string> argv;
};

std::vector<Shell> shells() {
  std::vector<Shell> found;
  const std::vector<Shell> known{{"dash", {"/usr/bin/dash"}},
                                 {"bash", {"/usr/bin/bash", "--posix"}},
                                 {"busybox", {"/usr/bin/busybox", "sh"}},
                                 {"zsh", {"/usr/bin/zsh"}},
                                 {"mksh", {"/usr/bin/mksh"}},
                                 {"ksh", {"/usr/bin/ksh"}},
                                 {"fish", {"/usr/bin/fish"}},
                                 {"csh", {"/usr/bin/tcsh"}}};
  for (const Shell& shell : known) {
    if (::access(shell.argv.front().c_str(), X_OK) == 0) found.push_back(shell);
  }
  return found;
}

std::string run_by(const Shell& shell, const std::string& line) {
  ToolCommand command;
  command.argv = shell.argv;
  command.argv.insert(command.argv.end(), {"-c", line});
  auto output = make_local_tools()->run(command, {});
  return output ? output->out : "failed: " + to_string(output.error());
}

// Everything that a shell might take for its own.
std::string nasty_text(std::mt19937& random) {
  static const std::vector<std::string> kPieces{" ",     "'",        "\"",
                                                "$",     "`",        "\\",
                                                "\n",    "*",        "?",
                                                "[a]",   "-",        "--",
                                                "~",     "!",        "#",
                                                "&",     ";",        "|",
                                                "(",     ")",        "{",
                                                "}",     "<",        ">",
                                                "=",     "%s",       "%",
                                                "\t",    "\r",       "a",
                                                "Z",     "0",        "$HOME",
                                                "$(id)", "`id`",     "${x}",
                                                "\\n",   "\xc3\xa9", "\xe2\x82\xac",
                                                "\xff",  "\xc3",     "\x01",
                                                "\x7f",  "'\\''",    "''",
                                                "$'x'",  "!!",       "^",
                                                "\x80",  ".",        "/"};
  std::string text;
  for (std::size_t count = random() % 12; count > 0; --count) text += kPieces[random() % kPieces.size()];
  return text;
}

TEST(Quoting, IsReadBackByEveryShell) {
  std::mt19937 random(11);  // NOLINT: the same words every time
  for (const Shell& shell : shells()) {
    if (shell.name == "fish" || shell.name == "csh") continue;  // not POSIX: quote() is for /bin/sh
    for (int round = 0; round < 15; ++round) {
      std::string line = "printf '%s|'";
      std::string expected;
      for (int word = 0; word < 8; ++word) {
        const std::string text = nasty_text(random);
        line += " " + quote_all(std::vector<std::string>{text});
        expected += text + "|";
      }
      EXPECT_EQ(run_by(shell, line), expected) << shell.name << ": " << line;
    }
  }
}

TEST(Quoting, FarShellWordsAreReadAlikeByEveryShell) {
  std::mt19937 random(12);  // NOLINT: the same words every time
  for (const Shell& shell : shells()) {
    for (int round = 0; round < 15; ++round) {
      std::string script = "printf '%s|'";
      std::string expected;
      for (int word = 0; word < 8; ++word) {
        const std::string text = nasty_text(random);
        script += " " + quote(text);
        expected += text + "|";
      }
      EXPECT_EQ(run_by(shell, far_shell_words(script)), expected) << shell.name << ": " << script;
    }
  }
}

TEST(Quoting, PrintfFormatsPrintTheBytes) {
  std::mt19937 random(13);  // NOLINT: the same words every time
  for (const Shell& shell : shells()) {
    std::string bytes = "-n first";
    for (int word = 0; word < 20; ++word) bytes += nasty_text(random);
    EXPECT_EQ(run_by(shell, "printf \"" + printf_format(bytes) + "\""), bytes) << shell.name;
    EXPECT_EQ(run_by(shell, "printf '" + printf_format(bytes) + "'"), bytes) << shell.name;
  }
}

// A job directory of its own, run by a shell of the machine, without any target between.
class JobScript : public ::testing::Test {
 protected:
  void SetUp() override {
    work_ = ::testing::TempDir() + "/work it's \"$here\" " + std::to_string(::getpid()) +
            ::testing::UnitTest::GetInstance()->current_test_info()->name();
    fs::remove_all(work_);
    place_.nonce = make_nonce();
    place_.folder = work_ + "/jobs/" + place_.nonce;
  }
  void TearDown() override { fs::remove_all(work_); }

  static Job shell_job(const std::string& script, milliseconds limit = seconds(20)) {
    Job job;
    job.argv = {"/bin/sh", "-c", script};
    job.time_limit = limit;
    return job;
  }

  // The exit status of the last script that prepares, or the first that fails.
  int prepare(const Job& job, bool beats = false, int lost_after_s = 30) {
    auto launch = launch_script(job, place_);
    EXPECT_TRUE(launch.ok()) << (launch ? "" : to_string(launch.error()));
    for (const std::string& script :
         prepare_scripts(work_, place_, *launch, job_script(job, place_, beats, lost_after_s))) {
      auto output = tools_->run({{"/bin/sh", "-c", script}, "", 0, "", {}}, {});
      EXPECT_TRUE(output.ok());
      if (output->exit_status != 0) return output->exit_status;
    }
    return 0;
  }

  JobResult collect(const Job& job) {
    auto output = tools_->run({{"/bin/sh", "-c", collect_script(place_)}, "", 0, "", {}}, {});
    EXPECT_TRUE(output.ok());
    const auto files = read_files(output->out);
    EXPECT_TRUE(files.has_value()) << output->out << output->err;
    return read_job(files.value_or(std::map<std::string, std::string>{}), place_, job);
  }

  JobResult run(const Job& job, const std::vector<std::string>& shell = {"/bin/sh"},
                const std::vector<std::string>& set_env = {}) {
    EXPECT_EQ(prepare(job), 0);
    ToolSession session;
    session.command.argv = shell;
    session.command.argv.push_back(place_.folder + "/job.sh");
    session.command.set_env = set_env;
    session.time_limit = seconds(60);
    auto ended = tools_->run_session(session, {});
    EXPECT_TRUE(ended.ok());
    EXPECT_NE(ended->out.find("capbench:job:" + place_.nonce), std::string::npos) << ended->err;
    return collect(job);
  }

  std::string work_;
  JobPlace place_;
  std::unique_ptr<ToolRunner> tools_ = make_local_tools();
};

TEST_F(JobScript, KeepsStreamsStatusTimesAndFiles) {
  const JobResult result = run(shell_job("printf out; printf err >&2; sleep 0.4; exit 7"));
  EXPECT_EQ(result.ending, Ending::kExited);
  EXPECT_EQ(result.exit_status, 7);
  EXPECT_EQ(result.out, "out");
  EXPECT_EQ(result.err, "err");
  EXPECT_GT(result.wall_ns, 390'000'000);
  EXPECT_LT(result.wall_ns, 5'000'000'000);
  EXPECT_GT(result.max_rss_bytes, 100'000);
  EXPECT_TRUE(std::any_of(result.mapped_files.begin(), result.mapped_files.end(),
                          [](const std::string& f) { return f.find("libc") != std::string::npos; }));
}

TEST_F(JobScript, TellsASignalFromAStatus) {
  const JobResult killed = run(shell_job("kill -SEGV $$"));
  EXPECT_EQ(killed.ending, Ending::kSignaled);
  EXPECT_EQ(killed.signal, SIGSEGV);
}

TEST_F(JobScript, SaysWhyAProgramDidNotStart) {
  Job job;
  job.argv = {"/no/such/program"};
  const JobResult result = run(job);
  EXPECT_EQ(result.ending, Ending::kNotStarted);
  EXPECT_EQ(result.reason, "No such file or directory");
}

TEST_F(JobScript, WorksWithoutPerl) {
  const std::string folder = work_ + "-bin";
  fs::create_directories(folder);
  // Only what POSIX and every Linux system has; no perl.
  for (const char* name : {"sh", "sleep", "dd", "head", "wc", "grep", "sed", "mkfifo", "mkdir", "cat", "mv", "date",
                           "tr", "ps", "readlink", "rm", "base64"}) {
    for (const char* place : {"/usr/bin/", "/bin/"}) {
      if (fs::exists(place + std::string(name))) {
        fs::create_symlink(place + std::string(name), folder + "/" + name);
        break;
      }
    }
  }
  const std::vector<std::string> path{"PATH=" + folder};
  const JobResult result = run(shell_job("echo out; sleep 0.5; exit 9"), {"/bin/sh"}, path);
  EXPECT_EQ(result.ending, Ending::kExited);
  EXPECT_EQ(result.exit_status, 9);
  EXPECT_EQ(result.out, "out\n");
  EXPECT_GT(result.wall_ns, 400'000'000);
  EXPECT_GT(result.max_rss_bytes, 100'000);
  EXPECT_FALSE(result.mapped_files.empty());
  place_.nonce = make_nonce();
  place_.folder = work_ + "/jobs/" + place_.nonce;
  const JobResult killed = run(shell_job("kill -KILL $$"), {"/bin/sh"}, path);
  EXPECT_EQ(killed.ending, Ending::kSignaled);
  EXPECT_EQ(killed.signal, SIGKILL);
  fs::remove_all(folder);
}

TEST_F(JobScript, IsTheSameUnderEveryShell) {
  for (const Shell& shell : shells()) {
    if (shell.name == "fish" || shell.name == "csh") continue;  // never /bin/sh
    place_.nonce = make_nonce();
    place_.folder = work_ + "/jobs/" + place_.nonce;
    Job job = shell_job("printf '%s' \"$VALUE\"; printf err >&2; sleep 600 & exit 3", seconds(20));
    job.set_env = {"VALUE=a 'b' \"c\" $d\n\xff"};
    std::vector<std::string> argv = shell.argv;
    if (shell.name == "zsh") argv = {"/usr/bin/zsh", "--emulate", "sh"};
    const auto begin = std::chrono::steady_clock::now();
    const JobResult result = run(job, argv);
    EXPECT_EQ(result.ending, Ending::kExited) << shell.name << ": " << result.reason;
    EXPECT_EQ(result.exit_status, 3) << shell.name;
    EXPECT_EQ(result.out, "a 'b' \"c\" $d\n\xff") << shell.name;
    EXPECT_EQ(result.err, "err") << shell.name;
    EXPECT_LT(std::chrono::steady_clock::now() - begin, seconds(15)) << shell.name;
  }
}

// argv and environment arrive byte for byte, whatever they hold.
TEST_F(JobScript, PassesAnyArgumentAndValue) {
  std::mt19937 random(17);  // NOLINT: the same words every time
  for (int round = 0; round < 12; ++round) {
    place_.nonce = make_nonce();
    place_.folder = work_ + "/jobs/" + place_.nonce;
    std::string folder_name = nasty_text(random);
    std::erase(folder_name, '/');
    const std::string folder = work_ + "/in " + folder_name;
    fs::create_directories(folder);
    const std::string program = folder + "/--pro gram";
    fs::copy_file("/usr/bin/perl", program, fs::copy_options::overwrite_existing);
    Job job;
    job.argv = {program, "-e", "print join(\"\\0\", @ARGV, map { $ENV{$_} } qw(ONE TWO THREE)), $ENV{PWD} // ''", "--"};
    std::string expected;
    for (int word = 0; word < 6; ++word) {
      job.argv.push_back(nasty_text(random));
      expected += job.argv.back() + std::string(1, '\0');
    }
    for (const char* name : {"ONE", "TWO", "THREE"}) {
      const std::string value = nasty_text(random);
      job.set_env.push_back(std::string(name) + "=" + value);
      expected += value + std::string(1, '\0');
    }
    expected.pop_back();
    const JobResult result = run(job);
    EXPECT_EQ(result.ending, Ending::kExited) << result.reason;
    EXPECT_EQ(result.out, expected) << result.err;
  }
}

TEST_F(JobScript, LongArgumentsAreWrittenInPieces) {
  Job job = shell_job("printf '%s' \"$1\" | wc -c; printf '%s' \"$1\" | cksum");
  job.argv.insert(job.argv.end(), {"sh", ""});
  std::mt19937 random(19);  // NOLINT: the same words every time
  while (job.argv.back().size() < 50'000) job.argv.back() += nasty_text(random);
  const JobResult result = run(job);
  const JobResult expected = [&] {
    ToolCommand command;
    command.argv = job.argv;
    JobResult local;
    local.out = make_local_tools()->run(command, {})->out;
    return local;
  }();
  EXPECT_EQ(result.out, expected.out);
}

// The variables that inject are seen by the program, and by no shell, reaper or sampler before it.
TEST_F(JobScript, InjectionIsOnTheLastExecOnly) {
  // A "library" that cannot be loaded: the loader complains in every process that has the variable.
  Job job;
  job.argv = {"/usr/bin/env"};
  job.set_env = {"LD_PRELOAD=/no-such-library.so"};
  const JobResult result = run(job);
  const std::string complaint = "cannot be preloaded";
  const std::size_t first = result.err.find(complaint);
  EXPECT_NE(first, std::string::npos) << result.err;
  EXPECT_EQ(result.err.find(complaint, first + 1), std::string::npos) << result.err;
}

TEST_F(JobScript, GivesAnEnvironmentWithoutTheSessionsNoise) {
  Job job;
  job.argv = {"/usr/bin/env"};
  job.set_env = {"ADDED=1"};
  job.unset_env = {"UNWANTED"};
  for (const Shell& shell : shells()) {
    if (shell.name == "fish" || shell.name == "csh") continue;
    place_.nonce = make_nonce();
    place_.folder = work_ + "/jobs/" + place_.nonce;
    const JobResult result =
        run(job, shell.argv, {"UNWANTED=1", "SSH_CONNECTION=1 2 3 4", "KEPT=yes", "TERM=x", "PWD=/"});
    std::vector<std::string> names;
    std::istringstream lines(result.out);
    for (std::string line; std::getline(lines, line);) names.push_back(line.substr(0, line.find('=')));
    const auto has = [&](const char* name) { return std::find(names.begin(), names.end(), name) != names.end(); };
    EXPECT_TRUE(has("ADDED") && has("KEPT") && has("CAPBENCH_JOB") && has("PATH")) << shell.name << "\n" << result.out;
    for (const char* noise : {"UNWANTED", "SSH_CONNECTION", "TERM", "PWD", "OLDPWD", "_"}) {
      EXPECT_FALSE(has(noise)) << shell.name << ": " << noise << "\n" << result.out;
    }
  }
}

// As a job of this machine gets them, whatever the shells around it ignore.
TEST_F(JobScript, GivesFreshSignalsDescriptorsAndMask) {
  Job job;
  job.argv = {"/usr/bin/grep", "-E", "^Sig(Ign|Blk)", "/proc/self/status"};
  ToolCommand here;
  here.argv = job.argv;
  const auto expected = tools_->run(here, {});
  ASSERT_TRUE(expected.ok());
  const JobResult signals = run(job, {"/bin/sh"});
  EXPECT_EQ(signals.out, expected->out);
  place_.nonce = make_nonce();
  place_.folder = work_ + "/jobs/" + place_.nonce;
  here.argv = {"/bin/sh", "-c", "umask; ls /proc/$$/fd"};
  const auto mask = tools_->run(here, {});
  EXPECT_EQ(run(shell_job("umask; ls /proc/$$/fd")).out, mask->out);
}

// Beside a program that runs on, the supervision costs next to nothing.
TEST_F(JobScript, CostsAlmostNothingWhileTheProgramRuns) {
  const auto cost_ms = [&](const char* time) {
    place_.nonce = make_nonce();
    place_.folder = work_ + "/jobs/" + place_.nonce;
    const Job job = shell_job(std::string("sleep ") + time);
    EXPECT_EQ(prepare(job), 0);
    ToolSession session;
    session.command.argv = {"/bin/sh", place_.folder + "/job.sh"};
    auto ended = tools_->run_session(session, {});
    EXPECT_TRUE(ended.ok());
    EXPECT_EQ(collect(job).ending, Ending::kExited);
    return (ended->user_ns + ended->system_ns) / 1'000'000;
  };
  // Of three looks between one second and four.
  EXPECT_LT(cost_ms("4"), cost_ms("1") + 90);
}

bool is_alive(const std::string& pid) {
  const auto stat = read_file("/proc/" + pid + "/stat");
  return stat && stat->find(") Z") == std::string::npos;
}

bool wait_until_gone(const std::string& pid, seconds limit = seconds(10)) {
  const auto until = std::chrono::steady_clock::now() + limit;
  while (is_alive(pid)) {
    if (std::chrono::steady_clock::now() > until) return false;
    std::this_thread::sleep_for(milliseconds(20));
  }
  return true;
}

TEST_F(JobScript, EndsEverythingAtTheTimeLimit) {
  const Job job = shell_job(
      "setsid sh -c 'trap \"\" TERM; echo $$; exec >/dev/null 2>&1; while :; do sleep 1; done' & trap '' TERM; sleep "
      "600; "
      "sleep 600",
      milliseconds(700));
  const auto begin = std::chrono::steady_clock::now();
  const JobResult result = run(job);
  EXPECT_EQ(result.ending, Ending::kTimedOut);
  EXPECT_LT(std::chrono::steady_clock::now() - begin, seconds(12));
  ASSERT_FALSE(result.out.empty());
  EXPECT_TRUE(wait_until_gone(last_line(result.out)));
}

TEST_F(JobScript, AVeryShortLimitIsKept) {
  for (const int limit : {1, 3, 10, 30}) {
    place_.nonce = make_nonce();
    place_.folder = work_ + "/jobs/" + place_.nonce;
    const auto begin = std::chrono::steady_clock::now();
    EXPECT_EQ(run(shell_job("sleep 600", milliseconds(limit))).ending, Ending::kTimedOut) << limit;
    EXPECT_LT(std::chrono::steady_clock::now() - begin, seconds(12));
  }
}

TEST_F(JobScript, LeavesNothingBehind) {
  const JobResult result = run(shell_job("setsid sh -c 'echo $$; exec sleep 600 >/dev/null 2>&1' & sleep 0.3"));
  EXPECT_EQ(result.ending, Ending::kExited);
  EXPECT_TRUE(wait_until_gone(last_line(result.out)));
}

TEST_F(JobScript, EndsAFlood) {
  Job job = shell_job("yes");
  job.max_output_bytes = 100'000;
  const JobResult result = run(job);
  EXPECT_EQ(result.ending, Ending::kFlooded);
  EXPECT_EQ(result.out.size(), 100'000U);
  place_.nonce = make_nonce();
  place_.folder = work_ + "/jobs/" + place_.nonce;
  job.argv.back() = "head -c 100000 /dev/zero; head -c 100000 /dev/zero >&2";
  const JobResult full = run(job);
  EXPECT_EQ(full.ending, Ending::kExited);
  EXPECT_EQ(full.out.size(), 100'000U);
  EXPECT_EQ(full.err.size(), 100'000U);
}

// Starts the job with beats and gives its session back while it runs.
class JobWithBeats : public JobScript {
 protected:
  std::thread start(const Job& job, ToolSession session, std::optional<JobResult>& ended) {
    EXPECT_EQ(prepare(job, true, lost_after_s_), 0);
    session.command.argv = {"/bin/sh", place_.folder + "/job.sh"};
    return std::thread([this, session, &ended] {
      auto result = tools_->run_session(session, {});
      if (result) ended = std::move(*result);
    });
  }
  std::string wait_for_pid() {
    for (int i = 0; i < 500; ++i) {
      const auto pid = read_file(place_.folder + "/pid");
      if (pid && pid->ends_with('\n')) return last_line(*pid);
      std::this_thread::sleep_for(milliseconds(10));
    }
    return {};
  }
  int lost_after_s_ = 2;
};

TEST_F(JobWithBeats, LivesWhileTheHarnessBeats) {
  const Job job = shell_job("sleep 4; echo done");
  std::optional<JobResult> ended;
  ToolSession session;
  session.beat = milliseconds(300);
  start(job, session, ended).join();
  const JobResult result = collect(job);
  EXPECT_EQ(result.ending, Ending::kExited) << result.reason;
  EXPECT_EQ(result.out, "done\n");
}

TEST_F(JobWithBeats, EndsInSilence) {
  const Job job = shell_job("sleep 600");
  std::optional<JobResult> ended;
  ToolSession session;
  session.beat = seconds(500);  // the pipe stays open, and nothing comes
  const auto begin = std::chrono::steady_clock::now();
  start(job, session, ended).join();
  EXPECT_LT(std::chrono::steady_clock::now() - begin, seconds(20));
  const JobResult result = collect(job);
  EXPECT_EQ(result.ending, Ending::kLost);
  EXPECT_NE(result.reason.find("heard nothing"), std::string::npos) << result.reason;
}

TEST_F(JobWithBeats, EndsWithItsInput) {
  const Job job = shell_job("sleep 600");
  EXPECT_EQ(prepare(job, true), 0);
  // Its stdin is /dev/null, at its end from the beginning.
  auto ended = tools_->run({{"/bin/sh", place_.folder + "/job.sh"}, "", 0, "", {}}, {});
  EXPECT_TRUE(ended.ok());
  const JobResult result = collect(job);
  EXPECT_EQ(result.ending, Ending::kLost);
  EXPECT_NE(result.reason.find("connection closed"), std::string::npos) << result.reason;
}

TEST_F(JobWithBeats, CollectingEndsAJobThatStillRuns) {
  lost_after_s_ = 60;
  const Job job = shell_job("echo begun; sleep 600");
  std::optional<JobResult> ended;
  ToolSession session;
  session.beat = seconds(10);
  std::thread thread = start(job, session, ended);
  const std::string pid = wait_for_pid();
  std::this_thread::sleep_for(milliseconds(200));
  const JobResult result = collect(job);
  EXPECT_EQ(result.ending, Ending::kInterrupted);
  EXPECT_EQ(result.out, "begun\n");
  EXPECT_TRUE(wait_until_gone(pid));
  thread.join();
}

TEST_F(JobWithBeats, ASecondJobIsRefusedMeanwhile) {
  lost_after_s_ = 60;
  const Job job = shell_job("sleep 600");
  std::optional<JobResult> ended;
  ToolSession session;
  session.beat = seconds(10);
  std::thread thread = start(job, session, ended);
  wait_for_pid();
  const JobPlace first = place_;
  place_.nonce = make_nonce();
  place_.folder = work_ + "/jobs/" + place_.nonce;
  EXPECT_EQ(prepare(job), kBusyStatus);
  std::swap(place_, const_cast<JobPlace&>(first));
  EXPECT_EQ(collect(job).ending, Ending::kInterrupted);
  thread.join();
  std::swap(place_, const_cast<JobPlace&>(first));
  EXPECT_EQ(prepare(job), 0);
  EXPECT_FALSE(fs::exists(first.folder));  // what is left of the first job goes
}

TEST_F(JobScript, RefusesWhatAShellCannotDo) {
  const auto refuses = [&](const auto& change) {
    Job job = shell_job("true");
    change(job);
    return !launch_script(job, place_).ok();
  };
  EXPECT_FALSE(refuses([](Job&) {}));
  EXPECT_TRUE(refuses([](Job& job) { job.argv.clear(); }));
  EXPECT_TRUE(refuses([](Job& job) { job.argv.front() = "sh"; }));
  EXPECT_TRUE(refuses([](Job& job) { job.argv.back() = std::string("a\0b", 3); }));
  EXPECT_TRUE(refuses([](Job& job) { job.set_env = {"NO.NAME=1"}; }));
  EXPECT_TRUE(refuses([](Job& job) { job.set_env = {"X;id=1"}; }));
  EXPECT_TRUE(refuses([](Job& job) { job.set_env = {"PPID=1"}; }));
  EXPECT_TRUE(refuses([](Job& job) { job.set_env = {"=1"}; }));
  EXPECT_TRUE(refuses([](Job& job) { job.unset_env = {"a b"}; }));
}

// Whatever lies in the folder: cut at every byte, or with a bit turned over, it is lost or whole, never half.
TEST_F(JobScript, AnEndThatIsNotWholeIsLost) {
  const Job job = shell_job("true");
  const std::string end = "status=0\nexit=0\nwall_ns=5\n" + place_.nonce + "\n";
  EXPECT_EQ(read_job({{"end", end}}, place_, job).ending, Ending::kExited);
  for (std::size_t length = 0; length < end.size(); ++length) {
    EXPECT_EQ(read_job({{"end", end.substr(0, length)}}, place_, job).ending, Ending::kLost) << length;
  }
  EXPECT_EQ(read_job({}, place_, job).ending, Ending::kLost);
  EXPECT_EQ(read_job({{"end", "exit=0\n" + make_nonce() + "\n"}}, place_, job).ending, Ending::kLost);
  std::mt19937 random(23);  // NOLINT: the same bits every time
  for (int round = 0; round < 2000; ++round) {
    std::string turned = end;
    char& c = turned[random() % turned.size()];
    c = static_cast<char>(static_cast<unsigned char>(c) ^ (1U << (random() % 8U)));
    (void)read_job({{"end", turned}, {"maps.first", turned}, {"maps.before.x", turned}}, place_, job);
  }
}

// As /usr/bin/lsof prints on macOS.
TEST_F(JobScript, ReadsLsofsFieldOutput) {
  const std::string end = "status=0\nexit=0\nwall_ns=5\n" + place_.nonce + "\n";
  const JobResult result =
      read_job({{"end", end}, {"maps.first", "p812\nftxt\nn/Users/admin/bin/llama-bench\nftxt\nn/usr/lib/dyld\n"}},
               place_, Job{});
  EXPECT_EQ(result.mapped_files, (std::vector<std::string>{"/Users/admin/bin/llama-bench", "/usr/lib/dyld"}));
}

}  // namespace
}  // namespace capbench::target
