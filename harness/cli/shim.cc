#include <fmt/format.h>

#include <memory>
#include <string>

#include "harness/cli/command.h"
#include "shim/common/toggles.h"

namespace capbench::cli {
namespace {

std::string values_text(const shim::Toggle& toggle) {
  switch (toggle.kind) {
    case shim::ValueKind::kInteger:
      return fmt::format("an integer from {} to {}", toggle.low, toggle.high);
    case shim::ValueKind::kSwitch:
      return "on, off";
    case shim::ValueKind::kLevel:
      break;
  }
  std::string text;
  for (std::size_t i = 0; i < toggle.levels.count; ++i) {
    text += (i == 0 ? "" : ", ") + std::string(toggle.levels.names[i]);
  }
  return text;
}

std::string description(const shim::Toggle& toggle) {
  const shim::DomainInfo& domain = shim::domain_info(toggle.domain);
  const std::string_view none = "none known";
  return fmt::format(
      "{}\n  what          {}\n  values        {}\n  who asks      {}\n  side effects  {}\n  answered on   {}\n"
      "  shim          {}\n",
      toggle.name, toggle.description, values_text(toggle), toggle.asked_by,
      toggle.side_effects.empty() ? none : toggle.side_effects, domain.platform,
      shim::has_shim(toggle.domain) ? fmt::format("{} through {}", domain.library, domain.injection)
                                    : std::string("not in this build"));
}

int describe(const std::string& name) {
  if (name.empty()) {
    std::string text;
    for (const shim::Toggle& toggle : shim::kToggles)
      text += fmt::format("{:<34}{}\n", toggle.name, toggle.description);
    return print_data(text);
  }
  const std::size_t index = shim::find_toggle(name);
  if (index == shim::kToggleCount) {
    return fail({ErrorKind::kUsage, name, "no such capability", "`capbench shim describe`, which lists them"});
  }
  return print_data(description(shim::kToggles[index]));
}

}  // namespace

void add_shim(CLI::App& app, Session& session) {
  CLI::App* shim = app.add_subcommand("shim", "The capabilities that the shims answer for");
  shim->require_subcommand(1);
  auto name = std::make_shared<std::string>();
  CLI::App* command = shim->add_subcommand("describe", "what a capability is, who asks, side effects; all of them");
  command->add_option("CAPABILITY", *name, "one capability, as cpu.isa");
  command->footer("Example:\n  capbench shim describe cpu.isa");
  command->callback([&session, name] { session.action = [name] { return describe(*name); }; });
}

}  // namespace capbench::cli
