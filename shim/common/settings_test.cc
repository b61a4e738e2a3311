#include "shim/common/settings.h"

#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

#include "shim/common/utf8.h"

namespace capbench::shim {
namespace {

// The error's text; empty when the value is accepted.
std::string refusal(std::string_view value) {
  const ParsedSettings parsed = parse_settings("CAPSHIM_SET", value);
  if (!parsed.error.empty()) {
    EXPECT_EQ(parsed.settings.count, 0U);
  }
  return std::string(parsed.error.view());
}

void expect_refused(std::string_view value, std::string_view because) {
  const std::string text = refusal(value);
  EXPECT_NE(text.find(because), std::string::npos) << "got: " << text;
  EXPECT_EQ(text.rfind("CAPSHIM_SET: ", 0), 0U) << text;
  EXPECT_NE(text.find("; nothing is changed; try: "), std::string::npos) << text;
  EXPECT_EQ(text.find('\n'), std::string::npos) << text;
}

TEST(Settings, ReadsEveryKindOfValue) {
  const ParsedSettings parsed = parse_settings(
      "CAPSHIM_SET", "cpu.isa=haswell,metal.apple_family=1009,vulkan.shader_float16=off,vulkan.bfloat16=on");
  ASSERT_TRUE(parsed.error.empty()) << parsed.error.view();
  ASSERT_EQ(parsed.settings.count, 4U);
  const auto level = static_cast<std::size_t>(parsed.settings.find("cpu.isa")->value);
  EXPECT_EQ(kCpuIsaLevels[level], "haswell");
  EXPECT_EQ(parsed.settings.find("metal.apple_family")->value, 1009);
  EXPECT_EQ(parsed.settings.find("vulkan.shader_float16")->value, 0);
  EXPECT_EQ(parsed.settings.find("vulkan.bfloat16")->value, 1);
  EXPECT_EQ(parsed.settings.find("vulkan.cooperative_matrix"), nullptr);
  EXPECT_TRUE(parsed.settings.touches(Domain::kMetal));
  EXPECT_FALSE(parse_settings("CAPSHIM_SET", "cpu.isa=x64").settings.touches(Domain::kMetal));
}

TEST(Settings, EveryToggleTakesItsLimitsAndNothingBeyond) {
  for (const Toggle& toggle : kToggles) {
    const std::string name(toggle.name);
    const auto at = [&](std::int64_t value) { return name + "=" + std::to_string(value); };
    if (toggle.kind == ValueKind::kInteger) {
      EXPECT_EQ(refusal(at(toggle.low)), "");
      EXPECT_EQ(refusal(at(toggle.high)), "");
      expect_refused(at(toggle.low - 1), name);
      expect_refused(at(toggle.high + 1), "expected an integer from");
    } else if (toggle.kind == ValueKind::kSwitch) {
      expect_refused(name + "=1", "expected on or off");
    } else {
      for (std::size_t i = 0; i < toggle.levels.count; ++i) {
        EXPECT_EQ(refusal(name + "=" + std::string(toggle.levels.names[i])), "");
      }
    }
  }
}

TEST(Settings, AllTogglesAtOnceFit) {
  std::string list;
  for (const Toggle& toggle : kToggles) {
    if (!list.empty()) list += ",";
    list += std::string(toggle.name) + "=";
    if (toggle.kind == ValueKind::kInteger) list += std::to_string(toggle.high);
    if (toggle.kind == ValueKind::kSwitch) list += "on";
    if (toggle.kind == ValueKind::kLevel) list += toggle.levels.names[0];
  }
  EXPECT_EQ(parse_settings("CAPSHIM_SET", list).settings.count, kToggleCount);
}

TEST(Settings, RefusesWhatIsMalformed) {
  expect_refused("", "an empty list");
  expect_refused("cpu.isaa=x64", "entry 1: unknown capability \"cpu.isaa\"");
  expect_refused("=x64", "unknown capability \"\"");
  expect_refused(" cpu.isa=x64", "unknown capability \" cpu.isa\"");
  expect_refused("CPU.ISA=x64", "unknown capability");
  expect_refused("cpu.isa", "\"cpu.isa\" has no '='");
  expect_refused("cpu.isa=x64,", "entry 2: empty");
  expect_refused(",cpu.isa=x64", "entry 1: empty");
  expect_refused("cpu.isa=", "expected one of x64, sse42");
  expect_refused("cpu.isa=x64 ", "expected one of");
  expect_refused("cpu.isa=x64=x64", "expected one of");
  expect_refused("cpu.isa=x64,cpu.isa=x64", "entry 2: cpu.isa is given twice");
  expect_refused("metal.apple_family=-1009", "expected an integer");
  expect_refused("metal.apple_family=+1009", "expected an integer");
  expect_refused("metal.apple_family=0x3f1", "expected an integer");
  expect_refused("metal.apple_family=99999999999999999999999999", "expected an integer");
  expect_refused("cpu.isa=\xff", "not UTF-8 text from byte 8 on");
  expect_refused("cpu.isa=x64,caf\xc3\xa9=1", "unknown capability \"caf\xc3\xa9\"");
  expect_refused("cpu.isa=x64\n", "expected one of");
  expect_refused(std::string_view("cpu.isa=x64\0", 12), "expected one of");
}

TEST(Settings, A64KibVariableIsReadAndALongerOneRefusedUnread) {
  expect_refused(std::string(kMaxSettingsBytes, 'a'), "has no '='");
  expect_refused(std::string(kMaxSettingsBytes + 1, 'a'), "longer than 65536 bytes");
  std::string commas(kMaxSettingsBytes, ',');
  expect_refused(commas, "entry 1: empty");
  EXPECT_LT(refusal(std::string(kMaxSettingsBytes - 1, 'x') + "=").size(), sizeof(ErrorText::bytes));
}

TEST(Settings, AnErrorInOneVariableDropsBoth) {
  const Roles good = read_roles("cpu.isa=x64", "cpu.isa=best");
  EXPECT_TRUE(good.error.empty());
  EXPECT_EQ(good.guest.count, 1U);
  EXPECT_EQ(good.set.count, 1U);
  for (const Roles& roles : {read_roles("cpu.isa=x64", "cpu.isa=worst"), read_roles("nonsense", "cpu.isa=best")}) {
    EXPECT_FALSE(roles.error.empty());
    EXPECT_EQ(roles.guest.count, 0U);
    EXPECT_EQ(roles.set.count, 0U);
  }
  EXPECT_TRUE(read_roles(nullptr, nullptr).error.empty());
  EXPECT_EQ(read_roles(nullptr, "cpu.isa=x64").guest.count, 0U);
  EXPECT_NE(read_roles("", nullptr).error.view().find("CAPSHIM_GUEST: an empty list"), std::string_view::npos);
}

TEST(Settings, SurvivesRandomMutations) {
  const std::vector<std::string> seeds = {"cpu.isa=haswell", "cpu.isa=x64,metal.apple_family=1009,vulkan.bfloat16=on",
                                          "vulkan.subgroup_size=32,vulkan.max_compute_shared_memory=65536"};
  std::mt19937 random(20261130);
  int accepted = 0;
  for (int round = 0; round < 20000; ++round) {
    std::string text = seeds[random() % seeds.size()];
    const auto edits = random() % 4;
    for (std::size_t i = 0; i < edits; ++i) {
      const std::size_t at = random() % (text.size() + 1);
      switch (random() % 3) {
        case 0:
          text.insert(at, 1, static_cast<char>(random() % 256));
          break;
        case 1:
          text.erase(at, random() % 4);
          break;
        default:
          text.insert(at, text.substr(text.size() / 2));
          break;
      }
    }
    const ParsedSettings parsed = parse_settings("CAPSHIM_SET", text);
    EXPECT_EQ(parsed.error.empty(), parsed.settings.count > 0) << text;
    EXPECT_EQ(utf8_valid_prefix(parsed.error.view()), parsed.error.size);
    for (std::size_t i = 0; i < parsed.settings.count; ++i) ASSERT_LT(parsed.settings.items[i].toggle, kToggleCount);
    accepted += parsed.error.empty() ? 1 : 0;
  }
  EXPECT_GT(accepted, 1000);
  EXPECT_LT(accepted, 19000);
}

TEST(Utf8, AcceptsExactlyTheWellFormed) {
  EXPECT_EQ(utf8_length("a"), 1U);
  EXPECT_EQ(utf8_length("\xc3\xa9"), 2U);
  EXPECT_EQ(utf8_length("\xe2\x82\xac"), 3U);
  EXPECT_EQ(utf8_length("\xf0\x9f\x98\x80"), 4U);
  for (const char* bad : {"", "\x80", "\xc0\x80", "\xc3", "\xe0\x9f\xbf", "\xed\xa0\x80", "\xe2\x82",
                          "\xf0\x8f\xbf\xbf", "\xf4\x90\x80\x80", "\xf5\x80\x80\x80", "\xff"}) {
    EXPECT_EQ(utf8_length(bad), 0U) << bad;
  }
}

}  // namespace
}  // namespace capbench::shim
