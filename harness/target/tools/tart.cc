#include "harness/target/tools/tart.h"

#include <array>
#include <nlohmann/json.hpp>

#include "base/digest.h"
#include "harness/target/tools/answers.h"
#include "harness/target/tools/json_text.h"

namespace capbench::target {
namespace {

using nlohmann::json;

constexpr std::int64_t kMiB = std::int64_t{1} << 20;

Status read_details(const ToolOutput& output, TargetInfo& info) {
  if (output.exit_status != 0) {
    if (!says_absent(output)) return refusal("tart get", output, "run `tart list`");
    info.state = State::kAbsent;
    return {};
  }
  const json vm = whole_json(output.out);
  if (!vm.is_object()) return strange_answer("tart get --format json");
  const std::string state = text_member(vm, {"State"});
  if (state == "running") info.state = State::kRunning;
  if (state == "stopped" || state == "suspended") info.state = State::kStopped;
  info.guest.vcpus = number_member(vm, {"CPU"});
  info.guest.memory_bytes = bytes_member(vm, {"Memory"}, kMiB);
  info.guest.os = os_name(text_member(vm, {"OS"}));
  return {};
}

std::string_view trimmed(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(" \t\r\n");
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(" \t\r\n") - begin + 1);
}

Status read_address(const ToolOutput& output, TargetInfo& info) {
  const std::string_view address = trimmed(output.out);
  if (output.exit_status == 0 && looks_like_address(address)) info.address = address;
  return {};  // a VM that is not running has none, and tart calls that a failure
}

// "HOST/NAMESPACE@sha256:HEX" for an image. A local VM echoes its own name: where it came from is not recorded.
Status read_full_name(const std::string& asked, bool cloned, const ToolOutput& output, TargetInfo& info) {
  info.image.name = asked;
  if (cloned) info.image.cloned_from = asked;
  if (output.exit_status != 0) {
    if (says_absent(output)) return {};
    return refusal("tart fqn", output, "state `image`");
  }
  const std::string_view name = trimmed(output.out);
  const std::size_t at = name.rfind("@sha256:");
  if (at == std::string_view::npos) return {};
  const std::string_view digest = name.substr(at + 1);
  if (!is_sha256(digest.substr(7))) return strange_answer("tart fqn");
  info.image.digest = digest;
  info.image.source = "oci manifest";
  return {};
}

class Tart : public Transport {
 public:
  explicit Tart(const TargetSpec& spec)
      : name_(option(spec, "name")), pulled_from_(option(spec, "pulled_from")), bundle_(option(spec, "bundle")) {}

  ToolCommand execute(const std::string& script, bool with_stdin) const override {
    // Flags end at the name. Never -t: it merges the streams and needs a terminal.
    std::vector<std::string> argv{"tart", "exec"};
    if (with_stdin) argv.emplace_back("-i");
    argv.push_back(name_);
    append_shell(argv, script);
    return tool_command(std::move(argv));
  }

  Advice advise(const ToolOutput& output) const override {
    if (says_absent(output)) return {"run `tart list`", true};
    if (says(output, "control socket")) {
      return {"start the Tart Guest Agent in the guest; a stale control.sock goes when the VM is started anew", false};
    }
    return {"start the VM, and unlock the login keychain of a host without a desktop", false};
  }

  std::vector<Query> queries(Aspect aspect) const override {
    switch (aspect) {
      case Aspect::kState:
      case Aspect::kGuest:
        return {Query{tool_command({"tart", "get", name_, "--format", "json"}), read_details}};
      case Aspect::kAddress:
        return {Query{tool_command({"tart", "ip", name_}), read_address}};
      case Aspect::kImage: {
        if (pulled_from_.empty() && !bundle_.empty()) return {bundle_query("tart", bundle_)};
        const bool cloned = !pulled_from_.empty();
        const std::string asked = cloned ? pulled_from_ : name_;
        return {
            Query{tool_command({"tart", "fqn", asked}), [asked, cloned](const ToolOutput& output, TargetInfo& info) {
                    return read_full_name(asked, cloned, output, info);
                  }}};
      }
      case Aspect::kVersion:
        return {version_query({"tart", "--version"})};
    }
    return {};
  }

 private:
  std::string name_;
  std::string pulled_from_;
  std::string bundle_;
};

constexpr std::array kOptions{
    OptionRule{"name", OptionRule::Type::kText, true, "the VM's name, as `tart list` prints it"},
    OptionRule{"pulled_from", OptionRule::Type::kText, false,
               "the image that it was cloned from, not pulled again since"},
    OptionRule{"bundle", OptionRule::Type::kPath, false,
               "the VM's folder, to digest it (minutes; while it is stopped)"},
};

}  // namespace

const KindInfo& tart_kind() {
  static const KindInfo kKind = [] {
    KindInfo kind;
    kind.name = "tart";
    kind.summary = "a VM of Tart";
    kind.traits.argv = ArgvPassing::kExact;
    kind.traits.environment = EnvironmentPassing::kNone;
    kind.traits.streams = StreamPassing::kSeparate;
    kind.traits.exit = ExitPassing::kExact;
    kind.traits.copy = CopyMeans::kPipe;
    kind.traits.may_be_preinjected = true;
    kind.options = kOptions;
    kind.make = [](const TargetSpec& spec) -> std::unique_ptr<Transport> { return std::make_unique<Tart>(spec); };
    return kind;
  }();
  return kKind;
}

}  // namespace capbench::target
