// Instruction-set levels as data: which features each of ggml's x86 CPU libraries needs, how ggml scores it, and which
// one it loads on given hardware. Pure; no allocation.
//
// A level is the name of one of those libraries and stands for a SET of features. The sets are not a ladder:
// `alderlake` (AVX-VNNI, no AVX-512) and `skylakex` (AVX-512, no AVX-VNNI) are not comparable, nor are `cannonlake` and
// `cascadelake`. ggml makes an order of them by score; capping at a level admits exactly the libraries whose features
// the level has.
//
// Source: llama.cpp v0.5.0, ggml/src/CMakeLists.txt (features per library), ggml/src/ggml-cpu/arch/x86/cpu-feats.cpp
// (weights).
#ifndef CAPBENCH_SHIM_CPU_LEVELS_H_
#define CAPBENCH_SHIM_CPU_LEVELS_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "shim/common/toggles.h"

namespace capbench::shim::cpu {

// A set of Feature bits.
using FeatureSet = std::uint32_t;

enum Feature : FeatureSet {
  kSse42 = 1U << 0U,
  kAvx = 1U << 1U,
  kF16c = 1U << 2U,
  kFma = 1U << 3U,
  kAvx2 = 1U << 4U,
  kBmi2 = 1U << 5U,
  kAvxVnni = 1U << 6U,
  kAvx512 = 1U << 7U,  // F, CD, VL, DQ and BW together, as ggml asks for them
  kAvx512Vbmi = 1U << 8U,
  kAvx512Vnni = 1U << 9U,
  kAvx512Bf16 = 1U << 10U,
  kAmxTile = 1U << 11U,
  kAmxInt8 = 1U << 12U,
};

struct FeatureInfo {
  Feature bit;
  std::string_view name;  // as ggml's build options name it
  int weight;             // what it adds to a library's score
};

inline constexpr std::array<FeatureInfo, 13> kFeatures = {{
    {kSse42, "SSE42", 1 << 2U},
    {kAvx, "AVX", 1 << 4U},
    {kF16c, "F16C", 1 << 1U},
    {kFma, "FMA", 1},
    {kAvx2, "AVX2", 1 << 5U},
    {kBmi2, "BMI2", 1 << 3U},
    {kAvxVnni, "AVX_VNNI", 1 << 6U},
    {kAvx512, "AVX512", 1 << 7U},
    {kAvx512Vbmi, "AVX512_VBMI", 1 << 8U},
    {kAvx512Vnni, "AVX512_VNNI", 1 << 10U},
    {kAvx512Bf16, "AVX512_BF16", 1 << 9U},
    {kAmxTile, "AMX_TILE", 0},
    {kAmxInt8, "AMX_INT8", 1 << 11U},
}};

inline constexpr FeatureSet kAllFeatures = (1U << kFeatures.size()) - 1U;

constexpr bool is_subset(FeatureSet part, FeatureSet whole) {
  return (part & ~whole) == 0;
}

// One of ggml's CPU libraries, libggml-cpu-NAME.so.
struct Variant {
  std::string_view name;
  FeatureSet features;
};

namespace detail {

inline constexpr FeatureSet kIvybridge = kSse42 | kAvx | kF16c;
inline constexpr FeatureSet kHaswell = kIvybridge | kFma | kAvx2 | kBmi2;
inline constexpr FeatureSet kSkylakex = kHaswell | kAvx512;
inline constexpr FeatureSet kIcelake = kSkylakex | kAvx512Vbmi | kAvx512Vnni;
inline constexpr FeatureSet kZen4 = kIcelake | kAvx512Bf16;

}  // namespace detail

// By rising score.
inline constexpr std::array<Variant, 14> kVariants = {{
    {"x64", 0},
    {"sse42", kSse42},
    {"sandybridge", kSse42 | kAvx},
    {"ivybridge", detail::kIvybridge},
    {"piledriver", detail::kIvybridge | kFma},
    {"haswell", detail::kHaswell},
    {"alderlake", detail::kHaswell | kAvxVnni},
    {"skylakex", detail::kSkylakex},
    {"cannonlake", detail::kSkylakex | kAvx512Vbmi},
    {"cascadelake", detail::kSkylakex | kAvx512Vnni},
    {"icelake", detail::kIcelake},
    {"cooperlake", detail::kSkylakex | kAvx512Vnni | kAvx512Bf16},
    {"zen4", detail::kZen4},
    {"sapphirerapids", detail::kZen4 | kAmxTile | kAmxInt8},
}};

inline constexpr std::size_t kVariantCount = kVariants.size();
inline constexpr std::string_view kBest = "best";
inline constexpr std::size_t kBestLevel = kVariantCount;  // index of `best` in kCpuIsaLevels

static_assert(
    [] {
      for (std::size_t i = 0; i < kVariantCount; ++i) {
        if (kCpuIsaLevels[i] != kVariants[i].name) return false;
      }
      return kCpuIsaLevels.size() == kVariantCount + 1 && kCpuIsaLevels[kBestLevel] == kBest;
    }(),
    "the levels of cpu.isa are the variants, in this order, and `best`");

// What ggml's score function returns in a library built with these features, on a CPU that has them all.
constexpr int score(FeatureSet features) {
  int sum = 1;
  for (const FeatureInfo& feature : kFeatures) {
    if ((features & feature.bit) != 0) sum += feature.weight;
  }
  return sum;
}

// Index into kVariants, or kVariantCount for an unknown name.
constexpr std::size_t find_variant(std::string_view name) {
  for (std::size_t i = 0; i < kVariantCount; ++i) {
    if (kVariants[i].name == name) return i;
  }
  return kVariantCount;
}

// What the level (index into kCpuIsaLevels) admits of what the hardware has.
constexpr FeatureSet features_at(std::size_t level, FeatureSet hardware) {
  return level < kVariantCount ? kVariants[level].features & hardware : hardware;
}

inline constexpr std::uint32_t kAllVariants = (1U << kVariantCount) - 1U;

// The library that ggml loads when it may use `features`: the highest score among the variants whose bit is set in
// `available` (1 << index). Empty if none of them fits.
constexpr std::string_view best_variant(FeatureSet features, std::uint32_t available = kAllVariants) {
  for (std::size_t i = kVariantCount; i-- > 0;) {
    if ((available >> i & 1U) != 0 && is_subset(kVariants[i].features, features)) return kVariants[i].name;
  }
  return {};
}

// The library that ggml loads at that level ("haswell", "best") on such hardware. Empty for an unknown level. This is
// what the treatment check compares ggml's "loaded CPU backend from" line with.
constexpr std::string_view expected_variant(std::string_view level, FeatureSet hardware,
                                            std::uint32_t available = kAllVariants) {
  const std::size_t index = level == kBest ? kBestLevel : find_variant(level);
  if (level != kBest && index == kVariantCount) return {};
  return best_variant(features_at(index, hardware), available);
}

// The variant's name in a library's path, "zen4" for "/opt/libggml-cpu-zen4.so"; empty for any other file.
constexpr std::string_view variant_in_path(std::string_view path) {
  constexpr std::string_view kPrefix = "libggml-cpu-";
  constexpr std::string_view kSuffix = ".so";
  const std::size_t slash = path.rfind('/');
  if (slash != std::string_view::npos) path.remove_prefix(slash + 1);
  if (path.size() <= kPrefix.size() + kSuffix.size()) return {};
  const std::string_view head(path.data(), kPrefix.size());
  const std::string_view tail(path.data() + path.size() - kSuffix.size(), kSuffix.size());
  if (head != kPrefix || tail != kSuffix) return {};
  return {path.data() + kPrefix.size(), path.size() - kPrefix.size() - kSuffix.size()};
}

}  // namespace capbench::shim::cpu

#endif  // CAPBENCH_SHIM_CPU_LEVELS_H_
