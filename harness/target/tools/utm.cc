#include "harness/target/tools/utm.h"

#include <algorithm>
#include <array>

#include "harness/target/tools/answers.h"

namespace capbench::target {
namespace {

constexpr const char* kRemedy =
    "run it from a desktop session; a VM without QEMU and its guest agent (any macOS guest) is reached by kind ssh";

// Each line of a text without its end; stops at the first for which `use` is true.
template <class Use>
void each_line(std::string_view text, Use use) {
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (use(line)) return;
    text.remove_prefix(std::min(text.size(), end + 1));
  }
}

// UTM reports what it refuses as text, with status 0.
bool refused(const ToolOutput& output) {
  return output.exit_status != 0 || says(output, "Error from event") || says(output, "OSStatus error");
}

Status read_status(const ToolOutput& output, TargetInfo& info) {
  if (says_absent(output)) {
    info.state = State::kAbsent;
    return {};
  }
  if (refused(output)) return refusal("utmctl status", output, kRemedy);
  each_line(output.out, [&info](std::string_view line) {
    if (line == "started") info.state = State::kRunning;
    if (line == "starting" || line == "resuming") info.state = State::kStarting;
    if (line == "stopped" || line == "stopping" || line == "paused" || line == "pausing") info.state = State::kStopped;
    return info.state != State::kUnknown;
  });
  return info.state == State::kUnknown ? Status(strange_answer("utmctl status")) : Status();
}

// One address a line, IPv4 first. What is no address is an error's text.
Status read_address(const ToolOutput& output, TargetInfo& info) {
  each_line(output.out, [&info](std::string_view line) {
    if (!looks_like_address(line)) return false;
    info.address = line;
    return true;
  });
  return {};
}

class Utm : public Transport {
 public:
  explicit Utm(const TargetSpec& spec) : name_(option(spec, "name")), bundle_(option(spec, "bundle")) {}

  ToolCommand execute(const std::string& script, bool /*with_stdin*/) const override {
    // --cmd takes all that follows; the agent wants an absolute path.
    std::vector<std::string> argv{"utmctl", "exec", name_, "--hide", "--cmd"};
    append_shell(argv, script);
    return tool_command(std::move(argv));
  }

  ToolCommand copy_in(const std::string& local, const std::string& remote) const override {
    ToolCommand command = tool_command({"utmctl", "file", "push", name_, remote});
    command.stdin_file = local;
    return command;
  }

  ToolCommand copy_out(const std::string& remote, const std::string& local) const override {
    ToolCommand command = tool_command({"utmctl", "file", "pull", name_, remote});
    command.stdout_file = local;
    return command;
  }

  Advice advise(const ToolOutput& output) const override {
    // Not permitted, no such process, not supported: asking again changes nothing.
    for (const char* code : {"-1743", "-600", "-2700", "not supported by the backend"}) {
      if (says(output, code)) return {kRemedy, true};
    }
    return {kRemedy, false};
  }

  std::vector<Query> queries(Aspect aspect) const override {
    switch (aspect) {
      case Aspect::kState:
        return {Query{tool_command({"utmctl", "status", name_}), read_status}};
      case Aspect::kAddress:
        return {Query{tool_command({"utmctl", "ip-address", name_}), read_address}};
      case Aspect::kImage:
        if (!bundle_.empty()) return {bundle_query("utmctl", bundle_)};
        return {};
      case Aspect::kVersion:
        return {version_query({"utmctl", "version"})};
      case Aspect::kGuest:
        return {};
    }
    return {};
  }

 private:
  std::string name_;
  std::string bundle_;
};

constexpr std::array kOptions{
    OptionRule{"name", OptionRule::Type::kText, true, "the VM's name or UUID, as `utmctl list` prints it"},
    OptionRule{"bundle", OptionRule::Type::kPath, false,
               "the VM's folder, to digest it (minutes; while it is stopped)"},
};

}  // namespace

const KindInfo& utm_kind() {
  static const KindInfo kKind = [] {
    KindInfo kind;
    kind.name = "utm";
    kind.summary = "a VM of UTM with QEMU and its guest agent";
    kind.traits.argv = ArgvPassing::kExact;
    kind.traits.environment = EnvironmentPassing::kFlag;
    kind.traits.streams = StreamPassing::kMergedAtEnd;
    kind.traits.exit = ExitPassing::kLossy;
    kind.traits.standard_input = false;  // --input reads ours to its end before the command starts
    kind.traits.copy = CopyMeans::kOwnCommand;
    kind.options = kOptions;
    kind.make = [](const TargetSpec& spec) -> std::unique_ptr<Transport> { return std::make_unique<Utm>(spec); };
    return kind;
  }();
  return kKind;
}

}  // namespace capbench::target
