#include "shim/cpu/cpuinfo.h"

#include <algorithm>
#include <array>
#include <string>
#include <vector>

namespace capbench::shim::cpu {
namespace {

struct Flag {
  Feature feature;
  std::string_view name;  // as the kernel spells it (arch/x86/include/asm/cpufeatures.h)
};

constexpr std::array kFlags{
    Flag{kSse42, "sse4_2"},
    Flag{kAvx, "avx"},
    Flag{kF16c, "f16c"},
    Flag{kFma, "fma"},
    Flag{kAvx2, "avx2"},
    Flag{kBmi2, "bmi2"},
    Flag{kAvxVnni, "avx_vnni"},
    Flag{kAvx512Vbmi, "avx512vbmi"},
    Flag{kAvx512Vnni, "avx512_vnni"},
    Flag{kAvx512Bf16, "avx512_bf16"},
    Flag{kAmxTile, "amx_tile"},
    Flag{kAmxInt8, "amx_int8"},
};

// ggml asks for these together.
constexpr std::array<std::string_view, 5> kAvx512Flags{"avx512f", "avx512cd", "avx512vl", "avx512dq", "avx512bw"};

std::vector<std::string_view> words_of(std::string_view line) {
  std::vector<std::string_view> words;
  while (!line.empty()) {
    const std::size_t start = std::min(line.find_first_not_of(" \t\r"), line.size());
    line.remove_prefix(start);
    const std::size_t end = std::min(line.find_first_of(" \t\r"), line.size());
    if (end > 0) words.push_back(line.substr(0, end));
    line.remove_prefix(end);
  }
  return words;
}

}  // namespace

std::optional<FeatureSet> features_of_cpuinfo(std::string_view cpuinfo) {
  while (!cpuinfo.empty()) {
    const std::size_t end = std::min(cpuinfo.find('\n'), cpuinfo.size());
    const std::string_view line = cpuinfo.substr(0, end);
    cpuinfo.remove_prefix(std::min(end + 1, cpuinfo.size()));
    const std::size_t colon = line.find(':');
    if (colon == std::string_view::npos) continue;
    const std::vector<std::string_view> key = words_of(line.substr(0, colon));
    if (key.size() != 1 || key[0] != "flags") continue;
    const std::vector<std::string_view> words = words_of(line.substr(colon + 1));
    const auto has = [&](std::string_view name) { return std::find(words.begin(), words.end(), name) != words.end(); };
    FeatureSet features = 0;
    for (const Flag& flag : kFlags) {
      if (has(flag.name)) features |= flag.feature;
    }
    if (std::all_of(kAvx512Flags.begin(), kAvx512Flags.end(), has)) features |= kAvx512;
    return features;
  }
  return std::nullopt;
}

}  // namespace capbench::shim::cpu
