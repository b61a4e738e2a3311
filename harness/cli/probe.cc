#include <fmt/format.h>

#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "harness/cli/command.h"
#include "shim/cpu/detect.h"

namespace capbench::cli {
namespace {

int probe_cpu(bool json) {
  namespace cpu = shim::cpu;
  const cpu::CpuFacts facts = cpu::detect_cpu();
  if (!facts.known) {
    return fail(
        {ErrorKind::kMachine, "cpu", "no instruction-set levels are known for this architecture", "an x86-64 machine"});
  }
  std::vector<std::string> features;
  std::vector<std::string> not_enabled;
  for (const cpu::FeatureInfo& feature : cpu::kFeatures) {
    if ((facts.usable() & feature.bit) != 0) {
      features.emplace_back(feature.name);
    } else if ((facts.claimed & feature.bit) != 0) {
      not_enabled.emplace_back(feature.name);
    }
  }
  const std::string level(cpu::best_variant(facts.usable()));
  const std::string brand(cpu::cpu_brand().view());
  if (json) {
    const nlohmann::json document{{"probe", "cpu"},
                                  {"name", brand},
                                  {"hypervisor", facts.hypervisor},
                                  {"features", features},
                                  {"not_enabled_by_kernel", not_enabled},
                                  {"capabilities", {{"cpu.isa", level}}}};
    return print_data(document.dump(2) + "\n");
  }
  std::string text = fmt::format("{}\ncpu.isa      {}\nfeatures     {}\n", brand, level, fmt::join(features, " "));
  if (!not_enabled.empty()) text += fmt::format("not enabled  {} (the kernel)\n", fmt::join(not_enabled, " "));
  if (facts.hypervisor) text += "virtual      yes, says CPUID\n";
  return print_data(text);
}

}  // namespace

void add_probe(CLI::App& app, Session& session) {
  CLI::App* probe = app.add_subcommand("probe", "What this machine answers when an application asks");
  probe->require_subcommand(1);
  auto json = std::make_shared<bool>(false);
  CLI::App* command = probe->add_subcommand("cpu", "the instruction-set level and its features");
  command->add_flag("--json", *json, "print JSON");
  command->footer("Example:\n  capbench probe cpu");
  command->callback([&session, json] { session.action = [json] { return probe_cpu(*json); }; });
}

}  // namespace capbench::cli
