#include <array>

#include "harness/observe/facts.h"

namespace capbench::observe {
namespace {

std::string sip_of(std::string_view text) {
  const auto rest = after(text, "System Integrity Protection status:");
  if (!rest) return "";
  const std::string_view status = stripped(*rest);
  if (status.starts_with("enabled")) return "enabled";
  if (status.starts_with("disabled")) return "disabled";
  return "custom";
}

// `defaults read` exits with 1 for what is not set, and 127 means that there was nobody to ask.
std::string preference_of(const SourceTexts& texts) {
  const auto it = texts.find("host_preference");
  if (it == texts.end() || (it->second.status != 0 && it->second.status != 1)) return "";
  if (it->second.status == 1) return "unset";
  const std::string_view value = stripped(it->second.text);
  if (value == "1" || value == "YES" || value == "true") return "on";
  return value == "0" || value == "NO" || value == "false" ? "off" : std::string(value);
}

// "<key>NAME</key>" with "<string>VALUE</string>" behind it.
TextMap property_list_texts(std::string_view text) {
  constexpr std::string_view kKey = "<key>";
  constexpr std::string_view kText = "<string>";
  TextMap values;
  while (const auto rest = after(text, kKey)) {
    text = *rest;
    const std::size_t end = text.find("</key>");
    const std::size_t start = text.find(kText);
    if (end == std::string_view::npos || start == std::string_view::npos) break;
    const std::size_t stop = text.find("</string>", start);
    if (stop == std::string_view::npos) break;
    // A key whose value is no text belongs to the next.
    if (text.substr(end, start - end).find(kKey) != std::string_view::npos) continue;
    values.emplace(stripped(text.substr(0, end)),
                   stripped(text.substr(start + kText.size(), stop - start - kText.size())));
  }
  return values;
}

}  // namespace

void add_macos_system(const SourceTexts& texts, Facts& facts) {
  FactGroup& machine = facts.machine;
  const TextMap version = key_values(text_of(texts, "sw_vers"), ':');
  const auto source = texts.find("sysctl");
  const TextMap values = source == texts.end() ? TextMap() : key_values(source->second.text, ':');
  const bool known = version.contains("ProductVersion");
  machine.set("os_version", known ? value_of(version, "ProductVersion") : value_of(values, "kern.osproductversion"));
  machine.set("os_build", known ? value_of(version, "BuildVersion") : value_of(values, "kern.osversion"));
  if (const std::string number = machine.text("os_version"); !number.empty()) {
    machine.set("os_release", "macOS " + number);
  }
  machine.set("sip", sip_of(text_of(texts, "csrutil")));
  machine.set("host_preference", preference_of(texts));

  constexpr std::string_view kLaunchd = "launchd.";
  for (const auto& [name, text] : texts) {
    if (!name.starts_with(kLaunchd) || text.status != 0) continue;
    const std::string value(stripped(text.text));
    if (!value.empty()) facts.tables["launchd_variables"][name.substr(kLaunchd.size())] = value;
  }
  facts.tables["agent_variables"] = property_list_texts(text_of(texts, "launchd_jobs"));
  for_each_line(text_of(texts, "installed_shims"), [&](std::string_view line) {
    const std::size_t at = line.find(' ');
    if (at != std::string_view::npos) facts.lists["installed_shims"].emplace_back(line.substr(at + 1));
  });
}

}  // namespace capbench::observe
