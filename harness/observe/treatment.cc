#include "harness/observe/treatment.h"

#include <fmt/format.h>

#include <algorithm>

#include "harness/observe/ggml_log.h"
#include "shim/common/evidence.h"

namespace capbench::observe {
namespace {

constexpr std::string_view kCpuIsa = "cpu.isa";

std::string level_of(const std::map<std::string, std::string>& settings) {
  const auto it = settings.find(std::string(kCpuIsa));
  return it != settings.end() ? it->second : "";
}

// What the process is told in the end: the shim speaks above the stand-in guest.
std::string requested_level(const suite::Arm& arm) {
  std::string level = level_of(arm.set);
  return level.empty() ? level_of(arm.guest) : level;
}

std::uint32_t mask_of(const std::vector<std::string>& variants) {
  std::uint32_t mask = 0;
  for (const std::string& variant : variants) {
    const std::size_t index = shim::cpu::find_variant(variant);
    if (index < shim::cpu::kVariantCount) mask |= 1U << index;
  }
  return mask;
}

std::string observed_variant(std::string_view log) {
  std::string variant;
  for (const LoadedBackend& backend : loaded_backends(log)) {
    if (backend.name == "CPU") variant = cpu_variant(backend.path);
  }
  return variant;
}

// The published shims announce themselves like this; see the facts on VM images that inject one by default.
bool has_foreign_banner(std::string_view log) {
  return log.find("[LumeMetalCapabilities]") != std::string_view::npos ||
         log.find("[TartMetalCapabilities]") != std::string_view::npos;
}

bool is_shim_file(const std::string& path) {
  const std::string_view name = std::string_view(path).substr(path.find_last_of('/') + 1);
  return name.find("capshim") != std::string_view::npos || name.find("MetalCapabilities") != std::string_view::npos;
}

bool any_role(const std::vector<shim::Banner>& banners, std::string_view role) {
  return std::any_of(banners.begin(), banners.end(), [&](const shim::Banner& b) { return b.has_role(role); });
}

// What contradicts the arm, whatever it asked for; empty if nothing does.
std::string contradiction(const suite::Arm& arm, const TreatmentEvidence& evidence, const shim::BannerScan& scan) {
  const bool wants_shim = !arm.set.empty();
  const bool wants_guest = !arm.guest.empty();
  if (!wants_shim && has_foreign_banner(evidence.log))
    return "a foreign shim is active in this process; try: an image without one";
  const bool mapped = std::any_of(evidence.mapped_files.begin(), evidence.mapped_files.end(),
                                  [](const auto& f) { return is_shim_file(f); });
  if (!wants_shim && !wants_guest && (mapped || !scan.banners.empty())) {
    return "a shim is loaded in an arm that asks for none; try: see what injects it (LD_PRELOAD, /etc/ld.so.preload)";
  }
  if (!wants_shim && any_role(scan.banners, "shim"))
    return "a shim is active in an arm without `set`; try: see what injects it";
  if (!wants_guest && any_role(scan.banners, "guest")) return "a stand-in guest is active in an arm without `guest`";
  if (!scan.malformed.empty()) return "the shim's banner cannot be read: " + scan.malformed.front().cause;
  if (wants_shim && !any_role(scan.banners, "shim")) {
    return "the shim did not load: no banner in the shim's role; try: check the shim's path and architecture";
  }
  if (wants_guest && !any_role(scan.banners, "guest")) {
    return "the stand-in guest did not load: no banner in its role; try: check the shim's path and architecture";
  }
  for (const shim::Banner& banner : scan.banners) {
    if (!banner.error.empty()) return "the shim refused its settings: " + banner.error;
  }
  return "";
}

}  // namespace

TreatmentVerdict check_treatment(const suite::Arm& arm, const TreatmentEvidence& evidence) {
  TreatmentVerdict verdict;
  const shim::BannerScan scan = shim::scan_banners(evidence.log);
  const std::string requested = requested_level(arm);
  const std::string observed = observed_variant(evidence.log);
  const std::string expected(shim::cpu::expected_variant(requested.empty() ? shim::cpu::kBest : requested,
                                                         evidence.hardware_features, mask_of(evidence.cpu_variants)));
  const bool agrees = !observed.empty() && observed == expected;
  if (!observed.empty() || !requested.empty()) {
    verdict.capabilities.push_back({std::string(kCpuIsa), requested, observed, "ggml log", agrees});
  }
  for (const shim::Banner& banner : scan.banners) {
    for (const auto& [name, answer] : banner.capabilities) {
      const auto set = arm.set.find(name);
      const auto guest = arm.guest.find(name);
      const std::string asked = set != arm.set.end() ? set->second : guest != arm.guest.end() ? guest->second : "";
      verdict.capabilities.push_back(
          {name, asked, answer.reported, "shim banner", name != kCpuIsa || answer.reported == expected});
    }
  }

  verdict.treatment = "invalid";
  verdict.reason = contradiction(arm, evidence, scan);
  if (!verdict.reason.empty()) return verdict;
  if (!requested.empty() && !observed.empty() && !agrees) {
    verdict.reason =
        fmt::format("cpu.isa: asked for {}, which is {} here, but ggml loaded {}; try: `capbench probe cpu`", requested,
                    expected.empty() ? "no library that is there" : expected, observed);
    return verdict;
  }
  verdict.treatment = "unproven";
  if (observed.empty() && !requested.empty()) {
    verdict.reason = "ggml named no CPU library: a build with its backends linked in has just one";
    return verdict;
  }
  if (observed.empty() && evidence.mapped_files.empty()) {
    verdict.reason = "nothing shows what was loaded";
    return verdict;
  }
  if (!observed.empty() && !agrees) {
    verdict.reason = fmt::format("ggml loaded {}, not the {} that this machine would get", observed, expected);
    return verdict;
  }
  verdict.treatment = "proven";
  return verdict;
}

}  // namespace capbench::observe
