#include "reports/server/rate_limit.h"

#include <arpa/inet.h>
#include <netinet/in.h>

#include <algorithm>
#include <array>
#include <cmath>

namespace capbench::server {
namespace {

constexpr std::string_view kEverybodyElse = "everybody else";
constexpr std::chrono::seconds kSweepPause{1};

}  // namespace

std::string client_key(std::string_view address) {
  in6_addr parsed{};
  const std::string text(address.substr(0, address.find('%')));
  if (text.find(':') == std::string::npos || ::inet_pton(AF_INET6, text.c_str(), &parsed) != 1) {
    return std::string(address);
  }
  if (IN6_IS_ADDR_V4MAPPED(&parsed)) return text.substr(text.rfind(':') + 1);
  std::fill(std::begin(parsed.s6_addr) + 8, std::end(parsed.s6_addr), std::uint8_t{0});
  std::array<char, INET6_ADDRSTRLEN> out{};
  return std::string(::inet_ntop(AF_INET6, &parsed, out.data(), out.size())) + "/64";
}

double RateLimit::filled(const Bucket& bucket, Clock::time_point now) const {
  const double seconds = std::chrono::duration<double>(now - bucket.seen).count();
  return std::min(rate_.burst, bucket.tokens + seconds * rate_.per_second);
}

RateLimit::Bucket& RateLimit::bucket_of(std::string_view client, Clock::time_point now) {
  const auto found = buckets_.find(std::string(client));
  if (found != buckets_.end()) return found->second;
  if (buckets_.size() >= most_clients_ && now - swept_ >= kSweepPause) {
    swept_ = now;
    std::erase_if(buckets_, [&](const auto& entry) { return filled(entry.second, now) >= rate_.burst; });
  }
  const std::string_view key = buckets_.size() >= most_clients_ ? kEverybodyElse : client;
  return buckets_.try_emplace(std::string(key), Bucket{rate_.burst, now}).first->second;
}

std::optional<std::chrono::seconds> RateLimit::take(std::string_view client, Clock::time_point now) {
  if (rate_.per_second <= 0) return std::nullopt;
  const std::lock_guard lock(mutex_);
  Bucket& bucket = bucket_of(client, now);
  bucket.tokens = filled(bucket, now);
  bucket.seen = now;
  if (bucket.tokens >= 1) {
    bucket.tokens -= 1;
    return std::nullopt;
  }
  return std::chrono::seconds(static_cast<std::int64_t>(std::ceil((1 - bucket.tokens) / rate_.per_second)));
}

}  // namespace capbench::server
