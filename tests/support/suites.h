// Suites and stand-in programs for end-to-end tests.
#ifndef CAPBENCH_TESTS_SUPPORT_SUITES_H_
#define CAPBENCH_TESTS_SUPPORT_SUITES_H_

#include <string>

#include "tests/support/command.h"

namespace capbench::testing {

struct SuiteOptions {
  std::string executable;  // as in the suite file
  std::string model = R"("like": "tiny")";
  int trials = 2;
  int repetitions = 2;
  std::string prompt = "16";
  std::string gen = "4";
  double time_limit_s = 60;
  bool with_shim_arms = true;  // stock and unlocked beside bare-metal
  std::string more;            // further members of the workload, with a leading comma
};

// Writes suite.json into the sandbox and returns its path.
std::string write_suite(const Sandbox& sandbox, const SuiteOptions& options);

// A shell script that stands for a llama-bench which prints two proper rows (pp16, tg4, two samples each) after
// `before`, then does `after`. llama-bench itself cannot be made to fail in the ways that the tests need.
std::string stand_in_bench(const std::string& before, const std::string& after);

// The two rows alone, as shell commands that print them.
std::string print_rows();

}  // namespace capbench::testing

#endif  // CAPBENCH_TESTS_SUPPORT_SUITES_H_
