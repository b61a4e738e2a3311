#include "harness/target/tools/multipass.h"

#include <array>
#include <nlohmann/json.hpp>

#include "base/digest.h"
#include "harness/target/tools/answers.h"
#include "harness/target/tools/json_text.h"

namespace capbench::target {
namespace {

using nlohmann::json;

State state_of(const std::string& word) {
  if (word == "Running") return State::kRunning;
  if (word == "Starting" || word == "Restarting") return State::kStarting;
  if (word == "Stopped" || word == "Suspended" || word == "Suspending" || word == "Deleted") return State::kStopped;
  return State::kUnknown;
}

Status read_details(const std::string& name, const ToolOutput& output, TargetInfo& info) {
  if (output.exit_status != 0) {
    if (!says_absent(output)) return refusal("multipass info", output, "run `multipass list`");
    info.state = State::kAbsent;
    return {};
  }
  const json answer = whole_json(output.out);
  if (!answer.is_object()) return strange_answer("multipass info --format json");
  const json& vm = member(answer, {"info", name.c_str()});
  if (!vm.is_object()) {
    info.state = State::kAbsent;
    return {};
  }
  info.state = state_of(text_member(vm, {"state"}));
  if (const json& addresses = member(vm, {"ipv4"}); addresses.is_array() && !addresses.empty()) {
    const json& first = addresses.front();
    if (first.is_string() && looks_like_address(first.get_ref<const std::string&>())) info.address = first;
  }
  info.guest.vcpus = number_member(vm, {"cpu_count"});
  info.guest.memory_bytes = bytes_member(vm, {"memory", "total"});
  info.guest.os = "linux";  // it runs nothing else
  info.image.name = text_member(vm, {"image_release"});
  const std::string hash = text_member(vm, {"image_hash"});
  if (is_sha256(hash)) {
    info.image.digest = "sha256:" + hash;
    info.image.source = "multipass image";
  }
  return {};
}

class Multipass : public Transport {
 public:
  explicit Multipass(const TargetSpec& spec) : name_(option(spec, "name")) {}

  ToolCommand execute(const std::string& script, bool /*with_stdin*/) const override {
    // Without -d it looks for this machine's current folder among its mounts.
    std::vector<std::string> argv{"multipass", "exec", "-d", "/", name_, "--"};
    append_shell(argv, script);
    return tool_command(std::move(argv));
  }

  ToolCommand copy_in(const std::string& local, const std::string& remote) const override {
    ToolCommand command = tool_command({"multipass", "transfer", "-", in_vm(name_, remote)});
    command.stdin_file = local;
    return command;
  }

  ToolCommand copy_out(const std::string& remote, const std::string& local) const override {
    ToolCommand command = tool_command({"multipass", "transfer", in_vm(name_, remote), "-"});
    command.stdout_file = local;
    return command;
  }

  Advice advise(const ToolOutput& output) const override {
    if (says_absent(output)) return {"run `multipass list`", true};
    return {"run `multipass start " + name_ + "`", false};
  }

  std::vector<Query> queries(Aspect aspect) const override {
    if (aspect == Aspect::kVersion) return {version_query({"multipass", "version"})};
    return {
        Query{tool_command({"multipass", "info", name_, "--format", "json"}),
              [name = name_](const ToolOutput& output, TargetInfo& info) { return read_details(name, output, info); }}};
  }

 private:
  std::string name_;
};

constexpr std::array kOptions{
    OptionRule{"name", OptionRule::Type::kText, true, "the instance's name, as `multipass list` prints it"},
};

}  // namespace

const KindInfo& multipass_kind() {
  static const KindInfo kKind = [] {
    KindInfo kind;
    kind.name = "multipass";
    kind.summary = "an instance of Multipass";
    kind.traits.argv = ArgvPassing::kExact;
    kind.traits.environment = EnvironmentPassing::kPrefix;
    kind.traits.streams = StreamPassing::kSeparate;
    kind.traits.exit = ExitPassing::kExact;
    kind.traits.copy = CopyMeans::kOwnCommand;
    kind.options = kOptions;
    kind.check = check_vm_name;
    kind.make = [](const TargetSpec& spec) -> std::unique_ptr<Transport> { return std::make_unique<Multipass>(spec); };
    return kind;
  }();
  return kKind;
}

}  // namespace capbench::target
