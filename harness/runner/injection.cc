#include "harness/runner/injection.h"

#include <fmt/format.h>

#include <algorithm>

#include "harness/observe/published_shims.h"
#include "shim/common/evidence.h"
#include "shim/common/settings.h"
#include "shim/common/toggles.h"
#include "shim/vulkan/injection.h"

namespace capbench::runner {
namespace {

namespace fs = std::filesystem;
using Levels = std::map<std::string, std::string>;

bool touches(const Levels& levels, std::string_view domain) {
  return std::any_of(levels.begin(), levels.end(), [&](const auto& entry) {
    return std::string_view(entry.first).substr(0, entry.first.find('.')) == domain;
  });
}

// The domains that the arm's settings touch must have a shim here, and their levels must exist.
Result<std::set<std::string>> domains_of(const suite::Arm& arm, std::string_view os) {
  std::set<std::string> domains;
  for (const auto* settings : {&arm.guest, &arm.set}) {
    if (auto status = shim::check_settings(*settings); !status) {
      Error error = status.error();
      error.what = fmt::format("arm \"{}\": {}", arm.name, error.what);
      return error;
    }
    for (const auto& [name, value] : *settings) {
      const shim::Toggle& toggle = shim::kToggles[shim::find_toggle(name)];
      const shim::DomainInfo& domain = shim::domain_info(toggle.domain);
      const bool there_is_one = shim::has_shim(toggle.domain) || !arm.shim.empty();
      if (!there_is_one || !shim_acts_on(toggle.domain, os)) {
        return Error{
            ErrorKind::kMachine, fmt::format("arm \"{}\": {}", arm.name, name),
            fmt::format("there is no {} shim on this machine (it answers on {})", domain.name, domain.platform),
            "`capbench doctor`, or run this suite there"};
      }
      domains.emplace(domain.name);
    }
  }
  return domains;
}

Status inject_library(const char* variable, const fs::path& shim, const InjectionPlaces& places, Injection& injection) {
  auto path = places.harmless_path(shim, " :\t\n");
  if (!path) return std::move(path).error();
  injection.env[variable] = *path;
  injection.files.push_back(shim);
  return {};
}

Status inject_layer(const suite::Arm& arm, const fs::path& shim, const InjectionPlaces& places, Injection& injection) {
  namespace vulkan = shim::vulkan;
  auto folder = places.harmless_path(shim.parent_path(), ":");
  if (!folder) return std::move(folder).error();
  const vulkan::LayerRoles roles{touches(arm.guest, "vulkan"), touches(arm.set, "vulkan")};
  auto variables = vulkan::layer_environment(*folder, roles);
  if (!variables) return std::move(variables).error();
  injection.env.insert(variables->begin(), variables->end());
  injection.files.push_back(shim);
  if (roles.shim) injection.files.push_back(shim.parent_path() / vulkan::kShimManifest);
  if (roles.guest) injection.files.push_back(shim.parent_path() / vulkan::kGuestManifest);
  return {};
}

Status inject_domain(const std::string& domain, const suite::Arm& arm, const fs::path& suite_dir,
                     const InjectionPlaces& places, Injection& injection) {
  fs::path shim;
  if (arm.shim.empty()) {
    auto found = places.find_shim(domain);
    if (!found) {
      injection.problem = "the shim cannot be loaded: " + to_string(found.error());
      return {};
    }
    shim = std::move(*found);
  } else {
    // A path that leads nowhere is not refused: what the loader makes of it is for the treatment check to find.
    shim = fs::absolute(suite_dir / arm.shim).lexically_normal();
  }
  if (domain == "vulkan") return inject_layer(arm, shim, places, injection);
  if (domain != "metal") return inject_library("LD_PRELOAD", shim, places, injection);
  injection.env.merge(published_shim_variables(shim, arm.set));
  return inject_library("DYLD_INSERT_LIBRARIES", shim, places, injection);
}

}  // namespace

std::string_view this_os() {
#if defined(__APPLE__)
  return "macos";
#else
  return "linux";
#endif
}

bool shim_acts_on(shim::Domain domain, std::string_view os) {
  return (domain == shim::Domain::kMetal) == (os == "macos");
}

Result<Injection> make_injection(const suite::Arm& arm, const fs::path& suite_dir, const InjectionPlaces& places) {
  Injection injection;
  auto domains = domains_of(arm, places.os);
  if (!domains) return std::move(domains).error();
  injection.domains = std::move(*domains);
  if (!arm.shim.empty() && injection.domains.size() > 1) {
    return Error{ErrorKind::kUsage, fmt::format("arm \"{}\": shim", arm.name),
                 "one library cannot answer for several domains", "remove \"shim\", or one domain's capabilities"};
  }
  if (!arm.guest.empty()) injection.env[std::string(shim::kGuestVariable)] = shim::format_settings(arm.guest);
  if (!arm.set.empty()) injection.env[std::string(shim::kSetVariable)] = shim::format_settings(arm.set);
  for (const std::string& domain : injection.domains) {
    if (auto status = inject_domain(domain, arm, suite_dir, places, injection); !status) {
      return std::move(status).error();
    }
  }
  return injection;
}

std::map<std::string, std::string> published_shim_variables(const fs::path& shim, const Levels& set) {
  constexpr std::string_view kLume = "LUME_";
  if (!observe::is_published_shim(shim.string())) return {};
  const bool tart = shim.filename().string().starts_with("Tart");
  std::map<std::string, std::string> variables;
  for (const auto& [name, level] : set) {
    const std::size_t index = shim::find_toggle(name);
    if (index == shim::kToggleCount) continue;
    std::string variable(shim::kToggles[index].alias);
    if (!variable.starts_with(kLume)) continue;
    if (tart) variable.replace(0, kLume.size(), "TART_");
    variables.emplace(std::move(variable), level);
  }
  return variables;
}

const std::vector<std::string>& foreign_injection_variables() {
  static const std::vector<std::string> kVariables{
      "LD_PRELOAD",
      "LD_AUDIT",
      "DYLD_INSERT_LIBRARIES",
      std::string(shim::kSetVariable),
      std::string(shim::kGuestVariable),
      "VK_LAYER_PATH",
      "VK_ADD_LAYER_PATH",
      "VK_INSTANCE_LAYERS",
      "VK_LOADER_LAYERS_ENABLE",
      "LUME_METAL_APPLE_FAMILY_MAX",
      "LUME_METAL_MAX_THREADGROUP_MEMORY",
      "LUME_METAL_RECOMMENDED_WORKING_SET_SIZE",
      "TART_METAL_APPLE_FAMILY_MAX",
      "TART_METAL_MAX_THREADGROUP_MEMORY",
      "TART_METAL_RECOMMENDED_WORKING_SET_SIZE",
  };
  return kVariables;
}

}  // namespace capbench::runner
