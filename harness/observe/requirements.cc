#include "harness/observe/requirements.h"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>

#include "harness/observe/text.h"
#include "harness/suite/suite.h"

namespace capbench::observe {
namespace {

using nlohmann::json;

std::string text_in(const json& facts, std::string_view name) {
  if (!facts.is_object()) return "";
  const auto it = facts.find(name);
  return it != facts.end() && it->is_string() ? it->get<std::string>() : "";
}

std::optional<double> number_in(const json& facts, std::string_view name) {
  if (!facts.is_object()) return std::nullopt;
  const auto it = facts.find(name);
  return it != facts.end() && it->is_number() ? std::optional(it->get<double>()) : std::nullopt;
}

// ">=26.1": how, and with what.
struct Comparison {
  std::string_view sign;  // "", "=", ">=", "<=", ">", "<"
  std::string_view value;
};

Comparison comparison(std::string_view text) {
  text = stripped(text);
  for (const std::string_view sign : {">=", "<=", ">", "<", "="}) {
    if (text.starts_with(sign)) return {sign, stripped(text.substr(sign.size()))};
  }
  return {"", text};
}

bool holds(std::string_view sign, int order) {
  if (sign == ">=") return order >= 0;
  if (sign == "<=") return order <= 0;
  if (sign == ">") return order > 0;
  if (sign == "<") return order < 0;
  return order == 0;
}

int order_of(double a, double b) {
  if (a == b) return 0;
  return a < b ? -1 : 1;
}

std::vector<double> version_parts(std::string_view version) {
  std::vector<double> parts;
  while (!version.empty()) {
    const std::size_t end = std::min(version.find('.'), version.size());
    const auto part = starting_number(version.substr(0, end));
    if (!part) break;
    parts.push_back(*part);
    version.remove_prefix(std::min(end + 1, version.size()));
  }
  return parts;
}

// Only as many parts count as the suite names: 26.5.2 is "26", and not ">26".
bool version_holds(const Comparison& wanted, std::string_view is) {
  const std::vector<double> a = version_parts(is);
  const std::vector<double> b = version_parts(wanted.value);
  for (std::size_t i = 0; i < b.size(); ++i) {
    if (const int order = order_of(i < a.size() ? a[i] : 0, b[i]); order != 0) return holds(wanted.sign, order);
  }
  return holds(wanted.sign, 0);
}

bool is_version(std::string_view text) {
  return !text.empty() && text.find_first_not_of("0123456789.") == std::string_view::npos && text.front() != '.';
}

// "NAME", "NAME VERSION" or "NAME >=VERSION".
struct NameAndVersion {
  std::string_view name;
  Comparison version;
};

NameAndVersion name_and_version(std::string_view text) {
  text = stripped(text);
  const std::size_t end = std::min(text.find_first_of(" <>="), text.size());
  return {text.substr(0, end), comparison(text.substr(end))};
}

struct Asked {
  const json& facts;
  const json& host;
  std::string_view wanted;
};

// What is there, for people, and whether it is as wanted; nothing: the facts do not tell.
struct Answer {
  std::string is;
  bool holds = false;
};

using Checker = std::optional<Answer> (*)(const Asked& asked);

std::optional<Answer> check_glob(const std::string& is, std::string_view wanted) {
  if (is.empty()) return std::nullopt;
  return Answer{is, suite::matches_glob(wanted, is)};
}

std::optional<Answer> check_os(const Asked& asked) {
  std::string os = text_in(asked.facts, "os");
  if (os.empty()) return std::nullopt;
  os = os == "Darwin" ? "macos" : "linux";
  const std::string version = text_in(asked.facts, "os_version");
  const NameAndVersion wanted = name_and_version(asked.wanted);
  const bool enough = wanted.version.value.empty() || (!version.empty() && version_holds(wanted.version, version));
  return Answer{version.empty() ? os : os + " " + version, wanted.name == os && enough};
}

std::optional<Answer> check_vcpu(const Asked& asked) {
  const auto cpus = number_in(asked.facts, "cpus");
  const Comparison wanted = comparison(asked.wanted);
  const auto number = to_number(wanted.value);
  if (!cpus || !number) return std::nullopt;
  return Answer{fmt::format("{:.6g}", *cpus), holds(wanted.sign, order_of(*cpus, *number))};
}

std::optional<Answer> check_memory(const Asked& asked) {
  const auto bytes = number_in(asked.facts, "memory_bytes");
  const Comparison wanted = comparison(asked.wanted);
  const auto number = to_number(wanted.value);
  if (!bytes || !number) return std::nullopt;
  constexpr double kGibibyte = 1024.0 * 1024 * 1024;
  constexpr double kKept = 0.06;
  const double is = *bytes / kGibibyte;
  const bool near = std::fabs(is - *number) <= kKept * *number;
  const bool strict = wanted.sign == ">" || wanted.sign == "<";
  return Answer{fmt::format("{:.4g}", is), (near && !strict) || (!near && holds(wanted.sign, order_of(is, *number)))};
}

std::optional<Answer> check_gpu(const Asked& asked) {
  if (!asked.facts.is_object()) return std::nullopt;
  std::string names;
  bool found = false;
  if (const auto gpus = asked.facts.find("gpus"); gpus != asked.facts.end() && gpus->is_array()) {
    for (const json& gpu : *gpus) {
      const std::string name = text_in(gpu, "name");
      if (name.empty()) continue;
      names += (names.empty() ? "" : ", ") + name;
      found = found || suite::matches_glob(asked.wanted, name);
    }
  }
  if (asked.wanted == "none") return Answer{names.empty() ? "none" : names, names.empty()};
  return Answer{names.empty() ? "none" : names, found};
}

std::optional<Answer> check_guest(const Asked& asked) {
  if (!asked.facts.is_object()) return std::nullopt;
  const auto it = asked.facts.find("guest");
  if (it == asked.facts.end() || !it->is_boolean()) return std::nullopt;
  const std::string is = it->get<bool>() ? "true" : "false";
  return Answer{is, is == asked.wanted};
}

std::optional<Answer> check_preference(const Asked& asked) {
  const std::string is = text_in(asked.host, "host_preference");
  if (is.empty()) return std::nullopt;
  return Answer{is, is == asked.wanted || (is == "unset" && asked.wanted == "off")};
}

std::optional<Answer> check_frontend(const Asked& asked) {
  if (!asked.host.is_object()) return std::nullopt;
  const NameAndVersion wanted = name_and_version(asked.wanted);
  const auto frontends = asked.host.find("frontends");
  const std::string version = frontends == asked.host.end() ? "" : text_in(*frontends, wanted.name);
  if (version.empty()) return Answer{"no " + std::string(wanted.name), false};
  return Answer{std::string(wanted.name) + " " + version,
                wanted.version.value.empty() || version_holds(wanted.version, version)};
}

std::optional<Answer> check_injected(const Asked& asked) {
  if (!asked.facts.is_object()) return std::nullopt;
  for (const char* name : {"installed_shims", "launchd_variables", "agent_variables", "ld_so_preload"}) {
    if (asked.facts.contains(name)) return Answer{asked.facts[name].dump(), false};
  }
  return Answer{"none", true};
}

struct Requirement {
  std::string_view name;
  std::string_view form;  // what its value must look like; empty: any text
  bool (*fits)(std::string_view value);
  Checker check;
  std::string_view remedy;
};

bool any_text(std::string_view value) {
  return !value.empty();
}
bool one_number(std::string_view value) {
  return to_number(comparison(value).value).value_or(-1) > 0;
}
bool os_form(std::string_view value) {
  const NameAndVersion parts = name_and_version(value);
  return (parts.name == "linux" || parts.name == "macos") &&
         (is_version(parts.version.value) || (parts.version.value.empty() && parts.version.sign.empty()));
}
bool frontend_form(std::string_view value) {
  const NameAndVersion parts = name_and_version(value);
  return !parts.name.empty() &&
         (is_version(parts.version.value) || (parts.version.value.empty() && parts.version.sign.empty()));
}
bool truth(std::string_view value) {
  return value == "true" || value == "false";
}
bool on_off(std::string_view value) {
  return value == "on" || value == "off";
}
bool sip_form(std::string_view value) {
  return value == "enabled" || value == "disabled" || value == "custom";
}
bool none_form(std::string_view value) {
  return value == "none";
}

constexpr std::string_view kAnotherTarget = "name another target, or correct the suite's `require`";

constexpr std::array<Requirement, 13> kRequirements{{
    {"os", "\"linux\" or \"macos\", with a version if it matters: \"macos >=26\"", os_form, check_os, kAnotherTarget},
    {"os_build", "a build", any_text, [](const Asked& a) { return check_glob(text_in(a.facts, "os_build"), a.wanted); },
     kAnotherTarget},
    {"kernel", "a glob", any_text, [](const Asked& a) { return check_glob(text_in(a.facts, "kernel"), a.wanted); },
     kAnotherTarget},
    {"vcpu", "a number, \">=N\" or \"<=N\"", one_number, check_vcpu, "give the virtual machine that many CPUs"},
    {"memory_gib", "a number, \">=N\" or \"<=N\"", one_number, check_memory,
     "give the virtual machine that much memory"},
    {"chip", "a glob", any_text, [](const Asked& a) { return check_glob(text_in(a.facts, "cpu"), a.wanted); },
     kAnotherTarget},
    {"gpu", "a glob, or \"none\"", any_text, check_gpu, kAnotherTarget},
    {"guest", "\"true\" or \"false\"", truth, check_guest, kAnotherTarget},
    {"hypervisor", "a glob", any_text,
     [](const Asked& a) { return check_glob(text_in(a.facts, "hypervisor"), a.wanted); }, kAnotherTarget},
    {"sip", "\"enabled\", \"disabled\" or \"custom\"", sip_form,
     [](const Asked& a) { return check_glob(text_in(a.facts, "sip"), a.wanted); },
     "use `csrutil` in the target's recovery system"},
    {"host_preference", "\"on\" or \"off\"", on_off, check_preference,
     "on the host: `defaults write com.apple.gpusw.ParavirtualizedGraphics ForceUnrestrictedDeviceFeatureLevel -bool "
     "true` (or `defaults delete` with the same names), then restart the virtual machine"},
    {"frontend", "a name, with a version if it matters: \"lume >=0.5\"", frontend_form, check_frontend,
     "install that version on the host"},
    {"injected", "\"none\"", none_form, check_injected, "use an image without a shim, or switch it off there"},
}};

std::string_view bare(std::string_view key) {
  constexpr std::string_view kPrefix = "require.";
  return key.starts_with(kPrefix) ? key.substr(kPrefix.size()) : key;
}

const Requirement* find(std::string_view key) {
  for (const Requirement& requirement : kRequirements) {
    if (requirement.name == bare(key)) return &requirement;
  }
  return nullptr;
}

std::string all_names() {
  std::string names;
  for (const Requirement& requirement : kRequirements) {
    names.append(names.empty() ? "" : ", ").append(requirement.name);
  }
  return names;
}

}  // namespace

Status check_requirement_names(const std::map<std::string, std::string>& required) {
  for (const auto& [key, value] : required) {
    const Requirement* requirement = find(key);
    if (requirement == nullptr) {
      return Error{ErrorKind::kUsage, std::string(key), "nothing that a suite can require",
                   "use one of: " + all_names()};
    }
    if (!requirement->fits(value)) {
      return Error{ErrorKind::kUsage, std::string(key), fmt::format("\"{}\" does not fit", value),
                   fmt::format("write {}", requirement->form)};
    }
  }
  return {};
}

std::vector<RequirementFinding> check_requirements(const std::map<std::string, std::string>& required,
                                                   const json& facts, const json& host_facts) {
  std::vector<RequirementFinding> findings;
  for (const auto& [key, wanted] : required) {
    const std::string name(bare(key));
    const Requirement* requirement = find(key);
    if (requirement == nullptr || !requirement->fits(wanted)) {
      const Status status = check_requirement_names({{key, wanted}});
      findings.push_back({name, wanted, "unknown", status.error().cause, status.error().remedy, false});
      continue;
    }
    const std::optional<Answer> answer = requirement->check({facts, host_facts, wanted});
    if (!answer) {
      findings.push_back({name, wanted, "unknown",
                          fmt::format("the suite requires {} {}, and nothing tells it", name, wanted),
                          "see the target with `capbench doctor`", false});
    } else if (!answer->holds) {
      findings.push_back({name, wanted, answer->is,
                          fmt::format("the suite requires {} {}, and there it is {}", name, wanted, answer->is),
                          std::string(requirement->remedy)});
    }
  }
  return findings;
}

}  // namespace capbench::observe
