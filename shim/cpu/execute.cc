#include "shim/cpu/execute.h"

#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>

namespace capbench::shim::cpu {

#if defined(__x86_64__)
namespace {

// Each probe feeds an instruction whose result is known and compares. The assembler knows them all; the compiler is
// told of no extension, so nothing else in the shim can use them by accident.

template <class T, std::size_t N>
bool all_equal(const std::array<T, N>& values, T expected) {
  return std::all_of(values.begin(), values.end(), [&](T value) { return value == expected; });
}

template <class T, std::size_t N>
std::array<T, N> filled(T value) {
  std::array<T, N> values{};
  values.fill(value);
  return values;
}

// -msse4.2 implies POPCNT, so both are tried. CRC-32C of one byte 1 is the second entry of the polynomial's table.
bool run_sse42() {
  std::uint32_t crc = 0;
  std::uint64_t ones = 0;
  asm volatile("crc32b %2, %0\n\tpopcntq %3, %1"
               : "+r"(crc), "=r"(ones)
               : "q"(static_cast<unsigned char>(1)), "r"(std::uint64_t{0xF0F0})
               : "cc");
  return crc == 0xF26B8303U && ones == 8;
}

bool run_bmi2() {
  std::uint64_t bits = 0;
  asm volatile("pextq %2, %1, %0" : "=r"(bits) : "r"(std::uint64_t{0xABCD}), "r"(std::uint64_t{0x0FF0}));
  return bits == 0xBC;
}

bool run_avx() {
  auto values = filled<float, 8>(1.5F);
  asm volatile("vmovups (%0), %%ymm0\n\tvaddps %%ymm0, %%ymm0, %%ymm0\n\tvmovups %%ymm0, (%0)\n\tvzeroupper"
               :
               : "r"(values.data())
               : "xmm0", "memory");
  return all_equal(values, 3.0F);
}

bool run_f16c() {
  const auto halves = filled<std::uint16_t, 8>(0x4248);  // 3.140625
  std::array<float, 8> values{};
  asm volatile("vcvtph2ps (%0), %%ymm0\n\tvmovups %%ymm0, (%1)\n\tvzeroupper"
               :
               : "r"(halves.data()), "r"(values.data())
               : "xmm0", "memory");
  return all_equal(values, 3.140625F);
}

bool run_fma() {
  auto values = filled<float, 8>(3.0F);
  asm volatile("vmovups (%0), %%ymm0\n\tvfmadd231ps %%ymm0, %%ymm0, %%ymm0\n\tvmovups %%ymm0, (%0)\n\tvzeroupper"
               :
               : "r"(values.data())
               : "xmm0", "memory");
  return all_equal(values, 12.0F);
}

bool run_avx2() {
  auto values = filled<std::int32_t, 8>(21);
  asm volatile("vmovdqu (%0), %%ymm0\n\tvpaddd %%ymm0, %%ymm0, %%ymm0\n\tvmovdqu %%ymm0, (%0)\n\tvzeroupper"
               :
               : "r"(values.data())
               : "xmm0", "memory");
  return all_equal(values, std::int32_t{42});
}

// Four products of bytes are added to each 32-bit lane: 4 * (2 * 3) = 24.
bool run_avx_vnni() {
  std::array<std::int32_t, 8> sums{};
  const auto left = filled<std::uint8_t, 32>(2);
  const auto right = filled<std::uint8_t, 32>(3);
  asm volatile(
      "vmovdqu (%0), %%ymm0\n\tvmovdqu (%1), %%ymm1\n\t%{vex%} vpdpbusd (%2), %%ymm1, %%ymm0\n\tvmovdqu %%ymm0, "
      "(%0)\n\t"
      "vzeroupper"
      :
      : "r"(sums.data()), "r"(left.data()), "r"(right.data())
      : "xmm0", "xmm1", "memory");
  return all_equal(sums, std::int32_t{24});
}

// ggml's AVX512 is five extensions. In turn, on 64-bit lanes that begin as 1: F adds (2); DQ multiplies (4); CD counts
// leading zeros (61); BW adds 16-bit lanes (122); VL uses a register that exists only with it, at 256 bits (244).
bool run_avx512() {
  auto values = filled<std::uint64_t, 8>(1);
  asm volatile(
      "vmovdqu64 (%0), %%zmm0\n\t"
      "vpaddq %%zmm0, %%zmm0, %%zmm0\n\t"
      "vpmullq %%zmm0, %%zmm0, %%zmm0\n\t"
      "vplzcntq %%zmm0, %%zmm0\n\t"
      "vpaddw %%zmm0, %%zmm0, %%zmm0\n\t"
      "vmovdqu64 %%zmm0, (%0)\n\t"
      "vmovdqu64 (%0), %%ymm16\n\t"
      "vpaddq %%ymm16, %%ymm16, %%ymm16\n\t"
      "vmovdqu64 %%ymm16, (%0)\n\t"
      "vzeroupper"
      :
      : "r"(values.data())
      : "xmm0", "memory");
  return std::all_of(values.begin(), values.begin() + 4, [](std::uint64_t v) { return v == 244; }) &&
         std::all_of(values.begin() + 4, values.end(), [](std::uint64_t v) { return v == 122; });
}

bool run_avx512_vbmi() {
  std::array<std::uint8_t, 64> reversed{};
  std::array<std::uint8_t, 64> bytes{};
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    reversed[i] = static_cast<std::uint8_t>(63 - i);
    bytes[i] = static_cast<std::uint8_t>(i * 3);
  }
  std::array<std::uint8_t, 64> result{};
  asm volatile("vmovdqu64 (%0), %%zmm0\n\tvpermb (%1), %%zmm0, %%zmm0\n\tvmovdqu64 %%zmm0, (%2)\n\tvzeroupper"
               :
               : "r"(reversed.data()), "r"(bytes.data()), "r"(result.data())
               : "xmm0", "memory");
  return std::equal(result.begin(), result.end(), bytes.rbegin());
}

bool run_avx512_vnni() {
  std::array<std::int32_t, 16> sums{};
  const auto left = filled<std::uint8_t, 64>(2);
  const auto right = filled<std::uint8_t, 64>(3);
  asm volatile(
      "vmovdqu64 (%0), %%zmm0\n\tvmovdqu64 (%1), %%zmm1\n\tvpdpbusd (%2), %%zmm1, %%zmm0\n\tvmovdqu64 %%zmm0, (%0)\n\t"
      "vzeroupper"
      :
      : "r"(sums.data()), "r"(left.data()), "r"(right.data())
      : "xmm0", "xmm1", "memory");
  return all_equal(sums, std::int32_t{24});
}

// Two products of bfloat16 are added to each lane: 1 + 2 * 2 + 2 * 2 = 9.
bool run_avx512_bf16() {
  auto sums = filled<float, 16>(1.0F);
  const auto twos = filled<std::uint16_t, 32>(0x4000);
  asm volatile(
      "vmovups (%0), %%zmm0\n\tvmovdqu64 (%1), %%zmm1\n\tvdpbf16ps %%zmm1, %%zmm1, %%zmm0\n\tvmovups %%zmm0, (%0)\n\t"
      "vzeroupper"
      :
      : "r"(sums.data()), "r"(twos.data())
      : "xmm0", "xmm1", "memory");
  return all_equal(sums, 9.0F);
}

// Palette 1 (SDM volume 1, table 18-2): rows and bytes per row of each tile.
struct alignas(64) TileConfig {
  std::uint8_t palette = 1;
  std::uint8_t start_row = 0;
  std::array<std::uint8_t, 14> reserved{};
  std::array<std::uint16_t, 16> row_bytes{};
  std::array<std::uint8_t, 16> rows{};
};
static_assert(sizeof(TileConfig) == 64);

// Linux hands out tile registers only to a process that asks: arch_prctl(ARCH_REQ_XCOMP_PERM, XFEATURE_XTILEDATA).
bool ask_for_tiles() {
  constexpr long kRequestPermission = 0x1023;
  constexpr long kTileData = 18;
  return syscall(SYS_arch_prctl, kRequestPermission, kTileData) == 0;
}

TileConfig three_tiles() {
  TileConfig config;
  for (std::size_t i = 0; i < 3; ++i) {
    config.rows[i] = 16;
    config.row_bytes[i] = 64;
  }
  return config;
}

bool run_amx_tile() {
  if (!ask_for_tiles()) return false;
  const TileConfig config = three_tiles();
  auto values = filled<std::int32_t, 256>(7);
  asm volatile("ldtilecfg (%0)\n\ttilezero %%tmm0\n\ttilestored %%tmm0, (%1,%2,1)\n\ttilerelease"
               :
               : "r"(&config), "r"(values.data()), "r"(std::int64_t{64})
               : "memory");
  return all_equal(values, std::int32_t{0});
}

// A row of 64 bytes by a column of 64 bytes, each 2 * 3: 384.
bool run_amx_int8() {
  if (!ask_for_tiles()) return false;
  const TileConfig config = three_tiles();
  const auto left = filled<std::int8_t, 1024>(2);
  const auto right = filled<std::int8_t, 1024>(3);
  std::array<std::int32_t, 256> sums{};
  asm volatile(
      "ldtilecfg (%0)\n\ttilezero %%tmm0\n\ttileloadd (%1,%4,1), %%tmm1\n\ttileloadd (%2,%4,1), %%tmm2\n\t"
      "tdpbssd %%tmm2, %%tmm1, %%tmm0\n\ttilestored %%tmm0, (%3,%4,1)\n\ttilerelease"
      :
      : "r"(&config), "r"(left.data()), "r"(right.data()), "r"(sums.data()), "r"(std::int64_t{64})
      : "memory");
  return all_equal(sums, std::int32_t{384});
}

// In the order of kFeatures.
constexpr std::array<Probe, kFeatures.size()> kProbes = {
    run_sse42,  run_avx,         run_f16c,        run_fma,         run_avx2,     run_bmi2,     run_avx_vnni,
    run_avx512, run_avx512_vbmi, run_avx512_vnni, run_avx512_bf16, run_amx_tile, run_amx_int8,
};
static_assert(kFeatures.size() <= kMaxProbes);

}  // namespace

FeatureSet execute_features(FeatureSet wanted) {
  std::array<Probe, kFeatures.size()> probes{};
  std::array<FeatureSet, kFeatures.size()> bits{};
  std::size_t count = 0;
  for (std::size_t i = 0; i < kFeatures.size(); ++i) {
    if ((wanted & kFeatures[i].bit) == 0) continue;
    probes[count] = kProbes[i];
    bits[count] = kFeatures[i].bit;
    ++count;
  }
  if (count == 0) return 0;
  const std::uint32_t passed = run_probes(probes.data(), count);
  FeatureSet executed = 0;
  for (std::size_t i = 0; i < count; ++i) {
    if ((passed >> i & 1U) != 0) executed |= bits[i];
  }
  return executed;
}

#else

FeatureSet execute_features(FeatureSet) {
  return 0;
}

#endif

}  // namespace capbench::shim::cpu
