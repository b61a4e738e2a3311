// What a suite's runtime is launched with and how its output is read, whichever it is. Pure, thread-safe.
#ifndef CAPBENCH_HARNESS_RUNTIME_RUNTIME_H_
#define CAPBENCH_HARNESS_RUNTIME_RUNTIME_H_

#include <string>
#include <string_view>
#include <vector>

#include "harness/runtime/llama_bench.h"
#include "harness/suite/suite.h"
#include "schema/records.h"

namespace capbench::runtime {

// The arguments for one trial. `model_path` is empty for a runtime that loads none.
std::vector<std::string> make_argv(std::string_view kind, const std::string& executable, const std::string& model_path,
                                   const suite::Workload& workload, const suite::Arm& arm);

// Whole rows, and what is wrong with the rest.
ParsedOutput parse_output(std::string_view kind, std::string_view output);

// What is wrong with the results as the results of that workload; empty if nothing is.
std::string check_output(std::string_view kind, const std::vector<schema::ResultRecord>& results,
                         const suite::Workload& workload);

// The tests that a workload must print; empty where only the program knows.
std::vector<std::string> tests_of(std::string_view kind, const suite::Workload& workload);

}  // namespace capbench::runtime

#endif  // CAPBENCH_HARNESS_RUNTIME_RUNTIME_H_
