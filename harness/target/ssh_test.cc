// Against a real OpenSSH server on this machine, and against plain commands.
#include "harness/target/ssh.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <future>
#include <optional>
#include <random>
#include <thread>

#include "base/digest.h"
#include "base/fd.h"
#include "base/file.h"
#include "harness/target/frame.h"
#include "harness/target/shell.h"
#include "harness/target/target.h"
#include "harness/target/testing/sshd.h"

namespace capbench::target {
namespace {

namespace fs = std::filesystem;
using std::chrono::milliseconds;
using std::chrono::seconds;
using Clock = std::chrono::steady_clock;

std::string make_folder() {
  std::string folder = ::testing::TempDir() + "/XXXXXX";
  if (::mkdtemp(folder.data()) == nullptr) throw std::runtime_error("no temporary folder");
  return fs::canonical(folder);
}

Result<FileDigest> digest_of(const fs::path& file) {
  auto digest = sha256_file(file);
  if (!digest) return std::move(digest).error();
  return FileDigest{*digest, fs::file_size(file)};
}

Job shell_job(const std::string& script, milliseconds limit = seconds(30)) {
  Job job;
  job.argv = {"/bin/sh", "-c", script};
  job.time_limit = limit;
  return job;
}

bool is_alive(const std::string& pid) {
  const auto stat = read_file("/proc/" + pid + "/stat");
  return stat && stat->find(") Z") == std::string::npos;
}

bool wait_until_gone(const std::string& pid, seconds limit = seconds(15)) {
  const auto until = Clock::now() + limit;
  while (is_alive(pid)) {
    if (Clock::now() > until) return false;
    std::this_thread::sleep_for(milliseconds(20));
  }
  return true;
}

std::string wait_for_line(const std::string& file) {
  for (int i = 0; i < 1000; ++i) {
    const auto text = read_file(file);
    if (text && text->ends_with('\n')) return last_line(*text);
    std::this_thread::sleep_for(milliseconds(10));
  }
  return {};
}

std::string words(const std::map<std::string, std::string>& options) {
  std::string text;
  for (const auto& [key, value] : options) text += key + "=" + value + " ";
  return text;
}

class SshTarget : public ::testing::Test {
 protected:
  void SetUp() override {
    auto started = testing::Sshd::start(folder_);
    if (!started) GTEST_SKIP() << to_string(started.error());
    sshd_ = std::move(*started);
    target_ = make(sshd_->spec());
  }
  void TearDown() override {
    target_.reset();
    sshd_.reset();
    fs::remove_all(folder_);
  }
  std::unique_ptr<Target> make(const TargetSpec& spec) {
    auto target = make_target("host", spec, *tools_);
    EXPECT_TRUE(target.ok()) << (target ? "" : to_string(target.error()));
    return target ? std::move(*target) : nullptr;
  }
  JobResult run(const Job& job, const JobWatch& watch = {}) {
    auto result = target_->run(job, watch);
    EXPECT_TRUE(result.ok()) << (result ? "" : to_string(result.error()));
    return result ? std::move(*result) : JobResult{};
  }
  // Runs on another thread until `pid_file` names the job's process.
  std::future<JobResult> start(const Job& job) {
    return std::async(std::launch::async, [this, job] { return run(job); });
  }

  std::string folder_ = make_folder();
  std::unique_ptr<ToolRunner> tools_ = make_local_tools();
  std::unique_ptr<testing::Sshd> sshd_;
  std::unique_ptr<Target> target_;
};

TEST_F(SshTarget, RunsAJobAndBringsEverythingBack) {
  Job job = shell_job("printf '%s' \"$VALUE\"; printf err >&2; sleep 0.3; exit 7");
  job.set_env = {"VALUE=a b"};
  const JobResult result = run(job);
  EXPECT_EQ(result.ending, Ending::kExited) << result.reason;
  EXPECT_EQ(result.exit_status, 7);
  EXPECT_EQ(result.out, "a b");
  EXPECT_EQ(result.err, "err");
  EXPECT_GT(result.wall_ns, 290'000'000);
  EXPECT_GT(result.max_rss_bytes, 100'000);
  EXPECT_FALSE(result.mapped_files.empty());
  EXPECT_EQ(*target_->os(), "linux");
}

TEST_F(SshTarget, TellsSignalsAndProgramsThatAreNotThere) {
  const JobResult killed = run(shell_job("kill -SEGV $$"));
  EXPECT_EQ(killed.ending, Ending::kSignaled);
  EXPECT_EQ(killed.signal, SIGSEGV);
  Job job;
  job.argv = {"/no/such/program"};
  const JobResult missing = run(job);
  EXPECT_EQ(missing.ending, Ending::kNotStarted);
  EXPECT_EQ(missing.reason, "No such file or directory");
}

// 255 is what ssh says when it fails itself; here it is the program's.
TEST_F(SshTarget, AnExitStatusIsTheProgramsOwn) {
  for (const int status : {0, 1, 125, 127, 129, 139, 255}) {
    const JobResult result = run(shell_job("exit " + std::to_string(status)));
    EXPECT_EQ(result.ending, Ending::kExited) << status;
    EXPECT_EQ(result.exit_status, status);
  }
}

TEST_F(SshTarget, PassesAnyArgumentValueAndPath) {
  TargetSpec spec = sshd_->spec();
  // ssh itself expands what it reads in the names of its files.
  for (const char* file : {"user_key", "known_hosts"}) {
    const std::string odd = folder_ + "/" + file + " %h $HOME \"it's\"";
    fs::copy_file(folder_ + "/" + file, odd);
    spec.options[std::string(file) == "user_key" ? "identity" : file] = odd;
  }
  spec.options["work_dir"] = folder_ + "/it's $HOME `id` \"far\" \xc3\xa9 *";
  target_ = make(spec);
  Job job = shell_job("printf '%s\\n' \"$0\" \"$@\" \"$VALUE\"");
  const std::vector<std::string> nasty{"a b",  "'",        "\"$HOME\"", "`id`", "\\",    "\n",   "*",  "--",
                                       "\xff", "\xc3\xa9", "!!",        "a=b",  "$(id)", "%s%n", "-x", "~"};
  job.argv.insert(job.argv.end(), nasty.begin(), nasty.end());
  job.set_env = {"VALUE='\"$x\\\n\xfe"};
  const JobResult result = run(job);
  std::string expected;
  for (const std::string& word : nasty) expected += word + "\n";
  expected += "'\"$x\\\n\xfe\n";
  EXPECT_EQ(result.out, expected) << result.err << result.reason;
  const std::string name = "it's a \"file\" $1 \xc3\xa9";
  std::ofstream(folder_ + "/" + name) << "words";
  const auto path = target_->put(folder_ + "/" + name, digest_of);
  ASSERT_TRUE(path.ok()) << to_string(path.error());
  EXPECT_TRUE(path->ends_with("/" + name)) << *path;
  ASSERT_TRUE(target_->get(*path, folder_ + "/back").ok());
  EXPECT_EQ(*read_file(folder_ + "/back"), "words");
}

TEST_F(SshTarget, TheTimeLimitEndsTheRemoteProcess) {
  const auto begin = Clock::now();
  const JobResult result = run(shell_job("echo $$; trap '' TERM; sleep 600; sleep 600", milliseconds(700)));
  EXPECT_EQ(result.ending, Ending::kTimedOut) << result.reason;
  EXPECT_LT(Clock::now() - begin, seconds(15));
  EXPECT_TRUE(wait_until_gone(last_line(result.out)));
}

TEST_F(SshTarget, StopsWhenTold) {
  const Fd stop(::eventfd(0, EFD_CLOEXEC));
  JobWatch watch;
  watch.stop_fd = stop.get();
  watch.tick = milliseconds(50);
  const std::string pid_file = folder_ + "/pid";
  watch.on_tick = [&] {
    const std::uint64_t one = 1;
    if (fs::exists(pid_file)) (void)!::write(stop.get(), &one, sizeof one);
  };
  const JobResult result = run(shell_job("echo begun; echo $$ >" + quote(pid_file) + "; sleep 600"), watch);
  EXPECT_EQ(result.ending, Ending::kInterrupted);
  EXPECT_EQ(result.out, "begun\n");
  EXPECT_TRUE(wait_until_gone(wait_for_line(pid_file)));
}

TEST_F(SshTarget, AKilledHarnessLeavesNothingRunningThere) {
  const std::string pid_file = folder_ + "/pid";
  const pid_t harness = ::fork();
  if (harness == 0) {
    auto tools = make_local_tools();
    auto target = make_target("host", sshd_->spec(), *tools);
    if (target) (void)(*target)->run(shell_job("echo $$ >" + quote(pid_file) + "; sleep 600 & wait"), {}).ok();
    ::_exit(0);
  }
  const std::string pid = wait_for_line(pid_file);
  EXPECT_FALSE(pid.empty());
  ::kill(harness, SIGKILL);
  ::waitpid(harness, nullptr, 0);
  EXPECT_TRUE(wait_until_gone(pid));
  // The next harness goes on at once.
  EXPECT_EQ(run(shell_job("exit 3")).exit_status, 3);
}

// A relay that falls silent: no packet says that the link is gone.
TEST_F(SshTarget, ACutLinkInMidRunIsLostAndEndsTheJobThere) {
  const std::string pid_file = folder_ + "/pid";
  auto running = start(shell_job("echo $$ >" + quote(pid_file) + "; sleep 600"));
  const std::string pid = wait_for_line(pid_file);
  ASSERT_FALSE(pid.empty());
  const auto cut_at = Clock::now();
  sshd_->cut();
  EXPECT_TRUE(wait_until_gone(pid, seconds(30)));  // by itself: nobody can tell it
  const JobResult result = running.get();
  EXPECT_LT(Clock::now() - cut_at, seconds(40));
  EXPECT_EQ(result.ending, Ending::kLost);
  EXPECT_NE(result.reason.find("lost target \"host\" (ssh)"), std::string::npos) << result.reason;
  sshd_->restore();
  EXPECT_EQ(run(shell_job("exit 3")).exit_status, 3);
}

// The server's process for the session is killed: the tool ends, the job must not go on unseen.
TEST_F(SshTarget, AKilledToolIsLost) {
  const std::string pid_file = folder_ + "/pid";
  auto running = start(shell_job("echo $$ >" + quote(pid_file) + "; sleep 600"));
  const std::string pid = wait_for_line(pid_file);
  ASSERT_FALSE(pid.empty());
  const auto clients = tools_->run({{"pgrep", "-f", "ssh -T .*" + folder_ + ".*job.sh"}, "", 0, "", {}}, {});
  ASSERT_TRUE(clients.ok() && !clients->out.empty());
  ::kill(std::stoi(clients->out), SIGKILL);
  const JobResult result = running.get();
  EXPECT_EQ(result.ending, Ending::kLost) << result.reason;
  EXPECT_TRUE(wait_until_gone(pid));
}

class SshErrors : public SshTarget {
 protected:
  // The error of a target with these changes, in time.
  std::string error_with(const std::map<std::string, std::string>& changes) {
    TargetSpec spec = sshd_->spec();
    for (const auto& [key, value] : changes) spec.options[key] = value;
    const auto begin = Clock::now();
    const auto result = make(spec)->run(shell_job("true"), {});
    EXPECT_LT(Clock::now() - begin, seconds(15)) << words(changes);
    EXPECT_FALSE(result.ok()) << words(changes);
    return result ? "" : to_string(result.error());
  }
};

TEST_F(SshErrors, AreOneClearLineEach) {
  const std::string other = folder_ + "/other_key";
  ASSERT_TRUE(tools_->run({{"ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", other}, "", 0, "", {}}, {}).ok());
  const std::string user = error_with({{"identity", other}});
  EXPECT_NE(user.find("Permission denied"), std::string::npos) << user;
  EXPECT_NE(user.find("authorized_keys"), std::string::npos) << user;

  const std::string port = sshd_->spec().options["port"];
  std::ofstream(folder_ + "/other_hosts") << "[127.0.0.1]:" << port << " " << *read_file(other + ".pub");
  const std::string host = error_with({{"known_hosts", folder_ + "/other_hosts"}});
  EXPECT_NE(host.find("Host key verification failed"), std::string::npos) << host;
  EXPECT_NE(host.find("ssh-keyscan"), std::string::npos) << host;

  const std::string unknown = error_with({{"known_hosts", folder_ + "/no such file"}});
  EXPECT_NE(unknown.find("Host key verification failed"), std::string::npos) << unknown;

  const std::string refused = error_with({{"port", "1"}});
  EXPECT_NE(refused.find("Connection refused"), std::string::npos) << refused;
  for (const std::string& text : {user, host, unknown, refused}) {
    EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 0) << text;
    EXPECT_TRUE(text.starts_with("target \"host\" (ssh): `ssh` exited 255: ")) << text;
  }
}

TEST_F(SshErrors, AWorkFolderThatCannotBeMadeIsNamed) {
  const std::string text = error_with({{"work_dir", "/proc/no"}});
  EXPECT_NE(text.find("work_dir"), std::string::npos) << text;
}

class SshFiles : public SshTarget {
 protected:
  std::string make_file(const std::string& name, std::size_t size, unsigned seed = 1) {
    std::mt19937 random(seed);  // NOLINT: the same bytes every time
    std::string bytes(size, '\0');
    for (std::size_t i = 0; i + 4 <= size; i += 4) {
      const auto word = static_cast<std::uint32_t>(random());
      std::copy_n(reinterpret_cast<const char*>(&word), 4, &bytes[i]);
    }
    const std::string path = folder_ + "/" + name;
    fs::create_directories(fs::path(path).parent_path());
    std::ofstream(path, std::ios::binary) << bytes;
    return path;
  }
  std::string put(const std::string& path) {
    auto there = target_->put(path, digest_of);
    EXPECT_TRUE(there.ok()) << (there ? "" : to_string(there.error()));
    return there ? *there : "";
  }
};

constexpr std::size_t kLarge = 50'000'000;

TEST_F(SshFiles, ALargeFileTravelsOnce) {
  const std::string file = make_file("model.gguf", kLarge);
  const std::string there = put(file);
  EXPECT_TRUE(there.starts_with(sshd_->work_dir() + "/files/")) << there;
  EXPECT_TRUE(there.ends_with("/model.gguf")) << there;
  EXPECT_EQ(*sha256_file(there), *sha256_file(file));
  EXPECT_EQ(put(file), there);
  EXPECT_EQ(target_->put_count().bytes_sent, kLarge);
  // A later sitting asks for its digest, and finds it; under another name too.
  target_ = make(sshd_->spec());
  EXPECT_EQ(put(file), there);
  fs::copy_file(file, folder_ + "/twin.gguf");
  EXPECT_TRUE(put(folder_ + "/twin.gguf").ends_with("/twin.gguf"));
  EXPECT_EQ(target_->put_count().bytes_sent, 0U);
  EXPECT_EQ(target_->put_count().files_kept, 2U);
}

TEST_F(SshFiles, ACopyGoesOnWhereItBroke) {
  const std::string file = make_file("model.gguf", kLarge);
  const std::string digest = *sha256_file(file);
  EXPECT_EQ(*target_->os(), "linux");  // makes the work folder
  const std::string part = sshd_->work_dir() + "/blobs/" + digest + ".part";
  fs::copy_file(file, part);
  fs::resize_file(part, 30'000'000);
  const std::string there = put(file);
  EXPECT_EQ(target_->put_count().bytes_sent, kLarge - 30'000'000);
  EXPECT_EQ(*sha256_file(there), digest);
  EXPECT_FALSE(fs::exists(part));
}

TEST_F(SshFiles, ALinkCutInMidCopyLosesNothing) {
  const std::string file = make_file("model.gguf", kLarge);
  const std::string digest = *sha256_file(file);
  EXPECT_EQ(*target_->os(), "linux");
  sshd_->slow_down();
  auto putting = std::async(std::launch::async, [&] { return target_->put(file, digest_of); });
  const std::string part = sshd_->work_dir() + "/blobs/" + digest + ".part";
  std::error_code absent;
  while (!(fs::exists(part) && fs::file_size(part, absent) > 5'000'000)) {
    ASSERT_EQ(putting.wait_for(milliseconds(5)), std::future_status::timeout);
  }
  sshd_->cut();
  const auto cut = putting.get();
  ASSERT_FALSE(cut.ok());
  EXPECT_TRUE(to_string(cut.error()).starts_with("target \"host\" (ssh): `ssh` exited 255")) << to_string(cut.error());
  EXPECT_FALSE(fs::exists(sshd_->work_dir() + "/blobs/" + digest));
  sshd_->restore();
  const std::string there = put(file);
  EXPECT_EQ(*sha256_file(there), digest);
  EXPECT_LT(target_->put_count().bytes_sent, kLarge - 4'000'000);
}

TEST_F(SshFiles, DamageIsFoundAndMended) {
  const std::string file = make_file("model.gguf", 1'000'000);
  const std::string digest = *sha256_file(file);
  EXPECT_EQ(*target_->os(), "linux");
  const std::string blob = sshd_->work_dir() + "/blobs/" + digest;
  // Half a copy of something else, and later a blob whose bytes have changed.
  std::ofstream(blob + ".part") << "something else";
  const std::string there = put(file);
  EXPECT_EQ(*sha256_file(there), digest);
  fs::permissions(blob, fs::perms::owner_all);
  std::ofstream(blob, std::ios::in | std::ios::out).put('x');
  EXPECT_NE(*sha256_file(there), digest);
  target_ = make(sshd_->spec());
  EXPECT_EQ(put(file), there);
  EXPECT_EQ(*sha256_file(there), digest);
}

TEST_F(SshFiles, AFileThatChangesIsRefused) {
  const std::string file = make_file("model.gguf", 1'000'000);
  const auto wrong = [](const fs::path& path) -> Result<FileDigest> {
    return FileDigest{std::string(64, 'a'), fs::file_size(path)};
  };
  const auto there = target_->put(file, wrong);
  ASSERT_FALSE(there.ok());
  EXPECT_NE(to_string(there.error()).find("arrived damaged"), std::string::npos) << to_string(there.error());
  EXPECT_FALSE(fs::exists(sshd_->work_dir() + "/blobs/" + std::string(64, 'a')));
  EXPECT_FALSE(fs::exists(sshd_->work_dir() + "/blobs/" + std::string(64, 'a') + ".part"));
}

TEST_F(SshFiles, AFolderIsASetOfFiles) {
  make_file("llama/llama-bench", 5000, 1);
  make_file("llama/libggml.so.0", 6000, 2);
  make_file("llama/data/words", 7000, 3);
  fs::create_symlink("libggml.so.0", folder_ + "/llama/libggml.so");
  const std::string there = put(folder_ + "/llama");
  EXPECT_TRUE(there.ends_with("/llama")) << there;
  EXPECT_EQ(target_->put_count().bytes_sent, 5000U + 6000U + 7000U);
  for (const char* name : {"llama-bench", "libggml.so.0", "libggml.so", "data/words"}) {
    EXPECT_EQ(*read_file(there + "/" + name), *read_file(folder_ + "/llama/" + name)) << name;
  }
  EXPECT_EQ(::access((there + "/llama-bench").c_str(), X_OK), 0);
  // Another build shares what it can.
  make_file("llama/llama-bench", 5000, 4);
  const std::string other = put(folder_ + "/llama");
  EXPECT_NE(other, there);
  EXPECT_EQ(target_->put_count().bytes_sent, 5000U + 6000U + 7000U + 5000U);
  EXPECT_EQ(put(folder_ + "/llama/"), other);
}

TEST_F(SshFiles, ComeBackWhole) {
  const std::string file = make_file("result", 3'000'000);
  ASSERT_TRUE(target_->get(file, folder_ + "/back").ok());
  EXPECT_EQ(*sha256_file(folder_ + "/back"), *sha256_file(file));
  const auto missing = target_->get(folder_ + "/no such file", folder_ + "/back");
  ASSERT_FALSE(missing.ok());
  EXPECT_NE(to_string(missing.error()).find("cannot be read there"), std::string::npos);
}

TEST_F(SshTarget, ScriptsAreRunAsTheyAre) {
  const auto output = target_->script("echo 'it'\"'\"'s'; echo \"$HOME\" >/dev/null; exit 4");
  ASSERT_TRUE(output.ok());
  EXPECT_EQ(output->out, "it's\n");
  EXPECT_EQ(output->exit_status, 4);
}

// Threads as the runner has them: a target each, all at once.
TEST_F(SshTarget, SeveralTargetsRunAtOnce) {
  std::vector<std::future<int>> running;
  for (int i = 0; i < 3; ++i) {
    running.push_back(std::async(std::launch::async, [this, i] {
      TargetSpec spec = sshd_->spec();
      spec.options["work_dir"] += std::to_string(i);
      const auto target = make(spec);
      int right = 0;
      for (int job = 0; job < 3; ++job) {
        const auto result = target->run(shell_job("echo " + std::to_string(i) + "; exit " + std::to_string(job)), {});
        if (result.ok() && result->exit_status == job && result->out == std::to_string(i) + "\n") ++right;
      }
      return right;
    }));
  }
  for (auto& right : running) EXPECT_EQ(right.get(), 3);
}

// The tool of another target, on the host that ssh reaches: `sh` stands for a VM's tool.
TEST_F(SshTarget, ToolsRunOnAnotherMachine) {
  auto there = make_tools_on("mac", sshd_->spec(), *tools_);
  ASSERT_TRUE(there.ok());
  TargetSpec spec;
  spec.kind = "command";
  spec.machine = "mac";
  spec.options = {{"work_dir", folder_ + "/guest"}, {"lost_after_s", "4"}};
  spec.lists = {{"run", {"sh", "-c", "{script}"}}};
  auto target = make_target("guest", spec, **there);
  ASSERT_TRUE(target.ok());
  const auto result = (*target)->run(shell_job("echo 'a  b'; exit 5"), {});
  ASSERT_TRUE(result.ok()) << to_string(result.error());
  EXPECT_EQ(result->out, "a  b\n");
  EXPECT_EQ(result->exit_status, 5);
  std::ofstream(folder_ + "/file") << "words";
  const auto path = (*target)->put(folder_ + "/file", digest_of);
  ASSERT_TRUE(path.ok()) << to_string(path.error());
  EXPECT_EQ(*read_file(*path), "words");
}

// The whole way without stdin: nothing tells the far side that the harness is gone, so the keeper's farewell must.
TEST_F(SshTarget, AKilledHarnessEndsAJobWithoutStdinToo) {
  const TargetSpec by_ssh = sshd_->spec();
  SshOptions options;
  options.address = by_ssh.options.at("address");
  options.port = by_ssh.options.at("port");
  options.identity = by_ssh.options.at("identity");
  options.known_hosts = by_ssh.options.at("known_hosts");
  TargetSpec spec;
  spec.kind = "command";
  spec.options = {{"work_dir", sshd_->work_dir()}, {"stdin", "false"}};
  spec.lists["run"] = ssh_argv(options);
  spec.lists["run"].insert(spec.lists["run"].begin() + 1, "-n");
  spec.lists["run"].emplace_back("{words}");
  spec.lists["copy_in"] = {"cp", "{local}", "{remote}"};
  spec.lists["copy_out"] = {"cp", "{remote}", "{local}"};
  const std::string pid_file = folder_ + "/pid";
  const pid_t harness = ::fork();
  if (harness == 0) {
    auto tools = make_local_tools();
    auto target = make_target("mine", spec, *tools);
    if (target) (void)(*target)->run(shell_job("echo $$ >" + quote(pid_file) + "; sleep 600"), {}).ok();
    ::_exit(0);
  }
  const std::string pid = wait_for_line(pid_file);
  EXPECT_FALSE(pid.empty());
  ::kill(harness, SIGKILL);
  ::waitpid(harness, nullptr, 0);
  EXPECT_TRUE(wait_until_gone(pid));
}

TEST(SshAcrossNamespaces, ALinkThatGoesDownInMidRunIsLost) {
  const std::string folder = make_folder();
  auto sshd = testing::Sshd::start(folder, testing::Route::kNamespace);
  if (!sshd) GTEST_SKIP() << to_string(sshd.error());
  auto tools = make_local_tools();
  auto target = make_target("far", (*sshd)->spec(), *tools);
  ASSERT_TRUE(target.ok());
  const std::string pid_file = folder + "/pid";
  auto running = std::async(
      std::launch::async, [&] { return (*target)->run(shell_job("echo $$ >" + quote(pid_file) + "; sleep 600"), {}); });
  const std::string pid = wait_for_line(pid_file);
  EXPECT_FALSE(pid.empty());
  const auto cut_at = Clock::now();
  (*sshd)->cut();
  EXPECT_TRUE(wait_until_gone(pid, seconds(30)));
  const auto result = running.get();
  EXPECT_LT(Clock::now() - cut_at, seconds(40));
  ASSERT_TRUE(result.ok()) << to_string(result.error());
  EXPECT_EQ(result->ending, Ending::kLost) << result->reason;
  EXPECT_FALSE(result->reason.empty());
  (*sshd)->restore();
  const auto after = (*target)->run(shell_job("exit 3"), {});
  ASSERT_TRUE(after.ok()) << to_string(after.error());
  EXPECT_EQ(after->exit_status, 3);
  target->reset();
  fs::remove_all(folder);
}

// A command of the user's own.
class CommandTarget : public ::testing::Test {
 protected:
  void TearDown() override { fs::remove_all(folder_); }
  TargetSpec spec(std::vector<std::string> run) {
    TargetSpec spec;
    spec.kind = "command";
    spec.options = {{"work_dir", folder_ + "/far"}, {"lost_after_s", "4"}};
    spec.lists = {{"run", std::move(run)}};
    return spec;
  }
  std::string folder_ = make_folder();
  std::unique_ptr<ToolRunner> tools_ = make_local_tools();
};

TEST_F(CommandTarget, RunsScriptsAndWords) {
  const std::vector<std::vector<std::string>> commands{{"/bin/sh", "-c", "{script}"}, {"/bin/bash", "-c", "{words}"}};
  for (const auto& command : commands) {
    auto target = make_target("mine", spec(command), *tools_);
    ASSERT_TRUE(target.ok());
    Job job = shell_job("printf '%s' \"$1\" \"$VALUE\"; exit 6");
    job.argv.insert(job.argv.end(), {"sh", "it's {script} {words} $x"});
    job.set_env = {"VALUE=\n{local}"};
    const auto result = (*target)->run(job, {});
    ASSERT_TRUE(result.ok()) << to_string(result.error());
    EXPECT_EQ(result->out, "it's {script} {words} $x\n{local}");
    EXPECT_EQ(result->exit_status, 6);
  }
}

TEST_F(CommandTarget, CopiesByItsOwnCommands) {
  TargetSpec own = spec({"/bin/sh", "-c", "{script}"});
  own.options["stdin"] = "false";
  own.lists["copy_in"] = {"cp", "{local}", "{remote}"};
  own.lists["copy_out"] = {"cp", "{remote}", "{local}"};
  auto target = make_target("mine", own, *tools_);
  ASSERT_TRUE(target.ok()) << to_string(target.error());
  std::ofstream(folder_ + "/a file") << "words";
  const auto there = (*target)->put(folder_ + "/a file", digest_of);
  ASSERT_TRUE(there.ok()) << to_string(there.error());
  EXPECT_EQ(*read_file(*there), "words");
  ASSERT_TRUE((*target)->get(*there, folder_ + "/back").ok());
  EXPECT_EQ(*read_file(folder_ + "/back"), "words");
}

// It answers only once its start command has run.
TEST_F(CommandTarget, IsBroughtUpAndTakenDown) {
  const std::string flag = folder_ + "/running";
  TargetSpec vm = spec(
      {"/bin/sh", "-c", "[ -e \"$1\" ] || { echo not running >&2; exit 9; }; exec sh -c \"$0\"", "{script}", flag});
  vm.options["wait_s"] = "10";
  auto off = make_target("vm", vm, *tools_);
  const auto down = (*off)->bring_up();
  ASSERT_FALSE(down.ok());
  EXPECT_NE(to_string(down.error()).find("not running"), std::string::npos) << to_string(down.error());
  vm.lists["start"] = {"touch", flag};
  vm.lists["stop"] = {"rm", flag};
  auto target = make_target("vm", vm, *tools_);
  ASSERT_TRUE((*target)->bring_up().ok());
  EXPECT_EQ((*target)->run(shell_job("exit 3"), {})->exit_status, 3);
  ASSERT_TRUE((*target)->take_down().ok());
  EXPECT_FALSE(fs::exists(flag));
  vm.lists["start"] = {"false"};
  const auto broken = (*make_target("vm", vm, *tools_))->bring_up();
  ASSERT_FALSE(broken.ok());
  EXPECT_NE(to_string(broken.error()).find("`start` command: false exited 1"), std::string::npos)
      << to_string(broken.error());
}

}  // namespace
}  // namespace capbench::target
