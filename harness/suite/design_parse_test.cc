// The design of a suite, what it makes, and what cannot be one.
#include <gtest/gtest.h>

#include <string>

#include "harness/suite/suite.h"

namespace capbench::suite {
namespace {

const std::string kHead = R"({"capbench": 1, "name": "s", "models": [{"name": "m", "file": "x"}], )";
const std::string kWorkloads = R"("workloads": [{"name": "w", "p": 1}])";
const std::string kFactors = R"("factors": [{"name": "vulkan.cooperative_matrix", "levels": ["off", "on"]},
                                            {"env": "GGML_VK_DISABLE_F16", "levels": ["1", null]},
                                            {"arg": "-fa", "label": "fa", "levels": ["off", "on"]}])";

std::string with_design(const std::string& members, const std::string& more = "", const std::string& w = kWorkloads) {
  return kHead + w + more + ", \"design\": {" + members + "}}";
}
std::string with_factors(const std::string& factors) {
  return with_design(R"("kind": "one-at-a-time", "factors": )" + factors);
}

std::string error_of(const std::string& text) {
  const auto suite = parse_suite(text);
  return suite.ok() ? "no error" : to_string(suite.error());
}

TEST(DesignOfASuite, BecomesArmsAndKeepsItself) {
  const auto suite = parse_suite(with_design(R"("kind": "full-factorial", "controls": ["bare-metal", "placebo"],
                     "base": {"device": "Vulkan0", "guest": {"vulkan.cooperative_matrix": "off"}}, )" +
                                             kFactors));
  ASSERT_TRUE(suite.ok()) << to_string(suite.error());
  EXPECT_EQ(suite->arms.size(), 10U);
  EXPECT_EQ(suite->designed_arms, 10U);
  EXPECT_EQ(suite->arms[0].name, "stock");
  EXPECT_EQ(suite->arms[0].env.at("GGML_VK_DISABLE_F16"), "1");
  EXPECT_EQ(suite->arms[0].args, (std::vector<std::string>{"-fa", "off"}));
  EXPECT_EQ(suite->arms[7].name, "unlocked");
  EXPECT_TRUE(suite->arms[7].env.empty());
  // Controls come in capbench's order.
  EXPECT_EQ(suite->arms[8].name, "placebo");
  EXPECT_EQ(suite->arms[9].name, "bare-metal");
  const std::string canonical = canonical_json(*suite);
  EXPECT_EQ(canonical.find("\"arms\""), std::string::npos) << canonical;
  EXPECT_NE(canonical.find("\"design\""), std::string::npos);
  const auto again = parse_suite(canonical);
  ASSERT_TRUE(again.ok()) << to_string(again.error());
  EXPECT_EQ(*again, *suite);
  EXPECT_EQ(canonical_json(*again), canonical);
}

TEST(DesignOfASuite, StandsBesideArmsWrittenByHand) {
  const auto suite = parse_suite(with_design(R"("kind": ["leave-one-out", "one-at-a-time"], )" + kFactors,
                                             R"(, "arms": [{"name": "mine", "mode": "other", "env": {"A": "b"}},
                                                           {"name": "host", "mode": "bare-metal"}])"));
  ASSERT_TRUE(suite.ok()) << to_string(suite.error());
  EXPECT_EQ(suite->arms.size(), 10U);
  EXPECT_EQ(suite->designed_arms, 8U);
  EXPECT_EQ(suite->arms[0].name, "mine");
  EXPECT_EQ(suite->design->kinds, (std::vector<DesignKind>{DesignKind::kOneAtATime, DesignKind::kLeaveOneOut}));
  const auto again = parse_suite(canonical_json(*suite));
  ASSERT_TRUE(again.ok()) << to_string(again.error());
  EXPECT_EQ(*again, *suite);
}

TEST(DesignOfASuite, IsNamedTheSameHoweverItIsWritten) {
  const auto terse = parse_suite(with_design(R"("kind": "one-at-a-time", )" + kFactors));
  const auto wordy = parse_suite(with_design(
      kFactors +
      R"(, "controls": [], "base": {"mode": "ablation", "env": {}, "args": []}, "kind": ["one-at-a-time"])"));
  ASSERT_TRUE(terse.ok());
  ASSERT_TRUE(wordy.ok()) << to_string(wordy.error());
  EXPECT_EQ(suite_id(*terse), suite_id(*wordy));
}

TEST(DesignOfASuite, ErrorsNameThePathAndTheRemedy) {
  struct Case {
    std::string text, error;
  };
  const std::string kind = R"("kind": "one-at-a-time", )";
  const std::vector<Case> cases = {
      {with_design(kFactors),
       "$.design.kind: missing; expected \"one-at-a-time\" or \"leave-one-out\" or \"full-factorial\" or "
       "\"fractional\", or an array of them"},
      {with_design(R"("kind": "fractonal", )" + kFactors),
       "$.design.kind: \"fractonal\"; expected \"one-at-a-time\" or \"leave-one-out\" or \"full-factorial\" or "
       "\"fractional\"; try: \"fractional\""},
      {with_design(R"("kind": [], )" + kFactors),
       "$.design.kind: []; expected a kind of design; try: one of one-at-a-time, leave-one-out, full-factorial, "
       "fractional"},
      {with_design(R"("kind": ["fractional", "fractional"], )" + kFactors),
       "$.design.kind[1]: \"fractional\" appears twice; try: remove one of the two"},
      {with_design(kind + R"("resolution": 4, )" + kFactors),
       "$.design.resolution: only a fractional design has a resolution; try: remove it, or \"kind\": \"fractional\""},
      {with_design(kind + R"("controls": ["baremetal"], )" + kFactors),
       "$.design.controls[0]: \"baremetal\"; expected \"placebo\" or \"bare-metal\" or \"bare-metal-with-shim\" or "
       "\"cpu-only\" or \"expected-failure\"; try: \"bare-metal\""},
      {with_design(kind + R"("factor": [])"), "$.design.factor: unknown key; try: \"factors\""},
      {with_design(R"("kind": "one-at-a-time")"), "$.design.factors: missing; expected an array of what is varied"},
      {with_factors("[]"), "$.design.factors: []; expected an array of 1 to 20 factors"},
      {with_factors(R"([{"levels": ["a", "b"]}])"),
       "$.design.factors[0]: none of \"name\", \"env\" and \"arg\"; try: \"name\" for a capability, \"env\" for a "
       "variable, \"arg\" for an argument"},
      {with_factors(R"([{"name": "x.y", "env": "A", "levels": ["a", "b"]}])"),
       "$.design.factors[0]: both \"name\" and \"env\"; try: one factor for each"},
      {with_factors(R"([{"name": "coopmat", "levels": ["a", "b"]}])"),
       "$.design.factors[0].name: \"coopmat\"; expected a capability, \"domain.name\"; try: a name like \"cpu.isa\""},
      {with_factors(R"([{"env": "LD_PRELOAD", "levels": ["a", "b"]}])"),
       "$.design.factors[0].env: \"LD_PRELOAD\" is set by capbench, which loads the shim with it; try: \"shim\" of "
       "the arm to load another shim"},
      {with_factors(R"([{"arg": "fa", "levels": ["a", "b"]}])"),
       "$.design.factors[0].arg: \"fa\"; expected an option of the application; try: a name like \"-fa\""},
      {with_factors(R"([{"arg": "-p", "levels": ["1", "2"]}])"),
       "$.design.factors[0].levels[0]: \"-p\" is an option that capbench gives itself; try: \"p\" of the workload"},
      {with_factors(R"([{"name": "x.y", "levels": ["a"]}])"),
       "$.design.factors[0].levels: 1 levels; expected 2 to 32; try: the stock level first, the unlocked one last"},
      {with_factors(R"([{"name": "x.y", "levels": ["a", "a"]}])"),
       "$.design.factors[0].levels[1]: the level appears twice; try: remove one of the two"},
      {with_factors(R"([{"name": "x.y", "levels": [1005, "a"]}])"),
       "$.design.factors[0].levels[0]: 1005; expected text in quotes, or null for unset; try: \"1005\""},
      {with_factors(R"([{"env": "A", "levels": ["unset", "a"]}])"),
       "$.design.factors[0].levels[0]: \"unset\"; that word stands for the null level; try: null"},
      {with_factors(R"([{"name": "x.y", "levels": ["a,b", "a"]}])"),
       "$.design.factors[0].levels[0]: \"a,b\"; expected 1 to 200 printable bytes without ',' and '='"},
      {with_factors(R"([{"name": "x.y", "levels": ["a", "b"]}, {"name": "x.y", "levels": ["a", "c"]}])"),
       "$.design.factors[1]: \"x.y\" is a factor twice; try: one factor with all its levels"},
      {with_factors(R"([{"arg": "-fa", "levels": ["a", "b"]}, {"arg": "--flash-attn", "levels": ["a", "c"]}])"),
       "$.design.factors[1]: \"--flash-attn\" is another name of \"-fa\"; try: one factor with all its levels"},
      {with_design(kind + R"("base": {"env": {"GGML_VK_DISABLE_F16": "1"}}, )" + kFactors),
       "$.design.factors[1]: \"GGML_VK_DISABLE_F16\" is also in \"base\", which every arm would have; try: remove it "
       "from \"base\""},
      {with_design(kind + R"("base": {"args": ["--flash-attn", "on"]}, )" + kFactors),
       "$.design.factors[2]: \"-fa\" is also in \"base\", which every arm would have; try: remove it from \"base\""},
      {with_design(kind + R"("base": {"mode": "stock"}, )" + kFactors),
       "$.design.base.mode: \"stock\"; this is the mode of the arms between, and capbench names the others; try: "
       "remove it, or a name of your own"},
      {with_design(kind + R"("base": {"target": "vm"}, )" + kFactors),
       "$.design.base.target: \"vm\" is no target of this suite; try: \"local\", or describe it in \"targets\" of the "
       "suite"},
      {with_design(kind + kFactors, "", R"("workloads": [{"name": "w", "p": 1, "fa": "on"}])"),
       "$.design.factors[2].arg: \"-fa\" is also \"fa\" of $.workloads[0]; try: remove \"fa\" there; llama-bench "
       "would run every combination"},
      {with_design(kind + R"("base": {"args": ["-b", "512"]}, )" + kFactors, "",
                   R"("workloads": [{"name": "w", "p": 1, "args": ["--batch-size", "256"]}])"),
       "$.design.base.args: \"-b\" is also in \"args\" of $.workloads[0]; try: remove one of the two; llama-bench "
       "would run every combination"},
      {with_design(kind + kFactors, R"(, "arms": [{"name": "lowered", "mode": "x"}])"),
       "$.arms[0].name: \"lowered\" is also the name of an arm of the design, which is another treatment; try: another "
       "name"},
      {with_design(R"("kind": "fractional", )" + kFactors),
       "$.design.kind: there is no fraction of resolution 4 for 3 factors; expected 4 to 11; try: "
       "\"full-factorial\", which is small here"},
  };
  for (const Case& wrong : cases) EXPECT_EQ(error_of(wrong.text), wrong.error) << wrong.text;
}

TEST(ArmArguments, MustNotRepeatTheWorkloads) {
  EXPECT_EQ(error_of(kHead + R"("workloads": [{"name": "v", "n": 1}, {"name": "w", "p": 1, "ngl": 99}],
                                "arms": [{"name": "a", "mode": "x", "args": ["--n-gpu-layers", "0"]}]})"),
            "$.arms[0].args: \"-ngl\" is also \"ngl\" of $.workloads[1]; try: remove \"ngl\" there; llama-bench would "
            "run every combination");
}

TEST(Protocol, UntilAndHygieneHaveBounds) {
  const auto with = [](const std::string& protocol) {
    return error_of(kHead + kWorkloads + R"(, "arms": [{"name": "a", "mode": "x"}], "protocol": {)" + protocol + "}}");
  };
  EXPECT_EQ(with(R"("until": {"max_trials": 7})"),
            "$.protocol.until.max_trials: 7; expected an integer from 8 to 10000");
  EXPECT_EQ(with(R"("trials": 30, "until": {"max_trials": 20})"),
            "$.protocol.until.max_trials: 20 is less than the 30 trials of the protocol; try: 30 or more");
  EXPECT_EQ(with(R"("until": {"ci_half_width": 0})"),
            "$.protocol.until.ci_half_width: 0; expected a number above 0 to 1");
  EXPECT_EQ(with(R"("until": {"half_width": 0.1})"),
            "$.protocol.until.half_width: unknown key; try: \"ci_half_width\"");
  EXPECT_EQ(with(R"("hygiene": {"gate": "stop"})"),
            R"($.protocol.hygiene.gate: "stop"; expected "wait" or "warn" or "refuse" or "off")");
  EXPECT_EQ(with(R"("hygiene": {"require_ac": "yes"})"),
            "$.protocol.hygiene.require_ac: \"yes\"; expected true or false");
  EXPECT_EQ(with(R"("hygiene": {"max_gpu_use_percent": 101})"),
            "$.protocol.hygiene.max_gpu_use_percent: 101; expected a number from 0 to 100");
  EXPECT_EQ(with(R"("warmup_trials": -1)"), "$.protocol.warmup_trials: -1; expected an integer from 0 to 100");
  EXPECT_EQ(with(R"("preload": 1)"), "$.protocol.preload: unknown key; try: \"preload_s\"");
}

TEST(Quality, HasBounds) {
  const auto with = [](const std::string& quality) {
    return error_of(kHead + kWorkloads + R"(, "arms": [{"name": "a", "mode": "x"}], "quality": {)" + quality + "}}");
  };
  EXPECT_EQ(with(""), "no error");
  EXPECT_EQ(with(R"("text": "")"), "$.quality.text: \"\"; expected a path");
  EXPECT_EQ(with(R"("max_kl": 0)"), "$.quality.max_kl: 0; expected a number above 0 to 100");
  EXPECT_EQ(with(R"("ops": ["MUL_MAT", "mul_mat"])"),
            "$.quality.ops[1]: \"mul_mat\"; expected an operator's name in capitals; try: a name like \"MUL_MAT\"");
  EXPECT_EQ(with(R"("ops": "MUL_MAT")"), "$.quality.ops: \"MUL_MAT\"; expected an array of texts");
}

}  // namespace
}  // namespace capbench::suite
