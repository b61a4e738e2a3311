// A stand-in for one of ggml's CPU libraries: scores itself as ggml does, by the name of its own file.
#include <dlfcn.h>

#include <cstdlib>

#include "shim/cpu/detect.h"

namespace capbench::shim::cpu {
namespace {

// FAKE_CPU names the level that CPUID shows to this library; unset, the real CPU is asked.
FeatureSet shown() {
  const char* level = std::getenv("FAKE_CPU");
  return level == nullptr ? detect_cpu().usable() : kVariants.at(find_variant(level)).features;
}

constexpr int kUnknownScore = 1 << 20U;  // of a library for a CPU that is yet to come

}  // namespace

extern "C" int ggml_backend_score() {
  Dl_info info{};
  if (dladdr(reinterpret_cast<void*>(&ggml_backend_score), &info) == 0) return 0;
  const std::size_t variant = find_variant(variant_in_path(info.dli_fname));
  if (variant == kVariantCount) return kUnknownScore;
  return is_subset(kVariants[variant].features, shown()) ? score(kVariants[variant].features) : 0;
}

}  // namespace capbench::shim::cpu
