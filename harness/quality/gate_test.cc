// The real llama-perplexity: harmless variants pass the gate, wrong output does not.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <cstdlib>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "base/file.h"
#include "harness/quality/plan.h"
#include "harness/quality/verdict.h"
#include "models/catalog.h"
#include "models/gguf.h"
#include "models/synth.h"

namespace capbench::quality {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

// What a job printed, kept for as long as it is judged.
struct Ran {
  Step step = Step::kBase;
  std::string ended;
  int exit_status = 0;
  std::string out;
  std::string err;

  Output output() const { return {step, ended, exit_status, out, err}; }
};

using Environment = std::map<std::string, std::string>;

std::string quoted(const std::string& text) {
  return "'" + text + "'";  // no path or argument here holds a quote
}

class GateTest : public ::testing::Test {
 protected:
  void SetUp() override {
    const char* llama = std::getenv("CAPBENCH_LLAMA_DIR");
    if (llama == nullptr) GTEST_SKIP() << "set CAPBENCH_LLAMA_DIR to the folder of llama-perplexity";
    places_.llama_perplexity = fs::path(llama) / "llama-perplexity";
    places_.test_backend_ops = fs::path(llama) / "test-backend-ops";
    if (!fs::exists(places_.llama_perplexity)) {
      GTEST_SKIP() << places_.llama_perplexity << " is missing; try: scripts/llama-bench --perplexity";
    }
    folder_ = fs::path(::testing::TempDir()) / "gate";
    fs::create_directories(folder_);
    places_.model = folder_ / "tiny.gguf";
    places_.text = folder_ / "text";
    places_.base = folder_ / "base";
    ASSERT_TRUE(models::synth(*models::find_shape("tiny"), 1, models::Fill::kPlanted, places_.model).ok());
    plan_ = *make_plan({}, facts_of(*models::read_gguf(places_.model)));
    ASSERT_TRUE(replace_file(places_.text, plan_.text.bytes).ok());
    treatment_.threads = 1;
    treatment_.device = "none";
  }

  // A level of the real CPU shim, in the role of the guest.
  static Environment level(const std::string& name) {
    return {{"LD_PRELOAD", fs::absolute("shim/cpu/libcapshim_cpu.so")}, {"CAPSHIM_SET", "cpu.isa=" + name}};
  }
  static Environment corrupted(const std::string& how) {
    return {{"LD_PRELOAD", fs::absolute("harness/quality/testing/libcorrupt_logits.so")},
            {"CAPBENCH_TEST_CORRUPT", how}};
  }

  Ran run(const Job& job, const Environment& environment) const {
    Ran ran{job.step, "", 0, "", ""};
    for (int attempt = 0; attempt < kMostAttempts; ++attempt) {
      std::string command;
      for (const auto& [name, value] : environment) command += fmt::format("{}={} ", name, quoted(value));
      for (const std::string& argument : job.argv) command += quoted(argument) + " ";
      const fs::path out = folder_ / "out";
      const fs::path err = folder_ / "err";
      command += fmt::format(">{} 2>{} </dev/null", quoted(out), quoted(err));
      const int status = std::system(command.c_str());
      ran.exit_status = WIFEXITED(status) ? WEXITSTATUS(status) : 1;
      ran.out = *read_file(out);
      ran.err = *read_file(err);
      if (!worth_repeating(ran.output())) break;
    }
    return ran;
  }

  Reference make_base(const Environment& environment) const {
    return judge_reference(plan_, run(*base_job(plan_, places_, treatment_), environment).output());
  }

  Verdict judge(const Reference& reference, const Environment& environment, const Places& places,
                Scope scope = {}) const {
    const auto jobs = *arm_jobs(plan_, places, treatment_, scope);
    std::vector<Ran> rans;
    for (const Job& job : jobs) rans.push_back(run(job, environment));
    std::vector<Output> outputs;
    for (const Ran& ran : rans) outputs.push_back(ran.output());
    return judge_arm(plan_, reference, jobs, outputs, false);
  }

  fs::path folder_;
  Places places_;
  Plan plan_;
  runtime::PerplexityTreatment treatment_;
};

TEST_F(GateTest, PassesEveryHarmlessVariantOfTheCpuBackend) {
  const Reference reference = make_base(level("best"));
  ASSERT_TRUE(reference.usable) << reference.why;
  EXPECT_LT(reference.perplexity, 8);
  for (const char* name : {"x64", "haswell"}) {
    const Verdict verdict = judge(reference, level(name), places_, {true, std::string_view(name) == "haswell"});
    EXPECT_EQ(verdict.status, "passed") << name << ": " << verdict.why;
    ASSERT_TRUE(verdict.prompt.has_value());
    EXPECT_EQ(verdict.prompt->chunks, 4);
    // Not the same figures printed again: other kernels round otherwise.
    if (std::string_view(name) == "x64") {
      EXPECT_GT(verdict.prompt->mean_kl, 1e-5);
    }
  }
}

TEST_F(GateTest, RefusesWrongOutput) {
  const Reference reference = make_base({});
  ASSERT_TRUE(reference.usable) << reference.why;
  for (const char* how : {"constant", "nan", "share:50", "noise:40", "position:20"}) {
    const Verdict verdict = judge(reference, corrupted(how), places_, {true, false});
    EXPECT_EQ(verdict.status, "wrong") << how << ": " << verdict_json(plan_, reference, verdict);
  }
}

// A matrix of one layer replaced by another of the same kind: what a wrong kernel for one tensor comes to. Perplexity
// says that nothing is wrong.
TEST_F(GateTest, RefusesAWrongMatrixThatPerplexityPasses) {
  const Reference reference = make_base({});
  ASSERT_TRUE(reference.usable) << reference.why;
  std::string bytes = *read_file(places_.model);
  const models::Gguf gguf = *models::read_gguf(places_.model);
  const auto tensor = [&](std::string_view name) {
    for (const models::GgufTensor& t : gguf.tensors) {
      if (t.name == name) return t;
    }
    return models::GgufTensor{};
  };
  const models::GgufTensor to = tensor("blk.3.attn_output.weight");
  const models::GgufTensor from = tensor("blk.0.attn_output.weight");
  ASSERT_NE(to.bytes, 0U);
  ASSERT_EQ(to.bytes, from.bytes);
  bytes.replace(gguf.data_start + to.offset, to.bytes, bytes.substr(gguf.data_start + from.offset, from.bytes));
  Places broken = places_;
  broken.model = folder_ / "broken.gguf";
  ASSERT_TRUE(replace_file(broken.model, bytes).ok());
  const Verdict verdict = judge(reference, {}, broken, {true, false});
  EXPECT_EQ(verdict.status, "wrong");
  EXPECT_THAT(verdict.why, HasSubstr("KL divergence"));
  ASSERT_TRUE(verdict.prompt.has_value());
  // Within what two harmless builds differ by in a small text: "not worse than 5 %" would let it through.
  EXPECT_LT(verdict.prompt->perplexity, 1.05 * reference.perplexity);
}

TEST_F(GateTest, RefusesAReferenceThatComputesNothing) {
  for (const char* how : {"constant", "nan"}) {
    const Reference reference = make_base(corrupted(how));
    EXPECT_FALSE(reference.usable) << how;
    EXPECT_TRUE(reference.wrong) << how << ": " << reference.why;
  }
}

TEST_F(GateTest, SeesThroughExitStatusZero) {
  // A text that is too short, a base file that is none, a base file cut in the middle, one of another model.
  ASSERT_TRUE(replace_file(places_.text, "abc").ok());
  EXPECT_THAT(make_base({}).why, HasSubstr("too short"));
  ASSERT_TRUE(replace_file(places_.text, plan_.text.bytes).ok());
  const Reference reference = make_base({});
  ASSERT_TRUE(reference.usable) << reference.why;
  const std::string base = *read_file(places_.base);
  EXPECT_EQ(base.size(), base_size(plan_));
  ASSERT_TRUE(replace_file(places_.base, base.substr(0, base.size() / 2)).ok());
  EXPECT_THAT(judge(reference, {}, places_, {true, false}).why, HasSubstr("base file ends early"));
  ASSERT_TRUE(replace_file(places_.base, "nothing").ok());
  EXPECT_THAT(judge(reference, {}, places_, {true, false}).why, HasSubstr("base file is none"));
  fs::remove(places_.base);
  EXPECT_THAT(judge(reference, {}, places_, {true, false}).why, HasSubstr("cannot be opened"));
}

TEST_F(GateTest, TriesOperatorsOnTheCpu) {
  if (!fs::exists(places_.test_backend_ops)) GTEST_SKIP() << "try: scripts/llama-bench --test-backend-ops";
  Settings settings;
  settings.operators = {"SWIGLU"};
  plan_ = *make_plan(settings, plan_.model);
  const Reference reference{true, 4.4, "", false};
  const Verdict verdict = judge(reference, {}, places_, {false, false});
  EXPECT_EQ(verdict.status, "passed") << verdict.why;
  ASSERT_TRUE(verdict.operators.has_value());
  EXPECT_GT(verdict.operators->total, 10U);
  settings.operators = {"NO_SUCH_OPERATOR"};
  plan_ = *make_plan(settings, plan_.model);
  EXPECT_EQ(judge(reference, {}, places_, {false, false}).status, "unchecked");
}

}  // namespace
}  // namespace capbench::quality
