#include "shim/cpu/detect.h"

#include <initializer_list>

#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace capbench::shim::cpu {

#if defined(__x86_64__)
namespace {

// XGETBV with ECX = 0. Only after CPUID has said OSXSAVE: the instruction faults otherwise.
std::uint64_t read_xcr0() {
  std::uint32_t low = 0;
  std::uint32_t high = 0;
  asm volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return std::uint64_t{high} << 32U | low;
}

}  // namespace

CpuFacts detect_cpu() {
  CpuidLeaves leaves;
  unsigned eax = 0;
  unsigned ebx = 0;
  unsigned ecx = 0;
  unsigned edx = 0;
  if (__get_cpuid(1, &eax, &ebx, &ecx, &edx) != 0) leaves.leaf1_ecx = ecx;
  if (__get_cpuid_count(7, 0, &eax, &ebx, &ecx, &edx) != 0) {
    const unsigned last_subleaf = eax;
    leaves.leaf7_ebx = ebx;
    leaves.leaf7_ecx = ecx;
    leaves.leaf7_edx = edx;
    if (last_subleaf >= 1 && __get_cpuid_count(7, 1, &eax, &ebx, &ecx, &edx) != 0) leaves.leaf7_1_eax = eax;
  }
  const bool osxsave = (leaves.leaf1_ecx >> 27U & 1U) != 0;
  CpuFacts facts;
  facts.known = true;
  facts.claimed = features_of(leaves);
  facts.enabled = enabled_by(osxsave ? read_xcr0() : 0);
  facts.hypervisor = (leaves.leaf1_ecx >> 31U & 1U) != 0;
  return facts;
}

CpuBrand cpu_brand() {
  CpuBrand brand;
  std::size_t at = 0;
  for (unsigned leaf = 0x80000002; leaf <= 0x80000004; ++leaf) {
    unsigned eax = 0;
    unsigned ebx = 0;
    unsigned ecx = 0;
    unsigned edx = 0;
    if (__get_cpuid(leaf, &eax, &ebx, &ecx, &edx) == 0) return {};
    for (const unsigned word : {eax, ebx, ecx, edx}) {
      for (unsigned shift = 0; shift < 32; shift += 8) brand.bytes[at++] = static_cast<char>(word >> shift & 0xFFU);
    }
  }
  return brand;
}

#else

CpuFacts detect_cpu() {
  return {};
}

CpuBrand cpu_brand() {
  return {};
}

#endif

std::string_view CpuBrand::view() const {
  std::string_view text(bytes.data(), bytes.size());
  const std::size_t nul = text.find('\0');
  if (nul != std::string_view::npos) text.remove_suffix(text.size() - nul);
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  return text;
}

}  // namespace capbench::shim::cpu
