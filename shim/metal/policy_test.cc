#include "shim/metal/policy.h"

#include <gtest/gtest.h>

#include <string>

#include "shim/metal/lume.h"

namespace capbench::shim::metal {
namespace {

Layer layer(const std::string& list) {
  const ParsedSettings parsed = parse_settings("TEST", list);
  EXPECT_TRUE(parsed.error.empty()) << parsed.error.view();
  return layer_of(parsed.settings);
}

// The stock answers of a paravirtual device.
bool stock(std::uint64_t family) {
  return (family >= 1001 && family <= 1005) || (family >= 3001 && family <= 3003);
}

TEST(Policy, EveryMetalToggleIsACapabilityAndTheOtherWayRound) {
  std::size_t metal = 0;
  for (const Toggle& toggle : kToggles) metal += toggle.domain == Domain::kMetal ? 1U : 0U;
  EXPECT_EQ(metal, kCapabilityCount);
  for (std::size_t i = 0; i < kCapabilityCount; ++i) {
    ASSERT_NE(find_toggle(kCapabilities[i].toggle), kToggleCount) << kCapabilities[i].toggle;
    const Toggle& toggle = toggle_of(static_cast<Capability>(i));
    EXPECT_EQ(toggle.domain, Domain::kMetal);
    EXPECT_EQ(toggle.kind == ValueKind::kSwitch, kCapabilities[i].form == Form::kSwitch) << toggle.name;
    if (kCapabilities[i].form == Form::kFamily) {
      EXPECT_EQ(group_of(static_cast<std::uint64_t>(toggle.low)), i) << toggle.name;
      EXPECT_EQ(group_of(static_cast<std::uint64_t>(toggle.high)), i) << toggle.name;
    }
  }
}

TEST(Policy, TheNamesOfPublishedVariablesAreTheTables) {
  EXPECT_EQ(toggle_of(Capability::kAppleFamily).alias, kLumeFamily);
  EXPECT_EQ(toggle_of(Capability::kThreadgroupMemory).alias, kLumeThreadgroupMemory);
  EXPECT_EQ(toggle_of(Capability::kWorkingSet).alias, kLumeWorkingSet);
}

TEST(Policy, ALevelIsCeilingAndFloorOfItsGroupOnly) {
  for (const std::uint64_t level : {1003U, 1005U, 1007U, 1009U, 1021U}) {
    const Layer set = layer("metal.apple_family=" + std::to_string(level));
    for (std::uint64_t family = 1001; family < 2000; ++family) {
      EXPECT_EQ(answer_family(set, family, stock(family)), family <= level) << level << " " << family;
    }
    for (const std::uint64_t family : {0U, 7U, 1000U, 2000U, 2001U, 3003U, 3004U, 4001U, 5001U, 5002U, 6001U}) {
      EXPECT_EQ(answer_family(set, family, stock(family)), stock(family)) << family;
      EXPECT_EQ(answer_family(set, family, true), true) << family;
    }
  }
  const Layer metal = layer("metal.metal_family=5001,metal.common_family=3001,metal.mac_family=2002");
  EXPECT_TRUE(answer_family(metal, 5001, false));
  EXPECT_FALSE(answer_family(metal, 5002, true));
  EXPECT_TRUE(answer_family(metal, 2002, false));
  EXPECT_FALSE(answer_family(metal, 3003, true));
  EXPECT_FALSE(answer_family(metal, 1009, false));
}

TEST(Policy, NumbersAndSwitchesAreReplacedOrLeft) {
  const Layer set = layer("metal.max_threadgroup_memory=65536,metal.unified_memory=off,metal.bfloat=on");
  EXPECT_EQ(answer_value(set, Capability::kThreadgroupMemory, 32768), 65536U);
  EXPECT_EQ(answer_value(set, Capability::kThreadgroupMemory, 131072), 65536U);
  EXPECT_EQ(answer_value(set, Capability::kUnifiedMemory, 1), 0U);
  EXPECT_EQ(answer_value(set, Capability::kBfloat, 0), 1U);
  EXPECT_EQ(answer_value(set, Capability::kBufferLength, 77), 77U);
  EXPECT_EQ(answer_value(Layer{}, Capability::kWorkingSet, UINT64_MAX), UINT64_MAX);
}

TEST(Policy, TheShimHasTheLastWordAboveTheGuest) {
  Policy policy;
  policy.guest = layer("metal.apple_family=1005,metal.max_threadgroup_memory=16384");
  policy.set = layer("metal.apple_family=1007");
  EXPECT_TRUE(answer_family(policy, 1007, false));
  EXPECT_FALSE(answer_family(policy, 1008, true));
  EXPECT_EQ(answer_value(policy, Capability::kThreadgroupMemory, 32768), 16384U);
  policy.set = Layer{};
  EXPECT_FALSE(answer_family(policy, 1006, true));
  EXPECT_TRUE(names(policy, Capability::kAppleFamily));
  EXPECT_FALSE(names(policy, Capability::kMetalFamily));
}

LumeRequest lume(const char* family, const char* memory = nullptr, const char* working_set = nullptr) {
  return read_lume({family, memory, working_set});
}

TEST(Lume, TheFamilyAloneBringsTheDefaultThreadgroupMemoryAndNothingElse) {
  const LumeRequest request = lume("1009");
  ASSERT_TRUE(request.error.empty()) << request.error.view();
  EXPECT_TRUE(request.given);
  EXPECT_TRUE(answer_family(request.layer, 1009, false));
  EXPECT_FALSE(answer_family(request.layer, 1010, false));
  EXPECT_EQ(answer_value(request.layer, Capability::kThreadgroupMemory, 32768), 65536U);
  EXPECT_EQ(answer_value(request.layer, Capability::kWorkingSet, 5), 5U);
  for (std::uint64_t family = 5001; family < 5010; ++family) {
    EXPECT_FALSE(answer_family(request.layer, family, false)) << "Metal 3 and later are never advertised by default";
  }
}

TEST(Lume, OnlyRaises) {
  const LumeRequest request = lume("1007", "32768", "1048576");
  ASSERT_TRUE(request.error.empty());
  EXPECT_TRUE(answer_family(request.layer, 1010, true));
  EXPECT_EQ(answer_value(request.layer, Capability::kAppleFamily, 1010), 1010U);
  EXPECT_EQ(answer_value(request.layer, Capability::kThreadgroupMemory, 65536), 65536U);
  EXPECT_EQ(answer_value(request.layer, Capability::kThreadgroupMemory, 16384), 32768U);
  EXPECT_EQ(answer_value(request.layer, Capability::kWorkingSet, 2), 1048576U);
}

TEST(Lume, NumbersAreReadAsThePublishedShimReadsThem) {
  EXPECT_EQ(lume("0x3f1").layer[0].value, 1009U);
  EXPECT_EQ(lume("0X3F1").layer[0].value, 1009U);
  EXPECT_EQ(lume("01761").layer[0].value, 1009U);
  EXPECT_EQ(lume("1999").layer[0].value, 1999U);
  EXPECT_EQ(lume("1009", "0").error.view(), "");
  EXPECT_EQ(lume("1009", "").layer[index_of(Capability::kThreadgroupMemory)].value, 65536U);
}

TEST(Lume, UnsetIsNotGiven) {
  EXPECT_FALSE(lume(nullptr).given);
  EXPECT_FALSE(lume("", "", "").given);
}

TEST(Lume, RefusalsNameTheVariableAndLeaveEverything) {
  struct Case {
    LumeVariables variables;
    std::string_view names;
  };
  const std::string long_number(100000, '1');
  const std::string zeros = std::string(70, '0') + "1009";
  const Case cases[] = {
      {{"1000"}, kLumeFamily},
      {{"2000"}, kLumeFamily},
      {{"0"}, kLumeFamily},
      {{"abc"}, kLumeFamily},
      {{"1009x"}, kLumeFamily},
      {{" 1009"}, kLumeFamily},
      {{"-1009"}, kLumeFamily},
      {{"+1009"}, kLumeFamily},
      {{"0x"}, kLumeFamily},
      {{"09"}, kLumeFamily},
      {{"\xff\xfe"}, kLumeFamily},
      {{long_number.c_str()}, kLumeFamily},
      {{zeros.c_str()}, kLumeFamily},
      {{"18446744073709552625"}, kLumeFamily},  // 2^64 + 1009
      {{nullptr, "65536"}, kLumeFamily},
      {{nullptr, nullptr, "65536"}, kLumeFamily},
      {{"1009", "64K"}, kLumeThreadgroupMemory},
      {{"1009", "70368744177665"}, kLumeThreadgroupMemory},  // 2^46 + 1
      {{"1009", "65536", "1e9"}, kLumeWorkingSet},
  };
  for (const Case& bad : cases) {
    const LumeRequest request = read_lume(bad.variables);
    EXPECT_TRUE(request.given);
    EXPECT_EQ(request.error.view().substr(0, bad.names.size()), bad.names);
    EXPECT_NE(request.error.view().find("nothing is changed; try: "), std::string_view::npos);
    EXPECT_FALSE(names_any(request.layer)) << request.error.view();
  }
}

}  // namespace
}  // namespace capbench::shim::metal
