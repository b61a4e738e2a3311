#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "base/utf8.h"
#include "harness/observe/facts.h"
#include "schema/canonical.h"

namespace capbench::observe {
namespace {

using nlohmann::json;

constexpr std::size_t kLongestList = 256;

// Values that people and programs write freely. All others come from the hardware, the system and its drivers: they
// hold version numbers and product names, which a person's or a host's name may happen to equal.
constexpr std::array<std::string_view, 5> kFree{"variables", "launchd_variables", "agent_variables", "installed_shims",
                                                "ld_so_preload"};

std::string publishable(std::string_view fact, std::string_view text, const PersonalDetails& details) {
  const std::string valid = to_utf8(text);
  if (std::find(kFree.begin(), kFree.end(), fact) != kFree.end()) return redact(valid, details).text;
  PersonalDetails hardware;
  hardware.secrets = details.secrets;
  return redact(valid, hardware, Addresses::kKeep).text;
}

json group_json(const FactGroup& group, const PersonalDetails& details) {
  json object = json::object();
  for (const auto& [name, fact] : group.values) {
    if (const auto* text = std::get_if<std::string>(&fact)) {
      object[name] = publishable(name, *text, details);
    } else if (const auto* number = std::get_if<std::int64_t>(&fact)) {
      object[name] = *number;
    } else {
      object[name] = std::get<bool>(fact);
    }
  }
  return object;
}

void collect_fields(const json& fields, int depth, TextMap& found) {
  constexpr int kDeepest = 16;
  if (!fields.is_array() || depth > kDeepest) return;
  for (const json& field : fields) {
    if (!field.is_object()) continue;
    const auto name = field.find("field");
    const auto data = field.find("data");
    if (name != field.end() && name->is_string() && data != field.end() && data->is_string()) {
      std::string key = name->get<std::string>();
      if (key.ends_with(':')) key.pop_back();
      found.emplace(std::move(key), data->get<std::string>());
    }
    if (const auto children = field.find("children"); children != field.end()) {
      collect_fields(*children, depth + 1, found);
    }
  }
}

std::string member(const json& object, const char* name) {
  const auto it = object.find(name);
  return it != object.end() && it->is_string() ? it->get<std::string>() : "";
}

std::string without_prefix(std::string text, std::string_view prefix) {
  return text.starts_with(prefix) ? text.substr(prefix.size()) : text;
}

}  // namespace

json facts_json(const Facts& facts, const PersonalDetails& details) {
  json object = group_json(facts.machine, details);
  for (const auto& [name, rows] : facts.rows) {
    json list = json::array();
    for (std::size_t i = 0; i < std::min(rows.size(), kLongestList); ++i) list.push_back(group_json(rows[i], details));
    if (!list.empty()) object[name] = std::move(list);
  }
  for (const auto& [name, texts] : facts.lists) {
    json list = json::array();
    for (std::size_t i = 0; i < std::min(texts.size(), kLongestList); ++i) {
      list.push_back(publishable(name, texts[i], details));
    }
    if (!list.empty()) object[name] = std::move(list);
  }
  for (const auto& [name, table] : facts.tables) {
    json members = json::object();
    for (const auto& [key, value] : table) members[publishable(name, key, details)] = publishable(name, value, details);
    if (!members.empty()) object[name] = std::move(members);
  }
  return object;
}

TextMap lscpu_fields(std::string_view text) {
  TextMap found;
  const json whole = json::parse(text, nullptr, false);
  if (!whole.is_object()) return found;
  if (const auto fields = whole.find("lscpu"); fields != whole.end()) collect_fields(*fields, 0, found);
  return found;
}

void add_macos_gpus(const SourceTexts& texts, Facts& facts) {
  const json profile = json::parse(text_of(texts, "system_profiler"), nullptr, false);
  std::vector<FactGroup>& gpus = facts.rows["gpus"];
  if (profile.is_object() && profile.contains("SPDisplaysDataType") && profile["SPDisplaysDataType"].is_array()) {
    for (const json& display : profile["SPDisplaysDataType"]) {
      if (!display.is_object() || member(display, "sppci_model").empty()) continue;
      FactGroup gpu;
      gpu.set("name", member(display, "sppci_model"));
      gpu.set("cores", to_integer(member(display, "sppci_cores")));
      gpu.set("metal", without_prefix(member(display, "spdisplays_mtlgpufamilysupport"), "spdisplays_"));
      gpu.set("vendor", without_prefix(member(display, "spdisplays_vendor"), "sppci_vendor_"));
      gpus.push_back(std::move(gpu));
    }
  }
  if (!gpus.empty()) return;
  // Without a display, or in a guest, the list is empty; the registry still knows the GPU of a host.
  const std::string_view registry = text_of(texts, "ioreg.agx");
  const auto cores = after(registry, "\"gpu-core-count\" = ");
  if (!cores) return;
  FactGroup gpu;
  if (const auto model = after(registry, "\"model\" = \"")) {
    gpu.set("name", model->substr(0, model->find_first_of("\"\n")));
  }
  gpu.set("cores", leading_number<std::int64_t>(*cores));
  gpus.push_back(std::move(gpu));
}

}  // namespace capbench::observe
