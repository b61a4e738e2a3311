#include "harness/target/command.h"

#include <algorithm>
#include <array>
#include <initializer_list>
#include <span>
#include <utility>

#include "harness/target/shell.h"

namespace capbench::target {
namespace {

using Placeholder = std::pair<std::string_view, std::string>;

// One pass: what a value holds is never taken for a placeholder.
std::string fill(std::string_view text, std::span<const Placeholder> values) {
  std::string filled;
  while (!text.empty()) {
    const auto value =
        std::find_if(values.begin(), values.end(), [&](const Placeholder& v) { return text.starts_with(v.first); });
    if (value == values.end()) {
      filled += text.front();
      text.remove_prefix(1);
    } else {
      filled += value->second;
      text.remove_prefix(value->first.size());
    }
  }
  return filled;
}

const std::vector<std::string>& list_of(const TargetSpec& spec, const char* key) {
  static const std::vector<std::string> kNone;
  const auto found = spec.lists.find(key);
  return found == spec.lists.end() ? kNone : found->second;
}

bool mentions(const std::vector<std::string>& list, std::string_view placeholder) {
  return std::any_of(list.begin(), list.end(),
                     [&](const std::string& word) { return word.find(placeholder) != word.npos; });
}

ToolCommand filled(const std::vector<std::string>& words, std::initializer_list<Placeholder> values) {
  ToolCommand command;
  for (const std::string& word : words) command.argv.push_back(fill(word, {values.begin(), values.size()}));
  return command;
}

class Command : public Transport {
 public:
  explicit Command(const TargetSpec& spec) : spec_(spec) {}

  ToolCommand execute(const std::string& script, bool /*with_stdin*/) const override {
    return filled(list_of(spec_, "run"), {{"{script}", script}, {"{words}", far_shell_words(script)}});
  }
  ToolCommand copy_in(const std::string& local, const std::string& remote) const override {
    return filled(list_of(spec_, "copy_in"), {{"{local}", local}, {"{remote}", remote}});
  }
  ToolCommand copy_out(const std::string& remote, const std::string& local) const override {
    return filled(list_of(spec_, "copy_out"), {{"{local}", local}, {"{remote}", remote}});
  }
  std::optional<Traits> own_traits() const override {
    Traits traits = command_kind().traits;
    traits.argv = mentions(list_of(spec_, "run"), "{words}") ? ArgvPassing::kJoined : ArgvPassing::kExact;
    traits.standard_input = option(spec_, "stdin", "true") == "true";
    traits.copy = list_of(spec_, "copy_in").empty() ? CopyMeans::kPipe : CopyMeans::kOwnCommand;
    return traits;
  }

 private:
  TargetSpec spec_;
};

Error wrong(std::string_view key, std::string cause, std::string remedy) {
  return Error{ErrorKind::kUsage, "command: " + std::string(key), std::move(cause), std::move(remedy)};
}

Status check_command(const TargetSpec& spec) {
  const auto& run = list_of(spec, "run");
  if (!mentions(run, "{script}") && !mentions(run, "{words}")) {
    return wrong("run", "says nowhere what to run",
                 R"(put "{script}" in it (or "{words}" where a shell reads the command again), as in )"
                 R"(["my-vm", "exec", "/bin/sh", "-c", "{script}"])");
  }
  if (list_of(spec, "copy_in").empty() != list_of(spec, "copy_out").empty()) {
    return wrong("copy_in, copy_out", "only one of them is there", "give both, or neither");
  }
  for (const char* key : {"copy_in", "copy_out"}) {
    const auto& copy = list_of(spec, key);
    if (!copy.empty() && (!mentions(copy, "{local}") || !mentions(copy, "{remote}"))) {
      return wrong(key, "needs both ends", R"(put "{local}" and "{remote}" in it)");
    }
  }
  if (option(spec, "stdin", "true") != "true" && list_of(spec, "copy_in").empty()) {
    return wrong("stdin", "without it files need a way of their own", "give copy_in and copy_out");
  }
  return {};
}

constexpr std::array kOptions{
    OptionRule{"run", OptionRule::Type::kList, true, "the argv that runs {script} there"},
    OptionRule{"copy_in", OptionRule::Type::kList, false, "the argv that copies {local} to {remote}"},
    OptionRule{"copy_out", OptionRule::Type::kList, false, "the argv that copies {remote} to {local}"},
    OptionRule{"stdin", OptionRule::Type::kBoolean, false,
               "whether the command's stdin reaches the script; true unless said"},
};

}  // namespace

const KindInfo& command_kind() {
  static const KindInfo kKind = [] {
    KindInfo kind;
    kind.name = "command";
    kind.summary = "whatever a command of your own reaches";
    kind.traits.argv = ArgvPassing::kExact;
    kind.traits.environment = EnvironmentPassing::kNone;
    kind.traits.streams = StreamPassing::kSeparate;
    kind.traits.exit = ExitPassing::kLossy;
    kind.traits.may_be_preinjected = true;
    kind.options = kOptions;
    kind.check = check_command;
    kind.make = [](const TargetSpec& spec) -> std::unique_ptr<Transport> { return std::make_unique<Command>(spec); };
    return kind;
  }();
  return kKind;
}

}  // namespace capbench::target
