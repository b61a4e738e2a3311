#include "harness/target/tools/anka.h"

#include <array>
#include <nlohmann/json.hpp>

#include "base/digest.h"
#include "harness/target/tools/answers.h"
#include "harness/target/tools/json_text.h"

namespace capbench::target {
namespace {

using nlohmann::json;

constexpr std::array kToolCodes{125};
constexpr std::int64_t kNotFound = 3;
constexpr std::int64_t kGiB = std::int64_t{1} << 30;

// A VM is named by its UUID and, per UUID, by a version and an image. UUIDs are nobody else's business, so the name
// that leaves is a digest of the three.
void read_image(const json& body, TargetInfo& info) {
  const std::string uuid = text_member(body, {"uuid"});
  const std::string version = text_member(body, {"version"});
  const std::string image = text_member(body, {"image_id"});
  if (uuid.empty() || image.empty()) return;
  info.image.digest = "sha256:" + sha256("anka\n" + uuid + "\n" + version + "\n" + image + "\n");
  info.image.source = "anka uuid, version, image_id";
  info.image.name = text_member(body, {"name"}) + (version.empty() ? "" : ":" + version);
}

// The result is the last line of stdout; what comes before it is talk.
Status read_details(const ToolOutput& output, TargetInfo& info) {
  const json result = last_json_line(output.out);
  if (result.is_null()) {
    if (output.exit_status != 0) return refusal("anka show", output, "run `anka list`");
    return strange_answer("anka --machine-readable show");
  }
  if (number_member(result, {"code"}) == kNotFound) {
    info.state = State::kAbsent;
    return {};
  }
  const json& body = member(result, {"body"});
  if (text_member(result, {"status"}) != "OK" || !body.is_object()) {
    return Error{ErrorKind::kMachine, "anka show", "answered with an error", "run `anka show` with the VM's name"};
  }
  const std::string status = text_member(body, {"status"});
  if (status == "running") info.state = State::kRunning;
  if (status == "stopped" || status == "suspended") info.state = State::kStopped;
  const std::string address = text_member(body, {"ip"});
  if (looks_like_address(address)) info.address = address;
  info.guest.vcpus = number_member(body, {"cpu_cores"});
  info.guest.memory_bytes = bytes_member(body, {"ram"}, kGiB);
  info.guest.os = "macos";  // it runs nothing else
  read_image(body, info);
  return {};
}

Status read_version(const ToolOutput& output, TargetInfo& info) {
  if (output.exit_status != 0) return refusal("anka", output, "install anka");
  const json result = last_json_line(output.out);
  const json& body = member(result, {"body"});
  info.frontend_version = version_in(body.is_string() ? body.get<std::string>() : text_member(body, {"version"}));
  return {};
}

class Anka : public Transport {
 public:
  explicit Anka(const TargetSpec& spec) : name_(option(spec, "name")) {}

  ToolCommand execute(const std::string& script, bool /*with_stdin*/) const override {
    std::vector<std::string> argv{"anka", "run", "-n", name_};  // -n: the current folder is not mounted in the guest
    append_shell(argv, script);
    return tool_command(std::move(argv));
  }

  ToolCommand copy_in(const std::string& local, const std::string& remote) const override {
    return tool_command({"anka", "cp", "-f", local, in_vm(name_, remote)});
  }

  ToolCommand copy_out(const std::string& remote, const std::string& local) const override {
    return tool_command({"anka", "cp", "-f", in_vm(name_, remote), local});
  }

  Advice advise(const ToolOutput& output) const override {
    if (says_absent(output)) return {"run `anka list`", true};
    return {"run `anka show " + name_ + "`; status 125 is anka's own, such as a lost connection", false};
  }

  std::vector<Query> queries(Aspect aspect) const override {
    if (aspect == Aspect::kVersion) {
      return {Query{tool_command({"anka", "--machine-readable", "version"}), read_version}};
    }
    return {Query{tool_command({"anka", "--machine-readable", "show", name_}), read_details}};
  }

 private:
  std::string name_;
};

constexpr std::array kOptions{
    OptionRule{"name", OptionRule::Type::kText, true, "the VM's name, as `anka list` prints it"},
};

}  // namespace

const KindInfo& anka_kind() {
  static const KindInfo kKind = [] {
    KindInfo kind;
    kind.name = "anka";
    kind.summary = "a VM of Anka";
    kind.traits.argv = ArgvPassing::kExact;
    kind.traits.environment = EnvironmentPassing::kFlag;
    kind.traits.streams = StreamPassing::kSeparate;
    kind.traits.exit = ExitPassing::kWraps;
    kind.traits.tool_codes = kToolCodes;
    kind.traits.copy = CopyMeans::kOwnCommand;
    kind.options = kOptions;
    kind.check = check_vm_name;
    kind.make = [](const TargetSpec& spec) -> std::unique_ptr<Transport> { return std::make_unique<Anka>(spec); };
    return kind;
  }();
  return kKind;
}

}  // namespace capbench::target
