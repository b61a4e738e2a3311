// llama-bench: the command line it is given and the lines it prints. Pure.
#ifndef CAPBENCH_HARNESS_RUNTIME_LLAMA_BENCH_H_
#define CAPBENCH_HARNESS_RUNTIME_LLAMA_BENCH_H_

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "harness/suite/suite.h"
#include "schema/records.h"

namespace capbench::runtime {

// The arguments for one trial. `model_path` must hold no comma: llama-bench splits its -m there.
std::vector<std::string> llama_bench_argv(const std::string& executable, const std::string& model_path,
                                          const suite::Workload& workload, const suite::Arm& arm);

// A test as llama-bench names it: "pp512", "tg128", "pp512+tg128", with " @ d4096" behind it at a depth.
std::string test_name(std::int64_t n_prompt, std::int64_t n_gen, std::int64_t n_depth);

// The tests that a workload must print, in llama-bench's order.
std::vector<std::string> expected_tests(const suite::Workload& workload);

struct ParsedOutput {
  std::vector<schema::ResultRecord> results;  // the whole rows, in order
  std::string problem;  // what is wrong with the rest; empty if nothing is. Whole rows before it are kept
};

// Reads `-o jsonl`: one JSON object per line, fields by name, unknown fields kept in `fields`, blank lines ignored.
// Takes any bytes.
ParsedOutput parse_jsonl(std::string_view output);

// What is wrong with the results as the results of that workload; empty if nothing is.
std::string check_results(const std::vector<schema::ResultRecord>& results, const suite::Workload& workload);

}  // namespace capbench::runtime

#endif  // CAPBENCH_HARNESS_RUNTIME_LLAMA_BENCH_H_
