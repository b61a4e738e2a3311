#include "harness/quality/plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "base/digest.h"
#include "models/catalog.h"
#include "models/twin_plan.h"

namespace capbench::quality {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

ModelFacts twin_of(std::string_view name, models::Fill fill = models::Fill::kPlanted) {
  return facts_of(models::plan_twin(*models::find_shape(name), 1, fill)->head.layout);
}

const Places kPlaces{"/l/llama-perplexity", "/l/test-backend-ops", "m.gguf", "text", "base"};

TEST(Facts, AreReadFromTheModelFile) {
  const ModelFacts facts = twin_of("tinyllama-1.1b");
  EXPECT_EQ(facts.twin_fill, "planted");
  EXPECT_EQ(facts.vocabulary, 32000U);
  EXPECT_EQ(facts.context, 2048U);
  EXPECT_EQ(facts.needs.head_size, 64U);
  EXPECT_FALSE(facts.experts);
  EXPECT_THAT(facts.needs.weight_types, ElementsAre("q4_K", "q6_K"));
  EXPECT_THAT(twin_of("tinyllama-1.1b-f16").needs.weight_types, ElementsAre("f16"));
}

TEST(Texts, AreFixed) {
  // Pinned: results name their text by these digests.
  const Text text = make_plan({}, twin_of("tiny"))->text;
  EXPECT_EQ(text.sha256, sha256(text.bytes));
  EXPECT_EQ(sequence_text(512).sha256.substr(0, 16), "ce0a724d791ff1cc");
  EXPECT_EQ(english_text(512)->sha256.substr(0, 16), "c41be3d050ac1197");
  EXPECT_GE(sequence_text(512).bytes.size(), 512U);
  const auto too_long = english_text(100'000);
  ASSERT_FALSE(too_long.ok());
  EXPECT_THAT(to_string(too_long.error()), HasSubstr("fewer chunks"));
}

TEST(Plan, PicksTheTextThatTheModelCanRead) {
  EXPECT_EQ(make_plan({}, twin_of("tiny"))->text.name, "sequence");
  ModelFacts real = twin_of("tiny");
  real.twin_fill = "";
  EXPECT_EQ(make_plan({}, real)->text.name, "english");
  Settings own;
  own.text = "novel.txt";
  EXPECT_EQ(make_plan(own, real, std::string(5000, 'a'))->text.name, "novel.txt");
  EXPECT_FALSE(make_plan(own, real, std::string(500, 'a')).ok());
}

TEST(Plan, SaysWhichModelsCannotBeJudged) {
  EXPECT_THAT(make_plan({}, twin_of("tiny", models::Fill::kPattern))->impossible, HasSubstr("pattern"));
  ModelFacts mute = twin_of("tiny");
  mute.vocabulary = 0;
  EXPECT_THAT(make_plan({}, mute)->impossible, HasSubstr("vocabulary"));
  EXPECT_EQ(make_plan({}, twin_of("tiny"))->impossible, "");
}

TEST(Plan, RefusesSettingsThatJudgeNothing) {
  const auto refused = [](auto change) {
    Settings settings;
    change(settings);
    const auto plan = make_plan(settings, twin_of("tiny"));
    return !plan.ok() && plan.error().kind == ErrorKind::kUsage && !plan.error().remedy.empty();
  };
  EXPECT_FALSE(refused([](Settings&) {}));
  EXPECT_TRUE(refused([](Settings& s) { s.chunks = 1; }));
  EXPECT_TRUE(refused([](Settings& s) { s.ctx = 7; }));
  EXPECT_TRUE(refused([](Settings& s) { s.ctx = 32; }));    // 60 positions
  EXPECT_TRUE(refused([](Settings& s) { s.ctx = 1024; }));  // the model has 512
  EXPECT_TRUE(refused([](Settings& s) { s.ctx = std::numeric_limits<std::int64_t>::max(); }));
  EXPECT_TRUE(refused([](Settings& s) { s.chunks = std::numeric_limits<std::int64_t>::max(); }));
  EXPECT_TRUE(refused([](Settings& s) { s.max_kl = 0; }));
  EXPECT_TRUE(refused([](Settings& s) { s.max_mean_kl = std::nan(""); }));
}

TEST(Jobs, AreOneBasePerReferenceAndAStepPerKindOfKernel) {
  const Plan plan = *make_plan({}, twin_of("tiny"));
  const Job base = *base_job(plan, kPlaces, {});
  EXPECT_EQ(base.reads, "text");
  EXPECT_EQ(base.writes, "base");
  EXPECT_THAT(base.argv, Contains("-f"));
  const auto jobs = *arm_jobs(plan, kPlaces, {}, {});
  ASSERT_EQ(jobs.size(), 2U);
  EXPECT_EQ(jobs[0].step, Step::kPrompt);
  EXPECT_EQ(jobs[1].step, Step::kDecode);
  EXPECT_EQ(jobs[1].reads, "base");
  EXPECT_THAT(jobs[1].argv, Contains("--kl-divergence"));
  EXPECT_NE(jobs[0].argv, jobs[1].argv);
  EXPECT_EQ(arm_jobs(plan, kPlaces, {}, {true, false})->size(), 1U);
  EXPECT_EQ(base_size(plan), 262132U);
}

TEST(Jobs, TryOperatorsOnTheArmsDevice) {
  Settings settings;
  settings.operators = {"model"};
  const Plan plan = *make_plan(settings, twin_of("tiny"));
  runtime::PerplexityTreatment arm;
  EXPECT_FALSE(arm_jobs(plan, kPlaces, arm, {}).ok());
  arm.device = "Vulkan0/Vulkan1";
  const auto jobs = *arm_jobs(plan, kPlaces, arm, {});
  ASSERT_GE(jobs.size(), 4U);
  EXPECT_EQ(jobs.back().step, Step::kOperators);
  EXPECT_THAT(jobs.back().argv, Contains("Vulkan0"));
  for (const Job& job : jobs) EXPECT_THAT(job.argv, Not(Contains("MUL_MAT_ID")));
  arm.device = "none";
  EXPECT_EQ(operator_device(arm), "CPU");
}

}  // namespace
}  // namespace capbench::quality
