// Modes: what an arm calls itself, against what was put into its processes.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <optional>

#include "harness/observe/published_shims.h"
#include "harness/runner/injection.h"
#include "harness/suite/machine.h"
#include "harness/verify/checks.h"
#include "harness/verify/same_text.h"
#include "shim/common/evidence.h"
#include "shim/common/settings.h"

namespace capbench::verify {
namespace {

using Variables = std::map<std::string, std::string>;

constexpr std::string_view kBareMetal = "bare-metal";
constexpr std::string_view kStock = "stock";
constexpr std::string_view kUnlocked = "unlocked";

struct Misfit {
  std::string field;  // empty: none
  std::string detail;
};

// Where an expected value holds a path that this machine cannot know.
constexpr std::string_view kSomewhere = "/<somewhere>";

Variables recorded_variables(const schema::TrialRecord& trial) {
  Variables variables;
  for (const std::string& entry : trial.environment_set) {
    const std::size_t equals = entry.find('=');
    variables.emplace(entry.substr(0, equals), equals == std::string::npos ? "" : entry.substr(equals + 1));
  }
  return variables;
}

// What the arm's processes are given, as the runner makes it; nothing where that cannot be said here.
std::optional<Variables> expected_variables(const TrialEntry& trial) {
  suite::Arm arm = *trial.arm;
  runner::InjectionPlaces places;
  places.os = trial.facts != nullptr && trial.facts->is_macos ? "macos" : "linux";
  places.find_shim = [](std::string_view domain) -> Result<std::filesystem::path> {
    return std::filesystem::path(std::string(kSomewhere)) / std::string(domain);
  };
  places.harmless_path = [](const std::filesystem::path&, std::string_view) -> Result<std::string> {
    return std::string(kSomewhere);
  };
  auto injection = runner::make_injection(arm, "/", places);
  if (!injection) return std::nullopt;
  Variables variables = std::move(injection->env);
  for (const auto& [name, value] : arm.env) variables[name] = value;
  return variables;
}

Misfit variables_misfit(const TrialEntry& trial) {
  const auto expected = expected_variables(trial);
  if (!expected) return {};
  const Variables recorded = recorded_variables(*trial.record);
  for (const auto& [name, value] : *expected) {
    const auto found = recorded.find(name);
    if (found == recorded.end()) return {"environment_set", fmt::format("{} is not set, which the arm asks for", name)};
    if (value.find(kSomewhere) != std::string::npos || same_text(found->second, value)) continue;
    return {"environment_set",
            fmt::format("{} is \"{:.60}\", the arm asks for \"{:.60}\"", name, found->second, value)};
  }
  for (const auto& [name, value] : recorded) {
    if (!expected->contains(name)) {
      return {"environment_set", fmt::format("{:.60} is set, which the arm does not ask for", name)};
    }
  }
  return {};
}

// A shim of ours in its unlocking role, or a published one, whatever the arm says.
std::string shim_line(std::string_view log) {
  for (const shim::Banner& banner : shim::scan_banners(log).banners) {
    if (banner.has_role("shim")) return fmt::format("the {} shim's banner", banner.domain);
  }
  for (const observe::PublishedBanner& banner : observe::published_banners(log)) {
    if (banner.enabled) return fmt::format("the banner of {}", banner.shim);
  }
  return "";
}

bool sets_shim_variable(const schema::TrialRecord& trial, std::string& name) {
  for (const auto& [variable, value] : recorded_variables(trial)) {
    if (variable == shim::kSetVariable || variable.starts_with("LUME_METAL_") || variable.starts_with("TART_METAL_")) {
      name = variable;
      return true;
    }
  }
  return false;
}

// Nothing unlocks: neither by the arm, nor by its variables, nor by its files, nor by what its process printed.
Misfit unlocks(const TrialEntry& trial) {
  const schema::TrialRecord& record = *trial.record;
  if (!trial.arm->set.empty()) return {"arm", "the suite's arm of this mode has a shim (\"set\")"};
  if (std::string name; sets_shim_variable(record, name)) {
    return {"environment_set", fmt::format("{} is set, in a mode without a shim", name)};
  }
  if (trial.closure != nullptr) {
    for (const schema::ClosureMember& member : trial.closure->members) {
      const bool foreign = observe::is_published_shim(member.artifact.name);
      const bool own = member.role == kShimRole || observe::is_own_shim(member.artifact.name);
      if (foreign || (own && trial.arm->guest.empty())) {
        return {"closure_id", fmt::format("{:.60} is among its files, in a mode without a shim", member.artifact.name)};
      }
    }
  }
  if (trial.err) {
    if (const std::string line = shim_line(*trial.err); !line.empty()) {
      return {"stderr_sha256", fmt::format("its stderr has {}, in a mode without a shim", line)};
    }
  }
  return {};
}

// Whether a shim is among the files; a process that never started has none.
bool lacks_shim(const TrialEntry& trial) {
  if (trial.closure == nullptr) return false;
  const auto& members = trial.closure->members;
  return std::none_of(members.begin(), members.end(), [](const schema::ClosureMember& member) {
    return member.role == kShimRole || observe::is_own_shim(member.artifact.name) ||
           observe::is_published_shim(member.artifact.name);
  });
}

Misfit misfit(const TrialEntry& trial) {
  const schema::TrialRecord& record = *trial.record;
  if (record.mode != trial.arm->mode) {
    return {"mode", fmt::format("\"{:.60}\", the suite's arm is \"{:.60}\"", record.mode, trial.arm->mode)};
  }
  if (trial.imported) return {};
  const std::string place = suite::guest_of(trial.arm->target, trial.suite->suite->targets);
  const std::string guest = trial.arm->guest.empty() ? place : "stand-in";
  if (record.guest != guest) {
    return {"guest", fmt::format("\"{:.60}\", the suite's arm has \"{:.60}\"", record.guest, guest)};
  }
  if (record.mode == kBareMetal && !record.guest.empty()) {
    return {"guest", fmt::format("\"{:.60}\" in bare-metal mode", record.guest)};
  }
  // A trial that is known to have been treated wrongly contradicts nothing by it.
  if (trial.status == "invalid_treatment" || trial.status == "not_run") return {};
  if (record.mode == kBareMetal || record.mode == kStock) {
    if (Misfit found = unlocks(trial); !found.field.empty()) return found;
  }
  // (That its arm has one the suite's reader has seen to.) The files of another machine are named as far as it lets.
  if (record.mode == kUnlocked && record.target == "local" && trial.counts() && lacks_shim(trial)) {
    return {"closure_id", "no shim is among its files"};
  }
  return variables_misfit(trial);
}

}  // namespace

void check_modes(const Index& index, Rows& rows) {
  for (const TrialEntry& trial : index.trials()) {
    if (trial.arm == nullptr) {
      rows.skipped(trial.member, "its arm is not of a suite");
      continue;
    }
    if (Misfit found = misfit(trial); found.field.empty()) {
      rows.passed();
    } else {
      rows.failed(place(trial.member, found.field), fmt::format("arm \"{:.60}\": {}", trial.record->arm, found.detail));
    }
  }
}

}  // namespace capbench::verify
