// What each kind asks its tool, and what it makes of recorded answers. Nothing runs here; see jobs_test.cc.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "harness/target/shell.h"
#include "harness/target/tools/anka.h"
#include "harness/target/tools/answers.h"
#include "harness/target/tools/container.h"
#include "harness/target/tools/lima.h"
#include "harness/target/tools/lume.h"
#include "harness/target/tools/multipass.h"
#include "harness/target/tools/parallels.h"
#include "harness/target/tools/podman_machine.h"
#include "harness/target/tools/tart.h"
#include "harness/target/tools/utm.h"

namespace capbench::target {
namespace {

using Words = std::vector<std::string>;
using Options = std::map<std::string, std::string>;

constexpr std::int64_t kGiB = std::int64_t{1} << 30;
const std::string kScript = "echo \"it's $HOME\"\n";

std::unique_ptr<Transport> make(const KindInfo& kind, Options options = {}) {
  options.try_emplace("name", "VM");
  return kind.make(TargetSpec{std::string(kind.name), "", options, {}});
}

Query query(const KindInfo& kind, Aspect aspect, const Options& options = {}, std::size_t index = 0) {
  return make(kind, options)->queries(aspect).at(index);
}

ToolOutput answer(std::string out, int exit_status = 0, std::string err = {}) {
  ToolOutput output;
  output.exit_status = exit_status;
  output.out = std::move(out);
  output.err = std::move(err);
  return output;
}

// What the first question about `aspect` makes of an answer that it understands.
TargetInfo read(const KindInfo& kind, Aspect aspect, const ToolOutput& output, const Options& options = {}) {
  TargetInfo info;
  const Status status = query(kind, aspect, options).parse(output, info);
  EXPECT_TRUE(status.ok()) << to_string(status.error());
  return info;
}

Error refused(const KindInfo& kind, Aspect aspect, const ToolOutput& output, const Options& options = {}) {
  TargetInfo info;
  const Status status = query(kind, aspect, options).parse(output, info);
  EXPECT_FALSE(status.ok());
  return status.ok() ? Error{} : status.error();
}

constexpr std::string_view kLume = R"([2026-11-30T10:00:00Z] INFO: Getting VM details
[
  {
    "cpuCount" : 8,
    "diskSize" : { "allocated" : 31138512896, "total" : 85899345920 },
    "downloadProgress" : null,
    "ipAddress" : "192.168.64.7",
    "memorySize" : 17179869184,
    "name" : "VM",
    "os" : "macOS",
    "provisioningOperation" : null,
    "sharedDirectories" : [ { "hostPath" : "/Users/somebody/secret", "tag" : "[x]", "readOnly" : true } ],
    "sshAvailable" : true,
    "status" : "running",
    "vncUrl" : "vnc://:hush-hush-password@127.0.0.1:59000"
  }
]
[2026-11-30T10:00:01Z] INFO: Done
)";
constexpr std::string_view kLumeCache =
    "0011223344556677889900112233445566778899001122334455667788990011 "
    R"({"image":"macos-tahoe-vanilla:latest","manifestId":"sha256:0011","timestamp":786000000})"
    "\n"
    "ffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff "
    R"({"image":"macos-sequoia-vanilla:latest","manifestId":"sha256:ffff","timestamp":786000000})"
    "\n";
constexpr std::string_view kTart = R"({
  "CPU" : 4, "Disk" : 50, "DiskFormat" : "raw", "Display" : "1024x768", "Memory" : 8192, "OS" : "darwin",
  "Running" : true, "Size" : "38.512", "State" : "running"
})";
constexpr std::string_view kTartName =
    "registry.example/org/macos@sha256:6d5b3a7fd39c5b1c8f5f0b0a3e4c2f1a9d8e7c6b5a4f3e2d1c0b9a8f7e6d5c4b\n";
constexpr std::string_view kParallels = R"([
	{
		"uuid": "d0d0d0d0-1111-2222-3333-444444444444",
		"status": "running",
		"ip_configured": "10.211.55.3",
		"name": "VM"
	}
])";
constexpr std::string_view kParallelsDetails = R"([
  { "ID": "{aaaaaaaa-1111-2222-3333-444444444444}", "Name": "other", "OS": "ubuntu", "Hardware": {} },
  { "ID": "{d0d0d0d0-1111-2222-3333-444444444444}", "Name": "VM", "State": "running", "OS": "macosx",
    "Hardware": { "cpu": { "cpus": 4 }, "memory": { "size": "8192Mb" }, "hdd0": { "serial": "SERIAL-NUMBER-0" } } }
])";
constexpr std::string_view kAnka =
    "warning: a newer version is available\n"
    "{\"status\": \"OK\", \"body\": {\"name\": \"not the result\", \"status\": \"stopped\"}}\n"
    R"({"status": "OK", "code": null, "message": "", "exception_type": null, "body": {"uuid":
"c0847bc9", "name": "VM"}})"
    "\n"
    R"({"status": "OK", "code": null, "message": "", "exception_type": null, "body": )"
    R"({"uuid": "c0847bc9-5d2d-4dbc-ba6a-240f7ff08032", "name": "VM", "cpu_cores": 6, "ram": "14G", )"
    R"("image_id": "e56fd61a", "status": "running", "version": "26.1-r2", "ip": "192.168.64.9"}})"
    "\n";
constexpr std::string_view kLima =
    R"({"name":"other","status":"Stopped","vmType":"qemu","arch":"x86_64","cpus":1,"memory":1073741824,"config":{}})"
    "\n"
    R"({"name":"VM","status":"Running","vmType":"krunkit","arch":"aarch64","cpus":4,"memory":8589934592,)"
    R"("sshLocalPort":60022,"sshAddress":"127.0.0.1","config":{"os":"Linux","images":[)"
    R"({"location":"https://images.example/x86.qcow2","arch":"x86_64","digest":"sha256:11"},)"
    R"({"location":"https://images.example/arm.qcow2","arch":"aarch64","digest":"sha256:22"}]}})"
    "\n";
constexpr std::string_view kPodmanMachine = R"([
  { "Name": "VM", "State": "running", "Resources": { "CPUs": 6, "DiskSize": 100, "Memory": 8192 },
    "SSHConfig": { "IdentityPath": "/home/somebody/machine", "Port": 50022, "RemoteUsername": "core" } }
])";
constexpr std::string_view kMultipass = R"({ "errors": [], "info": { "VM": {
  "cpu_count": "4", "disks": { "sda1": { "total": "5116440064", "used": "1971531264" } },
  "image_hash": "4a1e0e4d6f0a5c9d1c9d7c1c9b8a7f6e5d4c3b2a19080706050403020100ffee", "image_release": "24.04 LTS",
  "ipv4": [ "192.168.64.4", "10.0.0.1" ], "memory": { "total": 4093526016 }, "state": "Running" } } })";
constexpr std::string_view kContainer = R"([
  { "Id": "4444444444444444444444444444444444444444444444444444444444444444",
    "Digest": "sha256:3333333333333333333333333333333333333333333333333333333333333333",
    "Os": "linux", "Config": { "Env": [ "TOKEN=hush-hush-password" ] } }
])";

struct Recorded {
  const KindInfo& kind;
  Aspect aspect;
  std::string_view text;
  Options options;
};

std::vector<Recorded> recorded() {
  return {{lume_kind(), Aspect::kState, kLume, {}},
          {lume_kind(), Aspect::kImage, kLumeCache, {{"pulled_from", "macos-tahoe-vanilla:latest"}}},
          {lume_kind(), Aspect::kImage, "busy\n", {{"bundle", "/b"}}},
          {tart_kind(), Aspect::kState, kTart, {}},
          {tart_kind(), Aspect::kAddress, "192.168.64.5\n", {}},
          {tart_kind(), Aspect::kImage, kTartName, {{"pulled_from", "registry.example/org/macos:latest"}}},
          {utm_kind(), Aspect::kState, "started\n", {}},
          {utm_kind(), Aspect::kAddress, "192.168.64.5\nfe80::1\n", {}},
          {utm_kind(), Aspect::kVersion, "4.7.4\n", {}},
          {parallels_kind(), Aspect::kState, kParallels, {}},
          {parallels_kind(), Aspect::kGuest, kParallelsDetails, {}},
          {anka_kind(), Aspect::kState, kAnka, {}},
          {anka_kind(), Aspect::kVersion, "{\"status\": \"OK\", \"body\": {\"version\": \"3.8.3\"}}\n", {}},
          {lima_kind(), Aspect::kState, kLima, {}},
          {podman_machine_kind(), Aspect::kState, kPodmanMachine, {}},
          {multipass_kind(), Aspect::kState, kMultipass, {}},
          {container_kind(), Aspect::kState, kContainer, {}}};
}

// Everything that a question may tell, in one text.
std::string all_of(const TargetInfo& info) {
  return info.address + "|" + info.image.digest + "|" + info.image.source + "|" + info.image.name + "|" +
         info.image.cloned_from + "|" + info.guest.os + "|" + info.frontend_version;
}

// --- the commands ---

TEST(Lume, TheTimeLimitIsLiftedAndTheLogIsSilenced) {
  const ToolCommand command = make(lume_kind())->execute(kScript, false);
  EXPECT_EQ(command.argv,
            (Words{"lume", "ssh", "VM", "-u", "lume", "-p", "lume", "-t", "0", far_shell_words(kScript)}));
  EXPECT_EQ(command.set_env, Words{"LUME_LOG_LEVEL=error"});
  EXPECT_EQ(lume_kind().traits.time_limit_override, "-t 0");
}

TEST(Lume, FilesGoThroughSshWithTheKeyThatTheSuiteNames) {
  const auto ssh = make(lume_kind(), {{"user", "u"}, {"identity", "/k"}, {"known_hosts", "/h"}})->ssh("192.168.64.7");
  ASSERT_TRUE(ssh.has_value());
  EXPECT_EQ(ssh->address, "192.168.64.7");
  EXPECT_EQ(ssh->user, "u");
  EXPECT_EQ(ssh->identity, "/k");
  EXPECT_EQ(ssh->known_hosts, "/h");
}

TEST(Tart, FlagsStandBeforeTheNameAndThereIsNoTerminal) {
  const auto tart = make(tart_kind());
  EXPECT_EQ(tart->execute(kScript, false).argv, (Words{"tart", "exec", "VM", "/bin/sh", "-c", kScript}));
  EXPECT_EQ(tart->execute(kScript, true).argv, (Words{"tart", "exec", "-i", "VM", "/bin/sh", "-c", kScript}));
}

TEST(Utm, TheCommandIsAnAbsolutePathBehindAllOptions) {
  EXPECT_EQ(make(utm_kind())->execute(kScript, false).argv,
            (Words{"utmctl", "exec", "VM", "--hide", "--cmd", "/bin/sh", "-c", kScript}));
}

TEST(Utm, FilesGoThroughTheToolsStdinAndStdout) {
  const ToolCommand in = make(utm_kind())->copy_in("/l o", "/r");
  EXPECT_EQ(in.argv, (Words{"utmctl", "file", "push", "VM", "/r"}));
  EXPECT_EQ(in.stdin_file, "/l o");
  const ToolCommand out = make(utm_kind())->copy_out("/r", "/l o");
  EXPECT_EQ(out.argv, (Words{"utmctl", "file", "pull", "VM", "/r"}));
  EXPECT_EQ(out.stdout_file, "/l o");
}

// --input sends the whole of stdin with the request: a stdin that stays open would keep the command from starting.
TEST(Utm, StdinIsNotUsed) {
  EXPECT_FALSE(utm_kind().traits.standard_input);
}

TEST(Parallels, RunsAsTheUserOfTheDesktop) {
  EXPECT_EQ(make(parallels_kind())->execute(kScript, true).argv,
            (Words{"prlctl", "exec", "VM", "--current-user", far_shell_words(kScript)}));
}

TEST(Anka, TheCallersFolderIsNotMounted) {
  EXPECT_EQ(make(anka_kind())->execute(kScript, true).argv,
            (Words{"anka", "run", "-n", "VM", "/bin/sh", "-c", kScript}));
  EXPECT_EQ(make(anka_kind())->copy_in("/l", "/r").argv, (Words{"anka", "cp", "-f", "/l", "VM:/r"}));
  EXPECT_EQ(make(anka_kind())->copy_out("/r", "/l").argv, (Words{"anka", "cp", "-f", "VM:/r", "/l"}));
}

TEST(Lima, StartsInAFolderThatIsThere) {
  EXPECT_EQ(make(lima_kind())->execute(kScript, true).argv,
            (Words{"limactl", "shell", "--workdir", "/tmp", "VM", "/bin/sh", "-c", kScript}));
  EXPECT_EQ(make(lima_kind())->copy_in("/l", "/r").argv, (Words{"limactl", "copy", "--backend=scp", "/l", "VM:/r"}));
}

TEST(PodmanMachine, TheMachineIsAlwaysNamed) {
  EXPECT_EQ(make(podman_machine_kind())->execute("true", true).argv, (Words{"podman", "machine", "ssh", "VM", "true"}));
  EXPECT_EQ(make(podman_machine_kind(), {{"user", "core"}})->execute("true", true).argv,
            (Words{"podman", "machine", "ssh", "--username", "core", "VM", "true"}));
  EXPECT_EQ(make(podman_machine_kind())->copy_out("/r", "/l").argv,
            (Words{"podman", "machine", "cp", "-q", "VM:/r", "/l"}));
}

TEST(Multipass, StartsAtTheRootAndOpensNoFileItself) {
  EXPECT_EQ(make(multipass_kind())->execute(kScript, true).argv,
            (Words{"multipass", "exec", "-d", "/", "VM", "--", "/bin/sh", "-c", kScript}));
  const ToolCommand in = make(multipass_kind())->copy_in("/l", "/r");
  EXPECT_EQ(in.argv, (Words{"multipass", "transfer", "-", "VM:/r"}));
  EXPECT_EQ(in.stdin_file, "/l");
  const ToolCommand out = make(multipass_kind())->copy_out("/r", "/l");
  EXPECT_EQ(out.argv, (Words{"multipass", "transfer", "VM:/r", "-"}));
  EXPECT_EQ(out.stdout_file, "/l");
}

TEST(Container, MountsDevicesAndVariablesComeBeforeTheImage) {
  TargetSpec spec{"container", "", {{"name", "registry.example/bench:full"}, {"work_dir", "/w"}}, {}};
  spec.lists["devices"] = {"/dev/dri"};
  spec.lists["volumes"] = {"/models:/models:ro"};
  spec.lists["env"] = {"A=b c"};
  spec.lists["run_options"] = {"--security-opt", "label=disable"};
  EXPECT_EQ(container_kind().make(spec)->execute(kScript, true).argv, (Words{"podman",
                                                                             "run",
                                                                             "--rm",
                                                                             "-i",
                                                                             "--pull=never",
                                                                             "-v",
                                                                             "capbench:/w",
                                                                             "-v",
                                                                             "/models:/models:ro",
                                                                             "--device",
                                                                             "/dev/dri",
                                                                             "--env",
                                                                             "A=b c",
                                                                             "--security-opt",
                                                                             "label=disable",
                                                                             "--entrypoint",
                                                                             "/bin/sh",
                                                                             "registry.example/bench:full",
                                                                             "-c",
                                                                             kScript}));
  spec.options["engine"] = "docker";
  EXPECT_EQ(container_kind().make(spec)->execute(kScript, false).argv.front(), "docker");
}

TEST(Container, WhatCannotBeMountedIsRefused) {
  const auto check = [](Options options, std::vector<std::string> env = {}) {
    options.try_emplace("name", "image");
    return container_kind().check(TargetSpec{"container", "", options, {{"env", env}}});
  };
  EXPECT_TRUE(check({}, {"A=b"}).ok());
  EXPECT_TRUE(check({{"engine", "docker"}, {"work_volume", "/srv/bench"}}).ok());
  EXPECT_FALSE(check({{"engine", "lxc"}}).ok());
  EXPECT_FALSE(check({{"work_volume", "a:b"}}).ok());
  EXPECT_FALSE(check({{"work_dir", "/a:b"}}).ok());
  EXPECT_FALSE(check({}, {"A"}).ok());
  EXPECT_FALSE(check({}, {"=b"}).ok());
}

// "VM:PATH" is split at the first colon.
TEST(AllKinds, ANameThatCopyCommandsSplitWronglyIsRefused) {
  const auto check = [](const KindInfo& kind, const char* name) {
    return kind.check(TargetSpec{std::string(kind.name), "", {{"name", name}}, {}});
  };
  for (const KindInfo* kind : {&anka_kind(), &lima_kind(), &podman_machine_kind(), &multipass_kind()}) {
    EXPECT_TRUE(check(*kind, "my vm").ok());
    EXPECT_FALSE(check(*kind, "a:b").ok());
    EXPECT_FALSE(check(*kind, "a/b").ok());
  }
}

// --- the answers ---

TEST(Lume, JsonIsFoundBetweenLogLines) {
  const TargetInfo info = read(lume_kind(), Aspect::kState, answer(std::string(kLume)));
  EXPECT_EQ(info.state, State::kRunning);
  EXPECT_EQ(info.address, "192.168.64.7");
  EXPECT_EQ(info.guest, (GuestFacts{8, 16 * kGiB, "macos"}));
}

TEST(Lume, ThePasswordInTheAnswerStaysThere) {
  const TargetInfo info = read(lume_kind(), Aspect::kState, answer(std::string(kLume)));
  EXPECT_EQ(all_of(info).find("hush"), std::string::npos);
  const Error error = refused(lume_kind(), Aspect::kState, answer(std::string(kLume), 1, "Error: no\n"));
  EXPECT_EQ(to_string(error).find("hush"), std::string::npos);
  EXPECT_NE(to_string(error).find("Error: no"), std::string::npos);
}

TEST(Lume, AVmWithoutSshIsNotReady) {
  for (const char* value : {"false", "null"}) {
    std::string text(kLume);
    const std::string_view before = "\"sshAvailable\" : true";
    text.replace(text.find(before), before.size(), std::string("\"sshAvailable\" : ") + value);
    EXPECT_EQ(read(lume_kind(), Aspect::kState, answer(text)).state, State::kStarting) << value;
  }
}

TEST(Lume, StatesAndNulls) {
  const auto state = [](const std::string& status) {
    return read(lume_kind(), Aspect::kState,
                answer("[{\"name\":\"VM\",\"status\":\"" + status + "\",\"ipAddress\":null,\"os\":null}]"));
  };
  EXPECT_EQ(state("stopped").state, State::kStopped);
  EXPECT_EQ(state("provisioning (stale)").state, State::kStarting);
  EXPECT_EQ(state("pulling").state, State::kStarting);
  EXPECT_EQ(state("running").state, State::kRunning);
  EXPECT_EQ(state("whatever").state, State::kUnknown);
  EXPECT_EQ(state("stopped").address, "");
  EXPECT_EQ(read(lume_kind(), Aspect::kState, answer("[]")).state, State::kAbsent);
  EXPECT_EQ(read(lume_kind(), Aspect::kState, answer("", 1, "Error: Virtual machine not found: VM")).state,
            State::kAbsent);
  refused(lume_kind(), Aspect::kState, answer("[2026-11-30T10:00:00Z] INFO: Getting VM details\n"));
  refused(lume_kind(), Aspect::kState, answer(""));
}

TEST(Lume, TheManifestOfThePulledImageIsTheIdentity) {
  const auto image = [](const std::string& from) {
    return read(lume_kind(), Aspect::kImage, answer(std::string(kLumeCache)), {{"pulled_from", from}}).image;
  };
  const std::string digest = "sha256:0011223344556677889900112233445566778899001122334455667788990011";
  EXPECT_EQ(image("macos-tahoe-vanilla:latest").digest, digest);
  EXPECT_EQ(image("registry.example/org/macos-tahoe-vanilla:latest").digest, digest);
  EXPECT_EQ(image("macos-tahoe-vanilla:latest").source, "oci manifest");
  EXPECT_EQ(image("macos-tahoe-vanilla:latest").cloned_from, "macos-tahoe-vanilla:latest");
  EXPECT_EQ(image("tahoe-vanilla:latest").digest, "") << "the end of another name is no match";
  EXPECT_EQ(image("tahoe-vanilla:latest").source, "");
  // A tag that was pulled twice and moved meanwhile.
  std::string twice(kLumeCache);
  twice +=
      "22222222222222222222222222222222"
      "22222222222222222222222222222222 ";
  twice += "{\"image\":\"macos-tahoe-vanilla:latest\"}\n";
  EXPECT_EQ(
      read(lume_kind(), Aspect::kImage, answer(twice), {{"pulled_from", "macos-tahoe-vanilla:latest"}}).image.digest,
      "");
}

TEST(Tart, MemoryIsInMebibytes) {
  const TargetInfo info = read(tart_kind(), Aspect::kState, answer(std::string(kTart)));
  EXPECT_EQ(info.state, State::kRunning);
  EXPECT_EQ(info.guest, (GuestFacts{4, 8 * kGiB, "macos"}));
  EXPECT_EQ(read(tart_kind(), Aspect::kAddress, answer("192.168.64.5\n")).address, "192.168.64.5");
  EXPECT_EQ(read(tart_kind(), Aspect::kAddress, answer("", 1, "no IP address found")).address, "");
  EXPECT_EQ(read(tart_kind(), Aspect::kState, answer("", 2, "the specified VM \"VM\" does not exist")).state,
            State::kAbsent);
}

TEST(Tart, ACloneThatEchoesItsOwnNameHasNoKnownImage) {
  const TargetInfo info = read(tart_kind(), Aspect::kImage, answer("VM\n"));
  EXPECT_EQ(info.image.digest, "");
  EXPECT_EQ(info.image.source, "");
}

TEST(Tart, TheImageThatItWasClonedFromIsAskedFor) {
  const Options options{{"pulled_from", "registry.example/org/macos:latest"}};
  EXPECT_EQ(query(tart_kind(), Aspect::kImage, options).command.argv,
            (Words{"tart", "fqn", "registry.example/org/macos:latest"}));
  const TargetInfo info = read(tart_kind(), Aspect::kImage, answer(std::string(kTartName)), options);
  EXPECT_EQ(info.image.digest, "sha256:6d5b3a7fd39c5b1c8f5f0b0a3e4c2f1a9d8e7c6b5a4f3e2d1c0b9a8f7e6d5c4b");
  EXPECT_EQ(info.image.source, "oci manifest");
  EXPECT_EQ(info.image.cloned_from, "registry.example/org/macos:latest");
  refused(tart_kind(), Aspect::kImage, answer("registry.example/org/macos@sha256:6d5b\n"), options);
}

TEST(Utm, ARefusalWithStatusZeroIsNoState) {
  const std::string refusal_text = "Error from event: The operation couldn't be completed. (OSStatus error -2700.)\n";
  const Error error = refused(utm_kind(), Aspect::kState, answer("", 0, refusal_text));
  EXPECT_NE(error.remedy.find("ssh"), std::string::npos);
  EXPECT_EQ(read(utm_kind(), Aspect::kAddress, answer(refusal_text)).address, "");
  EXPECT_EQ(read(utm_kind(), Aspect::kAddress, answer("192.168.64.5\nfe80::1\n")).address, "192.168.64.5");
  EXPECT_EQ(read(utm_kind(), Aspect::kState, answer("started\n")).state, State::kRunning);
  EXPECT_EQ(read(utm_kind(), Aspect::kState, answer("paused\n")).state, State::kStopped);
  EXPECT_EQ(read(utm_kind(), Aspect::kState, answer("Virtual machine not found.\n")).state, State::kAbsent);
  refused(utm_kind(), Aspect::kState, answer("something else\n"));
}

TEST(Utm, AnErrorThatAskingAgainDoesNotCureIsFinal) {
  const auto utm = make(utm_kind());
  EXPECT_TRUE(utm->advise(answer("", 0, "OSStatus error -1743.")).is_final);
  EXPECT_TRUE(utm->advise(answer("", 0, "OSStatus error -2700.")).is_final);
  EXPECT_FALSE(utm->advise(answer("", 0, "connection invalid (-609)")).is_final);
}

TEST(Parallels, ADashIsNoAddress) {
  std::string text(kParallels);
  text.replace(text.find("10.211.55.3"), 11, "-");
  EXPECT_EQ(read(parallels_kind(), Aspect::kAddress, answer(text)).address, "");
  EXPECT_EQ(read(parallels_kind(), Aspect::kAddress, answer(std::string(kParallels))).address, "10.211.55.3");
  // A macOS guest is asked itself, and only fills what is missing.
  TargetInfo info;
  const Query guest = query(parallels_kind(), Aspect::kAddress, {}, 1);
  ASSERT_TRUE(guest.parse(answer("sh: /usr/sbin/ipconfig: not found\n", 127), info).ok());
  EXPECT_EQ(info.address, "");
  ASSERT_TRUE(guest.parse(answer("10.211.55.7\n"), info).ok());
  EXPECT_EQ(info.address, "10.211.55.7");
  ASSERT_TRUE(guest.parse(answer("10.211.55.8\n"), info).ok());
  EXPECT_EQ(info.address, "10.211.55.7");
}

TEST(Parallels, TheVmIsFoundByNameOrUuidAmongAll) {
  for (const char* name : {"VM", "d0d0d0d0-1111-2222-3333-444444444444", "{d0d0d0d0-1111-2222-3333-444444444444}"}) {
    const TargetInfo info =
        read(parallels_kind(), Aspect::kGuest, answer(std::string(kParallelsDetails)), {{"name", name}});
    EXPECT_EQ(info.guest, (GuestFacts{4, 8 * kGiB, "macos"})) << name;
    EXPECT_EQ(all_of(info).find("SERIAL"), std::string::npos);
    EXPECT_EQ(all_of(info).find("d0d0"), std::string::npos);
    EXPECT_EQ(read(parallels_kind(), Aspect::kState, answer(std::string(kParallels)), {{"name", name}}).state,
              State::kRunning);
  }
  EXPECT_EQ(read(parallels_kind(), Aspect::kState, answer(std::string(kParallels)), {{"name", "no"}}).state,
            State::kAbsent);
}

TEST(Anka, TheResultIsTheLastLine) {
  const TargetInfo info = read(anka_kind(), Aspect::kState, answer(std::string(kAnka)));
  EXPECT_EQ(info.state, State::kRunning);
  EXPECT_EQ(info.address, "192.168.64.9");
  EXPECT_EQ(info.guest, (GuestFacts{6, 14 * kGiB, "macos"}));
  refused(anka_kind(), Aspect::kState, answer(std::string(kAnka) + "warning: too late\n"));
}

TEST(Anka, TheIdentityIsADigestOfUuidVersionAndImage) {
  const TargetInfo info = read(anka_kind(), Aspect::kImage, answer(std::string(kAnka)));
  EXPECT_EQ(info.image.name, "VM:26.1-r2");
  EXPECT_EQ(info.image.digest.size(), 7U + 64U);
  EXPECT_EQ(all_of(info).find("c0847bc9"), std::string::npos);
  for (const std::string_view part : {"240f7ff08032", "26.1-r2", "e56fd61a"}) {
    std::string other(kAnka);
    other.replace(other.rfind(part), 1, "x");
    EXPECT_NE(read(anka_kind(), Aspect::kImage, answer(other)).image.digest, info.image.digest) << part;
  }
}

TEST(Anka, ErrorsHaveCodes) {
  const std::string tail = ", \"body\": {}, \"message\": \"VM: no\", \"exception_type\": \"X\"}\n";
  EXPECT_EQ(read(anka_kind(), Aspect::kState, answer("{\"status\": \"ERROR\", \"code\": 3" + tail, 3)).state,
            State::kAbsent);
  refused(anka_kind(), Aspect::kState, answer("{\"status\": \"ERROR\", \"code\": 18" + tail, 18));
  refused(anka_kind(), Aspect::kState, answer("", 125, "lost"));
}

TEST(Lima, EachLineIsAnInstance) {
  const TargetInfo info = read(lima_kind(), Aspect::kState, answer(std::string(kLima)));
  EXPECT_EQ(info.state, State::kRunning);
  EXPECT_EQ(info.guest, (GuestFacts{4, 8 * kGiB, "linux"}));
  EXPECT_EQ(info.address, "") << "a forwarded port of this machine is no address";
  EXPECT_EQ(info.image.digest, "sha256:22") << "of the instance's architecture";
  EXPECT_EQ(info.image.name, "arm.qcow2");
  EXPECT_EQ(read(lima_kind(), Aspect::kState, answer(std::string(kLima)), {{"name", "other"}}).state, State::kStopped);
  EXPECT_EQ(read(lima_kind(), Aspect::kState, answer(std::string(kLima)), {{"name", "no"}}).state, State::kAbsent);
}

TEST(PodmanMachine, MemoryIsInMebibytes) {
  const TargetInfo info = read(podman_machine_kind(), Aspect::kState, answer(std::string(kPodmanMachine)));
  EXPECT_EQ(info.state, State::kRunning);
  EXPECT_EQ(info.guest, (GuestFacts{6, 8 * kGiB, "linux"}));
  EXPECT_EQ(all_of(info).find("somebody"), std::string::npos);
  EXPECT_EQ(read(podman_machine_kind(), Aspect::kState, answer("", 125, "Error: VM: VM does not exist")).state,
            State::kAbsent);
}

TEST(Multipass, NumbersAreTexts) {
  const TargetInfo info = read(multipass_kind(), Aspect::kState, answer(std::string(kMultipass)));
  EXPECT_EQ(info.state, State::kRunning);
  EXPECT_EQ(info.address, "192.168.64.4");
  EXPECT_EQ(info.guest, (GuestFacts{4, 4093526016, "linux"}));
  EXPECT_EQ(info.image.digest, "sha256:4a1e0e4d6f0a5c9d1c9d7c1c9b8a7f6e5d4c3b2a19080706050403020100ffee");
  // A stopped one has neither.
  const TargetInfo stopped = read(multipass_kind(), Aspect::kState,
                                  answer(R"({"errors":[],"info":{"VM":{"state":"Stopped","cpu_count":"","memory":{},)"
                                         R"("ipv4":[]}}})"));
  EXPECT_EQ(stopped.state, State::kStopped);
  EXPECT_EQ(stopped.guest, (GuestFacts{std::nullopt, std::nullopt, "linux"}));
}

TEST(Container, TheImageDigestIsOfTheManifestWhereThereIsOne) {
  EXPECT_EQ(read(container_kind(), Aspect::kImage, answer(std::string(kContainer))).image.digest,
            "sha256:3333333333333333333333333333333333333333333333333333333333333333");
  const std::string threes(64, '3');
  const std::string fours(64, '4');
  const TargetInfo docker = read(
      container_kind(), Aspect::kImage,
      answer("[{\"Id\":\"sha256:" + fours + "\",\"RepoDigests\":[\"registry.example/x@sha256:" + threes + "\"]}]"));
  EXPECT_EQ(docker.image.digest, "sha256:" + threes);
  EXPECT_EQ(docker.image.source, "oci manifest");
  const TargetInfo built =
      read(container_kind(), Aspect::kImage, answer("[{\"Id\":\"sha256:" + fours + "\",\"RepoDigests\":[]}]"));
  EXPECT_EQ(built.image.digest, "sha256:" + fours);
  EXPECT_EQ(built.image.source, "image id");
  EXPECT_EQ(read(container_kind(), Aspect::kState, answer("", 125, "Error: VM: image not known")).state,
            State::kAbsent);
  EXPECT_EQ(all_of(read(container_kind(), Aspect::kState, answer(std::string(kContainer)))).find("hush"),
            std::string::npos);
}

TEST(AllKinds, VersionsAreTakenOutOfTheirSentence) {
  EXPECT_EQ(version_in("prlctl version 26.1.0 (57287)"), "26.1.0");
  EXPECT_EQ(version_in("multipass   1.16.1+mac\nmultipassd  1.16.1+mac\n"), "1.16.1+mac");
  EXPECT_EQ(version_in("limactl version v2.1.0"), "2.1.0");
  EXPECT_EQ(version_in("0.5.3"), "0.5.3");
  EXPECT_EQ(version_in("nothing here 12"), "");
  EXPECT_EQ(version_in(std::string(100, '1') + ".2"), "");
}

TEST(AllKinds, RefusalsShowOneShortPrintableLine) {
  const Error error = refusal("tool", answer("secret", 1, "\n  \n\x1b[31mbad\n" + std::string(1000, 'x')), "do this");
  EXPECT_EQ(error.cause, "?[31mbad");
  EXPECT_EQ(refusal("tool", answer("secret", 7), "").cause, "failed with status 7");
}

// --- hostile answers ---

void survives(const Recorded& item, const std::string& text) {
  for (const int status : {0, 1}) {
    TargetInfo info;
    const Status result = query(item.kind, item.aspect, item.options).parse(answer(text, status), info);
    const std::string told = all_of(info) + (result.ok() ? "" : to_string(result.error()));
    ASSERT_EQ(told.find("hush"), std::string::npos) << item.kind.name;
    ASSERT_EQ(told.find("SERIAL"), std::string::npos) << item.kind.name;
    ASSERT_EQ(told.find("somebody"), std::string::npos) << item.kind.name;
    if (info.guest.vcpus) {
      ASSERT_GE(*info.guest.vcpus, 0);
    }
    if (info.guest.memory_bytes) {
      ASSERT_GE(*info.guest.memory_bytes, 0);
    }
  }
}

TEST(HostileAnswers, CutAtEveryByte) {
  for (const Recorded& item : recorded()) {
    for (std::size_t length = 0; length <= item.text.size(); ++length) {
      survives(item, std::string(item.text.substr(0, length)));
    }
  }
}

TEST(HostileAnswers, EveryBitFlipped) {
  for (const Recorded& item : recorded()) {
    std::string text(item.text);
    for (char& c : text) {
      for (unsigned bit = 0; bit < 8; ++bit) {
        c = static_cast<char>(static_cast<unsigned char>(c) ^ (1U << bit));
        survives(item, text);
        c = static_cast<char>(static_cast<unsigned char>(c) ^ (1U << bit));
      }
    }
  }
}

TEST(HostileAnswers, BombsAreCheap) {
  std::vector<std::string> bombs{std::string(100'000, '['),
                                 std::string(100'000, '{'),
                                 std::string(1 << 18, '\n'),
                                 std::string(1 << 18, '\0'),
                                 std::string(1 << 18, '"'),
                                 "[{\"name\":\"VM\",\"cpuCount\":1e400,\"memorySize\":-1,\"status\":[[]]}]",
                                 "{\"CPU\":\"99999999999999999999\",\"Memory\":9223372036854775807}"};
  std::string lines;
  for (int i = 0; i < 20'000; ++i) lines += "[{\"name\":\n";
  bombs.push_back(lines);
  for (const Recorded& item : recorded()) {
    for (const std::string& bomb : bombs) survives(item, bomb);
  }
}

}  // namespace
}  // namespace capbench::target
