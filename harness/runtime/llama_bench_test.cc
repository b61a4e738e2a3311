#include "harness/runtime/llama_bench.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

namespace capbench::runtime {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

suite::Workload workload() {
  suite::Workload w;
  w.name = "w";
  w.n_prompt = {512, 64};
  w.n_gen = {128};
  w.n_depth = {0};
  w.repetitions = 2;
  w.threads = 1;
  return w;
}

constexpr std::string_view kRow =
    R"({"build_commit":"0ad4a86","build_number":1,"n_prompt":512,"n_gen":0,"n_depth":0,"samples_ns":[100000000,300000000],"flash_attn":-1,"new_field":"kept"})";

TEST(Argv, GivesEveryArgumentOfTheWorkloadAndTheArm) {
  suite::Workload w = workload();
  w.gpu_layers = 99;
  w.flash_attention = "on";
  w.extra_args = {"-b", "256"};
  suite::Arm arm;
  arm.device = "Vulkan0";
  EXPECT_THAT(llama_bench_argv("/x/llama-bench", "m.gguf", w, arm),
              ElementsAre("/x/llama-bench", "-m", "m.gguf", "-p", "512,64", "-n", "128", "-d", "0", "-r", "2", "-t",
                          "1", "-ngl", "99", "-fa", "1", "-dev", "Vulkan0", "-b", "256", "-o", "jsonl"));
}

TEST(Argv, LeavesATestOutByZeroSinceDefaultsWouldAddIt) {
  suite::Workload w = workload();
  w.n_prompt = {};
  EXPECT_THAT(llama_bench_argv("b", "m", w, {})[4], "0");
}

TEST(TestNames, AreLlamaBenchsOwn) {
  EXPECT_EQ(test_name(512, 0, 0), "pp512");
  EXPECT_EQ(test_name(0, 128, 4096), "tg128 @ d4096");
  EXPECT_EQ(test_name(512, 128, 0), "pp512+tg128");
  EXPECT_THAT(expected_tests(workload()), ElementsAre("pp512", "pp64", "tg128"));
}

TEST(ParseJsonl, ReadsByNameAndKeepsWhatItDoesNotKnow) {
  const ParsedOutput parsed = parse_jsonl(std::string(kRow) + "\r\n\n");
  EXPECT_EQ(parsed.problem, "");
  ASSERT_EQ(parsed.results.size(), 1U);
  const schema::ResultRecord& row = parsed.results[0];
  EXPECT_EQ(row.test, "pp512");
  EXPECT_EQ(row.build, "0ad4a86 (1)");
  EXPECT_THAT(row.samples_ns, ElementsAre(100000000, 300000000));
  EXPECT_DOUBLE_EQ(row.median_ts, (5120.0 + 512.0 / 0.3) / 2);
  EXPECT_THAT(row.fields, HasSubstr("new_field"));
}

TEST(ParseJsonl, KeepsWholeRowsBeforeAProblem) {
  const ParsedOutput parsed = parse_jsonl(std::string(kRow) + "\n" + R"({"n_prompt":512,)");
  EXPECT_EQ(parsed.results.size(), 1U);
  EXPECT_THAT(parsed.problem, HasSubstr("line 2"));
}

TEST(ParseJsonl, RefusesImpossibleRows) {
  for (const char* row :
       {R"([1])", R"("x")", R"({"n_prompt":1})", R"({"n_prompt":0,"n_gen":0,"samples_ns":[1]})",
        R"({"n_prompt":1,"n_gen":0,"samples_ns":[]})", R"({"n_prompt":1,"n_gen":0,"samples_ns":[1.5]})",
        R"({"n_prompt":1,"n_gen":0,"samples_ns":[18446744073709551615]})",
        R"({"n_prompt":-1,"n_gen":2,"samples_ns":[1]})", R"({"n_prompt":1,"n_gen":0,"samples_ns":[0]})",
        R"({"n_prompt":9000000000000,"n_gen":0,"samples_ns":[1]})"}) {
    const ParsedOutput parsed = parse_jsonl(std::string(row) + "\n");
    EXPECT_TRUE(parsed.results.empty()) << row;
    EXPECT_NE(parsed.problem, "") << row;
  }
}

TEST(ParseJsonl, RefusesWhatIsNestedTooDeepAndTooManyRows) {
  const std::string brackets(1'000'000, '[');
  for (const std::string& row : {R"({"n_prompt":1,"n_gen":0,"samples_ns":[1],"x":)" + brackets,
                                 R"({"n_prompt":1,"n_gen":0,"samples_ns":)" + brackets,
                                 R"({"n_prompt":1,"n_gen":0,"samples_ns":[1],"x":)" + brackets.substr(0, 20'000) +
                                     std::string(20'000, ']') + "}"}) {
    const ParsedOutput parsed = parse_jsonl(row + "\n");
    EXPECT_TRUE(parsed.results.empty());
    EXPECT_THAT(parsed.problem, HasSubstr("nested deeper"));
  }
  // Brackets within a text are no nesting.
  EXPECT_EQ(parse_jsonl(R"({"n_prompt":1,"n_gen":0,"samples_ns":[1],"x":"\"[[[[[[[[[[[[[[[[[[[[["})"
                        "\n")
                .problem,
            "");
  std::string many;
  for (int i = 0; i < 1100; ++i) many += std::string(kRow) + "\n";
  const ParsedOutput parsed = parse_jsonl(many);
  EXPECT_EQ(parsed.results.size(), 1000U);
  EXPECT_THAT(parsed.problem, HasSubstr("more than 1000 rows"));
}

TEST(ParseJsonl, SurvivesMutations) {
  std::mt19937 random(11);  // NOLINT: the same bytes every time
  const std::string whole = std::string(kRow) + "\n" + std::string(kRow) + "\n";
  for (int i = 0; i < 5000; ++i) {
    std::string text = whole;
    for (auto n = random() % 6 + 1; n > 0; --n) text[random() % text.size()] = static_cast<char>(random());
    text.resize(random() % (text.size() + 1));
    const ParsedOutput parsed = parse_jsonl(text);
    EXPECT_LE(parsed.results.size(), 3U);
  }
}

TEST(CheckResults, WantsEveryTestOnceWithEverySample) {
  const suite::Workload w = workload();
  const auto row = [](const char* test, std::size_t samples) {
    schema::ResultRecord r;
    r.test = test;
    r.samples_ns.assign(samples, 5);
    return r;
  };
  EXPECT_EQ(check_results({row("pp512", 2), row("pp64", 2), row("tg128", 2)}, w), "");
  EXPECT_THAT(check_results({row("pp512", 2), row("pp64", 2)}, w), HasSubstr("tg128"));
  EXPECT_THAT(check_results({row("pp512", 1), row("pp64", 2), row("tg128", 2)}, w),
              HasSubstr("1 samples instead of 2"));
  EXPECT_THAT(check_results({row("pp512", 2), row("pp512", 2), row("pp64", 2), row("tg128", 2)}, w),
              HasSubstr("pp512"));
  suite::Workload with_arguments = w;
  with_arguments.extra_args = {"-b", "512"};
  EXPECT_EQ(check_results({row("pp512", 2), row("pp64", 2), row("tg128", 2), row("pp9+tg9", 2)}, with_arguments), "");
  EXPECT_THAT(check_results({row("pp512", 2), row("pp512", 2), row("pp64", 2), row("tg128", 2)}, with_arguments),
              HasSubstr("pp512 twice"));
}

}  // namespace
}  // namespace capbench::runtime
