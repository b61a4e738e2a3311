#include "reports/setting.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "base/digest.h"
#include "reports/text.h"
#include "schema/canonical.h"

namespace capbench::reports {
namespace {

using nlohmann::json;

// What of a machine's facts belongs to its system, not to the hardware.
constexpr std::array<std::string_view, 17> kSystemFacts = {"os",
                                                           "kernel",
                                                           "kernel_build",
                                                           "os_release",
                                                           "os_version",
                                                           "os_build",
                                                           "nvidia_driver",
                                                           "nvidia_module",
                                                           "cuda_version",
                                                           "amdgpu_version",
                                                           "rocm_version",
                                                           "vulkan_instance",
                                                           "vulkan_devices",
                                                           "vulkan_layers",
                                                           "implicit_layers",
                                                           "gpus",
                                                           "sip"};
constexpr std::string_view kFrontends = "frontends";

// What is long says nothing to people.
std::string_view shortened(std::string_view value) {
  constexpr std::size_t kMost = 48;
  return value.size() <= kMost ? value : "";
}

void sort_parts(Parts& parts) {
  std::sort(parts.begin(), parts.end());
}

bool is_own_library(std::string_view name, Texts::Id folder, Texts::Id own) {
  return (own != 0 && folder == own) || name.starts_with("libllama") || name.starts_with("libggml") ||
         name.starts_with("libmtmd");
}

// Files of one name are one part, their digests in order.
void add_part(Parts& parts, Texts::Id name, Texts::Id value, Texts& texts) {
  const auto same = std::find_if(parts.begin(), parts.end(), [&](const auto& part) { return part.first == name; });
  if (same == parts.end()) {
    parts.emplace_back(name, value);
  } else {
    same->second = texts.add(texts[same->second] + "," + texts[value]);
  }
}

std::string difference(std::string_view name, const std::string* before, const std::string* after) {
  if (before == nullptr) return one_line(name) + " (new)";
  if (after == nullptr) return one_line(name) + " (gone)";
  const std::string_view left = shortened(*before);
  const std::string_view right = shortened(*after);
  const bool tells = !left.empty() && !right.empty() && !is_sha256(*before);
  return tells ? fmt::format("{}: {} -> {}", one_line(name), one_line(left), one_line(right)) : one_line(name);
}

// By name. Both are in the order of the names' numbers, and equal texts have equal numbers.
void add_differences(const Parts& from, const Parts& to, const Texts& texts, std::vector<std::string>& out) {
  if (&from == &to) return;
  struct Differing {
    const std::string* name;
    const std::string* before;  // nullptr: it was not there
    const std::string* after;   // nullptr: it is gone
  };
  std::vector<Differing> differing;
  auto a = from.begin();
  auto b = to.begin();
  while (a != from.end() || b != to.end()) {
    if (b == to.end() || (a != from.end() && a->first < b->first)) {
      differing.push_back({&texts[a->first], &texts[a->second], nullptr});
      ++a;
    } else if (a == from.end() || b->first < a->first) {
      differing.push_back({&texts[b->first], nullptr, &texts[b->second]});
      ++b;
    } else {
      if (a->second != b->second) differing.push_back({&texts[a->first], &texts[a->second], &texts[b->second]});
      ++a;
      ++b;
    }
  }
  std::sort(differing.begin(), differing.end(), [](const auto& x, const auto& y) { return *x.name < *y.name; });
  for (const auto& [name, before, after] : differing) out.push_back(difference(*name, before, after));
}

// Their canonical JSON.
std::string spelled(const Parts& parts, const Texts& texts) {
  std::vector<std::pair<const std::string*, const std::string*>> members;
  members.reserve(parts.size());
  for (const auto& [name, value] : parts) members.emplace_back(&texts[name], &texts[value]);
  std::sort(members.begin(), members.end(), [](const auto& a, const auto& b) { return *a.first < *b.first; });
  std::string object = "{";
  for (const auto& [name, value] : members) {
    if (object.size() > 1) object += ',';
    schema::append_canonical(object, *name);
    object += ':';
    schema::append_canonical(object, *value);
  }
  return object + "}";
}

}  // namespace

std::uint32_t PartsPool::add(Parts parts) {
  sort_parts(parts);
  std::size_t hash = 14695981039346656037ULL;
  for (const auto& [name, value] : parts) hash = ((hash ^ name) * 1099511628211ULL ^ value) * 1099511628211ULL;
  const auto [first, last] = index_.equal_range(hash);
  for (auto same = first; same != last; ++same) {
    if (all_[same->second] == parts) return same->second;
  }
  const auto number = static_cast<std::uint32_t>(all_.size());
  all_.push_back(std::move(parts));
  index_.emplace(hash, number);
  return number;
}

std::string_view file_name(std::string_view path) {
  const std::size_t slash = path.rfind('/');
  return slash == std::string_view::npos ? path : path.substr(slash + 1);
}

std::string_view folder_of(std::string_view path) {
  const std::size_t slash = path.rfind('/');
  return slash == std::string_view::npos ? std::string_view() : path.substr(0, slash);
}

void add_files(std::span<const MemberFile> members, Texts& texts, SettingParts& out) {
  Texts::Id folder = 0;
  for (const MemberFile& member : members) {
    if (texts[member.role] == "executable") folder = member.folder;
  }
  std::string name;
  for (const MemberFile& member : members) {
    const std::string& role = texts[member.role];
    Parts* parts = &out.treatment;
    if (role == "executable" || (role == "library" && is_own_library(texts[member.name], member.folder, folder))) {
      parts = &out.build;
    } else if (role == "library" || role == "driver") {
      parts = &out.system;
    }
    name = role;
    name += ' ';
    name += texts[member.name];
    add_part(*parts, texts.add(name), member.sha256, texts);
  }
}

void add_facts(const std::string& facts, bool is_guest, Texts& texts, SettingParts& out) {
  const json document = json::parse(facts, nullptr, false);
  if (!document.is_object()) return;
  for (const auto& [name, value] : document.items()) {
    if (name == kFrontends && !is_guest) continue;
    const bool of_system =
        std::find(kSystemFacts.begin(), kSystemFacts.end(), name) != kSystemFacts.end() || name == kFrontends;
    const Texts::Id text = texts.add(value.is_string() ? value.get_ref<const std::string&>() : value.dump());
    (of_system ? out.system : out.machine).emplace_back(texts.add(name), text);
  }
}

std::string without_folders(std::string_view list, bool skip_first) {
  const json document = json::parse(list, nullptr, false);
  if (!document.is_array()) return "";
  std::string out;
  for (std::size_t i = skip_first ? 1 : 0; i < document.size(); ++i) {
    if (!document[i].is_string()) continue;
    const std::string_view text = document[i].get_ref<const std::string&>();
    const std::size_t equals = text.find('=');
    const std::size_t slash = text.find('/');
    if (!out.empty()) out += ' ';
    if (slash != std::string_view::npos && equals < slash) out += text.substr(0, equals + 1);
    out += slash == std::string_view::npos ? text : file_name(text);
  }
  return out;
}

Setting put(SettingParts parts, PartsPool& pool) {
  return {pool.add(std::move(parts.build)), pool.add(std::move(parts.system)), pool.add(std::move(parts.machine)),
          pool.add(std::move(parts.treatment))};
}

Parts merged(const Parts& parts, const Parts& more) {
  Parts all = parts;
  for (const auto& part : more) {
    const bool known =
        std::any_of(parts.begin(), parts.end(), [&](const auto& other) { return other.first == part.first; });
    if (!known) all.push_back(part);
  }
  return all;
}

std::vector<std::string> differences(const Setting& from, const Setting& to, const PartsPool& pool,
                                     const Texts& texts) {
  std::vector<std::string> out;
  for (const auto part : {&Setting::build, &Setting::system, &Setting::machine, &Setting::treatment}) {
    add_differences(pool[from.*part], pool[to.*part], texts, out);
  }
  return out;
}

const std::string& PartsDigests::of(const std::vector<std::uint32_t>& parts, const PartsPool& pool,
                                    const Texts& texts) {
  {
    const std::lock_guard lock(mutex_);
    if (const auto known = known_.find(parts); known != known_.end()) return known->second;
  }
  std::string list = "[";
  for (const std::uint32_t number : parts) {
    if (list.size() > 1) list += ',';
    list += spelled(pool[number], texts);
  }
  std::string digest = sha256(list + "]");
  const std::lock_guard lock(mutex_);
  return known_.try_emplace(parts, std::move(digest)).first->second;
}

}  // namespace capbench::reports
