#include "harness/target/tools/lima.h"

#include <array>
#include <nlohmann/json.hpp>

#include "harness/target/tools/answers.h"
#include "harness/target/tools/json_text.h"

namespace capbench::target {
namespace {

using nlohmann::json;

constexpr std::array kToolCodes{255};

State state_of(const std::string& word) {
  if (word == "Running") return State::kRunning;
  if (word == "Starting" || word == "Uninitialized" || word == "Installing") return State::kStarting;
  if (word == "Stopped" || word == "Broken") return State::kStopped;
  return State::kUnknown;
}

// The image whose architecture is the instance's, if its configuration pins a digest.
void read_image(const json& instance, TargetInfo& info) {
  const json& images = member(instance, {"config", "images"});
  if (!images.is_array()) return;
  const std::string arch = text_member(instance, {"arch"});
  for (const json& image : images) {
    if (text_member(image, {"arch"}) != arch) continue;
    const std::string location = text_member(image, {"location"});
    info.image.name = location.substr(location.find_last_of('/') + 1);
    const std::string digest = text_member(image, {"digest"});
    if (digest.empty()) return;
    info.image.digest = digest;
    info.image.source = "lima image";
    return;
  }
}

Status read_instance(const std::string& name, const ToolOutput& output, TargetInfo& info) {
  if (output.exit_status != 0) return refusal("limactl list", output, "run `limactl list`");
  const json instance = json_line_where(output.out, "name", name);
  if (instance.is_null()) {
    info.state = State::kAbsent;
    return {};
  }
  info.state = state_of(text_member(instance, {"status"}));
  // Most instances are reached through a forwarded port of this machine, which is no address of theirs.
  const std::string address = text_member(instance, {"sshAddress"});
  if (looks_like_address(address) && !address.starts_with("127.")) info.address = address;
  info.guest.vcpus = number_member(instance, {"cpus"});
  info.guest.memory_bytes = bytes_member(instance, {"memory"});
  info.guest.os = os_name(text_member(instance, {"config", "os"}));
  read_image(instance, info);
  return {};
}

class Lima : public Transport {
 public:
  explicit Lima(const TargetSpec& spec) : name_(option(spec, "name")) {}

  ToolCommand execute(const std::string& script, bool /*with_stdin*/) const override {
    // Without --workdir it tries to enter this machine's current folder there.
    std::vector<std::string> argv{"limactl", "shell", "--workdir", "/tmp", name_};
    append_shell(argv, script);
    return tool_command(std::move(argv));
  }

  // scp, since rsync leaves the far path to a shell.
  ToolCommand copy_in(const std::string& local, const std::string& remote) const override {
    return tool_command({"limactl", "copy", "--backend=scp", local, in_vm(name_, remote)});
  }

  ToolCommand copy_out(const std::string& remote, const std::string& local) const override {
    return tool_command({"limactl", "copy", "--backend=scp", in_vm(name_, remote), local});
  }

  Advice advise(const ToolOutput& output) const override {
    if (says_absent(output)) return {"run `limactl list`", true};
    return {"run `limactl start " + name_ + "`", false};
  }

  std::vector<Query> queries(Aspect aspect) const override {
    if (aspect == Aspect::kVersion) return {version_query({"limactl", "--version"})};
    return {Query{
        tool_command({"limactl", "list", "--json"}),
        [name = name_](const ToolOutput& output, TargetInfo& info) { return read_instance(name, output, info); }}};
  }

 private:
  std::string name_;
};

constexpr std::array kOptions{
    OptionRule{"name", OptionRule::Type::kText, true, "the instance's name, as `limactl list` prints it"},
};

}  // namespace

const KindInfo& lima_kind() {
  static const KindInfo kKind = [] {
    KindInfo kind;
    kind.name = "lima";
    kind.summary = "an instance of Lima";
    kind.traits.argv = ArgvPassing::kExact;
    kind.traits.environment = EnvironmentPassing::kPrefix;
    kind.traits.streams = StreamPassing::kSeparate;
    kind.traits.exit = ExitPassing::kWraps;
    kind.traits.tool_codes = kToolCodes;
    kind.traits.copy = CopyMeans::kOwnCommand;
    kind.options = kOptions;
    kind.check = check_vm_name;
    kind.make = [](const TargetSpec& spec) -> std::unique_ptr<Transport> { return std::make_unique<Lima>(spec); };
    return kind;
  }();
  return kKind;
}

}  // namespace capbench::target
