#include "harness/observe/facts.h"

namespace capbench::observe {
namespace {

template <class T>
const T* find(const FactGroup& group, std::string_view name) {
  const auto it = group.values.find(name);
  return it == group.values.end() ? nullptr : std::get_if<T>(&it->second);
}

// What stands between quotes behind `"KEY" = ` in ioreg's output.
std::string ioreg_text(std::string_view text, std::string_view key) {
  const auto rest = after(text, "\"" + std::string(key) + "\" = \"");
  return rest ? std::string(rest->substr(0, rest->find_first_of("\"\n"))) : "";
}

void add(std::vector<std::string>& list, std::string_view text) {
  if (const std::string_view value = stripped(text); !value.empty()) list.emplace_back(value);
}

}  // namespace

void FactGroup::set(std::string_view name, std::string_view text) {
  constexpr std::size_t kLongest = 8192;  // a CPU's flags are 2000 bytes
  if (!text.empty()) values[std::string(name)] = std::string(text.substr(0, kLongest));
}

void FactGroup::set(std::string_view name, std::optional<std::int64_t> number) {
  if (number) values[std::string(name)] = *number;
}

std::string FactGroup::text(std::string_view name) const {
  const auto* value = find<std::string>(*this, name);
  return value == nullptr ? "" : *value;
}

std::optional<std::int64_t> FactGroup::number(std::string_view name) const {
  const auto* value = find<std::int64_t>(*this, name);
  return value == nullptr ? std::nullopt : std::optional(*value);
}

bool FactGroup::flag(std::string_view name) const {
  const auto* value = find<bool>(*this, name);
  return value != nullptr && *value;
}

Facts facts_from(const SourceTexts& texts) {
  Facts facts;
  const std::string system = first_line_of(texts, "uname");
  const std::size_t first = system.find(' ');
  const std::size_t last = system.rfind(' ');
  facts.machine.set("os", system.substr(0, first));
  if (first != std::string::npos && last > first) {
    facts.machine.set("kernel", system.substr(first + 1, last - first - 1));
    facts.machine.set("arch", system.substr(last + 1));
  }
  if (facts.machine.text("os") == "Darwin") {
    add_macos_hardware(texts, facts);
    add_macos_gpus(texts, facts);
    add_macos_system(texts, facts);
  } else {
    add_linux_cpu(texts, facts);
    add_linux_system(texts, facts);
    add_linux_virtual(texts, facts);
    add_nvidia(texts, facts);
    add_vulkan(texts, facts);
    add_linux_gpus(texts, facts);
  }
  add_frontends(texts, facts);
  TextMap variables = key_values(text_of(texts, "variables"), '=');
  variables.erase("");
  facts.tables["variables"] = std::move(variables);
  return facts;
}

PersonalDetails personal_details(const SourceTexts& texts) {
  PersonalDetails details;
  const TextMap own = key_values(text_of(texts, "personal"), '=');
  add(details.users, value_of(own, "user"));
  add(details.users, text_of(texts, "personal.name"));
  add(details.homes, value_of(own, "home"));
  const std::string host = value_of(own, "host");
  add(details.hosts, host);
  add(details.hosts, std::string_view(host).substr(0, host.find('.')));
  add(details.hosts, text_of(texts, "personal.computer"));
  const std::string_view platform = text_of(texts, "platform");
  add(details.secrets, ioreg_text(platform, "IOPlatformSerialNumber"));
  add(details.secrets, ioreg_text(platform, "IOPlatformUUID"));
  add(details.secrets, first_line_of(texts, "machine_id"));
  return details;
}

void add_frontends(const SourceTexts& texts, Facts& facts) {
  constexpr std::string_view kPrefix = "frontend.";
  for (const auto& [name, source] : texts) {
    if (!name.starts_with(kPrefix) || source.status != 0) continue;
    // "limactl version 1.0.2", "Docker version 27.1.1, build 6312585", "lume 0.5.1", "2.0.1": the first number.
    const std::string line = first_line_of(texts, name);
    const std::size_t at = line.find_first_of("0123456789");
    if (at == std::string::npos) continue;
    const std::string version = line.substr(at, line.find_first_of(" ,()\t", at) - at);
    facts.tables["frontends"][name.substr(kPrefix.size())] = version;
  }
}

}  // namespace capbench::observe
