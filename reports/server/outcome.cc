#include "reports/server/outcome.h"

#include <zstd.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

namespace capbench::server {
namespace {

using nlohmann::json;

constexpr std::size_t kMostFailuresTold = 20;

}  // namespace

json checks_of(const std::string& verdict) {
  json parsed = json::parse(verdict, nullptr, false);
  if (!parsed.is_object() || !parsed.contains("checks")) return json::array();
  return std::move(parsed["checks"]);
}

json error_json(const Error& error) {
  return {{"name", error.what}, {"cause", error.cause}, {"remedy", error.remedy}};
}

std::string outcome_json(const Decision& decision) {
  const json whole{
      {"status", decision.status}, {"error", error_json(decision.error)}, {"checks", checks_of(decision.verdict)}};
  return whole.dump(-1, ' ', false, json::error_handler_t::replace);
}

Error failed_checks(std::string_view id, const Judgement& judgement) {
  std::string cause;
  for (std::size_t i = 0; i < judgement.failures.size() && i < kMostFailuresTold; ++i) {
    cause += (i == 0 ? "" : "; ") + judgement.failures[i];
  }
  if (judgement.failures.size() > kMostFailuresTold) cause += "; and more";
  return {ErrorKind::kFinding, "bundle " + std::string(id.substr(0, 12)), "does not prove itself: " + cause,
          "`capbench verify FILE` shows every check; make the bundle again from the store"};
}

Error was_withdrawn(std::string_view id) {
  return {ErrorKind::kUsage, "bundle " + std::string(id), "was withdrawn", "measure anew and submit that"};
}

std::uint64_t opening_cost(std::string_view archive, const bundle::Limits& limits) {
  const unsigned long long stated = ZSTD_getFrameContentSize(archive.data(), archive.size());
  const bool is_known = stated != ZSTD_CONTENTSIZE_UNKNOWN && stated != ZSTD_CONTENTSIZE_ERROR;
  const std::uint64_t unpacked = is_known ? std::min<std::uint64_t>(stated, limits.unpacked_bytes) : 0;
  return 3 * unpacked + (64U << 10U);
}

}  // namespace capbench::server
