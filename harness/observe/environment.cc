#include "harness/observe/environment.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <chrono>
#include <ctime>
#include <nlohmann/json.hpp>

#include "base/digest.h"
#include "base/utf8.h"
#include "harness/observe/facts.h"
#include "harness/observe/run_command.h"
#include "schema/canonical.h"

namespace capbench::observe {
namespace {

using nlohmann::json;

std::string label(const FactGroup& machine) {
  std::string text = machine.text("cpu");
  if (text.empty()) text = machine.text("arch");
  if (text.empty()) text = "unknown CPU";
  if (const auto cores = machine.number("cpus"); cores && *cores > 0) {
    text += fmt::format(", {} {}", *cores, *cores == 1 ? "core" : "cores");
  }
  if (const auto bytes = machine.number("memory_bytes"); bytes && *bytes > 0) {
    text += fmt::format(", {:.0f} GiB", static_cast<double>(*bytes) / (1024.0 * 1024 * 1024));
  }
  return text;
}

// What the system itself calls this machine.
std::string own_id(const SourceTexts& texts) {
  std::string id = first_line_of(texts, "machine_id");
  if (const auto uuid = after(text_of(texts, "platform"), "\"IOPlatformUUID\" = \"")) {
    id = uuid->substr(0, uuid->find_first_of("\"\n"));
  }
  return id;
}

std::string machine_identity(const SourceTexts& texts, const json& facts) {
  std::string identity = "capbench machine\n";
  if (const std::string id = own_id(texts); !id.empty()) {
    identity += id;
  } else {
    for (const char* name : {"arch", "cpu", "cpus", "memory_bytes", "vendor", "product"}) {
      if (facts.contains(name)) identity += fmt::format("{}={}\n", name, facts[name].dump());
    }
  }
  return sha256(identity).substr(0, 16);
}

}  // namespace

schema::EnvironmentRecord environment_from(const SourceTexts& texts) {
  const Facts facts = facts_from(texts);
  const PersonalDetails details = personal_details(texts);
  json object = facts_json(facts, details);
  schema::EnvironmentRecord environment;
  environment.machine_label = to_utf8(label(facts.machine));
  environment.is_virtual = facts.machine.flag("guest");
  environment.machine_id = machine_identity(texts, object);
  object["machine_id"] = environment.machine_id;
  environment.json = schema::canonical(object);
  environment.id = sha256(environment.json);
  return environment;
}

schema::EnvironmentRecord collect_environment(const std::filesystem::path& root) {
  return environment_from(read_sources_locally(sources(this_os(), Purpose::kEnvironment), run_command, root));
}

std::string virtualization(const schema::EnvironmentRecord& environment) {
  const json facts = json::parse(environment.json, nullptr, false);
  if (!facts.is_object()) return "";
  const auto it = facts.find("hypervisor");
  return it != facts.end() && it->is_string() ? it->get<std::string>() : "";
}

std::string utc_now() {
  const auto now = std::chrono::system_clock::now();
  const auto ms = std::chrono::duration_cast<std::chrono::milliseconds>(now.time_since_epoch()).count() % 1000;
  return fmt::format("{:%Y-%m-%dT%H:%M:%S}.{:03}Z", fmt::gmtime(std::chrono::system_clock::to_time_t(now)), ms);
}

}  // namespace capbench::observe
