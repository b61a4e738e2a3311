// What this machine's CPU says it has (CPUID) and what the kernel lets a process use of it (XGETBV).
#ifndef CAPBENCH_SHIM_CPU_DETECT_H_
#define CAPBENCH_SHIM_CPU_DETECT_H_

#include <array>
#include <cstdint>
#include <string_view>

#include "shim/cpu/levels.h"

namespace capbench::shim::cpu {

// The registers that carry the features (Intel SDM volume 2A, CPUID; AMD APM volume 3, appendix E). Zero where the CPU
// has no such leaf.
struct CpuidLeaves {
  std::uint32_t leaf1_ecx = 0;
  std::uint32_t leaf7_ebx = 0;
  std::uint32_t leaf7_ecx = 0;
  std::uint32_t leaf7_edx = 0;
  std::uint32_t leaf7_1_eax = 0;
};

struct CpuFacts {
  bool known = false;       // false: not x86-64, no level applies here
  FeatureSet claimed = 0;   // what CPUID says
  FeatureSet enabled = 0;   // what the kernel saves registers for, whether CPUID says it is there or not
  bool hypervisor = false;  // CPUID says that this machine is a virtual one

  // What ggml's libraries may use.
  FeatureSet usable() const { return claimed & enabled; }
};

// Pure: what the leaves claim.
FeatureSet features_of(const CpuidLeaves& leaves);

// Pure: the features whose registers an XCR0 of that value saves (SDM volume 1, chapter 13). Those without extra
// registers are always in it.
FeatureSet enabled_by(std::uint64_t xcr0);

// Asks the CPU: five instructions, no system call. Any thread.
CpuFacts detect_cpu();

// The CPU's own name ("AMD EPYC ..."), or an empty text where it gives none.
struct CpuBrand {
  std::array<char, 48> bytes{};
  std::string_view view() const;
};
CpuBrand cpu_brand();

}  // namespace capbench::shim::cpu

#endif  // CAPBENCH_SHIM_CPU_DETECT_H_
