#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "harness/cli/command.h"
#include "shim/common/toggles.h"
#include "shim/expectations/describe.h"
#include "shim/expectations/expectations.h"

namespace capbench::cli {
namespace {

int describe_all(const std::vector<shim::ExpectationMap>& maps, bool json) {
  if (json) {
    auto all = nlohmann::ordered_json::array();
    for (const shim::Toggle& toggle : shim::kToggles) {
      all.push_back(nlohmann::ordered_json::parse(shim::describe_json(toggle, maps)));
    }
    return print_data(all.dump(2) + "\n");
  }
  return print_data(shim::list_text());
}

int describe(const std::string& name, bool json) {
  const auto maps = shim::load_expectations();
  if (!maps) return fail(maps.error());
  if (name.empty()) return describe_all(*maps, json);
  const std::size_t index = shim::find_toggle(name);
  if (index == shim::kToggleCount) {
    return fail({ErrorKind::kUsage, name, "no such capability", "`capbench shim describe`, which lists them"});
  }
  const shim::Toggle& toggle = shim::kToggles[index];
  return print_data(json ? shim::describe_json(toggle, *maps) : shim::describe_text(toggle, *maps));
}

struct Options {
  std::string capability;
  std::string format = "text";
};

}  // namespace

void add_shim(CLI::App& app, Session& session) {
  CLI::App* shim = app.add_subcommand("shim", "The capabilities that the shims answer for");
  shim->require_subcommand(1);
  auto options = std::make_shared<Options>();
  CLI::App* command =
      shim->add_subcommand("describe", "what a capability is, who asks, what is expected of it; all of them");
  command->add_option("CAPABILITY", options->capability, "one capability, as cpu.isa");
  command->add_option("--format", options->format, "text or json [text]")->check(CLI::IsMember({"text", "json"}));
  command->footer(
      "Examples:\n"
      "  capbench shim describe\n"
      "  capbench shim describe vulkan.cooperative_matrix\n"
      "  capbench shim describe cpu.isa --format json");
  command->callback([&session, options] {
    session.action = [options] { return describe(options->capability, options->format == "json"); };
  });
}

}  // namespace capbench::cli
