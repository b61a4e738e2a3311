#include "shim/emulate/explain.h"

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "harness/cli/command.h"
#include "shim/emulate/capability_map.h"
#include "shim/emulate/device_profile.h"
#include "shim/emulate/model_layer.h"

namespace capbench::cli {
namespace {

struct Options {
  std::string library;
  std::string guest = "stock";
  std::string set;
  std::string shim;
  std::string model = "tinyllama-1.1b";
  std::uint64_t prompt = 512;
  std::vector<std::string> environment;
  bool map = false;
  std::string format = "text";
};

Result<std::map<std::string, std::string>> environment_of(const Options& options) {
  std::map<std::string, std::string> environment;
  for (const std::string& entry : options.environment) {
    const std::size_t equals = entry.find('=');
    if (equals == std::string::npos || equals == 0) {
      return Error{ErrorKind::kUsage, "--env " + entry, "not NAME=VALUE", "--env GGML_METAL_BF16_DISABLE=1"};
    }
    environment[entry.substr(0, equals)] = entry.substr(equals + 1);
  }
  if (!options.set.empty()) {
    if (options.shim.empty()) {
      return Error{ErrorKind::kUsage, "--set", "no shim would read it", "--shim with it, or --guest for the device"};
    }
    environment["CAPSHIM_SET"] = options.set;
  }
  return environment;
}

int explain(const Options& options) {
  emulate::ExplainInput input;
  input.library = options.library;
  input.shim = options.shim;
  input.prompt = options.prompt;
  auto guest = emulate::parse_guest(options.guest);
  if (!guest) return fail(guest.error());
  input.guest = std::move(guest).value();
  auto environment = environment_of(options);
  if (!environment) return fail(environment.error());
  input.environment = std::move(environment).value();
  auto model = emulate::find_model_layer(options.model);
  if (!model) return fail(model.error());
  input.model = std::move(model).value();
  const bool json = options.format == "json";
  if (options.map) {
    const auto map = emulate::map_capabilities(input);
    if (!map) return fail(map.error());
    return print_data(json ? emulate::map_json(*map) : emulate::map_text(*map));
  }
  const auto explanation = emulate::explain(input);
  if (!explanation) return fail(explanation.error());
  return print_data(json ? emulate::explain_json(*explanation) : emulate::explain_text(*explanation));
}

}  // namespace

void add_explain(CLI::App& app, Session& session) {
  auto options = std::make_shared<Options>();
  CLI::App* command = app.add_subcommand("explain", "Run a release's own Metal code against a made-up device");
  command->add_option("LIBRARY", options->library, "libggml-metal.so for arm64, libggml-base.dylib beside it")
      ->required();
  command->add_option("--guest", options->guest, "the device: stock, m1 to m5, or settings as metal.apple_family=1006")
      ->capture_default_str();
  command->add_option("--shim", options->shim, "a dylib to insert, as libcapshim_metal.dylib");
  command->add_option("--set", options->set, "CAPSHIM_SET for the shim, as metal.apple_family=1009");
  command->add_option("--env", options->environment, "NAME=VALUE, another variable of the process; may be repeated");
  command->add_option("--model", options->model, "a GGUF file or a name of `capbench models list`")
      ->capture_default_str();
  command->add_option("--prompt", options->prompt, "tokens of the batch that stands for a prompt")
      ->check(CLI::Range(std::uint64_t{2}, std::uint64_t{65536}))
      ->capture_default_str();
  command->add_flag("--map", options->map, "vary every answer of the device: which of them decide what?");
  command->add_option("--format", options->format, "text or json")
      ->check(CLI::IsMember({"text", "json"}))
      ->capture_default_str();
  command->footer(
      "The library is executed in an emulator: no Mac is needed, and nothing of this machine is touched.\n"
      "Examples:\n"
      "  capbench explain libggml-metal.so --guest stock\n"
      "  capbench explain libggml-metal.so --shim libcapshim_metal.dylib --set metal.apple_family=1009\n"
      "  capbench explain libggml-metal.so --map --format json");
  command->callback([&session, options] { session.action = [options] { return explain(*options); }; });
}

}  // namespace capbench::cli
