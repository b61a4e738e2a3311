#include "harness/runtime/runtime.h"

#include <algorithm>
#include <utility>

#include "harness/runtime/google_benchmark.h"
#include "harness/runtime/mlx_lm.h"

namespace capbench::runtime {
namespace {

constexpr std::string_view kGoogleBenchmark = "google-benchmark";
constexpr std::string_view kMlxLm = "mlx-lm";

void append(std::vector<std::string>& argv, const std::vector<std::string>& more) {
  argv.insert(argv.end(), more.begin(), more.end());
}

ParsedOutput from_google_benchmark(std::string_view output) {
  GoogleBenchmarkOutput parsed = parse_google_benchmark(output);
  ParsedOutput result{std::move(parsed.results), std::move(parsed.problem)};
  if (result.problem.empty() && !parsed.failed.empty()) {
    result.problem = parsed.failed.front().name + ": " + parsed.failed.front().reason;
  }
  return result;
}

ParsedOutput from_mlx_lm(std::string_view output) {
  MlxLmOutput parsed = parse_mlx_lm(output);
  return {std::move(parsed.results), std::move(parsed.problem)};
}

std::vector<std::string> mlx_lm_tests(const suite::Workload& workload) {
  std::vector<std::string> tests;
  for (const std::int64_t n : workload.n_prompt) {
    if (n > 0) tests.push_back(test_name(n, 0, 0));
  }
  for (const std::int64_t n : workload.n_gen) {
    if (n > 0) tests.push_back(test_name(0, n, 0));
  }
  return tests;
}

}  // namespace

std::vector<std::string> make_argv(std::string_view kind, const std::string& executable, const std::string& model_path,
                                   const suite::Workload& workload, const suite::Arm& arm) {
  if (kind == kGoogleBenchmark) {
    std::vector<std::string> argv = google_benchmark_argv(executable, workload);
    if (!workload.filter.empty()) argv.push_back("--benchmark_filter=" + workload.filter);
    append(argv, arm.args);
    return argv;
  }
  if (kind == kMlxLm) {
    // What it refuses (several lengths, a depth) the suite's reader refuses too, so there is always a command.
    auto argv = mlx_lm_argv(executable, model_path, workload);
    if (!argv) return {executable};
    append(*argv, arm.args);
    return std::move(*argv);
  }
  return llama_bench_argv(executable, model_path, workload, arm);
}

ParsedOutput parse_output(std::string_view kind, std::string_view output) {
  if (kind == kGoogleBenchmark) return from_google_benchmark(output);
  if (kind == kMlxLm) return from_mlx_lm(output);
  return parse_jsonl(output);
}

std::string check_output(std::string_view kind, const std::vector<schema::ResultRecord>& results,
                         const suite::Workload& workload) {
  if (kind != kGoogleBenchmark && kind != kMlxLm) return check_results(results, workload);
  if (results.empty()) return "no result was printed";
  for (const schema::ResultRecord& result : results) {
    if (static_cast<std::int64_t>(result.samples_ns.size()) != workload.repetitions) {
      return result.test + " has " + std::to_string(result.samples_ns.size()) + " samples instead of " +
             std::to_string(workload.repetitions);
    }
  }
  for (const std::string& test : tests_of(kind, workload)) {
    const auto is_it = [&](const schema::ResultRecord& result) { return result.test == test; };
    if (std::none_of(results.begin(), results.end(), is_it)) return "no result for " + test;
  }
  return "";
}

std::vector<std::string> tests_of(std::string_view kind, const suite::Workload& workload) {
  if (kind == kGoogleBenchmark) return {};
  if (kind == kMlxLm) return mlx_lm_tests(workload);
  return expected_tests(workload);
}

}  // namespace capbench::runtime
