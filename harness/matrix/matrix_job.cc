#include "harness/matrix/matrix_job.h"

#include <algorithm>

namespace capbench::matrix {

std::string job_name(const MatrixJob& job) {
  constexpr std::size_t kMost = 40;
  std::string name;
  for (const char c : job.suite_name.substr(0, kMost)) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-';
    name += plain ? c : '_';
  }
  return name.empty() ? "suite" : name;
}

std::optional<std::chrono::minutes> time_limit(const MatrixJob& job) {
  if (!job.estimate) return std::nullopt;
  const auto limit = std::chrono::ceil<std::chrono::minutes>(3 * *job.estimate);
  return std::max(limit, std::chrono::minutes(10));
}

}  // namespace capbench::matrix
