// Token buckets: so many requests at once, and so many a second in the long run, for each client by itself.
// Thread-safe.
#ifndef CAPBENCH_REPORTS_SERVER_RATE_LIMIT_H_
#define CAPBENCH_REPORTS_SERVER_RATE_LIMIT_H_

#include <chrono>
#include <cstddef>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

namespace capbench::server {

struct Rate {
  double per_second = 0;  // 0: no limit
  double burst = 1;       // at once, at least 1
};

// Whom an address stands for: an IPv6 customer has 2^64 of them, so the first half counts.
std::string client_key(std::string_view address);

class RateLimit {
 public:
  using Clock = std::chrono::steady_clock;
  // Above `most_clients` those that have used nothing lately are forgotten, and if there are none, new ones share one
  // bucket: a flood of addresses costs no memory.
  explicit RateLimit(Rate rate, std::size_t most_clients = 10'000) : rate_(rate), most_clients_(most_clients) {}

  // Nothing: go ahead. Otherwise how long to wait.
  std::optional<std::chrono::seconds> take(std::string_view client, Clock::time_point now = Clock::now());

 private:
  struct Bucket {
    double tokens = 0;
    Clock::time_point seen;
  };
  double filled(const Bucket& bucket, Clock::time_point now) const;
  Bucket& bucket_of(std::string_view client, Clock::time_point now);

  const Rate rate_;
  const std::size_t most_clients_;
  std::mutex mutex_;
  std::unordered_map<std::string, Bucket> buckets_;
  Clock::time_point swept_;
};

}  // namespace capbench::server

#endif  // CAPBENCH_REPORTS_SERVER_RATE_LIMIT_H_
