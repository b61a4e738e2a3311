#include "harness/target/tools/lume.h"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <set>

#include "base/digest.h"
#include "harness/target/shell.h"
#include "harness/target/tools/answers.h"
#include "harness/target/tools/json_text.h"

namespace capbench::target {
namespace {

using nlohmann::json;

State state_of(const json& vm) {
  const std::string status = text_member(vm, {"status"});
  if (status == "stopped") return State::kStopped;
  if (status.starts_with("provisioning") || status == "pulling") return State::kStarting;
  if (status != "running") return State::kUnknown;
  // It runs before its ssh server does, and until then `lume ssh` refuses. Older versions do not tell.
  const json& ssh = member(vm, {"sshAvailable"});
  const bool older = vm.find("sshAvailable") == vm.end();
  return older || (ssh.is_boolean() && ssh.get<bool>()) ? State::kRunning : State::kStarting;
}

// Takes only what is needed: the answer also holds the VNC password (`vncUrl`) and shared folders.
Status read_details(const std::string& name, const ToolOutput& output, TargetInfo& info) {
  if (output.exit_status != 0) {
    if (!says_absent(output)) return refusal("lume get", output, "run `lume ls`; a VM of another user is not seen");
    info.state = State::kAbsent;
    return {};
  }
  const json vms = last_json_array(output.out);
  if (!vms.is_array()) return strange_answer("lume get " + name + " --format json");
  for (const json& vm : vms) {
    if (text_member(vm, {"name"}) != name) continue;
    info.state = state_of(vm);
    const std::string address = text_member(vm, {"ipAddress"});
    if (looks_like_address(address)) info.address = address;
    info.guest.vcpus = number_member(vm, {"cpuCount"});
    info.guest.memory_bytes = number_member(vm, {"memorySize"});
    info.guest.os = os_name(text_member(vm, {"os"}));
    return {};
  }
  info.state = State::kAbsent;
  return {};
}

// Every image that was pulled and kept: its folder, which is named by its manifest's digest, and its metadata.
constexpr const char* kCacheScript = R"sh(
cache=$1
case $cache in "~/"*) cache=$HOME/${cache#"~/"} ;; esac
for file in "$cache"/*/*/sha256_*/metadata.json; do
  [ -f "$file" ] || continue
  folder=${file%/metadata.json}
  printf '%s ' "${folder##*/sha256_}"
  tr -d '\n' <"$file"
  echo
done
)sh";

Status read_cache(const std::string& pulled_from, const ToolOutput& output, TargetInfo& info) {
  if (output.exit_status != 0) return refusal("lume's cache of images", output, "check `cache`, or state `image`");
  std::set<std::string> digests;
  std::string_view rest = output.out;
  while (!rest.empty()) {
    const std::size_t end = std::min(rest.find('\n'), rest.size());
    const std::string_view line = rest.substr(0, end);
    rest.remove_prefix(std::min(rest.size(), end + 1));
    const std::string_view digest = line.substr(0, line.find(' '));
    if (!is_sha256(digest) || line.size() == digest.size()) continue;
    const std::string image = text_member(whole_json(line.substr(digest.size() + 1)), {"image"});
    const bool same = !image.empty() && (pulled_from == image || pulled_from.ends_with("/" + image));
    if (same) digests.emplace(digest);
  }
  info.image.name = pulled_from;
  info.image.cloned_from = pulled_from;
  // A tag that was pulled twice: which of them the VM came from is not recorded.
  if (digests.size() != 1) return {};
  info.image.digest = "sha256:" + *digests.begin();
  info.image.source = "oci manifest";
  return {};
}

class Lume : public Transport {
 public:
  explicit Lume(const TargetSpec& spec)
      : name_(option(spec, "name")),
        user_(option(spec, "user", "lume")),
        password_(option(spec, "password", "lume")),
        identity_(option(spec, "identity")),
        known_hosts_(option(spec, "known_hosts")),
        pulled_from_(option(spec, "pulled_from")),
        cache_(option(spec, "cache", "~/.lume/cache")),
        bundle_(option(spec, "bundle")) {}

  ToolCommand execute(const std::string& script, bool /*with_stdin*/) const override {
    return quiet({"lume", "ssh", name_, "-u", user_, "-p", password_, "-t", "0", far_shell_words(script)});
  }

  std::optional<SshOptions> ssh(const std::string& address) const override {
    SshOptions options;
    options.address = address;
    options.user = user_;
    options.identity = identity_;
    options.known_hosts = known_hosts_;
    return options;
  }

  Advice advise(const ToolOutput& output) const override {
    if (says(output, "authenticat")) return {"give the guest's `user` and `password`", true};
    if (says_absent(output)) return {"run `lume ls`; a VM of another user is not seen", true};
    return {"wait until `lume get " + name_ + "` shows an address and ssh, or start the VM", false};
  }

  std::vector<Query> queries(Aspect aspect) const override {
    switch (aspect) {
      case Aspect::kState:
      case Aspect::kAddress:
      case Aspect::kGuest:
        return {Query{
            quiet({"lume", "get", name_, "--format", "json"}),
            [name = name_](const ToolOutput& output, TargetInfo& info) { return read_details(name, output, info); }}};
      case Aspect::kImage:
        if (!pulled_from_.empty()) {
          return {Query{tool_command({"/bin/sh", "-c", kCacheScript, "sh", cache_}),
                        [from = pulled_from_](const ToolOutput& output, TargetInfo& info) {
                          return read_cache(from, output, info);
                        }}};
        }
        if (!bundle_.empty()) return {bundle_query("lume", bundle_)};
        return {};
      case Aspect::kVersion:
        return {version_query({"lume", "--version"})};
    }
    return {};
  }

 private:
  // Lume logs to stdout.
  static ToolCommand quiet(std::vector<std::string> argv) {
    ToolCommand command = tool_command(std::move(argv));
    command.set_env = {"LUME_LOG_LEVEL=error"};
    return command;
  }

  std::string name_;
  std::string user_;
  std::string password_;
  std::string identity_;
  std::string known_hosts_;
  std::string pulled_from_;
  std::string cache_;
  std::string bundle_;
};

constexpr std::array kOptions{
    OptionRule{"name", OptionRule::Type::kText, true, "the VM's name, as `lume ls` prints it"},
    OptionRule{"user", OptionRule::Type::kText, false, "the guest's user; \"lume\" unless given"},
    OptionRule{"password", OptionRule::Type::kText, false, "the guest's well-known password; \"lume\" unless given"},
    OptionRule{"identity", OptionRule::Type::kPath, false, "the private key that the guest accepts, to copy files"},
    OptionRule{"known_hosts", OptionRule::Type::kPath, false, "the file with the guest's host key"},
    OptionRule{"pulled_from", OptionRule::Type::kText, false, "the image that `lume pull` fetched it from"},
    OptionRule{"cache", OptionRule::Type::kPath, false,
               "Lume's folder of pulled images; \"~/.lume/cache\" unless given"},
    OptionRule{"bundle", OptionRule::Type::kPath, false,
               "the VM's folder, to digest it (minutes; while it is stopped)"},
};

}  // namespace

const KindInfo& lume_kind() {
  static const KindInfo kKind = [] {
    KindInfo kind;
    kind.name = "lume";
    kind.summary = "a VM of Lume";
    kind.traits.argv = ArgvPassing::kJoined;
    kind.traits.environment = EnvironmentPassing::kNone;
    kind.traits.streams = StreamPassing::kMergedAtEnd;
    kind.traits.exit = ExitPassing::kExact;
    kind.traits.time_limit_override = "-t 0";
    kind.traits.standard_input = false;
    kind.traits.copy = CopyMeans::kSsh;
    kind.traits.may_be_preinjected = true;
    kind.options = kOptions;
    kind.make = [](const TargetSpec& spec) -> std::unique_ptr<Transport> { return std::make_unique<Lume>(spec); };
    return kind;
  }();
  return kKind;
}

}  // namespace capbench::target
