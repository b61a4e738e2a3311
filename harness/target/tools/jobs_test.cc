// Whole jobs through every kind, against programs that play the tools (tests/tools): real shells, real quoting.
// Each quirk of a tool has a test that fails without what is done about it.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <random>
#include <thread>

#include "base/digest.h"
#include "base/file.h"
#include "harness/target/target.h"

namespace capbench::target {
namespace {

namespace fs = std::filesystem;
using std::chrono::seconds;

Result<FileDigest> digest_of(const fs::path& file) {
  auto digest = sha256_file(file);
  if (!digest) return std::move(digest).error();
  return FileDigest{*digest, fs::file_size(file)};
}

void set_old(const fs::path& file) {
  fs::last_write_time(file, fs::file_time_type::clock::now() - std::chrono::hours(1));
}

// A guest of its own for each test: a folder with an awkward name, and the programs on the PATH.
class Guest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = ::testing::TempDir() + "/tools.XXXXXX";
    ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
    root_ = fs::canonical(pattern);
    home_ = root_ / "the guest's $HOME \"é\"";
    fs::create_directory(home_);
    const std::string path = fs::absolute("tests/tools").string() + ":/usr/local/bin:/usr/bin:/bin";
    ASSERT_TRUE(fs::exists("tests/tools/lume"));
    set("PATH", path);
    set("STANDIN_GUEST", home_.string());
    set("STANDIN_LOG", (root_ / "calls").string());
  }

  void TearDown() override {
    for (const std::string& name : set_) ::unsetenv(name.c_str());
    ::setenv("PATH", "/usr/local/bin:/usr/bin:/bin", 1);
    std::error_code ignored;
    fs::remove_all(root_, ignored);
  }

  void set(const std::string& name, const std::string& value) {
    ::setenv(name.c_str(), value.c_str(), 1);
    set_.push_back(name);
  }

  TargetSpec spec(const std::string& kind) const {
    TargetSpec spec;
    spec.kind = kind;
    spec.options["name"] = "VM";
    spec.options["work_dir"] = (home_ / "work it's").string();
    return spec;
  }

  std::unique_ptr<Target> make(const TargetSpec& spec) {
    auto target = make_target("guest", spec, *tools_);
    EXPECT_TRUE(target.ok()) << to_string(target.error());
    return target.ok() ? std::move(*target) : nullptr;
  }
  std::unique_ptr<Target> make(const std::string& kind) { return make(spec(kind)); }

  // A job that must run to its end.
  static JobResult run(Target& target, const Job& job) {
    auto result = target.run(job, {});
    EXPECT_TRUE(result.ok()) << to_string(result.error());
    if (!result.ok()) return {};
    EXPECT_EQ(result->ending, Ending::kExited) << result->reason << result->err;
    return *result;
  }
  static Job shell(const std::string& script, std::vector<std::string> arguments = {}) {
    Job job;
    job.argv = {"/bin/sh", "-c", script, "sh"};
    job.argv.insert(job.argv.end(), arguments.begin(), arguments.end());
    job.time_limit = seconds(30);
    return job;
  }

  static std::string script(Target& target, const std::string& text) {
    auto output = target.script(text);
    EXPECT_TRUE(output.ok()) << to_string(output.error());
    return output.ok() ? output->out : std::string();
  }

  fs::path write(const fs::path& path, const std::string& bytes) const {
    std::ofstream(path, std::ios::binary) << bytes;
    return path;
  }

  fs::path root_;
  fs::path home_;
  std::unique_ptr<ToolRunner> tools_ = make_local_tools();

 private:
  std::vector<std::string> set_;
};

// --- what holds for every kind ---

class EveryKind : public Guest, public ::testing::WithParamInterface<const char*> {};

INSTANTIATE_TEST_SUITE_P(Tools, EveryKind,
                         ::testing::Values("lume", "tart", "utm", "parallels", "anka", "lima", "podman-machine",
                                           "container", "multipass"),
                         [](const auto& instance) {
                           std::string name = instance.param;
                           std::erase(name, '-');
                           return name;
                         });

// Pieces that one shell or another reads as something else.
std::string awkward_text(std::mt19937& random) {
  static const std::vector<std::string> kPieces{
      " ",  "  ", "'",  "\"", "$",    "`", "\\", "\n",   "\t",    "!",     "*",     "?",    "[a]", "~", "#",
      "%s", ";",  "&",  "|",  "(",    ")", "<",  ">",    "{a,b}", "$HOME", "$(id)", "\\n",  "\\$", "é", "日本",
      "🚀",  "-n", "=x", "''", "\"\"", "a", "B7", "\x01", "\x7f",  "\xff",  "\r",    "\\\n", "!!",  "^", "end"};
  std::string text;
  const std::size_t pieces = random() % 7;
  for (std::size_t i = 0; i < pieces; ++i) text += kPieces[random() % kPieces.size()];
  return text;
}

TEST_P(EveryKind, AnyTextArrivesAsArgumentAndAsVariable) {
  const auto target = make(GetParam());
  std::mt19937 random(20261130);
  std::vector<std::string> arguments;
  std::string expected;
  std::string print = "for a; do printf '<%s>' \"$a\"; done";
  for (int i = 0; i < 120; ++i) {
    arguments.push_back(awkward_text(random));
    expected += "<" + arguments.back() + ">";
  }
  Job job = shell("", arguments);
  for (int i = 0; i < 40; ++i) {
    const std::string name = "CAP_" + std::to_string(i);
    const std::string value = awkward_text(random);
    job.set_env.push_back(name + "=" + value);
    print += "; printf '[%s]' \"$" + name + "\"";
    expected += "[" + value + "]";
  }
  job.argv[2] = print;
  const JobResult result = run(*target, job);
  EXPECT_EQ(result.out, expected);
  EXPECT_EQ(result.err, "");
}

TEST_P(EveryKind, AProgramWithAnAwkwardNameIsSentAndRun) {
  const auto target = make(GetParam());
  const fs::path local = write(root_ / "it's a \"$PROGRAM\"\nna`me é", "#!/bin/sh\nprintf '%s' \"$1${0##*/}\"\n");
  auto there = target->put(local, digest_of);
  ASSERT_TRUE(there.ok()) << to_string(there.error());
  Job job;
  job.argv = {*there, "$1 '"};
  EXPECT_EQ(run(*target, job).out, "$1 '" + local.filename().string());
}

TEST_P(EveryKind, StatusAndStreamsAreTheProgramsOwn) {
  const auto target = make(GetParam());
  // Among them what tools use for failures of their own.
  for (const int status : {0, 125}) {
    const JobResult result = run(*target, shell("echo out; echo err >&2; exit " + std::to_string(status)));
    EXPECT_EQ(result.exit_status, status);
    EXPECT_EQ(result.out, "out\n");
    EXPECT_EQ(result.err, "err\n");
  }
}

TEST_P(EveryKind, AMegabyteOfAnyBytesComesBack) {
  const auto target = make(GetParam());
  std::mt19937 random(7);
  std::string bytes(1 << 20, '\0');
  for (char& c : bytes) c = static_cast<char>(random() & 0xffU);
  auto there = target->put(write(root_ / "bytes", bytes), digest_of);
  ASSERT_TRUE(there.ok()) << to_string(there.error());
  const JobResult result = run(*target, shell("cat \"$1\"", {*there}));
  EXPECT_TRUE(result.out == bytes) << result.out.size();
  const fs::path back = root_ / "ba ck";
  const Status got = target->get(*there, back);
  ASSERT_TRUE(got.ok()) << to_string(got.error());
  EXPECT_TRUE(*read_file(back) == bytes);
  EXPECT_EQ(target->put_count().files_sent, 1U);
  ASSERT_TRUE(target->put(root_ / "bytes", digest_of).ok());
  EXPECT_EQ(target->put_count().files_sent, 1U) << "sent twice";
}

TEST_P(EveryKind, TheTimeLimitEndsTheProgramThere) {
  const auto target = make(GetParam());
  const fs::path pid_file = home_ / "work it's" / "pid";
  Job job = shell("echo $$ >\"$1\"; exec sleep 60", {pid_file.string()});
  job.time_limit = seconds(1);
  const auto begin = std::chrono::steady_clock::now();
  auto result = target->run(job, {});
  ASSERT_TRUE(result.ok()) << to_string(result.error());
  EXPECT_EQ(result->ending, Ending::kTimedOut) << result->reason;
  EXPECT_LT(std::chrono::steady_clock::now() - begin, seconds(15));
  auto pid = read_file(pid_file);
  ASSERT_TRUE(pid.ok());
  EXPECT_NE(::kill(std::stoi(*pid), 0), 0) << "it still runs";
}

TEST_P(EveryKind, AToolThatFailsIsNoSuccess) {
  const auto target = make(GetParam());
  ASSERT_EQ(script(*target, "echo hi"), "hi\n");
  set("STANDIN_BROKEN", "1");
  auto output = target->script("echo hi");
  ASSERT_FALSE(output.ok());
  EXPECT_FALSE(output.error().remedy.empty());
  auto result = target->run(shell("echo hi"), {});
  EXPECT_TRUE(!result.ok() || result->ending == Ending::kLost);
}

TEST_P(EveryKind, NothingOfOurEnvironmentGetsThere) {
  set("CAPBENCH_TEST_LEAK", "leaked");
  const auto target = make(GetParam());
  const JobResult result = run(*target, shell("echo \"${CAPBENCH_TEST_LEAK-none}\""));
  EXPECT_EQ(result.out, "none\n");
}

TEST_P(EveryKind, TheToolTellsStateSizeAndVersion) {
  const std::string kind = GetParam();
  const auto target = make(kind);
  auto state = target->state();
  ASSERT_TRUE(state.ok()) << to_string(state.error());
  EXPECT_EQ(*state, State::kRunning);
  auto guest = target->guest();
  ASSERT_TRUE(guest.ok()) << to_string(guest.error());
  const bool sized = kind != "utm" && kind != "container";
  EXPECT_EQ(guest->vcpus.has_value(), sized);
  EXPECT_EQ(guest->memory_bytes.has_value(), sized);
  auto version = target->frontend_version();
  ASSERT_TRUE(version.ok()) << to_string(version.error());
  EXPECT_NE(version->find('.'), std::string::npos);
  if (kind == "container") return;  // its image is there or not; nothing of it can be stopped
  set("STANDIN_STATE", "stopped");
  const auto stopped = make(kind);
  state = stopped->state();
  ASSERT_TRUE(state.ok()) << to_string(state.error());
  EXPECT_EQ(*state, State::kStopped);
}

TEST_P(EveryKind, AStatedImageIsMarkedAndYieldsToWhatTheToolKnows) {
  TargetSpec stated = spec(GetParam());
  stated.options["image"] = "sha256:" + std::string(64, 'a');
  auto image = make(stated)->image();
  ASSERT_TRUE(image.ok()) << to_string(image.error());
  const bool tells = image->source == "anka uuid, version, image_id" || image->source == "lima image" ||
                     image->source == "multipass image" || image->source == "oci manifest";
  if (tells) {
    EXPECT_NE(image->digest, "sha256:" + std::string(64, 'a'));
  } else {
    EXPECT_EQ(image->source, "stated");
    EXPECT_EQ(image->digest, "sha256:" + std::string(64, 'a'));
  }
}

// --- quirks ---

using Lume = Guest;
using Tart = Guest;
using Utm = Guest;
using Parallels = Guest;
using Anka = Guest;
using Lima = Guest;
using PodmanMachine = Guest;
using Container = Guest;
using Multipass = Guest;

TEST_F(Lume, AJobLongerThanTheToolsOwnLimitIsWhole) {
  set("STANDIN_SECOND", "0.01");  // its 60 seconds are 0.6
  const auto target = make("lume");
  EXPECT_EQ(run(*target, shell("sleep 1.2; echo done")).out, "done\n");
}

TEST_F(Lume, StreamsMergedAtTheEndWithOneMoreNewlineAreToldApart) {
  const auto target = make("lume");
  const JobResult result = run(*target, shell("printf out; printf err >&2; printf out; exit 9"));
  EXPECT_EQ(result.out, "outout");
  EXPECT_EQ(result.err, "err");
  EXPECT_EQ(result.exit_status, 9);
}

TEST_F(Lume, TheAddressForFilesIsAsked) {
  set("STANDIN_ADDRESS", "192.168.64.99");
  const auto target = make("lume");
  auto address = target->address();
  ASSERT_TRUE(address.ok());
  EXPECT_EQ(*address, "192.168.64.99");
  auto there = target->put(write(root_ / "file", "text"), digest_of);
  ASSERT_TRUE(there.ok()) << to_string(there.error());
  EXPECT_NE(read_file(root_ / "calls")->find("<192.168.64.99>"), std::string::npos);
}

TEST_F(Lume, TheImageIsTheManifestInTheCacheOfPulls) {
  const std::string hex(64, 'c');
  const fs::path folder = root_ / "ca che" / "ghcr" / "org" / ("sha256_" + hex);
  fs::create_directories(folder);
  write(folder / "metadata.json", "{\n \"image\" : \"macos-tahoe-vanilla:latest\",\n \"manifestId\" : \"x\"\n}\n");
  TargetSpec pulled = spec("lume");
  pulled.options["pulled_from"] = "macos-tahoe-vanilla:latest";
  pulled.options["cache"] = (root_ / "ca che").string();
  auto image = make(pulled)->image();
  ASSERT_TRUE(image.ok()) << to_string(image.error());
  EXPECT_EQ(image->digest, "sha256:" + hex);
  EXPECT_EQ(image->source, "oci manifest");
}

TEST_F(Lume, ABundleIsDigestedOnlyWhileNothingWritesIt) {
  const fs::path folder = root_ / "bun dle";
  fs::create_directory(folder);
  for (const char* name : {"config.json", "disk.img", "nvram.bin"}) set_old(write(folder / name, name));
  TargetSpec bundled = spec("lume");
  bundled.options["bundle"] = folder.string();
  auto image = make(bundled)->image();
  ASSERT_TRUE(image.ok()) << to_string(image.error());
  EXPECT_EQ(image->source, "bundle");
  EXPECT_EQ(image->digest,
            "sha256:" + sha256(sha256("config.json") + " config.json\n" + sha256("disk.img") + " disk.img\n"));
  set_old(write(folder / "nvram.bin", "changes whenever it starts"));
  EXPECT_EQ(make(bundled)->image()->digest, image->digest);
  set_old(write(folder / "disk.img", "another disk"));
  EXPECT_NE(make(bundled)->image()->digest, image->digest);
  write(folder / "disk.img", "a disk of a VM that runs");
  const auto busy = make(bundled)->image();
  ASSERT_FALSE(busy.ok());
  EXPECT_NE(busy.error().remedy.find("stop the VM"), std::string::npos);
}

TEST_F(Tart, ACloneRemembersItsImageOnlyIfTheSuiteDoes) {
  auto unknown = make("tart")->image();
  ASSERT_TRUE(unknown.ok()) << to_string(unknown.error());
  EXPECT_EQ(unknown->digest, "");
  TargetSpec cloned = spec("tart");
  cloned.options["pulled_from"] = "registry.example/org/macos:latest";
  auto image = make(cloned)->image();
  ASSERT_TRUE(image.ok()) << to_string(image.error());
  EXPECT_EQ(image->digest.size(), 7U + 64U);
  EXPECT_EQ(image->cloned_from, "registry.example/org/macos:latest");
}

TEST_F(Utm, AStatusOfZeroProvesNothing) {
  const auto target = make("utm");
  EXPECT_EQ(run(*target, shell("exit 4")).exit_status, 4);
  set("STANDIN_BROKEN", "1");
  auto output = target->script("echo hi");
  ASSERT_FALSE(output.ok());
  EXPECT_NE(output.error().cause.find("-2700"), std::string::npos) << output.error().cause;
  EXPECT_NE(output.error().remedy.find("ssh"), std::string::npos) << output.error().remedy;
}

TEST_F(Parallels, CommandsRunInTheUsersSession) {
  const auto target = make("parallels");
  EXPECT_EQ(script(*target, "printf %s \"$HOME\""), home_.string());
}

TEST_F(Parallels, AFailureNowAndThenIsTriedAgain) {
  const fs::path left = write(root_ / "flaky", "0");
  set("STANDIN_FLAKY", left.string());
  const auto target = make("parallels");
  ASSERT_EQ(script(*target, "echo hi"), "hi\n");
  write(left, "1");
  EXPECT_EQ(script(*target, "echo hi"), "hi\n");
  EXPECT_EQ(*read_file(left), "0\n");
  write(left, "1");
  EXPECT_EQ(run(*target, shell("echo hi")).out, "hi\n") << "making the job's folder is safe to repeat";
}

TEST_F(Parallels, AGuestThatHidesItsAddressIsAsked) {
  set("STANDIN_ADDRESS", "");
  const auto target = make("parallels");
  auto address = target->address();
  ASSERT_TRUE(address.ok()) << to_string(address.error());
  EXPECT_EQ(*address, "10.211.55.7");
}

TEST_F(Anka, TheCallersFolderDoesNotBecomeTheCommands) {
  const auto target = make("anka");
  EXPECT_EQ(script(*target, "pwd"), home_.string() + "\n");
}

TEST_F(Anka, Status125IsTheToolOnlyWhenTheCommandDidNotRun) {
  const auto target = make("anka");
  EXPECT_EQ(run(*target, shell("exit 125")).exit_status, 125);
  set("STANDIN_BROKEN", "1");
  EXPECT_FALSE(target->script("echo hi").ok());
}

TEST_F(Anka, TalkBeforeTheResultIsPassedOver) {
  auto state = make("anka")->state();
  ASSERT_TRUE(state.ok()) << to_string(state.error());
  EXPECT_EQ(*state, State::kRunning);
  set("STANDIN_BROKEN", "1");
  state = make("anka")->state();
  ASSERT_TRUE(state.ok()) << to_string(state.error());
  EXPECT_EQ(*state, State::kAbsent) << "code 3";
}

TEST_F(Lima, WhatTheLoginShellSaysIsNotTheCommands) {
  const auto target = make("lima");
  EXPECT_EQ(script(*target, "echo hi"), "hi\n");
  const JobResult result = run(*target, shell("echo out; echo err >&2"));
  EXPECT_EQ(result.out, "out\n");
  EXPECT_EQ(result.err, "err\n");
}

TEST_F(Lima, TheCallersFolderIsNotEntered) {
  const auto target = make("lima");
  EXPECT_EQ(script(*target, "pwd"), "/tmp\n");
}

TEST_F(Lima, TheInstanceIsFoundAmongTheLines) {
  auto guest = make("lima")->guest();
  ASSERT_TRUE(guest.ok()) << to_string(guest.error());
  EXPECT_EQ(guest->vcpus, 4);
  auto image = make("lima")->image();
  ASSERT_TRUE(image.ok()) << to_string(image.error());
  EXPECT_EQ(image->digest, "sha256:" + std::string(63, '0') + "2");
}

TEST_F(PodmanMachine, FailuresOfSshAndOfPodmanAreNotTheCommands) {
  const auto target = make("podman-machine");
  EXPECT_EQ(run(*target, shell("exit 255")).exit_status, 255);
  EXPECT_EQ(run(*target, shell("exit 127")).exit_status, 127);
  for (const char* how : {"255", "125"}) {
    set("STANDIN_BROKEN", how);
    auto output = target->script("echo hi");
    ASSERT_FALSE(output.ok());
    EXPECT_NE(output.error().cause.find("exited " + std::string(how)), std::string::npos) << output.error().cause;
  }
}

TEST_F(Container, WhatAJobNeedsOutlivesTheContainerThatReceivedIt) {
  const auto target = make("container");
  auto there = target->put(write(root_ / "file", "text"), digest_of);
  ASSERT_TRUE(there.ok()) << to_string(there.error());
  EXPECT_EQ(script(*target, "touch \"$HOME/left\"; cat '" + std::string("/dev/null") + "'"), "");
  EXPECT_EQ(script(*target, "ls -A \"$HOME\""), "work it's\n");
  EXPECT_EQ(run(*target, shell("cat \"$1\"", {*there})).out, "text");
}

TEST_F(Container, TheEntryPointOfTheImageIsReplaced) {
  const auto target = make("container");
  EXPECT_EQ(script(*target, "echo hi"), "hi\n");
}

TEST_F(Container, VariablesOfTheSuiteReachThePrograms) {
  TargetSpec with = spec("container");
  with.lists["env"] = {"OF_THE_SUITE=a 'b' $c"};
  const auto target = make(with);
  EXPECT_EQ(run(*target, shell("printf %s \"$OF_THE_SUITE\"")).out, "a 'b' $c");
}

TEST_F(Container, DockerTakesTheSameWords) {
  TargetSpec docker = spec("container");
  docker.options["engine"] = "docker";
  const auto target = make(docker);
  EXPECT_EQ(run(*target, shell("exit 126")).exit_status, 126);
  auto image = target->image();
  ASSERT_TRUE(image.ok()) << to_string(image.error());
  EXPECT_EQ(image->digest, "sha256:" + std::string(63, '0') + "3");
}

TEST_F(Multipass, TheConfinedToolIsGivenBytesAndNoPath) {
  const auto target = make("multipass");
  auto there = target->put(write(root_ / "file", "text"), digest_of);
  ASSERT_TRUE(there.ok()) << to_string(there.error());
  ASSERT_TRUE(target->get(*there, root_ / "back").ok());
  EXPECT_EQ(*read_file(root_ / "back"), "text");
}

TEST_F(Multipass, CommandsStartAtTheRoot) {
  const auto target = make("multipass");
  EXPECT_EQ(script(*target, "pwd"), "/\n");
}

}  // namespace
}  // namespace capbench::target
