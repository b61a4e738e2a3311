#include "shim/vulkan/answers.h"

#include <gtest/gtest.h>

#include <set>
#include <string>
#include <utility>

#include "shim/vulkan/chain.h"
#include "shim/vulkan/injection.h"

namespace capbench::shim::vulkan {
namespace {

Settings parse(const std::string& list) {
  const ParsedSettings parsed = parse_settings(kSetVariable, list);
  EXPECT_TRUE(parsed.error.empty()) << parsed.error.view();
  return parsed.settings;
}

// Every word differs from every other, and none is 0 or 1.
Answers distinct() {
  Answers answers;
  for (std::size_t i = 0; i < kSlotCount; ++i) answers.words[i] = static_cast<std::uint32_t>(1000 + i);
  answers.listed = (CapabilitySet{1} << kCapabilityCount) - 1;
  return answers;
}

std::set<std::size_t> slots_of(Capability capability) {
  std::set<std::size_t> out;
  for (const Run& run : kRuns) {
    for (std::size_t i = 0; run.capability == capability && i < run.count; ++i) out.insert(run.slot + i);
  }
  return out;
}

TEST(Capabilities, EachWordBelongsToOneAndOneIsLeftAlone) {
  std::set<std::size_t> seen;
  for (std::size_t c = 0; c < kCapabilityCount; ++c) {
    for (const std::size_t slot : slots_of(static_cast<Capability>(c))) EXPECT_TRUE(seen.insert(slot).second) << slot;
  }
  EXPECT_EQ(seen.size(), kSlotCount - 1);
  EXPECT_FALSE(seen.contains(slot::kIntegerDotPackedMixed));
}

TEST(Capabilities, HeadlinesAreWordsOfTheirCapability) {
  for (const Headline& headline : kHeadlines) {
    const std::set<std::size_t> slots = slots_of(headline.capability);
    for (std::size_t i = 0; i < headline.count; ++i) EXPECT_TRUE(slots.contains(headline.slot + i));
  }
}

TEST(Answers, OffTouchesItsOwnWordsOnly) {
  const Answers device = distinct();
  for (std::size_t c = 0; c < kCapabilityCount; ++c) {
    const auto capability = static_cast<Capability>(c);
    if (toggle_of(capability).kind != ValueKind::kSwitch) continue;
    const Settings off = parse(std::string(kCapabilityNames[c]) + "=off");
    EXPECT_EQ(touched_by(off), bit_of(capability));
    const Answers told = lowered(device, off);
    const std::set<std::size_t> slots = slots_of(capability);
    for (std::size_t i = 0; i < kSlotCount; ++i) EXPECT_EQ(told.words[i], slots.contains(i) ? 0 : device.words[i]);
    EXPECT_EQ(answered(device, nullptr, off).words, told.words);
    EXPECT_FALSE(told.on(capability));
    const Settings on = parse(std::string(kCapabilityNames[c]) + "=on");
    EXPECT_EQ(answered(told, &device, on).words, device.words);
    EXPECT_EQ(lowered(device, on).words, device.words);
  }
}

TEST(Answers, OnWithoutKnowingTheDeviceClaimsHeadlinesOfListedExtensionsOnly) {
  Answers below;
  const Settings on = parse("vulkan.cooperative_matrix2=on,vulkan.ocp_fp4=on");
  EXPECT_EQ(answered(below, nullptr, on).words, below.words);
  below.listed = bit_of(Capability::kOcpFp4);
  const Answers told = answered(below, nullptr, on);
  EXPECT_TRUE(told.on(Capability::kOcpFp4));
  EXPECT_FALSE(told.on(Capability::kCooperativeMatrix2));
  EXPECT_EQ(told.words[slot::kMicroscaling], VK_TRUE);
  EXPECT_EQ(told.words[slot::kMicroscaling + 1], VK_FALSE);
}

TEST(Answers, IntegersAreLoweredByAGuestAndNeverRaisedAboveAKnownDevice) {
  const Answers device = distinct();
  const std::uint32_t own = device.words[slot::kMaxComputeSharedMemory];
  Answers rich = device;
  rich.words[slot::kMaxComputeSharedMemory] = 65536;
  EXPECT_EQ(lowered(device, parse("vulkan.max_compute_shared_memory=20000")).words[slot::kMaxComputeSharedMemory], own);
  const Settings set = parse("vulkan.max_compute_shared_memory=20000");
  EXPECT_EQ(lowered(rich, set).words[slot::kMaxComputeSharedMemory], 20000U);
  EXPECT_EQ(answered(device, nullptr, set).words[slot::kMaxComputeSharedMemory], 20000U);
  EXPECT_EQ(answered(device, &device, set).words[slot::kMaxComputeSharedMemory], own);
  EXPECT_EQ(answered(device, &rich, set).words[slot::kMaxComputeSharedMemory], 20000U);
}

TEST(Answers, TheRangeOfSubgroupSizesHoldsTheSize) {
  Answers device;
  device.words[slot::kSubgroupSize] = 32;
  device.words[slot::kMinSubgroupSize] = 32;
  device.words[slot::kMaxSubgroupSize] = 32;
  const Answers smaller = lowered(device, parse("vulkan.subgroup_size=8"));
  EXPECT_EQ(smaller.words[slot::kSubgroupSize], 8U);
  EXPECT_EQ(smaller.words[slot::kMinSubgroupSize], 8U);
  EXPECT_EQ(smaller.words[slot::kMaxSubgroupSize], 32U);
  const Answers larger = answered(device, nullptr, parse("vulkan.subgroup_size=64"));
  EXPECT_EQ(larger.words[slot::kMinSubgroupSize], 32U);
  EXPECT_EQ(larger.words[slot::kMaxSubgroupSize], 64U);
  EXPECT_EQ(answered(smaller, &device, parse("vulkan.subgroup_size=32")).words, device.words);
}

TEST(Answers, ASubgroupSizeThatIsNoPowerOfTwoIsImpossible) {
  EXPECT_NE(impossible_setting(parse("vulkan.shader_float16=off,vulkan.subgroup_size=48")), nullptr);
  EXPECT_EQ(impossible_setting(parse("vulkan.shader_float16=off,vulkan.subgroup_size=64")), nullptr);
}

TEST(Chain, UnknownTypesNullAndCirclesAreSurvived) {
  const CapabilitySet all = (CapabilitySet{1} << kCapabilityCount) - 1;
  const Answers nothing;
  write_answers(nothing, all, nullptr);
  EXPECT_FALSE(asks_for_more(nothing, all, nullptr));
  struct Small {
    VkStructureType sType;
    void* pNext;
  };
  Small unknown{structure_type(0x7FFFFFF0), nullptr};
  Small again{structure_type(-1), &unknown};
  write_answers(nothing, all, &again);
  EXPECT_FALSE(asks_for_more(nothing, all, &again));
  unknown.pNext = &again;
  write_answers(nothing, all, &again);
  EXPECT_FALSE(asks_for_more(nothing, all, &again));
}

TEST(Chain, AFeatureBehindManyUnknownStructuresIsFound) {
  VkPhysicalDeviceVulkan12Features features{};
  features.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES;
  features.shaderFloat16 = VK_TRUE;
  std::array<VkBaseOutStructure, 200> others{};
  for (std::size_t i = 0; i < others.size(); ++i) {
    others[i].sType = structure_type(0x7FFF0000 + static_cast<std::int32_t>(i));
    others[i].pNext = i + 1 < others.size() ? &others[i + 1] : reinterpret_cast<VkBaseOutStructure*>(&features);
  }
  const Answers nothing;
  EXPECT_TRUE(asks_for_more(nothing, bit_of(Capability::kShaderFloat16), others.data()));
  EXPECT_FALSE(asks_for_more(nothing, bit_of(Capability::kBfloat16), others.data()));
  write_answers(nothing, bit_of(Capability::kShaderFloat16), others.data());
  EXPECT_EQ(features.shaderFloat16, VK_FALSE);
}

TEST(Injection, EveryArmHasItsVariables) {
  const std::filesystem::path folder = "/opt/layers";
  using Variables = std::map<std::string, std::string>;
  EXPECT_EQ(*layer_environment(folder, {}), Variables{});
  EXPECT_EQ(*layer_environment(folder, {.guest = true, .shim = false}),
            (Variables{{"VK_LAYER_PATH", "/opt/layers/VkLayer_capshim_guest.json"},
                       {"VK_INSTANCE_LAYERS", "VK_LAYER_CAPBENCH_capshim_guest"}}));
  EXPECT_EQ(*layer_environment(folder, {.guest = false, .shim = true}),
            (Variables{{"VK_LAYER_PATH", "/opt/layers/VkLayer_capshim.json"},
                       {"VK_INSTANCE_LAYERS", "VK_LAYER_CAPBENCH_capshim"}}));
  EXPECT_EQ(*layer_environment(folder, {.guest = true, .shim = true}),
            (Variables{{"VK_LAYER_PATH", "/opt/layers/VkLayer_capshim.json:/opt/layers/VkLayer_capshim_guest.json"},
                       {"VK_INSTANCE_LAYERS", "VK_LAYER_CAPBENCH_capshim:VK_LAYER_CAPBENCH_capshim_guest"}}));
}

TEST(Injection, AFolderThatIsNotKnownYetIsNamedAsItIs) {
  const auto variables = layer_environment("<sent>", {.guest = false, .shim = true});
  ASSERT_TRUE(variables.ok());
  EXPECT_EQ(variables->at("VK_LAYER_PATH"), "<sent>/VkLayer_capshim.json");
}

TEST(Injection, AFolderThatCannotBeNamedIsAnError) {
  for (const char* folder : {"", "layers", "/opt/a:b"}) {
    const auto variables = layer_environment(folder, {.guest = false, .shim = true});
    ASSERT_FALSE(variables.ok()) << folder;
    EXPECT_FALSE(variables.error().remedy.empty());
    EXPECT_TRUE(layer_environment(folder, {}).ok());
  }
}

}  // namespace
}  // namespace capbench::shim::vulkan
