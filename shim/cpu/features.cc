#include "shim/cpu/detect.h"

namespace capbench::shim::cpu {
namespace {

constexpr bool bit(std::uint32_t word, unsigned index) {
  return (word >> index & 1U) != 0;
}

// XCR0: SSE and AVX state; opmask and the two upper parts of the vector registers; tile configuration and tile data.
constexpr std::uint64_t kXcr0Avx = 0x6;
constexpr std::uint64_t kXcr0Avx512 = 0xE6;
constexpr std::uint64_t kXcr0Amx = 0x60000;

constexpr FeatureSet kNeedAvx = kAvx | kF16c | kFma | kAvx2 | kAvxVnni;
constexpr FeatureSet kNeedAvx512 = kAvx512 | kAvx512Vbmi | kAvx512Vnni | kAvx512Bf16;
constexpr FeatureSet kNeedAmx = kAmxTile | kAmxInt8;

constexpr bool all_bits(std::uint64_t value, std::uint64_t mask) {
  return (value & mask) == mask;
}

}  // namespace

FeatureSet features_of(const CpuidLeaves& leaves) {
  FeatureSet set = 0;
  const auto add = [&](bool present, Feature feature) { set |= present ? feature : 0U; };
  add(bit(leaves.leaf1_ecx, 20), kSse42);
  add(bit(leaves.leaf1_ecx, 28), kAvx);
  add(bit(leaves.leaf1_ecx, 29), kF16c);
  add(bit(leaves.leaf1_ecx, 12), kFma);
  add(bit(leaves.leaf7_ebx, 5), kAvx2);
  add(bit(leaves.leaf7_ebx, 8), kBmi2);
  add(bit(leaves.leaf7_1_eax, 4), kAvxVnni);
  // F 16, DQ 17, CD 28, BW 30, VL 31.
  constexpr std::uint32_t kAvx512Bits = 1U << 16U | 1U << 17U | 1U << 28U | 1U << 30U | 1U << 31U;
  add(all_bits(leaves.leaf7_ebx, kAvx512Bits), kAvx512);
  add(bit(leaves.leaf7_ecx, 1), kAvx512Vbmi);
  add(bit(leaves.leaf7_ecx, 11), kAvx512Vnni);
  add(bit(leaves.leaf7_1_eax, 5), kAvx512Bf16);
  add(bit(leaves.leaf7_edx, 24), kAmxTile);
  add(bit(leaves.leaf7_edx, 25), kAmxInt8);
  return set;
}

FeatureSet enabled_by(std::uint64_t xcr0) {
  FeatureSet set = kSse42 | kBmi2;
  if (all_bits(xcr0, kXcr0Avx)) set |= kNeedAvx;
  if (all_bits(xcr0, kXcr0Avx512)) set |= kNeedAvx512;
  if (all_bits(xcr0, kXcr0Amx)) set |= kNeedAmx;
  return set;
}

}  // namespace capbench::shim::cpu
