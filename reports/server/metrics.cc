#include "reports/server/metrics.h"

#include <fmt/format.h>
#include <unistd.h>

#include <fstream>
#include <iterator>

namespace capbench::server {

void Metrics::observe(std::string_view method, std::string_view route, int status, std::chrono::duration<double> took) {
  const std::lock_guard lock(mutex_);
  ++requests_[{std::string(method), std::string(route), status}];
  auto found = durations_.find(route);
  if (found == durations_.end()) found = durations_.emplace(std::string(route), Durations()).first;
  std::size_t i = 0;
  while (i < kBounds.size() && took.count() > kBounds.at(i)) ++i;
  ++found->second.counts.at(i);
  found->second.sum += took.count();
}

void Metrics::count_submission(std::string_view outcome) {
  const std::lock_guard lock(mutex_);
  ++submissions_[std::string(outcome)];
}

std::string Metrics::text() const {
  const std::lock_guard lock(mutex_);
  std::string text =
      "# HELP capbench_requests_total Requests answered, by route.\n# TYPE capbench_requests_total counter\n";
  auto out = std::back_inserter(text);
  for (const auto& [key, count] : requests_) {
    const auto& [method, route, status] = key;
    fmt::format_to(out, "capbench_requests_total{{method=\"{}\",route=\"{}\",status=\"{}\"}} {}\n", method, route,
                   status, count);
  }
  text +=
      "# HELP capbench_request_seconds Time from the whole request to its reply.\n"
      "# TYPE capbench_request_seconds histogram\n";
  for (const auto& [route, durations] : durations_) {
    std::uint64_t so_far = 0;
    for (std::size_t i = 0; i <= kBounds.size(); ++i) {
      so_far += durations.counts.at(i);
      const std::string bound = i < kBounds.size() ? fmt::format("{}", kBounds.at(i)) : "+Inf";
      fmt::format_to(out, "capbench_request_seconds_bucket{{route=\"{}\",le=\"{}\"}} {}\n", route, bound, so_far);
    }
    fmt::format_to(
        out, "capbench_request_seconds_sum{{route=\"{0}\"}} {1}\ncapbench_request_seconds_count{{route=\"{0}\"}} {2}\n",
        route, durations.sum, so_far);
  }
  text +=
      "# HELP capbench_submissions_total Bundles received, by outcome.\n# TYPE capbench_submissions_total counter\n";
  for (const auto& [outcome, count] : submissions_) {
    fmt::format_to(out, "capbench_submissions_total{{outcome=\"{}\"}} {}\n", outcome, count);
  }
  return text;
}

std::string metric(std::string_view name, std::string_view type, std::string_view help, double value) {
  return fmt::format("# HELP {0} {2}\n# TYPE {0} {1}\n{0} {3}\n", name, type, help, value);
}

std::uint64_t resident_bytes() {
  std::ifstream statm("/proc/self/statm");
  std::uint64_t size = 0;
  std::uint64_t resident = 0;
  if (!(statm >> size >> resident)) return 0;
  return resident * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
}

}  // namespace capbench::server
