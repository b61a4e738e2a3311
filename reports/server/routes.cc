#include "reports/server/routes.h"

#include <algorithm>
#include <optional>

namespace capbench::server {
namespace {

std::vector<std::string_view> split(std::string_view path) {
  std::vector<std::string_view> parts;
  for (;;) {
    const std::size_t slash = path.find('/');
    parts.push_back(path.substr(0, slash));
    if (slash == std::string_view::npos) return parts;
    path.remove_prefix(slash + 1);
  }
}

struct Prepared {
  const Route* route;
  std::vector<std::string_view> parts;
};

const std::vector<Prepared>& prepared() {
  static const std::vector<Prepared> kPrepared = [] {
    std::vector<Prepared> all;
    for (const Route& route : routes()) all.push_back({&route, split(route.pattern)});
    return all;
  }();
  return kPrepared;
}

std::optional<std::vector<std::string>> captures(const std::vector<std::string_view>& pattern,
                                                 const std::vector<std::string_view>& path) {
  if (pattern.size() != path.size()) return std::nullopt;
  std::vector<std::string> captured;
  for (std::size_t i = 0; i < path.size(); ++i) {
    if (!pattern[i].empty() && pattern[i].front() == '{') {
      if (path[i].empty()) return std::nullopt;
      captured.emplace_back(path[i]);
    } else if (pattern[i] != path[i]) {
      return std::nullopt;
    }
  }
  return captured;
}

}  // namespace

std::span<const Route> routes() {
  static const std::vector<Route> kRoutes{
      {"GET", "/", Resource::kPage, {}},
      {"GET", "/healthz", Resource::kHealth, {}},
      {"GET", "/metrics", Resource::kMetrics, {}},
      {"GET", "/api/v1/openapi.json", Resource::kOpenApi, {}},
      {"POST", "/api/v1/submissions", Resource::kSubmit, {"upload"}, true},
      {"GET", "/api/v1/submissions/{id}", Resource::kSubmission, {}},
      {"DELETE", "/api/v1/submissions/{id}", Resource::kWithdraw, {"why"}, true},
      {"GET", "/api/v1/submissions/{id}/bundle", Resource::kArchive, {}},
      {"PUT", "/api/v1/uploads/{id}", Resource::kPutPart, {}, true},
      {"HEAD", "/api/v1/uploads/{id}", Resource::kUpload, {}},
      {"GET", "/api/v1/suites", Resource::kSuites, {"limit", "cursor", "name"}},
      {"GET", "/api/v1/suites/{id}", Resource::kSuite, {}},
      {"GET", "/api/v1/machines", Resource::kMachines, {"limit", "cursor"}},
      {"GET", "/api/v1/environments/{id}", Resource::kEnvironment, {}},
      {"GET",
       "/api/v1/trials",
       Resource::kTrials,
       {"limit", "cursor", "suite", "run", "machine", "environment", "bundle", "mode", "model", "status"}},
      {"GET", "/api/v1/trials/{id}", Resource::kTrial, {}},
      {"GET", "/api/v1/raw/{sha256}", Resource::kRaw, {}},
      {"GET", "/api/v1/reports/{kind}", Resource::kReport, {"suite", "format"}},
      {"GET", "/api/v1/bundles", Resource::kBundles, {"limit", "cursor", "signer", "tier", "withdrawn"}},
      // Last: everything above is none of these.
      {"GET", "/{page}", Resource::kPage, {}},
      {"GET", "/{folder}/{page}", Resource::kPage, {}},
  };
  return kRoutes;
}

Matched match(std::string_view method, std::string_view path) {
  Matched found;
  const std::vector<std::string_view> parts = split(path);
  const Route* as_get = nullptr;
  std::vector<std::string> get_captured;
  for (const Prepared& candidate : prepared()) {
    std::optional<std::vector<std::string>> captured = captures(candidate.parts, parts);
    if (!captured) continue;
    const std::string_view offered = candidate.route->method;
    if (offered == method) return {candidate.route, std::move(*captured), {}};
    if (offered == "GET" && method == "HEAD" && as_get == nullptr) {
      as_get = candidate.route;
      get_captured = std::move(*captured);
    }
    if (std::find(found.allowed.begin(), found.allowed.end(), offered) != found.allowed.end()) continue;
    found.allowed.push_back(offered);
    if (offered == "GET") found.allowed.emplace_back("HEAD");
  }
  if (as_get != nullptr) return {as_get, std::move(get_captured), {}};
  return found;
}

}  // namespace capbench::server
