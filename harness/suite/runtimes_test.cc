// Suites of other runtimes than llama-bench: what they have, and what makes no sense for them.
#include <gtest/gtest.h>

#include <string>

#include "harness/suite/suite.h"

namespace capbench::suite {
namespace {

const std::string kGoogle = R"("runtime": {"kind": "google-benchmark", "executable": "bench"})";
const std::string kMlx = R"("runtime": {"kind": "mlx-lm"})";
const std::string kArms = R"("arms": [{"name": "a", "mode": "x"}])";

std::string google(const std::string& workload, const std::string& arms = kArms, const std::string& rest = "") {
  return R"({"capbench": 1, "name": "s", )" + kGoogle + R"(, "workloads": [{"name": "w")" + workload + "}], " + arms +
         rest + "}";
}
std::string mlx(const std::string& workload, const std::string& arms = kArms,
                const std::string& model = R"("catalog": "llama-3.2-3b-mlx")") {
  return R"({"capbench": 1, "name": "s", )" + kMlx + R"(, "models": [{"name": "m", )" + model +
         R"(}], "workloads": [{"name": "w")" + workload + "}], " + arms + "}";
}

std::string error_of(const std::string& text) {
  const auto suite = parse_suite(text);
  return suite.ok() ? "no error" : to_string(suite.error());
}

TEST(GoogleBenchmark, HasAFilterRepetitionsAndNoModel) {
  const auto suite = parse_suite(google(R"(, "filter": "BM_add/.*", "r": 7, "args": ["--benchmark_min_time=0.1s"])"));
  ASSERT_TRUE(suite.ok()) << to_string(suite.error());
  EXPECT_EQ(suite->runtime.executable, "bench");
  EXPECT_EQ(suite->workloads[0].filter, "BM_add/.*");
  EXPECT_EQ(suite->workloads[0].repetitions, 7);
  ASSERT_EQ(suite->models.size(), 1U);
  EXPECT_EQ(suite->models[0].kind, "none");
  const Plan plan = make_plan(*suite, std::nullopt);
  EXPECT_EQ(trial_key(*suite, plan.trials.at(0)), "-/w/a");
  const auto again = parse_suite(canonical_json(*suite));
  ASSERT_TRUE(again.ok()) << to_string(again.error());
  EXPECT_EQ(*again, *suite);
}

TEST(GoogleBenchmark, RefusesWhatMakesNoSense) {
  EXPECT_EQ(error_of(R"({"capbench": 1, "name": "s", "runtime": {"kind": "google-benchmark"}})"),
            "$.runtime.executable: missing; a Google Benchmark program has no usual name; try: its path, relative to "
            "the suite file");
  for (const char* key : {"p", "n", "d", "t", "ngl"}) {
    EXPECT_EQ(error_of(google(std::string(", \"") + key + "\": 1")),
              std::string("$.workloads[0].") + key + ": the runtime is google-benchmark, which has no \"" + key +
                  "\"; try: remove it");
  }
  EXPECT_EQ(error_of(google(R"(, "fa": "on")")),
            "$.workloads[0].fa: the runtime is google-benchmark, which has no \"fa\"; try: remove it");
  EXPECT_EQ(error_of(google("", R"("arms": [{"name": "a", "mode": "x", "device": "Vulkan0"}])")),
            "$.arms[0].device: the runtime is google-benchmark, which has no \"device\"; try: remove it");
  EXPECT_EQ(error_of(google("", kArms, R"(, "models": [{"name": "m", "file": "x"}])")),
            "$.models: the runtime is google-benchmark, which loads no model; try: remove it");
  EXPECT_EQ(error_of(google("", kArms, R"(, "quality": {})")),
            "$.quality: the runtime is google-benchmark, which has no \"quality\"; try: remove it");
  EXPECT_EQ(error_of(google(R"(, "args": ["--benchmark_filter=x"])")),
            "$.workloads[0].args[0]: \"--benchmark_filter=x\" is an option that capbench gives itself; try: "
            "\"filter\" of the workload");
  EXPECT_EQ(error_of(google("", R"("design": {"kind": "one-at-a-time", "controls": ["cpu-only"],
                                              "factors": [{"name": "cpu.isa", "levels": ["x64", "best"]}]})")),
            "$.design.controls: the runtime is google-benchmark, which has no \"device\", and \"cpu-only\" is one; "
            "try: remove \"cpu-only\"");
}

TEST(MlxLm, HasOnePromptOneGenerationAndRepetitions) {
  const auto suite = parse_suite(mlx(R"(, "p": 512, "n": 128, "r": 10)"));
  ASSERT_TRUE(suite.ok()) << to_string(suite.error());
  EXPECT_EQ(suite->models[0].catalog, "llama-3.2-3b-mlx");
  const auto again = parse_suite(canonical_json(*suite));
  ASSERT_TRUE(again.ok()) << to_string(again.error());
  EXPECT_EQ(*again, *suite);
}

TEST(MlxLm, RefusesWhatMakesNoSense) {
  EXPECT_EQ(error_of(mlx(R"(, "p": [512, 1024], "n": 128)")),
            "$.workloads[0].p: mlx-lm times one prompt and one generation of it together; try: one integer above 0");
  EXPECT_EQ(error_of(mlx(R"(, "p": 512)")),
            "$.workloads[0].n: mlx-lm times one prompt and one generation of it together; try: one integer above 0");
  EXPECT_EQ(error_of(mlx(R"(, "p": 512, "n": 128, "d": 0)")),
            "$.workloads[0].d: the runtime is mlx-lm, which has no \"d\"; try: remove it");
  EXPECT_EQ(error_of(mlx(R"(, "p": 512, "n": 128, "filter": "x")")),
            "$.workloads[0].filter: the runtime is mlx-lm, which has no \"filter\"; try: remove it");
  EXPECT_EQ(error_of(mlx(R"(, "p": 512, "n": 128, "args": [])")),
            "$.workloads[0].args: the runtime is mlx-lm, which has no \"args\"; try: remove it");
  EXPECT_EQ(error_of(mlx(R"(, "p": 512, "n": 128)", kArms, R"("like": "tiny")")),
            "$.models[0].like: a twin is a GGUF file, which mlx-lm does not read; try: \"file\" or \"catalog\"");
  EXPECT_EQ(
      error_of(mlx(R"(, "p": 512, "n": 128)", R"("arms": [{"name": "a", "mode": "x", "args": ["-b", "1"]}])")),
      "$.arms[0].args[0]: \"-b\"; mlx-lm takes no further arguments; try: \"p\", \"n\" and \"r\" of the workload");
}

TEST(LlamaBench, HasNoFilter) {
  EXPECT_EQ(error_of(R"({"capbench": 1, "name": "s", "models": [{"name": "m", "file": "x"}],
                         "workloads": [{"name": "w", "p": 1, "filter": "x"}], )" +
                     kArms + "}"),
            "$.workloads[0].filter: the runtime is llama-bench, which has no \"filter\"; try: remove it");
}

}  // namespace
}  // namespace capbench::suite
