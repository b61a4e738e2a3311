#include "reports/levels.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <utility>

namespace capbench::reports {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

ArmFacts arm(const std::string& name, const std::string& mode) {
  ArmFacts facts;
  facts.name = name;
  facts.mode = mode;
  facts.usable = true;
  facts.arm.emplace();
  facts.arm->name = name;
  facts.arm->mode = mode;
  return facts;
}

ArmFacts with_set(const std::string& name, std::map<std::string, std::string> set) {
  ArmFacts facts = arm(name, "layer");
  facts.arm->set = std::move(set);
  return facts;
}

ArmFacts with_env(const std::string& name, std::map<std::string, std::string> env) {
  ArmFacts facts = arm(name, "switch");
  facts.arm->env = std::move(env);
  return facts;
}

std::vector<std::string> names_of(const FactorFamily& family) {
  std::vector<std::string> names;
  for (const VariedFactor& factor : family.factors) names.push_back(factor.name);
  return names;
}

// The arm of these levels, and those that are told the same.
std::vector<std::size_t> arms_at(const FactorFamily& family, const std::vector<std::size_t>& levels) {
  for (const FactorFamily::Cell& cell : family.cells) {
    if (cell.levels != levels) continue;
    std::vector<std::size_t> out = {cell.arm};
    out.insert(out.end(), cell.twins.begin(), cell.twins.end());
    return out;
  }
  return {};
}

TEST(Levels, OfASuiteWrittenByHand) {
  std::vector<ArmFacts> arms = {
      arm("bare-metal", "bare-metal"),
      with_set("all", {{"vulkan.a", "on"}, {"vulkan.b", "on"}}),
      with_set("no a", {{"vulkan.a", "off"}}),
      with_set("neither", {{"vulkan.a", "off"}, {"vulkan.b", "off"}}),
      with_env("switch a", {{"GGML_VK_DISABLE_A", "1"}}),
  };
  arms[0].observed = {{"vulkan.a", "on"}};
  arms[2].observed = {{"vulkan.b", "on"}};  // nobody asked: what the device answers by itself
  const auto families = factor_families(arms, std::nullopt);
  ASSERT_EQ(families.size(), 2U);
  EXPECT_THAT(names_of(families[0]), ElementsAre("GGML_VK_DISABLE_A"));
  EXPECT_THAT(families[0].factors[0].levels, ElementsAre("1", "unset"));
  EXPECT_THAT(names_of(families[1]), ElementsAre("vulkan.a", "vulkan.b"));
  EXPECT_THAT(families[1].factors[0].levels, ElementsAre("off", "on"));
  EXPECT_EQ(families[1].factors[0].label, "a");
  // Of arms told the same one of the most usual mode stands for them.
  EXPECT_THAT(arms_at(families[1], {1, 1}), ElementsAre(1U, 0U));
  EXPECT_THAT(arms_at(families[1], {0, 1}), ElementsAre(2U));
  EXPECT_THAT(arms_at(families[1], {0, 0}), ElementsAre(3U));
}

TEST(Levels, AStandInGuestAnswersUnlessTheShimDoes) {
  ArmFacts stock = arm("stock", "stock");
  stock.guest = "stand-in";
  stock.arm->guest = {{"vulkan.a", "off"}};
  ArmFacts unlocked = stock;
  unlocked.name = "unlocked";
  unlocked.mode = "unlocked";
  unlocked.arm->set = {{"vulkan.a", "on"}};
  const auto families = factor_families({stock, unlocked}, std::nullopt);
  ASSERT_EQ(families.size(), 1U);
  EXPECT_THAT(families[0].factors[0].levels, ElementsAre("off", "on"));
  EXPECT_THAT(arms_at(families[0], {0}), ElementsAre(0U));
}

TEST(Levels, WhatChangedUnaskedIsAFactorToo) {
  ArmFacts stock = arm("stock", "stock");
  stock.guest = "vm";
  stock.observed = {{"metal.apple_family", "1005"}, {"metal.max_threadgroup_memory", "32768"}};
  ArmFacts unlocked = arm("unlocked", "unlocked");
  unlocked.guest = "vm";
  unlocked.arm->env = {{"LUME_METAL_APPLE_FAMILY_MAX", "1009"}, {"DYLD_INSERT_LIBRARIES", "shim.dylib"}};
  unlocked.observed = {{"metal.apple_family", "1009"}, {"metal.max_threadgroup_memory", "65536"}};
  ArmFacts host = arm("bare-metal", "bare-metal");
  host.observed = {{"metal.apple_family", "1007"}};
  const auto families = factor_families({host, stock, unlocked}, std::nullopt);
  ASSERT_EQ(families.size(), 1U);
  EXPECT_EQ(families[0].place, "VM");
  EXPECT_THAT(names_of(families[0]), ElementsAre("metal.apple_family", "metal.max_threadgroup_memory"));
  EXPECT_THAT(families[0].factors[0].levels, ElementsAre("1005", "1009"));
  EXPECT_TRUE(families[0].factors[0].requested);
  EXPECT_FALSE(families[0].factors[1].requested);
}

TEST(Levels, WhatChangedOnlyInAnArmWithoutResultsIsNoFactor) {
  std::vector<ArmFacts> arms = {with_set("stock", {}), with_set("unlocked", {{"metal.apple_family", "1009"}}),
                                with_set("excluded", {{"metal.apple_family", "1009"}})};
  for (ArmFacts& facts : arms) facts.observed["metal.common_family"] = "3003";
  arms[0].observed["metal.apple_family"] = "1005";
  arms[2].observed["metal.common_family"] = "3006";
  const auto with = factor_families(arms, std::nullopt);
  ASSERT_EQ(with.size(), 1U);
  EXPECT_THAT(names_of(with[0]), ElementsAre("metal.apple_family", "metal.common_family"));
  arms[2].usable = false;
  const auto without = factor_families(arms, std::nullopt);
  ASSERT_EQ(without.size(), 1U);
  EXPECT_THAT(names_of(without[0]), ElementsAre("metal.apple_family"));
}

// As in a series whose superseded profile failed: what is left was asked one thing.
TEST(Levels, WhatOnlyAFailedArmAskedForIsNoFactor) {
  std::vector<ArmFacts> arms = {with_set("stock", {}), with_set("unlocked", {{"metal.apple_family", "1009"}}),
                                with_set("superseded", {{"metal.max_threadgroup_memory", "65536"}})};
  arms[2].usable = false;
  for (ArmFacts& facts : arms) facts.guest = "vm";
  const auto families = factor_families(arms, std::nullopt);
  ASSERT_EQ(families.size(), 1U);
  EXPECT_THAT(names_of(families[0]), ElementsAre("metal.apple_family"));
  EXPECT_EQ(families[0].cells.size(), 2U);
  EXPECT_THAT(families[0].notes, ElementsAre("max_threadgroup_memory differs only in an arm without usable results "
                                             "(`superseded`), so nothing is known of it"));
  // Where it is the unlocked arm that has no results, that is what there is to say.
  arms[2].mode = "unlocked";
  EXPECT_EQ(factor_families(arms, std::nullopt).at(0).factors.size(), 2U);
  arms[2].usable = true;
  EXPECT_THAT(names_of(factor_families(arms, std::nullopt).at(0)),
              ElementsAre("metal.apple_family", "metal.max_threadgroup_memory"));
}

TEST(Levels, FollowADesign) {
  suite::Design design;
  suite::Factor factor;
  factor.name = "metal.apple_family";
  factor.label = "family";
  factor.levels = {std::nullopt, "1007", "1009"};
  design.factors = {factor};
  std::vector<ArmFacts> arms;
  for (const char* level : {"unset", "1007", "1009"}) {
    arms.push_back(arm(level, "ablation"));
    arms.back().arm->factors = {{"metal.apple_family", level}};
    arms.back().observed = {{"metal.apple_family", level == std::string("unset") ? "1005" : level}};
  }
  const auto families = factor_families(arms, design);
  ASSERT_EQ(families.size(), 1U);
  EXPECT_EQ(families[0].factors[0].label, "family");
  EXPECT_THAT(families[0].factors[0].levels, ElementsAre("unset", "1007", "1009"));
  EXPECT_THAT(arms_at(families[0], {2}), ElementsAre(2U));
}

TEST(Levels, NumbersAndInstructionSetsHaveTheirOrder) {
  auto families = factor_families({with_set("a", {{"metal.max_threadgroup_memory", "65536"}}),
                                   with_set("b", {{"metal.max_threadgroup_memory", "8192"}}),
                                   with_set("c", {{"metal.max_threadgroup_memory", "32768"}})},
                                  std::nullopt);
  ASSERT_EQ(families.size(), 1U);
  EXPECT_THAT(families[0].factors[0].levels, ElementsAre("8192", "32768", "65536"));
  families = factor_families({with_set("a", {{"cpu.isa", "x64"}}), with_set("b", {{"cpu.isa", "haswell"}}),
                              with_set("c", {{"cpu.isa", "alderlake"}})},
                             std::nullopt);
  ASSERT_EQ(families.size(), 1U);
  EXPECT_THAT(families[0].factors[0].levels, ElementsAre("x64", "haswell", "alderlake"));
}

ArmFacts observed_isa(ArmFacts facts, const std::string& level) {
  facts.observed["cpu.isa"] = level;
  return facts;
}

// A host that was told nothing, a stand-in guest that answers x64, and one that is told `best` above it.
TEST(Levels, BestIsTheLevelThatWasObserved) {
  ArmFacts stock = arm("stock", "stock");
  stock.guest = "stand-in";
  stock.arm->guest = {{"cpu.isa", "x64"}};
  ArmFacts unlocked = stock;
  unlocked.name = "unlocked";
  unlocked.mode = "unlocked";
  unlocked.arm->set = {{"cpu.isa", "best"}};
  const std::vector<ArmFacts> arms = {observed_isa(arm("bare-metal", "bare-metal"), "zen4"), observed_isa(stock, "x64"),
                                      observed_isa(unlocked, "zen4")};
  auto families = factor_families(arms, std::nullopt);
  ASSERT_EQ(families.size(), 1U);
  EXPECT_THAT(families[0].factors[0].levels, ElementsAre("x64", "zen4"));
  EXPECT_THAT(arms_at(families[0], {1}), testing::UnorderedElementsAre(0U, 2U));
  EXPECT_THAT(arms_at(families[0], {0}), ElementsAre(1U));
  // An unlocked arm that never got as far would have got what the host got.
  std::vector<ArmFacts> silent = arms;
  silent[2].observed.clear();
  silent[2].usable = false;
  families = factor_families(silent, std::nullopt);
  ASSERT_EQ(families.size(), 1U);
  EXPECT_THAT(families[0].factors[0].levels, ElementsAre("x64", "zen4"));
}

// Levels above what the machine has come to its best: one level, whatever they are called.
TEST(Levels, InstructionSetsOfADesignAreWhatTheyCameTo) {
  suite::Design design;
  suite::Factor factor;
  factor.name = "cpu.isa";
  factor.levels = {"x64", "haswell", "icelake", "sapphirerapids", "best"};
  design.factors = {factor};
  std::vector<ArmFacts> arms;
  for (const auto& [level, got] :
       {std::pair("x64", "x64"), std::pair("haswell", "haswell"), std::pair("icelake", "icelake"),
        std::pair("sapphirerapids", "icelake"), std::pair("best", "icelake")}) {
    arms.push_back(observed_isa(arm(level, "ablation"), got));
    arms.back().arm->factors = {{"cpu.isa", level}};
    arms.back().arm->set = {{"cpu.isa", level}};
  }
  const auto families = factor_families(arms, design);
  ASSERT_EQ(families.size(), 1U);
  EXPECT_THAT(families[0].factors[0].levels, ElementsAre("x64", "haswell", "icelake"));
  EXPECT_THAT(arms_at(families[0], {2}), ElementsAre(2U, 3U, 4U));
}

TEST(Levels, ArgumentsAreFactors) {
  ArmFacts plain = arm("plain", "m");
  ArmFacts flash = arm("flash", "m");
  flash.arm->args = {"-fa", "on", "--no-warmup"};
  const auto families = factor_families({plain, flash}, std::nullopt);
  ASSERT_EQ(families.size(), 1U);
  EXPECT_THAT(names_of(families[0]), ElementsAre("--no-warmup", "-fa"));
  EXPECT_THAT(families[0].factors[0].levels, ElementsAre("given", "unset"));
}

TEST(Levels, ArmsOfOtherPlacesAreNotCompared) {
  ArmFacts gpu = with_set("gpu", {{"vulkan.a", "on"}});
  gpu.arm->device = "Vulkan0";
  ArmFacts cpu = with_set("cpu", {{"vulkan.a", "off"}});
  cpu.arm->device = "none";
  EXPECT_THAT(factor_families({gpu, cpu}, std::nullopt), IsEmpty());
  EXPECT_THAT(factor_families({}, std::nullopt), IsEmpty());
}

}  // namespace
}  // namespace capbench::reports
