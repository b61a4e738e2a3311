#include "harness/design/expand.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "harness/suite/machine.h"

namespace capbench::design {
namespace {

using suite::Arm;
using suite::Design;
using suite::DesignKind;
using suite::Factor;
using Levels = std::map<std::string, std::string>;
using Names = std::vector<std::string>;

Factor capability(const std::string& name, std::vector<std::optional<std::string>> levels = {"off", "on"}) {
  return {Factor::Kind::kCapability, name, "", std::move(levels)};
}
Factor variable(const std::string& name, std::vector<std::optional<std::string>> levels) {
  return {Factor::Kind::kEnvironment, name, "", std::move(levels)};
}
Factor argument(const std::string& name, std::vector<std::optional<std::string>> levels) {
  return {Factor::Kind::kArgument, name, "", std::move(levels)};
}

const Factor kCoopmat = capability("vulkan.cooperative_matrix");
const Factor kCoopmat2 = capability("vulkan.cooperative_matrix2");
const Factor kIntDot = capability("vulkan.integer_dot_product");

Design design(std::vector<DesignKind> kinds, std::vector<Factor> factors) {
  Design result;
  result.kinds = std::move(kinds);
  result.factors = std::move(factors);
  return result;
}

// With a stand-in guest that answers every factor's first level.
Design in_guest(std::vector<DesignKind> kinds, std::vector<Factor> factors) {
  Design result = design(std::move(kinds), std::move(factors));
  for (const Factor& factor : result.factors) result.base.guest[factor.name] = *factor.levels[0];
  return result;
}

std::vector<Arm> arms_of(const Design& design, const std::map<std::string, suite::TargetSpec>& targets = {}) {
  auto arms = expand(design, targets);
  EXPECT_TRUE(arms.ok()) << to_string(arms.error());
  return arms.ok() ? *arms : std::vector<Arm>();
}

Names names(const std::vector<Arm>& arms) {
  Names result;
  for (const Arm& arm : arms) result.push_back(arm.name);
  return result;
}

const Arm& arm_named(const std::vector<Arm>& arms, std::string_view name) {
  const auto it = std::find_if(arms.begin(), arms.end(), [&](const Arm& arm) { return arm.name == name; });
  EXPECT_NE(it, arms.end()) << name;
  return it == arms.end() ? arms.front() : *it;
}

std::string error_of(const Design& design, const std::map<std::string, suite::TargetSpec>& targets = {}) {
  const auto arms = expand(design, targets);
  return arms.ok() ? "no error" : to_string(arms.error());
}

TEST(Expand, OneAtATimeIsStockPlusEach) {
  const auto arms = arms_of(in_guest({DesignKind::kOneAtATime}, {kCoopmat, kCoopmat2, kIntDot}));
  EXPECT_EQ(names(arms), (Names{"stock", "stock + coopmat", "stock + coopmat2", "stock + int-dot", "unlocked"}));
  EXPECT_EQ(arms[0].mode, "stock");
  EXPECT_TRUE(arms[0].set.empty());
  EXPECT_EQ(arms[0].guest.size(), 3U);
  EXPECT_EQ(arms[0].roles, Names{"stock"});
  EXPECT_EQ(arms[2].mode, "ablation");
  EXPECT_EQ(arms[2].set, (Levels{{"vulkan.cooperative_matrix2", "on"}}));
  EXPECT_TRUE(arms[2].roles.empty());
  EXPECT_EQ(arms[2].factors, (Levels{{"vulkan.cooperative_matrix", "off"},
                                     {"vulkan.cooperative_matrix2", "on"},
                                     {"vulkan.integer_dot_product", "off"}}));
  EXPECT_EQ(arms[4].mode, "unlocked");
  EXPECT_EQ(arms[4].set.size(), 3U);
  EXPECT_EQ(arms[4].roles, Names{"unlocked"});
}

TEST(Expand, LeaveOneOutIsUnlockedMinusEach) {
  const auto arms = arms_of(in_guest({DesignKind::kLeaveOneOut}, {kCoopmat, kCoopmat2, kIntDot}));
  EXPECT_EQ(names(arms),
            (Names{"stock", "unlocked - coopmat", "unlocked - coopmat2", "unlocked - int-dot", "unlocked"}));
  EXPECT_EQ(arms[1].set, (Levels{{"vulkan.cooperative_matrix2", "on"}, {"vulkan.integer_dot_product", "on"}}));
}

TEST(Expand, WithoutAGuestEveryLevelIsSetAndNothingIsCalledStock) {
  const auto arms = arms_of(design({DesignKind::kLeaveOneOut}, {kCoopmat, kCoopmat2}));
  EXPECT_EQ(names(arms), (Names{"lowered", "full - coopmat", "full - coopmat2", "full"}));
  for (const Arm& arm : arms) {
    EXPECT_EQ(arm.mode, "ablation");
    EXPECT_EQ(arm.set.size(), 2U);
  }
  EXPECT_EQ(arms[0].set.at("vulkan.cooperative_matrix"), "off");
  EXPECT_EQ(arms[0].roles, Names{"stock"});
  EXPECT_EQ(arms[3].roles, Names{"unlocked"});
}

TEST(Expand, FullFactorialHasEveryCellOnce) {
  const auto arms = arms_of(in_guest({DesignKind::kFullFactorial}, {kCoopmat, kCoopmat2, kIntDot}));
  EXPECT_EQ(names(arms),
            (Names{"stock", "f: coopmat=off coopmat2=off int-dot=on", "f: coopmat=off coopmat2=on int-dot=off",
                   "f: coopmat=off coopmat2=on int-dot=on", "f: coopmat=on coopmat2=off int-dot=off",
                   "f: coopmat=on coopmat2=off int-dot=on", "f: coopmat=on coopmat2=on int-dot=off", "unlocked"}));
  std::set<Levels> cells;
  for (const Arm& arm : arms) cells.insert(arm.factors);
  EXPECT_EQ(cells.size(), 8U);
}

TEST(Expand, LevelsOfOneFactor) {
  const Factor family = capability("metal.apple_family", {"1005", "1006", "1007", "1008", "1009", "1010"});
  const std::map<std::string, suite::TargetSpec> targets{{"mac", {"lume", "", {}, {}}}};
  Design levels = design({DesignKind::kOneAtATime}, {family});
  levels.base.target = "mac";
  const auto arms = arms_of(levels, targets);
  EXPECT_EQ(names(arms), (Names{"lowered", "lowered, apple=1006", "lowered, apple=1007", "lowered, apple=1008",
                                "lowered, apple=1009", "unlocked"}));
  EXPECT_EQ(arms[5].set.at("metal.apple_family"), "1010");
  EXPECT_EQ(arms[5].mode, "unlocked");
  // With null for what the guest answers by itself, the first is the guest as shipped.
  levels.factors[0].levels[0].reset();
  const auto shipped = arms_of(levels, targets);
  EXPECT_EQ(shipped[0].name, "stock");
  EXPECT_EQ(shipped[0].mode, "stock");
  EXPECT_TRUE(shipped[0].set.empty());
  EXPECT_EQ(shipped[0].factors.at("metal.apple_family"), suite::kUnset);
  EXPECT_EQ(shipped[1].name, "stock, apple=1006");
}

TEST(Expand, VariablesAndArguments) {
  Design mixed = design({DesignKind::kFullFactorial},
                        {variable("GGML_VK_DISABLE_COOPMAT", {"1", std::nullopt}), argument("-fa", {"off", "on"})});
  mixed.factors[0].label = "no-coopmat";
  mixed.base.args = {"-b", "512"};
  mixed.base.env = {{"A", "b"}};
  const auto arms = arms_of(mixed);
  EXPECT_EQ(names(arms), (Names{"lowered", "f: no-coopmat=1 -fa=on", "f: no-coopmat=unset -fa=off", "full"}));
  EXPECT_EQ(arms[0].env, (Levels{{"A", "b"}, {"GGML_VK_DISABLE_COOPMAT", "1"}}));
  EXPECT_EQ(arms[0].args, (Names{"-b", "512", "-fa", "off"}));
  EXPECT_EQ(arms[2].env, (Levels{{"A", "b"}}));
  EXPECT_EQ(arms[2].factors, (Levels{{"GGML_VK_DISABLE_COOPMAT", "unset"}, {"-fa", "off"}}));
  for (const Arm& arm : arms) EXPECT_TRUE(arm.set.empty());
}

TEST(Expand, KindsThatMakeTheSameArmMakeItOnce) {
  // Of two factors, stock plus one is unlocked minus the other.
  const auto two = arms_of(in_guest({DesignKind::kOneAtATime, DesignKind::kLeaveOneOut}, {kCoopmat, kCoopmat2}));
  EXPECT_EQ(names(two), (Names{"stock", "stock + coopmat", "stock + coopmat2", "unlocked"}));
  const auto all = arms_of(in_guest({DesignKind::kOneAtATime, DesignKind::kLeaveOneOut, DesignKind::kFullFactorial},
                                    {kCoopmat, kCoopmat2, kIntDot}));
  EXPECT_EQ(all.size(), 8U);
  EXPECT_EQ(all[1].name, "stock + coopmat");
  const auto one =
      arms_of(in_guest({DesignKind::kOneAtATime, DesignKind::kLeaveOneOut, DesignKind::kFullFactorial}, {kCoopmat}));
  EXPECT_EQ(names(one), (Names{"stock", "unlocked"}));
}

TEST(Expand, FractionHoldsItsCellsAndBothReferences) {
  std::vector<Factor> factors;
  for (const char* name : {"x.a", "x.b", "x.c", "x.d"}) factors.push_back(capability(name));
  // IV: the words are even, so stock is a cell.
  EXPECT_EQ(arms_of(in_guest({DesignKind::kFractional}, factors)).size(), 8U);
  factors.push_back(capability("x.e"));
  // V: the word is odd, so stock comes on top.
  const auto five = arms_of(in_guest({DesignKind::kFractional}, factors));
  EXPECT_EQ(five.size(), 17U);
  EXPECT_EQ(five.front().name, "stock");
  EXPECT_EQ(five.back().name, "unlocked");
}

TEST(Expand, ControlsInAStandInGuest) {
  Design with = in_guest({DesignKind::kOneAtATime}, {kCoopmat, kCoopmat2});
  with.base.device = "Vulkan0";
  with.base.env = {{"A", "b"}};
  with.base.shim = "layer.so";
  with.base.guest["cpu.isa"] = "x64";
  with.controls = {"placebo", "bare-metal", "bare-metal-with-shim", "cpu-only", "expected-failure"};
  const auto arms = arms_of(with);
  ASSERT_EQ(arms.size(), 9U);
  const Arm& placebo = arm_named(arms, "placebo");
  EXPECT_EQ(placebo.set, with.base.guest);
  EXPECT_EQ(placebo.guest, with.base.guest);
  EXPECT_EQ(placebo.mode, "placebo");
  EXPECT_EQ(placebo.roles, Names{"placebo"});
  EXPECT_TRUE(placebo.factors.empty());
  const Arm& bare = arm_named(arms, "bare-metal");
  EXPECT_TRUE(bare.guest.empty() && bare.set.empty() && bare.shim.empty());
  EXPECT_EQ(bare.mode, "bare-metal");
  EXPECT_EQ(bare.device, "Vulkan0");
  EXPECT_EQ(bare.env, with.base.env);
  const Arm& shimmed = arm_named(arms, "bare-metal-with-shim");
  EXPECT_TRUE(shimmed.guest.empty());
  EXPECT_EQ(shimmed.set, (Levels{{"vulkan.cooperative_matrix", "on"}, {"vulkan.cooperative_matrix2", "on"}}));
  EXPECT_EQ(shimmed.shim, "layer.so");
  const Arm& cpu = arm_named(arms, "cpu-only");
  EXPECT_EQ(cpu.device, "none");
  EXPECT_EQ(cpu.guest, (Levels{{"cpu.isa", "x64"}}));
  EXPECT_TRUE(cpu.set.empty());
  EXPECT_FALSE(cpu.expected_to_fail);
  const Arm& failing = arm_named(arms, "expected-failure");
  EXPECT_TRUE(failing.expected_to_fail);
  EXPECT_FALSE(failing.device.empty());
  EXPECT_NE(failing.device, "Vulkan0");
}

TEST(Expand, ControlsInARealGuest) {
  const std::map<std::string, suite::TargetSpec> targets{{"host", {"ssh", "", {}, {}}},
                                                         {"vm", {"ssh", "host", {{"guest", "vm"}}, {}}}};
  Design with = design({DesignKind::kOneAtATime}, {capability("metal.apple_family", {"1005", "1007", "1009"})});
  with.base.target = "vm";
  with.controls = {"placebo", "bare-metal", "bare-metal-with-shim"};
  const auto arms = arms_of(with, targets);
  // The placebo says what the guest says: that is the design's first arm.
  EXPECT_EQ(names(arms), (Names{"lowered", "lowered, apple=1007", "unlocked", "bare-metal", "bare-metal-with-shim"}));
  EXPECT_EQ(arms[0].roles, (Names{"placebo", "stock"}));
  EXPECT_EQ(arms[3].target, "host");
  EXPECT_EQ(arms[4].target, "host");
  EXPECT_EQ(arms[4].set.at("metal.apple_family"), "1009");
  with.factors[0].levels[0].reset();
  EXPECT_EQ(error_of(with, targets),
            "$.design.controls: \"placebo\" needs a capability with a first level other than null; try: remove "
            "\"placebo\", or write the level that the device answers");
}

TEST(Expand, ControlsWithoutAGuest) {
  Design with = design({DesignKind::kFullFactorial}, {kCoopmat, kCoopmat2});
  with.controls = {"placebo", "bare-metal"};
  const auto arms = arms_of(with);
  // Without a guest the device answers the last levels.
  EXPECT_EQ(arm_named(arms, "full").roles, (Names{"placebo", "unlocked"}));
  EXPECT_TRUE(arm_named(arms, "bare-metal").set.empty());
  Design switches = design({DesignKind::kFullFactorial}, {variable("A", {"1", std::nullopt})});
  switches.controls = {"bare-metal-with-shim"};
  EXPECT_EQ(error_of(switches),
            "$.design.controls: \"bare-metal-with-shim\" needs a capability with a last level other than null; try: "
            "remove \"bare-metal-with-shim\", or write the level that the device answers");
}

TEST(Expand, LongNamesFallBackToTheLevels) {
  std::vector<Factor> factors;
  for (const char* name : {"x.one_of_the_longer_names", "x.two_of_the_longer_names", "x.three_of_the_longer_names",
                           "x.four_of_the_longer_names"}) {
    factors.push_back(capability(name));
  }
  const auto arms = arms_of(in_guest({DesignKind::kFullFactorial}, factors));
  EXPECT_EQ(arms[1].name, "f: 0001");
  EXPECT_EQ(arms[10].name, "f: 1010");
}

TEST(Expand, ValuesOfVariablesBecomePlainNames) {
  const auto arms = arms_of(design({DesignKind::kOneAtATime},
                                   {variable("A", {std::nullopt, "/usr/lib\n\xC3\xA9", std::string(300, 'x'), "z"})}));
  EXPECT_EQ(names(arms),
            (Names{"lowered", "lowered, A=_usr_lib___", "lowered, A=" + std::string(40, 'x') + "...", "full"}));
  EXPECT_EQ(error_of(design({DesignKind::kOneAtATime}, {variable("A", {std::nullopt, "a/b", "a_b", "z"})})),
            "$.design.factors: two arms would be named \"lowered, A=a_b\"; try: a \"label\" of its own for each "
            "factor, and levels that differ in their first 40 bytes");
}

TEST(Expand, RefusesWhatItCannotMake) {
  const Factor three = capability("x.y", {"1", "2", "3"});
  EXPECT_EQ(error_of(design({DesignKind::kLeaveOneOut}, {three})),
            "$.design.factors[0].levels: 3 levels, and a leave-one-out design has two of each factor; try: the first "
            "and the last, or \"kind\": \"full-factorial\"");
  EXPECT_EQ(error_of(design({DesignKind::kFractional}, {kCoopmat, kCoopmat2, kIntDot})),
            "$.design.kind: there is no fraction of resolution 4 for 3 factors; expected 4 to 11; try: "
            "\"full-factorial\", which is small here");
  std::vector<Factor> nine;
  for (int i = 0; i < 9; ++i) nine.push_back(capability("x.f" + std::to_string(i)));
  EXPECT_EQ(error_of(design({DesignKind::kFullFactorial}, nine)),
            "$.design: makes more than 256 arms; try: fewer factors or levels, or \"kind\": [\"leave-one-out\", "
            "\"one-at-a-time\"]");
  nine.pop_back();
  EXPECT_EQ(arms_of(design({DesignKind::kFullFactorial}, nine)).size(), 256U);
  Design one_more = design({DesignKind::kFullFactorial}, nine);
  one_more.controls = {"bare-metal"};
  EXPECT_NE(error_of(one_more).find("more than 256 arms"), std::string::npos);
  // Twenty factors of many levels must not take for ever, nor overflow.
  std::vector<Factor> huge(20, capability("x.y", std::vector<std::optional<std::string>>(32, "1")));
  EXPECT_NE(error_of(design({DesignKind::kFullFactorial}, huge)).find("more than 256 arms"), std::string::npos);
}

TEST(Expand, IsTheSameEachTime) {
  const Design once = in_guest({DesignKind::kFullFactorial}, {kCoopmat, kCoopmat2, kIntDot});
  EXPECT_EQ(arms_of(once), arms_of(once));
}

TEST(ExpandInto, KeepsArmsWrittenByHandAndTellsThemWhatTheyAre) {
  suite::Suite suite;
  suite.design = in_guest({DesignKind::kOneAtATime}, {kCoopmat, kCoopmat2});
  suite.design->controls = {"bare-metal"};
  suite.arms.resize(2);
  suite.arms[0].name = "host";
  suite.arms[0].mode = "bare-metal";
  suite.arms[1].name = "as shipped";
  suite.arms[1].mode = "stock";
  suite.arms[1].guest = suite.design->base.guest;
  ASSERT_TRUE(expand_into(suite).ok());
  EXPECT_EQ(names(suite.arms), (Names{"host", "as shipped", "stock + coopmat", "stock + coopmat2", "unlocked"}));
  EXPECT_EQ(suite.designed_arms, 3U);
  EXPECT_EQ(suite.arms[0].roles, Names{"bare-metal"});
  EXPECT_EQ(suite.arms[1].roles, Names{"stock"});
  EXPECT_EQ(suite.arms[1].factors.size(), 2U);
  // Again, smaller: what was made before goes.
  suite.design->factors.pop_back();
  suite.design->base.guest.erase("vulkan.cooperative_matrix2");
  suite.design->controls.clear();
  ASSERT_TRUE(expand_into(suite).ok());
  EXPECT_EQ(names(suite.arms), (Names{"host", "as shipped", "stock", "unlocked"}));
  EXPECT_TRUE(suite.arms[0].roles.empty());
  EXPECT_TRUE(suite.arms[1].factors.empty());
}

TEST(ExpandInto, ANameStandsForOneTreatment) {
  suite::Suite suite;
  suite.design = in_guest({DesignKind::kOneAtATime}, {kCoopmat});
  suite.arms.resize(1);
  suite.arms[0].name = "stock";
  const Status status = expand_into(suite);
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(to_string(status.error()),
            "$.arms[0].name: \"stock\" is also the name of an arm of the design, which is another treatment; try: "
            "another name");
}

TEST(Machines, AreStatedOrFollowFromTheKind) {
  const std::map<std::string, suite::TargetSpec> targets{{"vm", {"lume", "", {}, {}}},
                                                         {"far", {"ssh", "", {}, {}}},
                                                         {"far vm", {"tart", "far", {}, {}}},
                                                         {"box", {"container", "", {}, {}}},
                                                         {"told", {"ssh", "local", {{"guest", "vm"}}, {}}}};
  EXPECT_EQ(suite::machine_of("local", targets), "local");
  EXPECT_EQ(suite::machine_of("vm", targets), "local");
  EXPECT_EQ(suite::machine_of("far", targets), "far");
  EXPECT_EQ(suite::machine_of("far vm", targets), "far");
  EXPECT_EQ(suite::guest_of("local", targets), "");
  EXPECT_EQ(suite::guest_of("far", targets), "");
  EXPECT_EQ(suite::guest_of("vm", targets), "vm");
  EXPECT_EQ(suite::guest_of("box", targets), "container");
  EXPECT_EQ(suite::guest_of("told", targets), "vm");
}

}  // namespace
}  // namespace capbench::design
