// What the outputs of a quality check mean. Pure.
#ifndef CAPBENCH_HARNESS_QUALITY_VERDICT_H_
#define CAPBENCH_HARNESS_QUALITY_VERDICT_H_

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "harness/quality/plan.h"
#include "harness/runtime/perplexity.h"
#include "harness/runtime/test_backend_ops.h"

namespace capbench::quality {

// How one job went. The texts must outlive the call that judges them.
struct Output {
  Step step = Step::kBase;
  std::string ended;  // how it ended if not by itself: "ended by SIGSEGV", "ran past its limit"; empty: it exited
  int exit_status = 0;
  std::string_view out;
  std::string_view err;
};

// llama-perplexity may lose its last lines (it exits 0 and nothing is wrong): the job is safe to repeat and should be,
// kMostAttempts times at most.
bool worth_repeating(const Output& output);
inline constexpr int kMostAttempts = 5;

// What the reference arm's base run gave.
struct Reference {
  bool usable = false;
  double perplexity = 0;
  std::string why;     // why it is not usable
  bool wrong = false;  // not usable because of what it computed
};

// A reference that knows no more than a guess (perplexity near the vocabulary's size) is not usable: anything as empty
// would agree with it. The line drawn: more than half of the bits that guessing takes.
Reference judge_reference(const Plan& plan, const Output& base);

struct Verdict {
  std::string status = "unchecked";  // "passed", "wrong", "unchecked"
  std::string why;                   // for the last two: one clause per step that did not pass
  std::optional<runtime::CompareFigures> prompt;
  std::optional<runtime::CompareFigures> decode;
  std::optional<runtime::OperatorFigures> operators;  // of all commands together
};

// Wrong: something was computed that is not what the reference computes. Unchecked: a step of `jobs` did not run to its
// end, or gave nothing to judge; what was not seen is not passed. `is_reference`: this arm made the base.
Verdict judge_arm(const Plan& plan, const Reference& reference, std::span<const Job> jobs,
                  std::span<const Output> outputs, bool is_reference);

// One line of JSON, keys sorted: text and its digest, limits, the figures of each step. For the store.
std::string verdict_json(const Plan& plan, const Reference& reference, const Verdict& verdict);

}  // namespace capbench::quality

#endif  // CAPBENCH_HARNESS_QUALITY_VERDICT_H_
