#include "harness/target/tools/parallels.h"

#include <array>
#include <nlohmann/json.hpp>

#include "harness/target/shell.h"
#include "harness/target/tools/answers.h"
#include "harness/target/tools/json_text.h"

namespace capbench::target {
namespace {

using nlohmann::json;

constexpr std::array kToolCodes{255};

State state_of(const std::string& word) {
  if (word == "running") return State::kRunning;
  if (word == "starting" || word == "resuming" || word == "restoring") return State::kStarting;
  if (word == "stopped" || word == "suspended" || word == "paused" || word == "stopping") return State::kStopped;
  return State::kUnknown;
}

// "{d0d0...}" or "d0d0...": the same VM.
std::string_view bare_id(std::string_view id) {
  if (id.starts_with('{')) id.remove_prefix(1);
  if (id.ends_with('}')) id.remove_suffix(1);
  return id;
}

// The VM of that name or UUID in a listing, whose keys differ from command to command; null if it is not there.
json find_vm(const json& vms, const std::string& name) {
  if (!vms.is_array()) return nullptr;
  for (const json& vm : vms) {
    for (const char* key : {"name", "Name"}) {
      if (text_member(vm, {key}) == name) return vm;
    }
    for (const char* key : {"uuid", "ID"}) {
      const std::string id = text_member(vm, {key});
      if (!id.empty() && bare_id(id) == bare_id(name)) return vm;
    }
  }
  return nullptr;
}

Status read_listing(const std::string& name, const ToolOutput& output, TargetInfo& info) {
  if (output.exit_status != 0) {
    if (!says_absent(output)) return refusal("prlctl list", output, "run `prlctl list -a`");
    info.state = State::kAbsent;
    return {};
  }
  const json vms = last_json_array(output.out);
  if (!vms.is_array()) return strange_answer("prlctl list --full --json");
  const json vm = find_vm(vms, name);
  if (vm.is_null()) {
    info.state = State::kAbsent;
    return {};
  }
  info.state = state_of(text_member(vm, {"status"}));
  const std::string address = text_member(vm, {"ip_configured"});  // "-" for none
  if (looks_like_address(address)) info.address = address;
  return {};
}

// A macOS guest does not tell its address to the host; its own ipconfig does.
Status read_guest_address(const ToolOutput& output, TargetInfo& info) {
  const std::string_view address = std::string_view(output.out).substr(0, output.out.find_first_of("\r\n"));
  if (info.address.empty() && output.exit_status == 0 && looks_like_address(address)) info.address = address;
  return {};
}

Status read_details(const std::string& name, const ToolOutput& output, TargetInfo& info) {
  if (output.exit_status != 0) return refusal("prlctl list --info", output, "run `prlctl list -a --info`");
  const json vm = find_vm(last_json_array(output.out), name);
  if (vm.is_null()) return strange_answer("prlctl list -a --info --json");
  info.guest.vcpus = number_member(vm, {"Hardware", "cpu", "cpus"});
  info.guest.memory_bytes = bytes_member(vm, {"Hardware", "memory", "size"});
  info.guest.os = os_name(text_member(vm, {"OS"}));
  return {};
}

class Parallels : public Transport {
 public:
  explicit Parallels(const TargetSpec& spec) : name_(option(spec, "name")), bundle_(option(spec, "bundle")) {}

  ToolCommand execute(const std::string& script, bool /*with_stdin*/) const override {
    // The default user is a service's, outside the desktop session that has the GPU.
    return tool_command({"prlctl", "exec", name_, "--current-user", far_shell_words(script)});
  }

  Advice advise(const ToolOutput& output) const override {
    if (says_absent(output)) return {"run `prlctl list -a`", true};
    if (says(output, "PrlJob_GetRetCode")) return {"try again; some versions fail so now and then", false};
    return {"start the VM and log in there: a command needs its desktop session and Parallels Tools", false};
  }

  std::vector<Query> queries(Aspect aspect) const override {
    const Query listing{
        tool_command({"prlctl", "list", name_, "--full", "--json"}),
        [name = name_](const ToolOutput& output, TargetInfo& info) { return read_listing(name, output, info); }};
    switch (aspect) {
      case Aspect::kState:
        return {listing};
      case Aspect::kAddress:
        return {listing,
                Query{tool_command({"prlctl", "exec", name_, "/usr/sbin/ipconfig getifaddr en0"}), read_guest_address}};
      case Aspect::kGuest:
        return {Query{
            tool_command({"prlctl", "list", "-a", "--info", "--json"}),
            [name = name_](const ToolOutput& output, TargetInfo& info) { return read_details(name, output, info); }}};
      case Aspect::kImage:
        if (!bundle_.empty()) return {bundle_query("prlctl", bundle_)};
        return {};
      case Aspect::kVersion:
        return {version_query({"prlctl", "--version"})};
    }
    return {};
  }

 private:
  std::string name_;
  std::string bundle_;
};

constexpr std::array kOptions{
    OptionRule{"name", OptionRule::Type::kText, true, "the VM's name or UUID, as `prlctl list -a` prints it"},
    OptionRule{"bundle", OptionRule::Type::kPath, false,
               "the VM's folder, to digest it (minutes; while it is stopped)"},
};

}  // namespace

const KindInfo& parallels_kind() {
  static const KindInfo kKind = [] {
    KindInfo kind;
    kind.name = "parallels";
    kind.summary = "a VM of Parallels Desktop";
    kind.traits.argv = ArgvPassing::kJoined;
    kind.traits.environment = EnvironmentPassing::kPrefix;
    kind.traits.streams = StreamPassing::kSeparate;
    kind.traits.exit = ExitPassing::kWraps;
    kind.traits.tool_codes = kToolCodes;
    kind.traits.copy = CopyMeans::kPipe;
    kind.options = kOptions;
    kind.make = [](const TargetSpec& spec) -> std::unique_ptr<Transport> { return std::make_unique<Parallels>(spec); };
    return kind;
  }();
  return kKind;
}

}  // namespace capbench::target
