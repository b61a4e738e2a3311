#include "harness/observe/treatment.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <iterator>
#include <map>
#include <set>

#include "harness/observe/log_lines.h"
#include "harness/observe/observation.h"
#include "harness/observe/published_shims.h"
#include "harness/observe/variables.h"
#include "shim/common/evidence.h"

namespace capbench::observe {
namespace {

constexpr std::string_view kCpuIsa = "cpu.isa";
constexpr std::string_view kMetal = "metal";

using Levels = std::map<std::string, std::string>;

std::string domain_of(std::string_view capability) {
  return std::string(capability.substr(0, capability.find('.')));
}

std::set<std::string> domains_of(const Levels& levels) {
  std::set<std::string> domains;
  for (const auto& [name, level] : levels) domains.insert(domain_of(name));
  return domains;
}

// What the process is told in the end: the shim speaks above the stand-in guest.
Levels requested_levels(const suite::Arm& arm) {
  Levels levels = arm.guest;
  for (const auto& [name, level] : arm.set) levels[name] = level;
  return levels;
}

std::uint32_t mask_of(const std::vector<std::string>& variants) {
  std::uint32_t mask = 0;
  for (const std::string& variant : variants) {
    const std::size_t index = shim::cpu::find_variant(variant);
    if (index < shim::cpu::kVariantCount) mask |= 1U << index;
  }
  return mask;
}

// Where CPUID itself is masked the shim raises what it has seen run; its banner names those features.
shim::cpu::FeatureSet executed_features(const std::vector<shim::Banner>& banners) {
  shim::cpu::FeatureSet features = 0;
  for (const shim::Banner& banner : banners) {
    const auto answer = banner.capabilities.find(std::string(kCpuIsa));
    if (answer == banner.capabilities.end()) continue;
    for (const std::string& name : answer->second.executed) {
      for (const shim::cpu::FeatureInfo& feature : shim::cpu::kFeatures) {
        if (feature.name == name) features |= feature.bit;
      }
    }
  }
  return features;
}

// The library that a level means: for ggml the best of those it could choose from, for a shim, which does not know
// them, the best there is.
std::string_view expected_variant(std::string_view level, const TreatmentEvidence& evidence, Source source) {
  return shim::cpu::expected_variant(
      level.empty() ? shim::cpu::kBest : level, evidence.hardware_features,
      source == Source::kShimBanner ? shim::cpu::kAllVariants : mask_of(evidence.cpu_variants));
}

// Whether what was seen is what that level means. An instruction-set level means the best library within it.
bool agrees(const Observation& seen, const std::string& level, const TreatmentEvidence& evidence) {
  if (seen.name == kCpuIsa) return seen.value == expected_variant(level, evidence, seen.source);
  if (seen.value == level) return true;
  if (seen.tolerance == 0) return false;
  const auto is = leading_number<std::int64_t>(seen.value);
  const auto wanted = leading_number<std::int64_t>(level);
  return is && wanted && std::abs(*is - *wanted) <= seen.tolerance;
}

bool any_role(const std::vector<shim::Banner>& banners, std::string_view domain, std::string_view role) {
  return std::any_of(banners.begin(), banners.end(), [&](const shim::Banner& banner) {
    return (domain.empty() || banner.domain == domain) && banner.has_role(role);
  });
}

// What the shims say that they report. Where both roles print a line, the shim's has the last word.
std::vector<Observation> observe_banners(const std::vector<shim::Banner>& banners) {
  std::vector<Observation> seen;
  for (const shim::Banner& banner : banners) {
    if (!banner.has_role("shim") && any_role(banners, banner.domain, "shim")) continue;
    for (const auto& [name, answer] : banner.capabilities) {
      if (!answer.reported.empty()) seen.push_back({name, answer.reported, Source::kShimBanner, 0});
    }
  }
  return seen;
}

// All that was seen, by strength of its source.
std::vector<Observation> observe_all(const suite::Arm& arm, const TreatmentEvidence& evidence,
                                     const shim::BannerScan& scan) {
  std::vector<Observation> all = observe_ggml_log(evidence.log, arm.device);
  const auto append = [&](std::vector<Observation> more) { all.insert(all.end(), more.begin(), more.end()); };
  append(observe_probe(evidence.probe, evidence.log, arm.device));
  append(observe_banners(scan.banners));
  append(observe_published_banners(evidence.log));
  return all;
}

struct Contradiction {
  std::string reason;            // empty: there is none
  bool by_what_is_there = true;  // false: something that should be there is not
};

// A shim in a process whose arm asks for none.
std::string uninvited(const suite::Arm& arm, const TreatmentEvidence& evidence, const shim::BannerScan& scan) {
  const auto& mapped = evidence.mapped_files;
  const auto published = std::find_if(mapped.begin(), mapped.end(), [](const auto& f) { return is_published_shim(f); });
  if (arm.set.empty() && (!published_banners(evidence.log).empty() || published != mapped.end())) {
    return fmt::format("a foreign shim is active in this process{}; try: an image without one, or its own switch",
                       published != mapped.end() ? " (" + *published + ")" : "");
  }
  const bool own_mapped = std::any_of(mapped.begin(), mapped.end(), [](const auto& f) { return is_own_shim(f); });
  if (arm.set.empty() && arm.guest.empty() && (own_mapped || !scan.banners.empty())) {
    return "a shim is loaded in an arm that asks for none; try: see what injects it (LD_PRELOAD, /etc/ld.so.preload, "
           "VK_INSTANCE_LAYERS)";
  }
  if (arm.set.empty() && any_role(scan.banners, "", "shim")) {
    return "a shim is active in an arm without `set`; try: see what injects it";
  }
  if (arm.guest.empty() && any_role(scan.banners, "", "guest")) {
    return "a stand-in guest is active in an arm without `guest`";
  }
  return "";
}

// A domain that the arm touches and whose shim is not in the process.
std::string not_loaded(const suite::Arm& arm, const shim::BannerScan& scan,
                       const std::vector<PublishedBanner>& published) {
  const bool stands_in = std::any_of(published.begin(), published.end(), [](const auto& b) { return b.enabled; });
  for (const std::string& domain : domains_of(arm.set)) {
    if (any_role(scan.banners, domain, "shim") || (domain == kMetal && stands_in)) continue;
    return fmt::format("the {} shim did not load: no banner in the shim's role; try: check its path and architecture",
                       domain);
  }
  for (const std::string& domain : domains_of(arm.guest)) {
    if (any_role(scan.banners, domain, "guest")) continue;
    return fmt::format(
        "the {} stand-in guest did not load: no banner in its role; try: check its path and architecture", domain);
  }
  return "";
}

// What speaks against the arm, whatever levels it asked for.
Contradiction contradiction(const suite::Arm& arm, const TreatmentEvidence& evidence, const shim::BannerScan& scan) {
  if (!evidence.injection_problem.empty()) return {std::string(evidence.injection_problem)};
  if (std::string reason = uninvited(arm, evidence, scan); !reason.empty()) return {std::move(reason)};
  if (!scan.malformed.empty()) return {"the shim's banner cannot be read: " + scan.malformed.front().cause};
  for (const shim::Banner& banner : scan.banners) {
    if (!banner.error.empty()) return {"the shim refused its settings: " + banner.error};
  }
  return {not_loaded(arm, scan, published_banners(evidence.log)), false};
}

// How well one requested level is shown.
struct LevelCheck {
  enum class Outcome { kShown, kOnlyClaimed, kUnseen, kWrong } outcome = Outcome::kUnseen;
  std::string reason;
};

LevelCheck check_level(const std::string& name, const std::string& level, const std::vector<Observation>& all,
                       const TreatmentEvidence& evidence) {
  using Outcome = LevelCheck::Outcome;
  const auto first = std::find_if(all.begin(), all.end(), [&](const Observation& o) { return o.name == name; });
  if (first == all.end()) return {Outcome::kUnseen, fmt::format("nothing shows {}", name)};
  const Source source = first->source;
  for (const Observation& seen : all) {
    if (seen.name != name || seen.source != source || agrees(seen, level, evidence)) continue;
    if (name == kCpuIsa) {
      const std::string_view expected = expected_variant(level, evidence, source);
      return {Outcome::kWrong,
              fmt::format("cpu.isa: asked for {}, which is {} here, but {}; try: `capbench probe cpu`", level,
                          expected.empty() ? "no library that is there" : expected,
                          source == Source::kGgmlLog ? "ggml loaded " + seen.value : "the shim reports " + seen.value)};
    }
    return {Outcome::kWrong, fmt::format("{}: asked for {}, but the {} shows {}; try: `capbench probe {}`", name, level,
                                         source_name(source), seen.value, domain_of(name))};
  }
  if (source == Source::kGgmlLog || source == Source::kProbe) return {Outcome::kShown, ""};
  return {Outcome::kOnlyClaimed, fmt::format("only the shim's own word shows {}", name)};
}

void record(const Levels& requested, const std::vector<Observation>& all, const TreatmentEvidence& evidence,
            std::vector<schema::CapabilityRecord>& records) {
  const auto add = [&](const Observation& seen, const std::string& level) {
    const bool judged = !level.empty() || seen.name == kCpuIsa;
    records.push_back({seen.name, level, seen.value, std::string(source_name(seen.source)),
                       !judged || agrees(seen, level, evidence)});
  };
  for (const auto& [name, level] : requested) {
    bool any = false;
    for (const Observation& seen : all) {
      if (seen.name != name) continue;
      add(seen, level);
      any = true;
    }
    if (!any) records.push_back({name, level, "", "", false});
  }
  for (const Observation& seen : all) {
    if (!requested.contains(seen.name)) add(seen, "");
  }
}

// llama.cpp's own switches, and what its log no longer reports once it has read one (shim/expectations has their
// sources). That it was set at all counts, not to what.
struct Switch {
  std::string_view variable;
  std::string_view reported;
};
constexpr Switch kSwitches[] = {
    {"GGML_VK_DISABLE_F16", "vulkan.shader_float16"},
    {"GGML_VK_DISABLE_DOT2", "vulkan.mixed_float_dot_product"},
    {"GGML_VK_DISABLE_BFLOAT16", "vulkan.bfloat16"},
    {"GGML_VK_DISABLE_OCP_FP4", "vulkan.ocp_fp4"},
    {"GGML_VK_DISABLE_INTEGER_DOT_PRODUCT", "vulkan.integer_dot_product"},
    {"GGML_VK_DISABLE_COOPMAT", "vulkan.cooperative_matrix"},
    {"GGML_VK_DISABLE_COOPMAT2", "vulkan.cooperative_matrix2"},
    {"GGML_VK_DISABLE_COOPMAT2_DECODE_VECTOR", "vulkan.cooperative_matrix_decode_vector"},
    {"GGML_METAL_BF16_DISABLE", "ggml.bfloat"},
    {"GGML_METAL_TENSOR_DISABLE", "ggml.tensor"},
    {"GGML_METAL_SHARED_BUFFERS_DISABLE", "ggml.shared_buffers"},
};

// A variable that shows in nothing may have been read or not. Those that put a shim in place show in the shim.
std::string unread_variable(const std::vector<std::string>& varied, const std::vector<Observation>& all) {
  for (const std::string& name : varied) {
    if (is_injection_variable(name) || name.starts_with("VK_LAYER_") || name == "VK_ADD_LAYER_PATH") continue;
    const auto* known = std::find_if(std::begin(kSwitches), std::end(kSwitches),
                                     [&](const Switch& one) { return one.variable == name; });
    if (known == std::end(kSwitches)) return fmt::format("nothing shows that {} was read", name);
    const bool shown = std::any_of(all.begin(), all.end(), [&](const Observation& seen) {
      return seen.name == known->reported && seen.source == Source::kGgmlLog && seen.value == "off";
    });
    if (!shown)
      return fmt::format("nothing shows that {} was read: ggml's log should have {} off", name, known->reported);
  }
  return "";
}

}  // namespace

TreatmentVerdict check_treatment(const suite::Arm& arm, const TreatmentEvidence& given) {
  TreatmentVerdict verdict;
  const shim::BannerScan scan = shim::scan_banners(given.log);
  TreatmentEvidence evidence = given;
  evidence.hardware_features |= executed_features(scan.banners);
  const std::vector<Observation> all = observe_all(arm, evidence, scan);
  const Levels requested = requested_levels(arm);
  record(requested, all, evidence, verdict.capabilities);

  verdict.treatment = "invalid";
  Contradiction against = contradiction(arm, evidence, scan);
  if (!against.reason.empty()) {
    verdict.reason = std::move(against.reason);
    verdict.contradicted = against.by_what_is_there;
    return verdict;
  }
  std::string doubt;  // the first
  for (const auto& [name, level] : requested) {
    LevelCheck check = check_level(name, level, all, evidence);
    if (check.outcome == LevelCheck::Outcome::kWrong) {
      verdict.reason = std::move(check.reason);
      verdict.contradicted = true;
      return verdict;
    }
    if (doubt.empty()) doubt = std::move(check.reason);
  }
  verdict.treatment = "unproven";
  if (doubt.empty() && all.empty() && evidence.mapped_files.empty()) doubt = "nothing shows what was loaded";
  if (doubt.empty() && !requested.contains(std::string(kCpuIsa))) {
    // Nothing was asked of the CPU, so it must be whole. Libraries that the table does not know cannot be judged.
    for (const Observation& seen : all) {
      if (seen.name != kCpuIsa || seen.source != Source::kGgmlLog || agrees(seen, "", evidence)) continue;
      if (shim::cpu::find_variant(seen.value) == shim::cpu::kVariantCount) continue;
      doubt = fmt::format("ggml loaded {}, not the {} that this machine would get", seen.value,
                          expected_variant("", evidence, seen.source));
    }
  }
  if (doubt.empty()) doubt = unread_variable(given.varied_variables, all);
  if (!doubt.empty()) {
    verdict.reason = std::move(doubt);
    return verdict;
  }
  verdict.treatment = "proven";
  return verdict;
}

}  // namespace capbench::observe
