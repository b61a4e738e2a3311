#include "harness/target/tools/podman_machine.h"

#include <array>
#include <nlohmann/json.hpp>

#include "harness/target/shell.h"
#include "harness/target/tools/answers.h"
#include "harness/target/tools/json_text.h"

namespace capbench::target {
namespace {

using nlohmann::json;

constexpr std::array kToolCodes{125, 126, 127, 255};
constexpr std::int64_t kMiB = std::int64_t{1} << 20;

Status read_details(const std::string& name, const ToolOutput& output, TargetInfo& info) {
  if (output.exit_status != 0) {
    if (!says_absent(output)) return refusal("podman machine inspect", output, "run `podman machine ls`");
    info.state = State::kAbsent;
    return {};
  }
  const json machines = last_json_array(output.out);
  if (!machines.is_array()) return strange_answer("podman machine inspect");
  for (const json& machine : machines) {
    if (text_member(machine, {"Name"}) != name) continue;
    const std::string state = text_member(machine, {"State"});
    if (state == "running") info.state = State::kRunning;
    if (state == "starting") info.state = State::kStarting;
    if (state == "stopped") info.state = State::kStopped;
    info.guest.vcpus = number_member(machine, {"Resources", "CPUs"});
    info.guest.memory_bytes = bytes_member(machine, {"Resources", "Memory"}, kMiB);
    info.guest.os = "linux";  // it runs nothing else
    return {};
  }
  info.state = State::kAbsent;
  return {};
}

class PodmanMachine : public Transport {
 public:
  explicit PodmanMachine(const TargetSpec& spec)
      : name_(option(spec, "name")), user_(option(spec, "user")), bundle_(option(spec, "bundle")) {}

  ToolCommand execute(const std::string& script, bool /*with_stdin*/) const override {
    // Always with the name: without it, a command of one word is taken for one.
    std::vector<std::string> argv{"podman", "machine", "ssh"};
    if (!user_.empty()) argv.insert(argv.end(), {"--username", user_});
    argv.push_back(name_);
    argv.push_back(far_shell_words(script));
    return tool_command(std::move(argv));
  }

  ToolCommand copy_in(const std::string& local, const std::string& remote) const override {
    return tool_command({"podman", "machine", "cp", "-q", local, in_vm(name_, remote)});
  }

  ToolCommand copy_out(const std::string& remote, const std::string& local) const override {
    return tool_command({"podman", "machine", "cp", "-q", in_vm(name_, remote), local});
  }

  Advice advise(const ToolOutput& output) const override {
    if (says_absent(output)) return {"run `podman machine ls`", true};
    return {"run `podman machine start " + name_ + "`", false};
  }

  std::vector<Query> queries(Aspect aspect) const override {
    switch (aspect) {
      case Aspect::kState:
      case Aspect::kGuest:
        return {Query{
            tool_command({"podman", "machine", "inspect", name_}),
            [name = name_](const ToolOutput& output, TargetInfo& info) { return read_details(name, output, info); }}};
      case Aspect::kImage:
        if (!bundle_.empty()) return {bundle_query("podman machine", bundle_)};
        return {};
      case Aspect::kVersion:
        return {version_query({"podman", "--version"})};
      case Aspect::kAddress:
        return {};  // it is reached through a forwarded port of this machine
    }
    return {};
  }

 private:
  std::string name_;
  std::string user_;
  std::string bundle_;
};

constexpr std::array kOptions{
    OptionRule{"name", OptionRule::Type::kText, true, "the machine's name, as `podman machine ls` prints it"},
    OptionRule{"user", OptionRule::Type::kText, false, "the user there; the machine's own unless given"},
    OptionRule{"bundle", OptionRule::Type::kPath, false,
               "the machine's disk, to digest it (minutes; while it is stopped)"},
};

}  // namespace

const KindInfo& podman_machine_kind() {
  static const KindInfo kKind = [] {
    KindInfo kind;
    kind.name = "podman-machine";
    kind.summary = "the VM of podman machine (libkrun, applehv, QEMU)";
    kind.traits.argv = ArgvPassing::kJoined;
    kind.traits.environment = EnvironmentPassing::kNone;
    kind.traits.streams = StreamPassing::kSeparate;
    kind.traits.exit = ExitPassing::kWraps;
    kind.traits.tool_codes = kToolCodes;
    kind.traits.copy = CopyMeans::kOwnCommand;
    kind.options = kOptions;
    kind.check = check_vm_name;
    kind.make = [](const TargetSpec& spec) -> std::unique_ptr<Transport> {
      return std::make_unique<PodmanMachine>(spec);
    };
    return kind;
  }();
  return kKind;
}

}  // namespace capbench::target
