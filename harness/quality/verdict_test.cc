#include "harness/quality/verdict.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace capbench::quality {
namespace {

using ::testing::HasSubstr;

std::string compare_text(std::string_view perplexity, std::string_view base, std::string_view mean,
                         std::string_view max, int chunks = 4) {
  std::string text;
  for (int i = 1; i <= chunks; ++i) {
    text += fmt::format("   {} {} \u00B1 1.0 0.0 \u00B1 0.0 {} \u00B1 0.0 1.4 \u00B1 0.1 % 93.6 \u00B1 3.0 %\n", i,
                        perplexity, mean);
  }
  return text + fmt::format(
                    "Mean PPL(Q)                   : {} \u00B1 0.5\n"
                    "Mean PPL(base)                : {} \u00B1 0.5\n"
                    "Mean    KLD: {} \u00B1 0.1\n"
                    "Maximum KLD: {}\n"
                    "99.0%   KLD: 0.005\n"
                    "Median  KLD: 0.001\n"
                    "Minimum KLD: -0.000004\n"
                    "Same top p: 98.0 \u00B1 0.9 %\n",
                    perplexity, base, mean, max);
}

class Gate : public ::testing::Test {
 protected:
  Gate() {
    ModelFacts model;
    model.twin_fill = "planted";
    model.vocabulary = 512;
    plan_ = *make_plan({}, model);
    jobs_ = *arm_jobs(plan_, {"p", "t", "m", "x", "b"}, {}, {});
    reference_ = judge_reference(plan_, base_output(kBase));
  }

  static Output base_output(std::string_view out) {
    return {Step::kBase, "", 0, out, "Final estimate: PPL = 4.3863 +/- 0.5\n"};
  }

  Verdict judge(const std::string& prompt, const std::string& decode) const {
    const std::array outputs{Output{Step::kPrompt, "", 0, prompt, ""}, Output{Step::kDecode, "", 0, decode, ""}};
    return judge_arm(plan_, reference_, jobs_, outputs, false);
  }

  static constexpr std::string_view kBase = "[1]4.1590,[2]4.2336,[3]4.6388,[4]4.3863,\n";
  const std::string good_ = compare_text("4.36", "4.386310", "0.0016", "0.0066");
  Plan plan_;
  std::vector<Job> jobs_;
  Reference reference_;
};

TEST_F(Gate, PassesWhatIsClose) {
  EXPECT_TRUE(reference_.usable) << reference_.why;
  const Verdict verdict = judge(good_, good_);
  EXPECT_EQ(verdict.status, "passed") << verdict.why;
  EXPECT_EQ(verdict.why, "");
  const auto json = nlohmann::json::parse(verdict_json(plan_, reference_, verdict));
  EXPECT_EQ(json["prompt"]["mean_kl"], 0.0016);
  EXPECT_EQ(json["text"]["sha256"], plan_.text.sha256);
  EXPECT_EQ(json["status"], "passed");
}

TEST_F(Gate, RefusesADivergenceThatPerplexityDoesNotShow) {
  Verdict verdict = judge(good_, compare_text("4.386", "4.386310", "0.05", "0.09"));
  EXPECT_EQ(verdict.status, "wrong");
  EXPECT_THAT(verdict.why, HasSubstr("decode: mean KL divergence 0.05"));
  verdict = judge(compare_text("4.386", "4.386310", "0.01", "0.3"), good_);
  EXPECT_EQ(verdict.status, "wrong");
  EXPECT_THAT(verdict.why, HasSubstr("prompt: largest KL divergence 0.3"));
}

TEST_F(Gate, RefusesWhatIsNotANumber) {
  const Verdict verdict = judge(compare_text("nan", "4.386310", "nan", "nan"), good_);
  EXPECT_EQ(verdict.status, "wrong");
  EXPECT_THAT(verdict.why, HasSubstr("not all numbers"));
  // JSON has no NaN: the figure is null.
  EXPECT_TRUE(nlohmann::json::parse(verdict_json(plan_, reference_, verdict))["prompt"]["mean_kl"].is_null());
}

TEST_F(Gate, DoesNotPassWhatWasNotSeen) {
  EXPECT_EQ(judge(good_, "").status, "unchecked");
  EXPECT_EQ(judge(good_, good_.substr(0, good_.size() / 2)).status, "unchecked");
  EXPECT_EQ(judge(good_, compare_text("4.36", "4.386310", "0.0016", "0.0066", 3)).status, "unchecked");
  const std::array only_one{Output{Step::kPrompt, "", 0, good_, ""}};
  EXPECT_EQ(judge_arm(plan_, reference_, jobs_, only_one, false).status, "unchecked");
  EXPECT_EQ(judge_arm(plan_, reference_, {}, {}, false).status, "unchecked");
  const std::array failed{Output{Step::kPrompt, "", 1, "", "error: invalid device: Vulkan7\n"},
                          Output{Step::kDecode, "ended by SIGSEGV", 0, good_, ""}};
  const Verdict verdict = judge_arm(plan_, reference_, jobs_, failed, false);
  EXPECT_EQ(verdict.status, "unchecked");
  EXPECT_THAT(verdict.why, HasSubstr("exited 1: error: invalid device: Vulkan7"));
  EXPECT_THAT(verdict.why, HasSubstr("decode: llama-perplexity ended by SIGSEGV"));
}

TEST_F(Gate, DoesNotTrustAForeignOrDamagedBase) {
  EXPECT_THAT(judge(compare_text("4.36", "7.1", "0.0016", "0.0066"), good_).why, HasSubstr("reference had"));
  EXPECT_THAT(judge(compare_text("4.36", "4.386310", "-0.5", "0.0066"), good_).why, HasSubstr("damaged"));
}

TEST_F(Gate, NeedsAReferenceThatKnowsSomething) {
  const auto of = [&](std::string_view out, std::string_view err) {
    return judge_reference(plan_, {Step::kBase, "", 0, out, err});
  };
  const std::string_view constant = "Unexpected negative standard deviation of log(prob)\n";
  const Reference guess = of("[1]512.0,[2]512.0,[3]512.0,[4]512.0,", constant);
  EXPECT_FALSE(guess.usable);
  EXPECT_TRUE(guess.wrong);
  EXPECT_EQ(judge_arm(plan_, guess, jobs_, {}, true).status, "wrong");
  const Verdict other = judge_arm(plan_, guess, jobs_, {}, false);
  EXPECT_EQ(other.status, "unchecked");
  EXPECT_THAT(other.why, HasSubstr("guessing"));
  EXPECT_TRUE(of("[1]nan,[2]nan,[3]nan,[4]nan,", constant).wrong);
  EXPECT_FALSE(of("[1]4.1,[2]4.2,", "Final estimate: PPL = 4.2 +/- 1\n").usable);
  EXPECT_FALSE(of("", "the data file you provided tokenizes to only 40 tokens").usable);
  EXPECT_FALSE(of("[1]0.5,[2]0.5,[3]0.5,[4]0.5,", "Final estimate: PPL = 0.5 +/- 1\n").usable);
}

TEST_F(Gate, RepeatsOnlyWhatWasCutShort) {
  EXPECT_TRUE(worth_repeating({Step::kPrompt, "", 0, "", ""}));
  EXPECT_TRUE(worth_repeating({Step::kBase, "", 0, "[1]4.1590,[2]4.2336,", ""}));
  EXPECT_FALSE(worth_repeating({Step::kPrompt, "", 0, good_, ""}));
  EXPECT_FALSE(worth_repeating({Step::kPrompt, "", 1, "", ""}));
  EXPECT_FALSE(worth_repeating({Step::kPrompt, "ended by SIGKILL", 0, "", ""}));
  EXPECT_FALSE(worth_repeating({Step::kPrompt, "", 0, "", "failed to decode"}));
  EXPECT_FALSE(worth_repeating(base_output(kBase)));
}

TEST_F(Gate, JudgesOperatorsByTheirOwnCount) {
  const std::vector<Job> jobs{{Step::kOperators, {"t", "test", "-b", "CPU", "-o", "ADD"}, "", ""}};
  const auto status = [&](std::string_view out, int exit_status) {
    const std::array outputs{Output{Step::kOperators, "", exit_status, out, ""}};
    return judge_arm(plan_, reference_, jobs, outputs, false);
  };
  EXPECT_EQ(status("Backend 1/1: CPU\n  3/3 tests passed\n", 0).status, "passed");
  EXPECT_EQ(status("Backend 1/1: CPU\n  2/3 tests passed\n\nFailing tests:\n  ADD(a=1)\n", 1).status, "wrong");
  EXPECT_THAT(status("Backend 1/1: CPU\n  2/3 tests passed\n\nFailing tests:\n  ADD(a=1)\n", 1).why,
              HasSubstr("1 of 3 operator tests failed, the first ADD(a=1)"));
  EXPECT_EQ(status("Backend 1/1: CPU\n  0/0 tests passed\n", 0).status, "unchecked");
  EXPECT_EQ(status("Backend 1/1: CPU\n  Skipping\n", 0).status, "unchecked");
  EXPECT_EQ(status("Backend 1/1: CPU\n  3/3 tests passed\n", 1).status, "unchecked");
  EXPECT_EQ(status("", 0).status, "unchecked");
}

}  // namespace
}  // namespace capbench::quality
