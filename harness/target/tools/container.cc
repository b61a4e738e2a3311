#include "harness/target/tools/container.h"

#include <array>
#include <nlohmann/json.hpp>

#include "base/digest.h"
#include "harness/target/tools/answers.h"
#include "harness/target/tools/json_text.h"

namespace capbench::target {
namespace {

using nlohmann::json;

constexpr std::array kToolCodes{125, 126, 127};
// Where the volume is mounted. A folder in a home would be another one in each image, and gone with the container.
constexpr std::string_view kWorkDir = "/capbench";

// podman: `Digest`; docker: `RepoDigests`, for images that came from a registry; both: `Id`, of the configuration.
void read_identity(const json& image, TargetInfo& info) {
  std::string digest = text_member(image, {"Digest"});
  if (const json& all = member(image, {"RepoDigests"}); digest.empty() && all.is_array() && !all.empty()) {
    const std::string first = all.front().is_string() ? all.front().get<std::string>() : std::string();
    digest = first.substr(first.find('@') == std::string::npos ? first.size() : first.find('@') + 1);
  }
  std::string source = "oci manifest";
  if (digest.empty()) {
    digest = text_member(image, {"Id"});
    source = "image id";
    if (is_sha256(digest)) digest.insert(0, "sha256:");
  }
  if (!digest.starts_with("sha256:") || !is_sha256(std::string_view(digest).substr(7))) return;
  info.image.digest = digest;
  info.image.source = source;
}

// Of the answer only this is taken: it also holds the image's environment and history.
Status read_image(const std::string& engine, const std::string& name, const ToolOutput& output, TargetInfo& info) {
  const std::string command = engine + " image inspect";
  if (output.exit_status != 0) {
    if (!says_absent(output)) return refusal(command, output, "run `" + engine + " images`");
    info.state = State::kAbsent;
    return {};
  }
  const json images = last_json_array(output.out);
  if (!images.is_array() || images.empty()) return strange_answer(command);
  info.state = State::kRunning;  // each command starts its own container
  info.image.name = name;
  info.guest.os = os_name(text_member(images.front(), {"Os"}));
  read_identity(images.front(), info);
  return {};
}

std::vector<std::string> list(const TargetSpec& spec, const char* key) {
  const auto found = spec.lists.find(key);
  return found == spec.lists.end() ? std::vector<std::string>() : found->second;
}

class Container : public Transport {
 public:
  explicit Container(const TargetSpec& spec)
      : engine_(option(spec, "engine", "podman")),
        name_(option(spec, "name")),
        work_volume_(option(spec, "work_volume", "capbench") + ":" + option(spec, "work_dir", kWorkDir)),
        devices_(list(spec, "devices")),
        volumes_(list(spec, "volumes")),
        variables_(list(spec, "env")),
        run_options_(list(spec, "run_options")) {}

  ToolCommand execute(const std::string& script, bool with_stdin) const override {
    std::vector<std::string> argv{engine_, "run", "--rm"};
    if (with_stdin) argv.emplace_back("-i");
    // Never another image than the one that was asked about.
    argv.insert(argv.end(), {"--pull=never", "-v", work_volume_});
    const auto each = [&argv](const char* flag, const std::vector<std::string>& values) {
      for (const std::string& value : values) argv.insert(argv.end(), {flag, value});
    };
    each("-v", volumes_);
    each("--device", devices_);
    each("--env", variables_);
    argv.insert(argv.end(), run_options_.begin(), run_options_.end());
    // Images of programs have an entry point that would take our words for its arguments.
    argv.insert(argv.end(), {"--entrypoint", "/bin/sh", name_, "-c", script});
    return tool_command(std::move(argv));
  }

  Advice advise(const ToolOutput& output) const override {
    if (output.exit_status == 125 && says_absent(output)) return {"run `" + engine_ + " pull " + name_ + "`", true};
    if (output.exit_status == 126 || output.exit_status == 127) return {"use an image that has /bin/sh", true};
    return {"run `" + engine_ + " info`", false};
  }

  std::vector<Query> queries(Aspect aspect) const override {
    switch (aspect) {
      case Aspect::kState:
      case Aspect::kImage:
      case Aspect::kGuest:
        return {Query{tool_command({engine_, "image", "inspect", name_}),
                      [engine = engine_, name = name_](const ToolOutput& output, TargetInfo& info) {
                        return read_image(engine, name, output, info);
                      }}};
      case Aspect::kVersion:
        return {version_query({engine_, "--version"})};
      case Aspect::kAddress:
        return {};
    }
    return {};
  }

 private:
  std::string engine_;
  std::string name_;
  std::string work_volume_;
  std::vector<std::string> devices_;
  std::vector<std::string> volumes_;
  std::vector<std::string> variables_;
  std::vector<std::string> run_options_;
};

Status check(const TargetSpec& spec) {
  const std::string engine = option(spec, "engine", "podman");
  if (engine != "podman" && engine != "docker") {
    return Error{ErrorKind::kUsage, "container: engine \"" + engine + "\"", "unknown", "\"podman\" or \"docker\""};
  }
  if (option(spec, "work_volume").find(':') != std::string::npos) {
    return Error{ErrorKind::kUsage, "container: work_volume", "holds \":\"", "give only a volume's name or a folder"};
  }
  if (option(spec, "work_dir").find(':') != std::string::npos) {
    return Error{ErrorKind::kUsage, "container: work_dir", "holds \":\"", "give another folder to mount the volume at"};
  }
  for (const std::string& variable : list(spec, "env")) {
    if (variable.find('=') == std::string::npos || variable.starts_with('=')) {
      return Error{ErrorKind::kUsage, "container: env \"" + variable + "\"", "is no NAME=VALUE", "write NAME=VALUE"};
    }
  }
  return {};
}

constexpr std::array kOptions{
    OptionRule{"name", OptionRule::Type::kText, true, "the image, as `podman images` prints it"},
    OptionRule{"engine", OptionRule::Type::kText, false, "\"podman\" (unless given) or \"docker\""},
    OptionRule{"work_volume", OptionRule::Type::kText, false,
               "the volume or folder for files and results, mounted at `work_dir`; \"capbench\" unless given"},
    OptionRule{"devices", OptionRule::Type::kList, false, "each a `--device`: \"/dev/dri\""},
    OptionRule{"volumes", OptionRule::Type::kList, false, "each a `-v`: \"/models:/models:ro\""},
    OptionRule{"env", OptionRule::Type::kList, false, "each an `--env`: \"NAME=VALUE\""},
    OptionRule{"run_options", OptionRule::Type::kList, false, "further options of `run`"},
};

}  // namespace

const KindInfo& container_kind() {
  static const KindInfo kKind = [] {
    KindInfo kind;
    kind.name = "container";
    kind.summary = "a container of podman or docker";
    kind.traits.argv = ArgvPassing::kExact;
    kind.traits.environment = EnvironmentPassing::kFlag;
    kind.traits.streams = StreamPassing::kSeparate;
    kind.traits.exit = ExitPassing::kWraps;
    kind.traits.tool_codes = kToolCodes;
    kind.traits.copy = CopyMeans::kPipe;
    kind.options = kOptions;
    kind.work_dir = kWorkDir;
    kind.check = check;
    kind.make = [](const TargetSpec& spec) -> std::unique_ptr<Transport> { return std::make_unique<Container>(spec); };
    return kind;
  }();
  return kKind;
}

}  // namespace capbench::target
