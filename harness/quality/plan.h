// The quality gate: does an arm still compute the right thing? What to run, once per arm. Pure.
//
// The reference arm (the bare-metal one) runs base_job() and leaves a file with its probabilities over a fixed text.
// Then every arm, the reference too, runs arm_jobs() under its own treatment: the same text through the kernels for
// prompts and again, token by token, through those for generation (which a prompt never calls), each compared with the
// base file; and, if asked for, single operators against the CPU. verdict.h judges what came out.
//
// Arms and workloads with the same commands and the same injected environment need one check only.
#ifndef CAPBENCH_HARNESS_QUALITY_PLAN_H_
#define CAPBENCH_HARNESS_QUALITY_PLAN_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "harness/quality/text.h"
#include "harness/runtime/perplexity.h"
#include "harness/runtime/test_backend_ops.h"

namespace capbench::models {
struct Gguf;
}

namespace capbench::quality {

// What a suite states. Defaults: tried on planted twins over CPU variants and llvmpipe; harmless differences stay below
// half of them, broken kernels above.
struct Settings {
  std::string text = "builtin";        // else a file, whose bytes the caller reads
  double max_mean_kl = 0.02;           // nats per position
  double max_kl = 0.1;                 // at any one position
  std::int64_t chunks = 4;             // of the text
  std::int64_t ctx = 128;              // tokens of each
  std::vector<std::string> operators;  // for test-backend-ops: ggml's names, or "model" for those a model uses

  friend bool operator==(const Settings&, const Settings&) = default;
};

// What a check needs to know of a model file.
struct ModelFacts {
  std::string twin_fill;         // "planted", "pattern"; empty for a real model
  std::uint64_t vocabulary = 0;  // tokens; 0: it has none
  std::uint64_t context = 0;     // tokens; 0: unknown
  bool experts = false;          // a mixture of experts
  runtime::OperatorNeeds needs;
};
ModelFacts facts_of(const models::Gguf& gguf);

struct Plan {
  Settings settings;
  ModelFacts model;
  Text text;
  std::string impossible;  // why this model cannot be judged at all; its arms are `unchecked`. Empty: it can
};

// `own_text`: the bytes of the file that the settings name. Errors (kUsage) are of the settings: too few positions, a
// text too short, limits that are no limits.
Result<Plan> make_plan(const Settings& settings, const ModelFacts& model,
                       const std::optional<std::string>& own_text = std::nullopt);

// Paths on the target where a job runs. The programs lie beside llama-bench, of the same build.
struct Places {
  std::string llama_perplexity;
  std::string test_backend_ops;
  std::string model;
  std::string text;  // a file with the bytes of Plan::text
  std::string base;  // made by base_job(), needed by arm_jobs()
};

enum class Step { kBase, kPrompt, kDecode, kOperators };
std::string_view step_name(Step step);  // "base", "prompt", "decode", "operators"

struct Job {
  Step step = Step::kBase;
  std::vector<std::string> argv;
  std::string reads;   // the file to bring first: the text, or the base; empty: none
  std::string writes;  // the file to fetch afterwards: the base; empty: none
};

// What an arm's workload measures, and so which kernels must be right.
struct Scope {
  bool prompt = true;
  bool decode = true;
};

// Bytes of the base file, for a disk or a transfer to be judged beforehand.
std::uint64_t base_size(const Plan& plan);

// Errors (kUsage): an argument of the arm that llama-perplexity cannot take; operators asked for without a device.
Result<Job> base_job(const Plan& plan, const Places& places, const runtime::PerplexityTreatment& reference);
Result<std::vector<Job>> arm_jobs(const Plan& plan, const Places& places, const runtime::PerplexityTreatment& arm,
                                  const Scope& scope);

// The device whose operators are tried, as ggml names it; empty if the arm leaves the choice to llama.cpp.
std::string operator_device(const runtime::PerplexityTreatment& arm);

}  // namespace capbench::quality

#endif  // CAPBENCH_HARNESS_QUALITY_PLAN_H_
