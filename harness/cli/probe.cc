#include "shim/vulkan/probe.h"

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

int probe_vulkan(bool json) {
  const auto devices = shim::vulkan::probe_devices();
  if (!devices) return fail(devices.error());
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  std::string text;
  for (const shim::vulkan::ProbedDevice& device : *devices) {
    nlohmann::ordered_json capabilities = nlohmann::ordered_json::object();
    if (!text.empty()) text += "\n";
    text += fmt::format("{} ({}), Vulkan {}, {} {}\n", device.name, device.type, device.api_version, device.driver,
                        device.driver_info);
    for (const auto& [name, value] : device.capabilities) {
      capabilities[name] = value;
      text += fmt::format("{:<40} {}\n", name, value);
    }
    list.push_back({{"name", device.name},
                    {"type", device.type},
                    {"api_version", device.api_version},
                    {"driver", device.driver},
                    {"driver_info", device.driver_info},
                    {"capabilities", capabilities}});
  }
  const nlohmann::ordered_json document{{"probe", "vulkan"}, {"devices", list}};
  // A driver's own words may be anything; what is no text must not stop the probe.
  constexpr auto kReplace = nlohmann::ordered_json::error_handler_t::replace;
  return print_data(json ? document.dump(2, ' ', false, kReplace) + "\n" : text);
}

}  // namespace

void add_probe(CLI::App& app, Session& session) {
  CLI::App* probe = app.add_subcommand("probe", "What this machine answers when an application asks");
  probe->footer("Examples:\n  capbench probe cpu\n  capbench probe vulkan --format json");
  probe->require_subcommand(1);
  auto json = std::make_shared<bool>(false);
  CLI::App* command = probe->add_subcommand("cpu", "the instruction-set level and its features");
  command->add_flag("--json", *json, "print JSON");
  command->footer("Example:\n  capbench probe cpu");
  command->callback([&session, json] { session.action = [json] { return probe_cpu(*json); }; });

  auto format = std::make_shared<std::string>("text");
  CLI::App* vulkan = probe->add_subcommand("vulkan", "every vulkan.* capability of every device");
  vulkan->add_option("--format", *format, "text or json")
      ->check(CLI::IsMember({"text", "json"}))
      ->capture_default_str();
  vulkan->footer(
      "Layers that VK_INSTANCE_LAYERS and VK_LAYER_PATH name take part, so under a trial's variables it shows what "
      "the\n"
      "trial is told. Exit status 3: no Vulkan loader, driver or device.\n"
      "Example:\n  capbench probe vulkan --format json");
  vulkan->callback([&session, format] { session.action = [format] { return probe_vulkan(*format == "json"); }; });
}

}  // namespace capbench::cli
