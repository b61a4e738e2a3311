// From how a job went to the trial's status. Pure.
#ifndef CAPBENCH_HARNESS_RUNNER_JUDGE_H_
#define CAPBENCH_HARNESS_RUNNER_JUDGE_H_

#include <string>
#include <string_view>
#include <vector>

#include "harness/observe/treatment.h"
#include "harness/runtime/llama_bench.h"
#include "harness/suite/suite.h"
#include "harness/target/job.h"
#include "schema/records.h"

namespace capbench::runner {

// What a judgement needs to know besides the job.
struct JudgeContext {
  std::string_view runtime;  // its kind
  const suite::Workload& workload;
  const suite::Arm& arm;
  std::vector<std::string> cpu_variants;
  shim::cpu::FeatureSet hardware_features;
  std::string_view probe = {};                     // what `capbench probe` printed in the arm's environment
  std::string_view injection_problem = {};         // why the shim could not be put in place
  std::vector<std::string> varied_variables = {};  // of the arm's environment, those that are its treatment
};

// Fills in status, reason, treatment, results, capabilities, timing and the exit of `trial` from the job's end and
// output. Whole rows that were measured before a failure are kept in `results`.
void judge(const target::JobResult& job, const JudgeContext& context, double limit_s, schema::TrialRecord& trial);
// The same with the job's output read already.
void judge(const target::JobResult& job, runtime::ParsedOutput parsed, const JudgeContext& context, double limit_s,
           schema::TrialRecord& trial);

}  // namespace capbench::runner

#endif  // CAPBENCH_HARNESS_RUNNER_JUDGE_H_
