// What has been answered, as Prometheus reads it (text format 0.0.4). Thread-safe.
#ifndef CAPBENCH_REPORTS_SERVER_METRICS_H_
#define CAPBENCH_REPORTS_SERVER_METRICS_H_

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

namespace capbench::server {

class Metrics {
 public:
  // `route` is the pattern, not the path: clients cannot make new ones.
  void observe(std::string_view method, std::string_view route, int status, std::chrono::duration<double> took);
  void count_submission(std::string_view outcome);
  std::string text() const;

 private:
  static constexpr std::array<double, 10> kBounds{0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.25, 1, 5};
  struct Durations {
    std::array<std::uint64_t, kBounds.size() + 1> counts{};
    double sum = 0;
  };
  mutable std::mutex mutex_;
  std::map<std::tuple<std::string, std::string, int>, std::uint64_t> requests_;
  std::map<std::string, Durations, std::less<>> durations_;
  std::map<std::string, std::uint64_t, std::less<>> submissions_;
};

// One line with its help and type: for what others count.
std::string metric(std::string_view name, std::string_view type, std::string_view help, double value);

// Memory of this process in bytes, now; 0 where the system does not say.
std::uint64_t resident_bytes();

}  // namespace capbench::server

#endif  // CAPBENCH_REPORTS_SERVER_METRICS_H_
