// Google Benchmark: the command line it is given and the JSON it prints. Pure.
//
// How a benchmark becomes a result: `test` is its name; a sample is the wall-clock time of one repetition (time per
// iteration x iterations), and `n_gen` counts the items that a repetition processed (SetItemsProcessed), or its
// iterations where the benchmark counts no items. So (n_prompt + n_gen) * 1e9 / ns is items per second, as tokens per
// second are elsewhere. Every repetition is brought to the iterations of the first one.
#ifndef CAPBENCH_HARNESS_RUNTIME_GOOGLE_BENCHMARK_H_
#define CAPBENCH_HARNESS_RUNTIME_GOOGLE_BENCHMARK_H_

#include <string>
#include <string_view>
#include <vector>

#include "harness/suite/suite.h"
#include "schema/records.h"

namespace capbench::runtime {

// The arguments for one trial. What to run (--benchmark_filter=...) is among the workload's own arguments.
std::vector<std::string> google_benchmark_argv(const std::string& executable, const suite::Workload& workload);

struct GoogleBenchmarkOutput {
  std::vector<schema::ResultRecord> results;       // in order of their first repetition
  std::vector<schema::StatedResultRecord> stated;  // of a program told to print aggregates only
  struct Failed {
    std::string name;
    std::string reason;
    std::string text;  // the entry
  };
  std::vector<Failed> failed;      // benchmarks that reported an error or figures that cannot be
  std::vector<std::string> notes;  // sentences about the whole: a debug build, CPU scaling
  std::string problem;             // why there are no rows, or what is wrong behind them; empty: nothing
};

// Reads --benchmark_format=json. Takes any bytes; text before the document is skipped.
GoogleBenchmarkOutput parse_google_benchmark(std::string_view output);

}  // namespace capbench::runtime

#endif  // CAPBENCH_HARNESS_RUNTIME_GOOGLE_BENCHMARK_H_
