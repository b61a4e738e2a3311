#include "harness/import/evidence/judge.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "harness/import/evidence/names.h"
#include "harness/import/evidence/pairing.h"
#include "harness/observe/device.h"
#include "harness/observe/ggml_log_metal.h"
#include "harness/observe/observation.h"
#include "harness/observe/published_shims.h"
#include "harness/observe/treatment.h"

namespace capbench::imports::evidence {
namespace {

constexpr std::string_view kFamily = "metal.apple_family";

bool is_virtual_name(std::string_view name) {
  return name.find("(Virtual)") != std::string_view::npos || name.find("Paravirtual") != std::string_view::npos;
}

bool is_virtual(const Launch& launch, std::string_view log) {
  if (is_virtual_name(launch.cpu) || is_virtual_name(launch.gpu)) return true;
  const auto devices = observe::metal_devices(log);
  return std::any_of(devices.begin(), devices.end(),
                     [](const auto& device) { return is_virtual_name(device.description + device.name); });
}

const observe::PublishedBanner* enabled(const std::vector<observe::PublishedBanner>& banners) {
  const auto found = std::find_if(banners.begin(), banners.end(), [](const auto& banner) { return banner.enabled; });
  return found == banners.end() ? nullptr : &*found;
}

bool is_superseded(const observe::PublishedBanner& banner) {
  return banner.says.contains("familyMax") || banner.says.contains("featureProfile");
}

// "familyMax=5001 featureProfile=10".
std::string old_profile(const observe::PublishedBanner& banner) {
  std::string text;
  for (const char* name : {"familyMax", "featureProfile"}) {
    const auto said = banner.says.find(name);
    if (said != banner.says.end()) text += fmt::format("{}{}={}", text.empty() ? "" : " ", name, said->second);
  }
  return text;
}

// Whether any text of the folder sets such a variable: a banner prints defaults and settings alike.
bool is_set_somewhere(const std::vector<Document>& documents, std::string_view part) {
  return std::any_of(documents.begin(), documents.end(), [&](const Document& document) {
    if (document.role == Role::kBinary) return false;
    for (const std::string_view prefix : {"LUME_METAL_", "TART_METAL_"}) {
      for (std::size_t at = document.bytes.find(prefix); at != std::string::npos;
           at = document.bytes.find(prefix, at + 1)) {
        const std::string_view rest = std::string_view(document.bytes).substr(at, 80);
        const std::size_t end = rest.find('=');
        if (end == std::string_view::npos) continue;
        const std::string_view name = rest.substr(0, end);
        if (name.find_first_of(" \t\r\n\"'`") != std::string_view::npos) continue;
        if (name.find(part) != std::string_view::npos) return true;
      }
    }
    return false;
  });
}

// Every family that a command of the folder sets: "... LUME_METAL_APPLE_FAMILY_MAX=1009 llama-bench ...".
std::set<std::string> families_set(const std::vector<Document>& documents) {
  constexpr std::string_view kVariable = "_METAL_APPLE_FAMILY_MAX=";
  std::set<std::string> families;
  for (const Document& document : documents) {
    if (document.role == Role::kBinary) continue;
    const std::string& text = document.bytes;
    for (std::size_t at = text.find(kVariable); at != std::string::npos; at = text.find(kVariable, at + 1)) {
      const std::size_t from = at + kVariable.size();
      const std::size_t to = std::min(text.find_first_not_of("0123456789", from), text.size());
      if (to > from && to - from <= 5) families.insert(text.substr(from, to - from));
    }
  }
  return families;
}

std::string pairs_text(const std::map<std::string, std::string>& set) {
  std::string text;
  for (const auto& [name, level] : set) text += fmt::format("{}{}={}", text.empty() ? "" : " ", name, level);
  return text;
}

// What the run asked for: the family alone where it names one, unless a command of the folder sets more.
std::map<std::string, std::string> asked_for(const observe::PublishedBanner& banner,
                                             const std::vector<Document>& documents) {
  std::map<std::string, std::string> set = banner.capabilities();
  if (!set.contains(std::string(kFamily))) return set;
  if (!is_set_somewhere(documents, "THREADGROUP_MEMORY")) set.erase("metal.max_threadgroup_memory");
  if (!is_set_somewhere(documents, "WORKING_SET")) set.erase("metal.recommended_working_set");
  return set;
}

std::string name_of(const std::vector<Document>& documents, const Launch& launch) {
  return documents[launch.results != kNone ? launch.results : launch.log].name;
}

bool names_word(const std::vector<Document>& documents, const Launch& launch, std::string_view word) {
  const std::set<std::string> said = word_set(name_of(documents, launch));
  return said.contains(std::string(word));
}

void find_exclusions(Launch& launch, const std::vector<Document>& documents) {
  constexpr auto kOutdated = std::to_array<std::string_view>({"superseded", "obsolete", "discarded", "withdrawn"});
  for (const std::string_view word : kOutdated) {
    if (names_word(documents, launch, word)) launch.excluded.push_back(fmt::format("its name says {}", word));
  }
  if (launch.results == kNone) return;
  const bool says_smoke = lower(documents[launch.results].bytes).find("smoke") != std::string::npos;
  if (names_word(documents, launch, "smoke") || says_smoke) {
    launch.excluded.emplace_back(launch.repetitions == 1 ? "a smoke run of one repetition" : "a smoke run");
  } else if (launch.repetitions == 1) {
    launch.excluded.emplace_back("one repetition only");
  }
}

// From the log: banner, or none.
void mode_from_log(Launch& launch, std::string_view log, bool is_guest, const std::vector<Document>& documents) {
  const auto banners = observe::published_banners(log);
  const observe::PublishedBanner* banner = enabled(banners);
  if (banner == nullptr) {
    launch.mode = is_guest ? "stock" : "bare-metal";
    return;
  }
  if (is_superseded(*banner)) {
    const std::string profile = old_profile(*banner);
    launch.mode = kSuperseded;
    launch.arm_suffix = profile;
    launch.set = banner->capabilities();
    launch.excluded.push_back("superseded profile " + profile);
    return;
  }
  launch.mode = is_guest ? "unlocked" : "bare-metal-with-shim";
  launch.set = asked_for(*banner, documents);
}

// An empty or foreign log says nothing, least of all that no shim was there.
bool says_mode(std::string_view log) {
  return !observe::observe_ggml_log(log, "").empty() || !observe::published_banners(log).empty();
}

std::string set_text(const Launch& launch) {
  std::string text = launch.arm_suffix.empty() ? pairs_text(launch.set) : launch.arm_suffix;
  if (!launch.device.empty()) text += (text.empty() ? "on " : " on ") + launch.device;
  return text.empty() ? "nothing set" : text;
}

}  // namespace

void judge_mode(Launch& launch, const std::vector<Document>& documents, std::vector<std::string>& notes) {
  const std::string_view log = log_of(documents, launch);
  const std::string name = name_of(documents, launch);
  const std::string said = mode_said_by(name);
  const bool is_guest = is_virtual(launch, log);
  if (says_mode(log)) {
    mode_from_log(launch, log, is_guest, documents);
    if (!said.empty() && said != launch.mode && launch.mode != kSuperseded) {
      notes.push_back(fmt::format("{}: its name says {}, its log {}; the log is believed", name, said, launch.mode));
    }
  } else if (!said.empty()) {
    launch.mode = said;
    notes.push_back(fmt::format("{}: no log shows its mode; its name says {}", name, said));
    if (said == "bare-metal" && is_guest) {
      launch.mode = kUnknownMode;
      notes.push_back(fmt::format("{}: its name says bare-metal, but it ran on a virtual device", name));
    }
  } else {
    launch.mode = !launch.cpu.empty() && !is_guest ? "bare-metal" : kUnknownMode;
    notes.push_back(fmt::format("{}: neither a log nor its name shows its mode; taken for {}", name, launch.mode));
  }
  const bool is_guest_mode = launch.mode == "stock" || launch.mode == "unlocked" || launch.mode == kSuperseded;
  launch.guest = is_guest || is_guest_mode ? "vm" : "";
  find_exclusions(launch, documents);
  if (!log.empty()) {
    if (std::string words = last_words(log); !words.empty()) {
      launch.status = "failed";
      launch.reason = std::move(words);
    }
  }
}

void guess_treatments(std::vector<Launch>& launches, const std::vector<Document>& documents,
                      std::vector<std::string>& notes) {
  std::set<std::map<std::string, std::string>> known;
  for (const Launch& launch : launches) {
    if (launch.mode == "unlocked" && !launch.set.empty()) known.insert(launch.set);
  }
  std::string_view where = "as in the folder's logs";
  if (known.empty()) {
    for (const std::string& family : families_set(documents)) {
      std::map<std::string, std::string> set;
      set.emplace(kFamily, family);
      known.insert(std::move(set));
    }
    where = "as the folder's commands set it";
  }
  for (Launch& launch : launches) {
    if (launch.mode != "unlocked" || !launch.set.empty()) continue;
    const std::string name = name_of(documents, launch);
    if (known.size() != 1) {
      launch.mode = kUnstated;
      notes.push_back(fmt::format("{}: what its shim was told is not shown anywhere", name));
      continue;
    }
    launch.set = *known.begin();
    notes.push_back(
        fmt::format("{}: what its shim was told is not shown; taken for {}, {}", name, pairs_text(launch.set), where));
  }
}

suite::Arm arm_of(const Launch& launch) {
  suite::Arm arm;
  arm.name = launch.arm;
  arm.mode = launch.mode;
  arm.set = launch.set;
  arm.device = launch.device;
  return arm;
}

void name_arms(std::vector<Launch>& launches) {
  std::map<std::tuple<std::string, std::string>, std::set<std::string>> treatments;  // by runtime and mode
  for (const Launch& launch : launches) treatments[{launch.runtime, launch.mode}].insert(set_text(launch));
  for (Launch& launch : launches) {
    const bool several = treatments[{launch.runtime, launch.mode}].size() > 1 || !launch.arm_suffix.empty();
    launch.arm = safe_name(several ? launch.mode + ": " + set_text(launch) : launch.mode, launch.mode);
  }
}

void judge_treatment(Launch& launch, const std::vector<Document>& documents) {
  const std::string_view log = log_of(documents, launch);
  if (!says_mode(log)) {
    launch.doubt = "no log shows what the process was told";
    for (const auto& [name, level] : launch.set) launch.capabilities.push_back({name, level, "", "", false});
    return;
  }
  const suite::Arm arm = arm_of(launch);
  observe::TreatmentEvidence evidence;
  evidence.log = log;
  observe::TreatmentVerdict verdict = observe::check_treatment(arm, evidence);
  launch.treatment = verdict.treatment;
  launch.doubt = verdict.reason;
  launch.capabilities = std::move(verdict.capabilities);
  if (launch.status != "ok") return;
  std::vector<schema::ResultRecord> results;
  for (const ImportedRow& row : launch.rows) results.push_back(row.result);
  // A table prints no device.
  const std::string missing = launch.cpu.empty() ? "" : observe::missing_device(arm, results, log);
  if (launch.treatment == "invalid") {
    launch.status = "invalid_treatment";
    launch.reason = launch.doubt;
  } else if (!missing.empty()) {
    launch.status = "no_device";
    launch.reason = missing;
  }
}

void exclude_superseded(std::vector<Launch>& launches, const std::vector<Document>& documents) {
  std::map<std::tuple<std::string, std::string, std::string, std::string>, std::vector<Launch*>> groups;
  for (Launch& launch : launches) {
    if (launch.results == kNone || !launch.excluded.empty()) continue;
    groups[{launch.runtime, launch.arm, launch.model, launch.workload_name}].push_back(&launch);
  }
  for (const auto& [place, members] : groups) {
    const auto is_final = [&](const Launch* launch) { return names_word(documents, *launch, "final"); };
    const auto final = std::find_if(members.begin(), members.end(), is_final);
    if (final == members.end()) continue;
    for (Launch* launch : members) {
      if (is_final(launch)) continue;
      launch->excluded.push_back(fmt::format("superseded by {}, which is marked final", name_of(documents, **final)));
    }
  }
}

std::string chip_of(const std::string& cpu_info) {
  constexpr std::string_view kLibrary = "Accelerate, ";
  constexpr std::string_view kVirtual = " (Virtual)";
  std::string_view chip = cpu_info;
  if (chip.starts_with(kLibrary)) chip.remove_prefix(kLibrary.size());
  if (chip.ends_with(kVirtual)) chip.remove_suffix(kVirtual.size());
  return std::string(chip);
}

}  // namespace capbench::imports::evidence
