// A guest whose CPUID shows only the level in CAPSHIM_TEST_CPUID, and whose kernel has enabled everything: what really
// runs is left to the child process.
#include <cstdlib>

#include "shim/cpu/detect.h"

namespace capbench::shim::cpu {

CpuFacts detect_cpu() {
  const char* level = std::getenv("CAPSHIM_TEST_CPUID");
  CpuFacts facts;
  facts.known = true;
  facts.claimed = level == nullptr ? 0 : kVariants[find_variant(level)].features;
  facts.enabled = kAllFeatures;
  return facts;
}

}  // namespace capbench::shim::cpu
