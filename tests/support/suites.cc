#include "tests/support/suites.h"

#include <fmt/format.h>

namespace capbench::testing {

std::string write_suite(const Sandbox& sandbox, const SuiteOptions& options) {
  const std::string shim_arms = options.with_shim_arms ? R"(,
    {"name": "stock", "mode": "stock", "guest": {"cpu.isa": "x64"}},
    {"name": "unlocked", "mode": "unlocked", "guest": {"cpu.isa": "x64"}, "set": {"cpu.isa": "best"}})"
                                                       : "";
  const std::string json = fmt::format(
      R"({{
  "capbench": 1,
  "name": "test suite",
  "runtime": {{"kind": "llama-bench", "executable": "{}"}},
  "models": [{{"name": "model", {}}}],
  "workloads": [{{"name": "work", "p": [{}], "n": [{}], "r": {}, "t": 1{}}}],
  "arms": [{{"name": "bare-metal", "mode": "bare-metal"}}{}],
  "protocol": {{"trials": {}, "seed": 5, "time_limit_s": {}}}
}})",
      options.executable, options.model, options.prompt, options.gen, options.repetitions, options.more, shim_arms,
      options.trials, options.time_limit_s);
  return sandbox.write("suite.json", json).string();
}

std::string print_rows() {
  return R"(printf '%s\n' '{"build_commit":"abc1234","build_number":7,"model_type":"t","n_prompt":16,"n_gen":0,"n_depth":0,"samples_ns":[2000000,4000000]}'
printf '%s\n' '{"build_commit":"abc1234","build_number":7,"model_type":"t","n_prompt":0,"n_gen":4,"n_depth":0,"samples_ns":[1000000,1000000]}'
)";
}

std::string stand_in_bench(const std::string& before, const std::string& after) {
  return "#!/bin/sh\n" + before + "\n" + print_rows() + after + "\n";
}

}  // namespace capbench::testing
