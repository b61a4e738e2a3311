#include "harness/quality/verdict.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <utility>

#include "harness/observe/ggml_log.h"

namespace capbench::quality {
namespace {

using runtime::CompareFigures;
using runtime::OperatorFigures;

// A finding of one step: nothing if it passed.
struct Finding {
  std::string status;  // "", "wrong", "unchecked"
  std::string why;
};

Finding wrong(std::string why) {
  return {"wrong", std::move(why)};
}
Finding unchecked(std::string why) {
  return {"unchecked", std::move(why)};
}

// How it failed to run to its end; empty if it did not.
std::string failure_of(const Output& output, std::string_view program) {
  const std::string words = observe::last_words(output.err);
  const std::string behind = words.empty() ? "" : ": " + words;
  if (!output.ended.empty()) return fmt::format("{} {}{}", program, output.ended, behind);
  if (output.exit_status != 0) return fmt::format("{} exited {}{}", program, output.exit_status, behind);
  return "";
}

constexpr std::string_view kPerplexity = "llama-perplexity";

// Whether a text is predicted little better than by guessing among all tokens.
bool is_guessing(double perplexity, std::uint64_t vocabulary) {
  return vocabulary > 1 && std::log(perplexity) > 0.5 * std::log(static_cast<double>(vocabulary));
}

std::string guessing_text(double perplexity, std::uint64_t vocabulary) {
  return fmt::format("its perplexity is {:.4g} of {} tokens, little better than guessing", perplexity, vocabulary);
}

// Base files keep 16 bits of a position's range of log-probabilities. Seen on a GPU with a model of 16-bit weights: 0.7
// %.
constexpr double kRounding = 0.02;

Finding compare(const Plan& plan, const Reference& reference, const CompareFigures& figures, const Output& output) {
  const Settings& limits = plan.settings;
  if (!figures.finite) return wrong("its logits are not all numbers");
  if (std::string failure = failure_of(output, kPerplexity); !failure.empty()) return unchecked(std::move(failure));
  if (!figures.problem.text.empty()) return unchecked(fmt::format("{}: {}", kPerplexity, figures.problem.text));
  if (figures.chunks != limits.chunks) {
    return unchecked(fmt::format("{} judged {} chunks instead of {}", kPerplexity, figures.chunks, limits.chunks));
  }
  if (std::abs(figures.base_perplexity / reference.perplexity - 1) > kRounding) {
    return unchecked(fmt::format("the base file has a perplexity of {:.5g}, the reference had {:.5g}",
                                 figures.base_perplexity, reference.perplexity));
  }
  constexpr double kImpossible = -0.01;
  if (figures.min_kl < kImpossible || figures.mean_kl < kImpossible) {
    return unchecked(fmt::format("a divergence of {:.4g}, which cannot be: the base file is damaged",
                                 std::min(figures.min_kl, figures.mean_kl)));
  }
  if (figures.mean_kl > limits.max_mean_kl) {
    return wrong(fmt::format("mean KL divergence {:.4g} is above {:g} (perplexity {:.5g}, reference {:.5g})",
                             figures.mean_kl, limits.max_mean_kl, figures.perplexity, reference.perplexity));
  }
  if (figures.max_kl > limits.max_kl) {
    return wrong(fmt::format("largest KL divergence {:.4g} is above {:g}", figures.max_kl, limits.max_kl));
  }
  if (is_guessing(figures.perplexity, plan.model.vocabulary)) {
    return wrong(guessing_text(figures.perplexity, plan.model.vocabulary));
  }
  return {};
}

void add(OperatorFigures& sum, const OperatorFigures& one) {
  sum.passed += one.passed;
  sum.total += one.total;
  sum.not_supported += one.not_supported;
  sum.failing.insert(sum.failing.end(), one.failing.begin(), one.failing.end());
}

Finding operators(const Job& job, const OperatorFigures& figures, const Output& output) {
  if (!figures.failing.empty() || figures.passed < figures.total) {
    return wrong(fmt::format("{} of {} operator tests failed{}", figures.total - figures.passed, figures.total,
                             figures.failing.empty() ? "" : ", the first " + figures.failing.front()));
  }
  const auto option = std::find(job.argv.begin(), job.argv.end(), "-o");
  const std::string names = option != job.argv.end() && option + 1 != job.argv.end() ? *(option + 1) : "operators";
  if (!figures.device_found) return unchecked(fmt::format("test-backend-ops did not find the device, for {}", names));
  if (figures.whole && figures.total == 0) {
    return unchecked(figures.not_supported > 0 ? fmt::format("the device supports none of the tests of {}", names)
                                               : fmt::format("test-backend-ops has no test of {}", names));
  }
  if (std::string failure = failure_of(output, "test-backend-ops"); !failure.empty()) {
    return unchecked(std::move(failure));
  }
  if (!figures.whole) return unchecked("test-backend-ops: its output ends early");
  return {};
}

std::string device_of(const Job& job) {
  const auto option = std::find(job.argv.begin(), job.argv.end(), "-b");
  return option != job.argv.end() && option + 1 != job.argv.end() ? *(option + 1) : "";
}

Finding judge_step(const Plan& plan, const Reference& reference, const Job& job, const Output& output,
                   Verdict& verdict) {
  if (job.step == Step::kOperators) {
    const OperatorFigures figures = runtime::parse_test_backend_ops(output.out, device_of(job));
    if (!verdict.operators) verdict.operators = OperatorFigures{true, 0, 0, 0, {}, true};
    add(*verdict.operators, figures);
    verdict.operators->device_found = verdict.operators->device_found && figures.device_found;
    verdict.operators->whole = verdict.operators->whole && figures.whole;
    return operators(job, figures, output);
  }
  const CompareFigures figures = runtime::parse_perplexity_compare(output.out, output.err);
  (job.step == Step::kPrompt ? verdict.prompt : verdict.decode) = figures;
  return compare(plan, reference, figures, output);
}

using Json = nlohmann::json;

// JSON has no NaN.
Json figure(double value) {
  return std::isfinite(value) ? Json(value) : Json();
}

Json compare_json(const CompareFigures& figures) {
  return {{"chunks", figures.chunks},
          {"perplexity", figure(figures.perplexity)},
          {"base_perplexity", figure(figures.base_perplexity)},
          {"mean_kl", figure(figures.mean_kl)},
          {"max_kl", figure(figures.max_kl)},
          {"median_kl", figure(figures.median_kl)},
          {"p99_kl", figure(figures.p99_kl)},
          {"same_top_percent", figure(figures.same_top_percent)}};
}

}  // namespace

bool worth_repeating(const Output& output) {
  if (!output.ended.empty() || output.exit_status != 0) return false;
  switch (output.step) {
    case Step::kBase:
      return runtime::parse_perplexity_base(output.out, output.err).problem.cut_short;
    case Step::kPrompt:
    case Step::kDecode: {
      const CompareFigures figures = runtime::parse_perplexity_compare(output.out, output.err);
      return figures.finite && figures.problem.cut_short;
    }
    case Step::kOperators:
      return false;
  }
  return false;
}

Reference judge_reference(const Plan& plan, const Output& base) {
  const runtime::BaseFigures figures = runtime::parse_perplexity_base(base.out, base.err);
  Reference reference{false, figures.perplexity, "", false};
  if (figures.chunks > 0 && !std::isfinite(figures.perplexity)) {
    reference.wrong = true;
    reference.why = "the logits of the reference arm are not all numbers";
  } else if (std::string failure = failure_of(base, kPerplexity); !failure.empty()) {
    reference.why = std::move(failure);
  } else if (!figures.problem.text.empty()) {
    reference.why = fmt::format("{}: {}", kPerplexity, figures.problem.text);
  } else if (figures.chunks != plan.settings.chunks) {
    reference.why = fmt::format("{} judged {} chunks instead of {}: the text is too short", kPerplexity, figures.chunks,
                                plan.settings.chunks);
  } else if (figures.perplexity < 1) {
    reference.why = fmt::format("{}: a perplexity of {:.4g}, which cannot be", kPerplexity, figures.perplexity);
  } else if (is_guessing(figures.perplexity, plan.model.vocabulary)) {
    reference.wrong = true;
    reference.why = "the reference arm: " + guessing_text(figures.perplexity, plan.model.vocabulary);
  } else {
    reference.usable = true;
  }
  return reference;
}

Verdict judge_arm(const Plan& plan, const Reference& reference, std::span<const Job> jobs,
                  std::span<const Output> outputs, bool is_reference) {
  Verdict verdict;
  if (!plan.impossible.empty()) {
    verdict.why = plan.impossible;
    return verdict;
  }
  if (!reference.usable) {
    verdict.status = is_reference && reference.wrong ? "wrong" : "unchecked";
    verdict.why = is_reference ? reference.why : "no reference to compare with: " + reference.why;
    return verdict;
  }
  bool any_wrong = false;
  std::vector<std::string> reasons;
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    const Finding finding = i < outputs.size() && outputs[i].step == jobs[i].step
                                ? judge_step(plan, reference, jobs[i], outputs[i], verdict)
                                : unchecked("did not run");
    if (finding.status.empty()) continue;
    any_wrong = any_wrong || finding.status == "wrong";
    reasons.push_back(fmt::format("{}: {}", step_name(jobs[i].step), finding.why));
  }
  if (jobs.empty()) reasons.emplace_back("nothing was run");
  verdict.status = any_wrong ? "wrong" : reasons.empty() ? "passed" : "unchecked";
  verdict.why = fmt::format("{}", fmt::join(reasons, "; "));
  return verdict;
}

std::string verdict_json(const Plan& plan, const Reference& reference, const Verdict& verdict) {
  Json object{{"status", verdict.status},
              {"why", verdict.why},
              {"text", {{"name", plan.text.name}, {"sha256", plan.text.sha256}}},
              {"limits", {{"mean_kl", plan.settings.max_mean_kl}, {"max_kl", plan.settings.max_kl}}},
              {"ctx", plan.settings.ctx},
              {"chunks", plan.settings.chunks},
              {"positions", runtime::judged_positions(plan.settings.ctx, plan.settings.chunks)},
              {"reference_perplexity", figure(reference.perplexity)}};
  if (verdict.prompt) object["prompt"] = compare_json(*verdict.prompt);
  if (verdict.decode) object["decode"] = compare_json(*verdict.decode);
  if (verdict.operators) {
    const OperatorFigures& figures = *verdict.operators;
    object["operators"] = {{"passed", figures.passed},
                           {"total", figures.total},
                           {"not_supported", figures.not_supported},
                           {"failing", figures.failing}};
  }
  return object.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace capbench::quality
