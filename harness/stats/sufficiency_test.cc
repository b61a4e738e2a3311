#include "harness/stats/sufficiency.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdio>
#include <functional>
#include <limits>

#include "harness/stats/condition.h"
#include "harness/stats/power.h"
#include "harness/stats/simulation.h"

namespace capbench::stats {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

const std::vector<double> kMargin = {0.02};

Dependence only(const FactorialData& data, double margin = 0.02) {
  const auto found = find_dependence(std::vector{data}, std::vector{margin});
  EXPECT_TRUE(found.ok()) << (found.ok() ? "" : to_string(found.error()));
  return found.ok() ? found->front() : Dependence{};
}

std::vector<std::string> texts(const std::vector<SetClaim>& sets) {
  std::vector<std::string> out;
  for (const SetClaim& set : sets) out.push_back(set.text);
  return out;
}

// Tokens per second of a full factorial that was measured on one H200 (Vulkan, a 1.1B Q4_0 model): bits are coopmat,
// coopmat2, integer dot, float16. Without both matrix capabilities and float16 alone was not published: the product.
double h200_prompt(std::size_t cell) {
  const bool coopmat = (cell & 1U) != 0;
  const bool coopmat2 = (cell & 2U) != 0;
  const bool dot = (cell & 4U) != 0;
  const bool float16 = (cell & 8U) != 0;
  if (coopmat && coopmat2) return 32054;
  if (coopmat) return 32920;
  if (coopmat2) return 32191;
  if (dot && float16) return 15455;
  if (float16) return 12880;
  if (dot) return 15455.0 * 8992 / 12880;
  return 8992;
}

const std::vector<std::string> kVulkan = {"coopmat", "coopmat2", "integer dot", "float16"};

TEST(Sufficiency, OfTheH200sFactorialIsASentence) {
  Random random(7);
  const simulation::Noise quiet{.between = 0.004, .within = 0.004, .skewed = false, .block = 0.01, .slow = 0};
  const simulation::Noise loud{.between = 0.03, .within = 0.02, .skewed = false, .block = 0, .slow = 0};
  const std::vector<FactorialData> tests = {simulation::factorial(random, "pp512", kVulkan, h200_prompt, quiet, 5),
                                            simulation::factorial(
                                                random, "tg128", kVulkan, [](std::size_t) { return 585.0; }, loud, 5)};
  const auto found = find_dependence(tests, std::vector{0.02, 0.02});
  ASSERT_TRUE(found.ok());
  const Dependence& prompt = found->front();
  EXPECT_TRUE(prompt.sees_redundancy);
  EXPECT_EQ(prompt.kind, DesignKind::kFullFactorial);
  EXPECT_THAT(texts(prompt.sufficient), ElementsAre("coopmat", "coopmat2"));
  EXPECT_THAT(texts(prompt.cuts), ElementsAre("coopmat with coopmat2"));
  EXPECT_TRUE(prompt.cuts[0].minimal_shown);
  EXPECT_TRUE(prompt.sufficient[0].minimal_shown);
  EXPECT_EQ(prompt.factors[0].verdict, Verdict::kYes);
  EXPECT_THAT(prompt.factors[0].stand_ins, ElementsAre(1U));
  EXPECT_THAT(prompt.factors[0].why, HasSubstr("together with `coopmat2` costs 5"));
  EXPECT_EQ(prompt.factors[0].condition, "only without coopmat2");
  EXPECT_EQ(prompt.factors[2].verdict, Verdict::kNo);
  EXPECT_EQ(prompt.factors[2].condition, "only without coopmat and coopmat2");
  EXPECT_EQ(prompt.factors[3].condition, "only without coopmat and coopmat2");
  EXPECT_EQ(prompt.sentence,
            "pp512 depends on (coopmat or coopmat2); integer dot and float16 matter only without them");
  const Dependence& generation = found->back();
  EXPECT_THAT(generation.cuts, IsEmpty());
  EXPECT_EQ(generation.factors[0].verdict, Verdict::kCannotTell);
  ASSERT_TRUE(generation.nothing_over.has_value());
  EXPECT_GT(*generation.nothing_over, 0.05);
  EXPECT_LT(*generation.nothing_over, 0.30);
  EXPECT_THAT(generation.sentence, HasSubstr("tg128: cannot tell at this noise (nothing over "));
  EXPECT_EQ(join_sentences(*found), prompt.sentence + "; " + generation.sentence + ".");
}

TEST(Sufficiency, AColdFirstProcessSpoilsOneArmOnly) {
  Random random(8);
  const simulation::Noise quiet{.between = 0.004, .within = 0.004};
  FactorialData data = simulation::factorial(random, "pp512", kVulkan, h200_prompt, quiet, 8);
  for (double& sample : data.cells[5].trials[0].samples) sample /= 3.4;  // coopmat and integer dot
  const Dependence found = only(data);
  EXPECT_EQ(found.arms[5].claim, Claim::kUnknown);
  EXPECT_THAT(texts(found.sufficient), ElementsAre("coopmat", "coopmat2"));
  EXPECT_THAT(found.sentence, HasSubstr("pp512 depends on (coopmat or coopmat2)"));
}

// llama.cpp's Metal backend: reduction with Apple7 or Metal3, bfloat with Apple6 or Metal3, matrices with Apple7.
TEST(Sufficiency, OfTheMetalShapes) {
  Random random(9);
  const simulation::Noise quiet{.between = 0.003, .within = 0.003};
  const std::vector<std::string> names = {"Apple6", "Apple7", "Metal3"};
  const auto speed = [](std::size_t cell) {
    const bool apple6 = (cell & 1U) != 0;
    const bool apple7 = (cell & 2U) != 0;
    const bool metal3 = (cell & 4U) != 0;
    return 4800.0 * (apple7 || metal3 ? 1 : 0.2) * (apple6 || metal3 ? 1 : 0.9);
  };
  const Dependence found = only(simulation::factorial(random, "pp512", names, speed, quiet, 5));
  EXPECT_THAT(texts(found.sufficient), ElementsAre("Metal3", "Apple6 and Apple7"));
  EXPECT_THAT(texts(found.cuts), ElementsAre("Apple6 with Metal3", "Apple7 with Metal3"));
  EXPECT_EQ(found.sentence, "pp512 depends on (Apple6 or Metal3) and (Apple7 or Metal3)");
  const auto needed = [](std::size_t cell) { return (cell & 2U) != 0 && (cell & 5U) != 0 ? 4800.0 : 400.0; };
  const Dependence alone = only(simulation::factorial(random, "pp512", names, needed, quiet, 5));
  EXPECT_EQ(alone.sentence, "pp512 depends on Apple7 and (Apple6 or Metal3)");
  EXPECT_EQ(alone.factors[1].verdict, Verdict::kYes);
  EXPECT_THAT(alone.factors[1].stand_ins, IsEmpty());
  EXPECT_THAT(alone.factors[1].why, HasSubstr("removing it costs 91"));
}

TEST(Sufficiency, OfSeveralLevelsNamesTheLevel) {
  Random random(10);
  const simulation::Noise quiet{.between = 0.003, .within = 0.003};
  FactorialData data;
  data.test = "pp512";
  data.factors = {{"metal.apple_family", {"1005", "1006", "1007", "1008", "1009"}},
                  {"metal.max_threadgroup_memory", {"32768", "65536"}}};
  for (std::size_t family = 0; family < 5; ++family) {
    for (std::size_t memory = 0; memory < 2; ++memory) {
      data.cells.push_back({"f" + std::to_string(family) + "m" + std::to_string(memory),
                            {family, memory},
                            simulation::trials(random, family >= 2 ? 4780.0 : 430.0, quiet, 5),
                            ""});
    }
  }
  const Dependence found = only(data);
  EXPECT_EQ(found.kind, DesignKind::kFullFactorial);
  EXPECT_THAT(texts(found.sufficient), ElementsAre("metal.apple_family 1007"));
  EXPECT_THAT(texts(found.cuts), ElementsAre("metal.apple_family 1006"));
  EXPECT_EQ(found.sentence, "pp512 depends on metal.apple_family over 1006");
  EXPECT_EQ(found.factors[1].verdict, Verdict::kNo);
}

TEST(Sufficiency, MoreCanBeSlower) {
  // b undoes what a gives, unless c is there.
  Random random(11);
  const simulation::Noise quiet{.between = 0.003, .within = 0.003};
  const std::vector<std::string> names = {"a", "b", "c"};
  const double speeds[] = {50, 100, 50, 70, 50, 112, 50, 100};
  const Dependence found = only(simulation::factorial(
      random, "pp512", names, [&](std::size_t i) { return speeds[i]; }, quiet, 5));
  EXPECT_THAT(texts(found.sufficient), ElementsAre("a"));
  EXPECT_THAT(texts(found.cuts), ElementsAre("a", "c"));
  EXPECT_THAT(found.notes, testing::Contains(HasSubstr("more is slower: arm `a` suffices, arm `a+b` has all of it")));
  EXPECT_THAT(found.notes, testing::Contains(HasSubstr("arm `a+c` is faster than everything unlocked by")));
  EXPECT_EQ(found.factors[1].verdict, Verdict::kNo);  // without it, faster
}

TEST(Sufficiency, LeaveOneOutCannotSeeRedundancy) {
  Random random(12);
  const simulation::Noise quiet{.between = 0.003, .within = 0.003};
  FactorialData data = simulation::factorial(random, "pp512", kVulkan, h200_prompt, quiet, 5);
  std::vector<Cell> kept;
  for (const std::size_t cell : {15U, 14U, 13U, 11U, 7U}) kept.push_back(data.cells[cell]);
  data.cells = kept;
  EXPECT_EQ(design_kind(data), DesignKind::kLeaveOneOut);
  const Dependence found = only(data);
  EXPECT_FALSE(found.sees_redundancy);
  EXPECT_THAT(found.sentence,
              HasSubstr("pp512 needs no single one of coopmat, coopmat2, integer dot and float16 (nothing over "));
  EXPECT_THAT(found.sentence, HasSubstr("; redundancy cannot be seen in this design"));
  EXPECT_EQ(found.factors[0].verdict, Verdict::kNo);
  EXPECT_THAT(found.factors[0].why, HasSubstr("stand-ins cannot be seen"));
  // With stock beside them something is needed, and the design cannot say what.
  data.cells.push_back(simulation::factorial(random, "pp512", kVulkan, h200_prompt, quiet, 5).cells[0]);
  const Dependence more = only(data);
  EXPECT_THAT(more.sentence, HasSubstr("pp512 depends on something among coopmat, coopmat2, integer dot and float16"));
  EXPECT_FALSE(more.cuts[0].minimal_shown);
}

// The settings that would tell "without b" from "without c" cannot: both are named.
TEST(Condition, NamesEveryOneThatFitsWhatWasMeasured) {
  Random random(17);
  const FactorialData data = simulation::factorial(
      random, "pp512", {"a", "b", "c", "d", "e"}, [](std::size_t) { return 100.0; }, {}, 1);
  const PreparedDesign design = prepare_design(data);
  // Of the settings of b to e, those with b and c both off show the effect, those with both on show none.
  const auto settings_with = [](bool d_tells) {
    std::vector<SettingClaim> settings;
    for (std::size_t i = 0; i < 16; ++i) {
      const Levels levels = {1, i & 1U, (i >> 1U) & 1U, (i >> 2U) & 1U, (i >> 3U) & 1U};
      const bool off = d_tells ? levels[1] + levels[2] + levels[3] == 0 : levels[1] + levels[2] == 0;
      const bool on = d_tells ? levels[1] + levels[2] + levels[3] == 3 : levels[1] + levels[2] == 2;
      settings.push_back({levels, off ? Claim::kBeyond : on ? Claim::kWithin : Claim::kUnknown});
    }
    return settings;
  };
  EXPECT_EQ(describe_condition(design, 0, settings_with(false)).text,
            "only without b, or only without c: what was measured fits either (cannot tell at 8 of 16 settings)");
  EXPECT_EQ(
      describe_condition(design, 0, settings_with(true)).text,
      "only without b, or only without c, or only without d: what was measured fits each (cannot tell at 12 of 16 "
      "settings)");
  // Where the others are known there is one.
  std::vector<SettingClaim> known = settings_with(false);
  for (SettingClaim& setting : known) {
    if (setting.claim == Claim::kUnknown) setting.claim = setting.levels[1] == 0 ? Claim::kBeyond : Claim::kWithin;
  }
  EXPECT_EQ(describe_condition(design, 0, known).text, "only without b");
  EXPECT_THAT(describe_condition(design, 0, known).without, ElementsAre(1U));
}

TEST(Sufficiency, OneAtATimeTellsWhatEachAdds) {
  Random random(13);
  const simulation::Noise quiet{.between = 0.003, .within = 0.003};
  FactorialData data = simulation::factorial(random, "pp512", kVulkan, h200_prompt, quiet, 5);
  std::vector<Cell> kept;
  for (const std::size_t cell : {0U, 1U, 2U, 4U, 8U}) kept.push_back(data.cells[cell]);
  data.cells = kept;
  EXPECT_EQ(design_kind(data), DesignKind::kOneAtATime);
  const Dependence found = only(data);
  EXPECT_THAT(found.sentence, HasSubstr("pp512: cannot tell, no arm with everything unlocked has results; "
                                        "adding coopmat gives 3.6"));
  EXPECT_THAT(found.sentence, HasSubstr("redundancy cannot be seen"));
  EXPECT_EQ(found.factors[0].verdict, Verdict::kCannotTell);
}

TEST(Sufficiency, TwoFactorsChangedAtOnceCannotBeTold) {
  // One process each, as published: no claim at all.
  FactorialData data;
  data.test = "pp512";
  data.factors = {{"metal.apple_family", {"1005", "1009"}}, {"metal.max_threadgroup_memory", {"32768", "65536"}}};
  data.cells = {{"stock", {0, 0}, {{0, {431, 432, 433, 431.5}}}, ""},
                {"unlocked", {1, 1}, {{0, {4780, 4790, 4784, 4785}}}, ""}};
  const Dependence one = only(data);
  EXPECT_EQ(one.sentence,
            "pp512: metal.apple_family and metal.max_threadgroup_memory changed together give 11.08 x (within one "
            "process); cannot tell which; redundancy cannot be seen in this design");
  for (const FactorVerdict& factor : one.factors) EXPECT_EQ(factor.verdict, Verdict::kCannotTellWhich);
  EXPECT_EQ(one.factors[0].why, "changed together with `metal.max_threadgroup_memory`");
  // Several: the two together are shown to matter.
  for (Cell& cell : data.cells) {
    for (std::int64_t block = 1; block < 5; ++block) {
      cell.trials.push_back(cell.trials[0]);
      cell.trials.back().block = block;
      for (double& sample : cell.trials.back().samples) sample *= 1 + 0.001 * static_cast<double>(block);
    }
  }
  const Dependence several = only(data);
  EXPECT_EQ(several.sentence,
            "pp512 depends on metal.apple_family and metal.max_threadgroup_memory together (cannot tell which); "
            "redundancy cannot be seen in this design");
  EXPECT_EQ(several.factors[1].verdict, Verdict::kCannotTellWhich);
}

// Steps from everything off to everything on, one factor more each: of each factor one setting of the others is run.
FactorialData ladder(Random& random, const std::vector<double>& speeds) {
  const simulation::Noise quiet{.between = 0.004, .within = 0.004, .skewed = false, .block = 0.01, .slow = 0};
  const std::vector<std::string> names = {"a", "b", "c"};
  const auto speed = [&](std::size_t cell) { return speeds.at(static_cast<std::size_t>(std::popcount(cell))); };
  FactorialData data = simulation::factorial(random, "pp512", names, speed, quiet, 8);
  std::erase_if(data.cells, [](const Cell& cell) {
    return !std::is_sorted(cell.levels.begin(), cell.levels.end(), std::greater<>());  // 000, 100, 110, 111
  });
  return data;
}

TEST(Sufficiency, ALadderSpeaksOfTheOneSettingThatWasRun) {
  Random random(21);
  const Dependence found = only(ladder(random, {100, 150, 200, 200}));
  ASSERT_EQ(found.factors.size(), 3U);
  EXPECT_EQ(found.factors[0].condition, "at the one setting of the others that was run");
  EXPECT_EQ(found.factors[1].condition, "at the one setting of the others that was run");
  EXPECT_EQ(found.factors[2].condition, "");
  EXPECT_THAT(found.sentence, Not(HasSubstr("every setting")));
}

TEST(Sufficiency, TwoSettingsOfManyNameNoLevelThatAnotherExplainsAsWell) {
  Random random(22);
  const simulation::Noise quiet{.between = 0.004, .within = 0.004, .skewed = false, .block = 0.01, .slow = 0};
  // `a` counts where both others are off and not where both are on: which of the two decides was not run.
  const auto speed = [](std::size_t cell) { return cell == 0 ? 100.0 : 200.0; };
  FactorialData data = simulation::factorial(random, "pp512", {"a", "b", "c"}, speed, quiet, 8);
  std::erase_if(data.cells, [](const Cell& cell) {
    const std::size_t on = cell.levels[0] + cell.levels[1] + cell.levels[2];
    return (on == 2 && cell.levels[0] == 1) || (on == 1 && cell.levels[2] == 1);
  });
  const Dependence found = only(data);
  EXPECT_EQ(found.factors[0].condition, "at 1 of 2 settings of the others that were run, of 4");
}

TEST(Sufficiency, FactorsThatOnlyChangeTogetherAreNamedTogether) {
  Random random(24);
  const simulation::Noise quiet{.between = 0.004, .within = 0.004, .skewed = false, .block = 0.01, .slow = 0};
  const auto speed = [](std::size_t cell) { return cell == 0 ? 100.0 : 200.0; };
  FactorialData data = simulation::factorial(random, "pp512", {"a", "b", "c"}, speed, quiet, 8);
  std::erase_if(data.cells, [](const Cell& cell) { return cell.levels[1] != cell.levels[2]; });
  const Dependence found = only(data);
  EXPECT_EQ(found.factors[0].condition, "only without b and c");
}

TEST(Sufficiency, AFractionSaysHowManySettingsItSpeaksOf) {
  Random random(23);
  const simulation::Noise quiet{.between = 0.004, .within = 0.004, .skewed = false, .block = 0.01, .slow = 0};
  const auto speed = [](std::size_t cell) { return (cell & 1U) != 0 ? 200.0 : 100.0; };
  FactorialData data = simulation::factorial(random, "pp512", {"a", "b", "c"}, speed, quiet, 8);
  // `a` at three of the four settings of the others.
  std::erase_if(data.cells, [](const Cell& cell) { return cell.levels[1] == 1 && cell.levels[2] == 0; });
  const Dependence found = only(data);
  EXPECT_EQ(found.factors[0].condition, "at all 3 settings of the others that were run, of 4");
  // All four: nothing to add.
  const Dependence full = only(simulation::factorial(random, "pp512", {"a", "b", "c"}, speed, quiet, 8));
  EXPECT_EQ(full.factors[0].condition, "at every setting of the others");
}

TEST(Sufficiency, TwoTrialsClaimNothing) {
  Random random(14);
  const simulation::Noise quiet{.between = 0.001, .within = 0.001};
  const Dependence found = only(simulation::factorial(random, "pp512", kVulkan, h200_prompt, quiet, 2));
  EXPECT_EQ(found.sentence, "pp512: cannot tell, that takes three trials or more in every arm");
  EXPECT_THAT(found.sufficient, IsEmpty());
  for (const ArmClaim& arm : found.arms) EXPECT_EQ(arm.claim, Claim::kUnknown);
  EXPECT_EQ(found.arms[0].over_unlocked->alone->method, "min-max");
}

TEST(Sufficiency, EmptyAndBadCellsAreNamedAndLeaveTheRestAlone) {
  Random random(15);
  const simulation::Noise quiet{.between = 0.003, .within = 0.003};
  FactorialData data = simulation::factorial(random, "pp512", kVulkan, h200_prompt, quiet, 5);
  data.cells[3].trials.clear();
  data.cells[3].why_empty = "5 trials timed out";
  data.cells[6].trials[2].samples[1] = 0;
  data.cells[9].trials[0].samples[0] = std::numeric_limits<double>::quiet_NaN();
  data.cells[10].trials[0].samples[0] = -3;
  data.cells[5].trials.resize(1);
  const Dependence found = only(data);
  EXPECT_EQ(found.arms.size(), 16U);
  EXPECT_THAT(found.notes, testing::Contains("empty cell: arm `coopmat+coopmat2`: 5 trials timed out"));
  EXPECT_THAT(found.notes,
              testing::Contains(HasSubstr("empty cell: arm `coopmat2+integer dot`, trial 2: a sample is not")));
  EXPECT_THAT(found.notes, testing::Contains(HasSubstr("empty cell: arm `coopmat+float16`, trial 0")));
  EXPECT_THAT(found.notes, testing::Contains(HasSubstr("empty cell: arm `coopmat2+float16`, trial 0")));
  EXPECT_EQ(found.arms[3].claim, Claim::kUnknown);
  EXPECT_EQ(found.arms[5].claim, Claim::kUnknown);
  EXPECT_FALSE(found.nothing_over.has_value());
  EXPECT_THAT(found.sentence, HasSubstr("pp512 depends on (coopmat or coopmat2)"));
  // Without unlocked nothing can be told.
  data.cells[15].trials.clear();
  EXPECT_THAT(only(data).sentence, HasSubstr("cannot tell, no arm with everything unlocked has results"));
}

TEST(Sufficiency, RefusesWhatIsNoDesign) {
  FactorialData data;
  data.test = "pp512";
  const auto cause = [&] { return find_dependence(std::vector{data}, kMargin).error().cause; };
  EXPECT_EQ(cause(), "it has no factors");
  data.factors = {{"a", {"off", "on"}}};
  EXPECT_EQ(cause(), "it has no cells");
  data.cells = {{"x", {2}, {}, ""}};
  EXPECT_EQ(cause(), "cell `x` does not give an existing level of every factor");
  data.cells = {{"x", {0, 1}, {}, ""}};
  EXPECT_EQ(cause(), "cell `x` does not give an existing level of every factor");
  data.cells = {{"x", {0}, {}, ""}, {"y", {0}, {}, ""}};
  EXPECT_EQ(cause(), "cells `x` and `y` have the same levels");
  data.factors = {{"a", {"off", "on"}}, {"a", {"off", "on"}}};
  EXPECT_EQ(cause(), "two factors are named `a`");
  data.factors = {{"a", {"off"}}};
  EXPECT_EQ(cause(), "factor `a` has fewer than two levels");
  data.factors.clear();
  for (int i = 0; i < 11; ++i) data.factors.push_back({"f" + std::to_string(i), {"off", "on"}});
  EXPECT_EQ(cause(), "11 factors, more than 10");
  EXPECT_FALSE(find_dependence(std::vector{data}, std::vector<double>{}).ok());
  data.factors.resize(1);
  data.cells.resize(1);
  EXPECT_FALSE(find_dependence(std::vector{data}, std::vector{0.0}).ok());
  EXPECT_FALSE(find_dependence(std::vector{data}, std::vector{std::numeric_limits<double>::quiet_NaN()}).ok());
  EXPECT_TRUE(find_dependence(std::vector{data}, kMargin).ok());  // one empty cell: a report of its own
}

// Tables of arms that are all alike, or all lose exactly the margin: no "depends on", and no difference shown, in 95 %
// of them. With 100 tables one standard error is 2.2 %; README.md has the figures of longer runs.
TEST(SufficiencySimulation, FalseFindingsAreRare) {
  struct Case {
    const char* name;
    std::size_t n_factors;
    std::size_t n_trials;
    simulation::Noise noise;
    bool uneven;
  };
  const Case cases[] = {
      {"3 factors, 3 trials", 3, 3, {}, false},
      {"3 factors, 3 trials, half the arms three times as noisy", 3, 3, {}, true},
      {"3 factors, 5 trials", 3, 5, {.block = 0.01}, false},
      {"4 factors, 5 trials, half the arms three times as noisy", 4, 5, {}, true},
      {"3 factors, 8 trials, skewed", 3, 8, {.skewed = true}, false},
      {"3 factors, 12 trials, 5 % slow", 3, 12, {.block = 0.01, .slow = 0.05}, false},
  };
  const int tables = simulation::repetitions(100);
  for (const Case& one : cases) {
    Random random(21);
    int shown = 0;
    int depends = 0;
    const std::vector<std::string> all = {"a", "b", "c", "d"};
    const std::vector<std::string> names(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(one.n_factors));
    const std::size_t last = (std::size_t{1} << one.n_factors) - 1;
    for (int table = 0; table < tables; ++table) {
      const auto data = [&](double others) {
        FactorialData out;
        const std::vector<double> blocks = simulation::block_effects(random, one.noise, one.n_trials);
        out = simulation::factorial(
            random, "pp512", names, [](std::size_t) { return 100.0; }, one.noise, 1);
        for (std::size_t i = 0; i < out.cells.size(); ++i) {
          simulation::Noise noise = one.noise;
          if (one.uneven && i % 2 == 1) noise.between *= 3, noise.within *= 3;
          out.cells[i].trials = simulation::trials(random, i == last ? 100.0 : others, noise, blocks);
        }
        return out;
      };
      const Dependence alike = only(data(100));
      bool any = false;
      for (const ArmClaim& arm : alike.arms) {
        if (!arm.over_unlocked) continue;
        any |= *arm.over_unlocked->simultaneous->lo > 1 || *arm.over_unlocked->simultaneous->hi < 1;
      }
      shown += any ? 1 : 0;
      depends += only(data(98)).cuts.empty() ? 0 : 1;
    }
    const double most = 0.05 * tables + 3 * std::sqrt(0.05 * 0.95 * tables);
    EXPECT_LE(shown, most) << one.name;
    EXPECT_LE(depends, most) << one.name;
    RecordProperty(one.name, "shown " + std::to_string(shown) + ", depends " + std::to_string(depends) + " of " +
                                 std::to_string(tables));
    std::printf("%-60s a difference shown in %.1f %%, a false \"depends on\" in %.1f %% of %d tables\n", one.name,
                100.0 * shown / tables, 100.0 * depends / tables, tables);
  }
}

// A factor that costs 6 %, against a margin of 2 %, with the trials recommended for the whole family of the table.
TEST(SufficiencySimulation, TheRecommendedTrialsGiveTheVerdict) {
  Random random(41);
  const simulation::Noise noise;  // 1 % between processes, 1 % within
  // The median of five normal values has 0.287 times their variance. 7 arms against unlocked and 12 simple effects, 3
  // of which are the same.
  const auto trials =
      recommended_trials({0.01 * std::sqrt(1 + 0.287), 0}, {.effect = 0.06, .margin = 0.02, .comparisons = 16});
  ASSERT_TRUE(trials.ok() && trials->has_value());
  const int tables = simulation::repetitions(60);
  int yes = 0;
  int wrong = 0;
  for (int i = 0; i < tables; ++i) {
    const Dependence found = only(simulation::factorial(
        random, "pp512", {"a", "b", "c"}, [](std::size_t cell) { return (cell & 1U) != 0 ? 100.0 : 94.0; }, noise,
        **trials));
    EXPECT_EQ(found.comparisons, 16U);
    yes += found.factors[0].verdict == Verdict::kYes ? 1 : 0;
    wrong += found.factors[1].verdict == Verdict::kYes || found.factors[2].verdict == Verdict::kYes ? 1 : 0;
  }
  std::printf("6 %% against a margin of 2 %%, %zu trials: yes in %.1f %% of %d tables\n", **trials,
              100.0 * yes / tables, tables);
  EXPECT_GE(yes, 0.9 * tables - 3 * std::sqrt(0.09 * tables));
  EXPECT_LE(wrong, 0.05 * tables + 3 * std::sqrt(0.0475 * tables));
}

}  // namespace
}  // namespace capbench::stats
