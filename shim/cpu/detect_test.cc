#include "shim/cpu/detect.h"

#include <gtest/gtest.h>

#include <fstream>
#include <sstream>
#include <string>

namespace capbench::shim::cpu {
namespace {

TEST(Detect, ReadsTheBitsOfTheLeaves) {
  EXPECT_EQ(features_of({}), 0U);
  CpuidLeaves leaves;
  leaves.leaf1_ecx = 1U << 20U | 1U << 12U;
  leaves.leaf7_ebx = 1U << 5U | 1U << 8U;
  EXPECT_EQ(features_of(leaves), kSse42 | kFma | kAvx2 | kBmi2);
  leaves = {};
  leaves.leaf7_ebx = 1U << 16U | 1U << 17U | 1U << 28U | 1U << 30U;  // AVX-512 without VL
  EXPECT_EQ(features_of(leaves), 0U);
  leaves.leaf7_ebx |= 1U << 31U;
  EXPECT_EQ(features_of(leaves), kAvx512);
  leaves = {~0U, ~0U, ~0U, ~0U, ~0U};
  EXPECT_EQ(features_of(leaves), kAllFeatures);
}

TEST(Detect, WhatTheKernelDoesNotSaveIsNotEnabled) {
  EXPECT_EQ(enabled_by(0), kSse42 | kBmi2);
  EXPECT_EQ(enabled_by(0x2), kSse42 | kBmi2);
  EXPECT_TRUE(is_subset(kAvx2 | kAvxVnni, enabled_by(0x7)));
  EXPECT_FALSE(is_subset(kAvx512, enabled_by(0x67)));
  EXPECT_TRUE(is_subset(kAvx512Bf16, enabled_by(0xE7)));
  EXPECT_FALSE(is_subset(kAmxTile, enabled_by(0x200E7)));
  EXPECT_EQ(enabled_by(0x602E7), kAllFeatures);
}

// The kernel's own list, which also leaves out what it has not enabled.
TEST(Detect, AgreesWithTheKernelAboutThisMachine) {
  const CpuFacts facts = detect_cpu();
  if (!facts.known) GTEST_SKIP() << "not x86-64: no level applies here";
  std::ifstream file("/proc/cpuinfo");
  std::string line;
  while (std::getline(file, line) && line.rfind("flags", 0) != 0) {
  }
  if (line.empty()) GTEST_SKIP() << "/proc/cpuinfo lists no flags";
  const std::string flags = line.substr(line.find(':') + 1) + " ";
  const auto has = [&](const std::string& flag) { return flags.find(" " + flag + " ") != std::string::npos; };
  const auto agrees = [&](FeatureSet feature, const std::string& flag) {
    EXPECT_EQ((facts.usable() & feature) != 0, has(flag)) << flag;
  };
  agrees(kSse42, "sse4_2");
  agrees(kAvx, "avx");
  agrees(kF16c, "f16c");
  agrees(kFma, "fma");
  agrees(kAvx2, "avx2");
  agrees(kBmi2, "bmi2");
  agrees(kAvxVnni, "avx_vnni");
  agrees(kAvx512Vbmi, "avx512vbmi");
  agrees(kAvx512Vnni, "avx512_vnni");
  agrees(kAvx512Bf16, "avx512_bf16");
  agrees(kAmxInt8, "amx_int8");
  EXPECT_EQ((facts.usable() & kAvx512) != 0,
            has("avx512f") && has("avx512cd") && has("avx512vl") && has("avx512dq") && has("avx512bw"));
  EXPECT_EQ(facts.hypervisor, has("hypervisor"));
}

TEST(Detect, GivesABrandWithoutPadding) {
  if (!detect_cpu().known) GTEST_SKIP() << "not x86-64: no brand";
  const CpuBrand brand = cpu_brand();
  const std::string_view text = brand.view();
  ASSERT_FALSE(text.empty());
  EXPECT_NE(text.front(), ' ');
  EXPECT_NE(text.back(), ' ');
}

}  // namespace
}  // namespace capbench::shim::cpu
