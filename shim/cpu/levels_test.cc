#include "shim/cpu/levels.h"

#include <gtest/gtest.h>

#include <random>
#include <string>

namespace capbench::shim::cpu {
namespace {

// A Zen 5: everything but AMX.
constexpr FeatureSet kZen5 = kAllFeatures & ~(kAmxTile | kAmxInt8);

TEST(Levels, ScoresAreThoseOfTheFormulaAndRise) {
  EXPECT_EQ(score(0), 1);
  EXPECT_EQ(score(kVariants[find_variant("sse42")].features), 5);
  EXPECT_EQ(score(kVariants[find_variant("haswell")].features), 64);
  EXPECT_EQ(score(kVariants[find_variant("zen4")].features), 1984);
  EXPECT_EQ(score(kVariants[find_variant("sapphirerapids")].features), 4032);
  for (std::size_t i = 1; i < kVariantCount; ++i) {
    EXPECT_GT(score(kVariants[i].features), score(kVariants[i - 1].features)) << kVariants[i].name;
  }
}

TEST(Levels, AreSetsAndNotALadder) {
  const FeatureSet alderlake = kVariants[find_variant("alderlake")].features;
  const FeatureSet skylakex = kVariants[find_variant("skylakex")].features;
  EXPECT_FALSE(is_subset(alderlake, skylakex));
  EXPECT_FALSE(is_subset(skylakex, alderlake));
  // A level with a higher score does not admit every library with a lower one.
  EXPECT_EQ(expected_variant("skylakex", kZen5), "skylakex");
  EXPECT_EQ(expected_variant("skylakex", alderlake), "haswell");
}

TEST(Levels, AtItsOwnLevelEachVariantIsExpectedWhereTheHardwareHasIt) {
  for (const Variant& variant : kVariants) {
    EXPECT_EQ(expected_variant(variant.name, kAllFeatures), variant.name);
    EXPECT_EQ(expected_variant(variant.name, 0), "x64");
  }
  EXPECT_EQ(expected_variant("best", kZen5), "zen4");
  EXPECT_EQ(expected_variant("sapphirerapids", kZen5), "zen4");
  EXPECT_EQ(expected_variant("worst", kZen5), "");
  EXPECT_EQ(expected_variant("", kZen5), "");
}

TEST(Levels, OnlyAvailableLibrariesAreExpected) {
  const std::uint32_t few = 1U << find_variant("x64") | 1U << find_variant("haswell");
  EXPECT_EQ(expected_variant("best", kZen5, few), "haswell");
  EXPECT_EQ(expected_variant("ivybridge", kZen5, few), "x64");
  EXPECT_EQ(expected_variant("best", kZen5, 0), "");
}

TEST(Levels, AVariantIsReadFromAFileName) {
  EXPECT_EQ(variant_in_path("/a/b/libggml-cpu-zen4.so"), "zen4");
  EXPECT_EQ(variant_in_path("libggml-cpu-armv8.2_1.so"), "armv8.2_1");
  for (const char* other : {"", "/", "libggml-cpu.so", "libggml-cpu-.so", "/libggml-cpu-zen4.so/",
                            "libggml-cpu-zen4.so.0", "libggml-vulkan.so", "xlibggml-cpu-zen4.so", "libggml-cpu-zen4"}) {
    EXPECT_EQ(variant_in_path(other), "") << other;
  }
}

TEST(Levels, AnyPathCanBeRead) {
  std::mt19937 random(3);
  const std::string seed = "/opt/llama/libggml-cpu-haswell.so";
  for (int round = 0; round < 5000; ++round) {
    std::string path = seed;
    path[random() % path.size()] = static_cast<char>(random() % 256);
    path.erase(random() % path.size(), random() % 12);
    const std::string_view name = variant_in_path(path);
    EXPECT_LE(name.size(), path.size());
    EXPECT_EQ(name.find('/'), std::string_view::npos);
  }
}

}  // namespace
}  // namespace capbench::shim::cpu
