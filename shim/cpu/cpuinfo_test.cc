#include "shim/cpu/cpuinfo.h"

#include <gtest/gtest.h>

#include <fstream>
#include <sstream>
#include <string>

#include "shim/cpu/detect.h"

namespace capbench::shim::cpu {
namespace {

TEST(Cpuinfo, ReadsTheFirstFlagsLine) {
  const auto features = features_of_cpuinfo(
      "processor\t: 0\nbugs\t: flags\nflags\t\t: fpu sse4_2 avx f16c fma avx2 bmi2 avx512f avx512cd\n"
      "vmx flags\t: avx_vnni\nflags\t: amx_int8\n");
  ASSERT_TRUE(features.has_value());
  EXPECT_EQ(*features, FeatureSet{kSse42 | kAvx | kF16c | kFma | kAvx2 | kBmi2});
}

TEST(Cpuinfo, Avx512NeedsItsFiveParts) {
  const std::string parts = "flags: avx512f avx512cd avx512vl avx512dq";
  EXPECT_EQ(features_of_cpuinfo(parts), std::optional<FeatureSet>(0));
  EXPECT_EQ(features_of_cpuinfo(parts + " avx512bw"), std::optional<FeatureSet>(kAvx512));
}

TEST(Cpuinfo, WithoutSuchALineNothingIsKnown) {
  for (const char* text : {"", "\n\n", "flags", "Features\t: fp asimd\n", "flag s: avx\n", ":\n"}) {
    EXPECT_FALSE(features_of_cpuinfo(text).has_value()) << text;
  }
}

TEST(Cpuinfo, AgreesWithTheCpuItself) {
  std::ifstream file("/proc/cpuinfo");
  std::stringstream text;
  text << file.rdbuf();
  const CpuFacts facts = detect_cpu();
  const auto features = features_of_cpuinfo(text.str());
  if (!facts.known || !features) GTEST_SKIP() << "no x86 cpuinfo here";
  // A kernel may know fewer names than the CPU has features, never more.
  EXPECT_TRUE(is_subset(*features, facts.usable()));
  EXPECT_EQ(*features & (kSse42 | kAvx2 | kAvx512), facts.usable() & (kSse42 | kAvx2 | kAvx512));
}

}  // namespace
}  // namespace capbench::shim::cpu
