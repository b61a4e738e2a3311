#include "models/weights.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <limits>
#include <set>
#include <string>
#include <vector>

#include "models/little_endian.h"

namespace capbench::models {
namespace {

double from_half(std::uint16_t half) {
  const double sign = (half & 0x8000U) != 0 ? -1 : 1;
  const int exponent = (half >> 10U) & 31;
  const int mantissa = half & 0x3FF;
  if (exponent == 31) return mantissa == 0 ? sign * std::numeric_limits<double>::infinity() : std::nan("");
  return sign * (exponent == 0 ? std::ldexp(mantissa, -24) : std::ldexp(1024 + mantissa, exponent - 25));
}

int at(const std::string& bytes, std::size_t index) {
  return static_cast<unsigned char>(bytes[index]);
}

double half_at(const std::string& bytes, std::size_t index) {
  return from_half(load<std::uint16_t>(bytes.data() + index));
}

// Decoders written from the formats' definitions, element by element, to check the packing against.
std::vector<double> decode(TensorType type, const std::string& bytes, std::size_t elements) {
  std::vector<double> values(elements);
  const TensorTypeInfo info = tensor_type_info(type);
  for (std::size_t i = 0; i < elements; ++i) {
    const std::size_t base = i / info.block_elements * info.block_bytes;
    const std::size_t e = i % info.block_elements;
    switch (type) {
      case TensorType::kF32:
        values[i] = static_cast<double>(load<float>(bytes.data() + base));
        break;
      case TensorType::kF16:
        values[i] = half_at(bytes, base);
        break;
      case TensorType::kBF16:
        values[i] =
            static_cast<double>(std::bit_cast<float>(std::uint32_t{load<std::uint16_t>(bytes.data() + base)} << 16U));
        break;
      case TensorType::kQ8_0:
        values[i] = half_at(bytes, base) * load<std::int8_t>(bytes.data() + base + 2 + e);
        break;
      case TensorType::kQ4_0:
        values[i] = half_at(bytes, base) * (((at(bytes, base + 2 + e % 16) >> (e < 16 ? 0 : 4)) & 15) - 8);
        break;
      case TensorType::kQ4_K: {
        const std::size_t sub = e / 32;
        const std::size_t s = base + 4;
        const int scale =
            sub < 4 ? at(bytes, s + sub) & 63 : (at(bytes, s + sub + 4) & 15) | (at(bytes, s + sub - 4) >> 6) << 4;
        const int min =
            sub < 4 ? at(bytes, s + sub + 4) & 63 : (at(bytes, s + sub + 4) >> 4) | (at(bytes, s + sub) >> 6) << 4;
        const int q = (at(bytes, base + 16 + e / 64 * 32 + e % 32) >> (sub % 2 == 0 ? 0 : 4)) & 15;
        values[i] = half_at(bytes, base) * scale * q - half_at(bytes, base + 2) * min;
        break;
      }
      default: {  // Q6_K
        const std::size_t half = e / 128;
        const std::size_t quarter = e % 128 / 32;
        const std::size_t l = e % 32;
        const int low = at(bytes, base + 64 * half + l + (quarter % 2 == 1 ? 32 : 0)) >> (quarter < 2 ? 0 : 4) & 15;
        const int high = at(bytes, base + 128 + 32 * half + l) >> (2 * quarter) & 3;
        const int scale = load<std::int8_t>(bytes.data() + base + 192 + e / 16);
        values[i] = half_at(bytes, base + 208) * scale * ((low | high << 4) - 32);
        break;
      }
    }
  }
  return values;
}

std::vector<double> row(TensorType type, double deviation, std::uint64_t key, std::size_t elements) {
  const TensorTypeInfo info = tensor_type_info(type);
  std::string bytes(elements / info.block_elements * info.block_bytes, '\xAA');
  fill_row(type, deviation, key, elements, bytes.data());
  return decode(type, bytes, elements);
}

double dot(const std::vector<double>& a, const std::vector<double>& b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += a[i] * b[i];
  return sum;
}

constexpr std::array kFilled = {TensorType::kF32,  TensorType::kF16,  TensorType::kBF16, TensorType::kQ8_0,
                                TensorType::kQ4_0, TensorType::kQ4_K, TensorType::kQ6_K};

TEST(Weights, HaveZeroMeanAndTheAskedDeviation) {
  constexpr std::size_t kCount = 1U << 16U;
  for (const TensorType type : kFilled) {
    ASSERT_TRUE(can_fill(type));
    for (const double deviation : {1.0, 0.02}) {
      const auto values = row(type, deviation, 42, kCount);
      double sum = 0;
      for (const double value : values) {
        ASSERT_TRUE(std::isfinite(value));
        sum += value;
      }
      const auto name = tensor_type_info(type).name;
      // 65536 draws: the mean's own deviation is 0.004.
      EXPECT_NEAR(sum / kCount / deviation, 0, 0.016) << name;
      EXPECT_NEAR(std::sqrt(dot(values, values) / kCount) / deviation, 1, 0.02) << name;
    }
  }
  EXPECT_FALSE(can_fill(TensorType::kQ5_K));
}

TEST(Weights, OfOneKeyPointOneWayInEveryType) {
  constexpr std::size_t kCount = 2048;
  const auto reference = row(TensorType::kF32, 1, 5, kCount);
  const auto other = row(TensorType::kF32, 1, 6, kCount);
  for (const TensorType type : kFilled) {
    const auto values = row(type, 0.3, 5, kCount);
    const double size = std::sqrt(dot(values, values));
    EXPECT_GT(dot(values, reference) / size / std::sqrt(dot(reference, reference)), 0.93);
    EXPECT_LT(std::abs(dot(values, other)) / size / std::sqrt(dot(other, other)), 0.1);
  }
}

TEST(Weights, HalvesRoundToNearestEven) {
  EXPECT_EQ(to_half(0), 0x0000U);
  EXPECT_EQ(to_half(-0.0), 0x8000U);
  EXPECT_EQ(to_half(1), 0x3C00U);
  EXPECT_EQ(to_half(-2), 0xC000U);
  EXPECT_EQ(to_half(65504), 0x7BFFU);
  EXPECT_EQ(to_half(65519.99), 0x7BFFU);
  EXPECT_EQ(to_half(65520), 0x7C00U);
  EXPECT_EQ(to_half(1e300), 0x7C00U);
  EXPECT_EQ(to_half(std::ldexp(1, -14)), 0x0400U);
  EXPECT_EQ(to_half(std::ldexp(1, -24)), 0x0001U);
  EXPECT_EQ(to_half(std::ldexp(1, -25)), 0x0000U);
  EXPECT_EQ(to_half(std::ldexp(1.5, -25)), 0x0001U);
  EXPECT_EQ(to_half(std::ldexp(1, -60)), 0x0000U);
  EXPECT_EQ(to_half(std::ldexp(1023.75, -24)), 0x0400U);  // a subnormal rounds up into the normal range
  EXPECT_EQ(to_half(1 + std::ldexp(1, -11)), 0x3C00U);    // ties go to the even neighbour
  EXPECT_EQ(to_half(1 + 3 * std::ldexp(1, -11)), 0x3C02U);
  for (std::uint32_t half = 0; half < 0x7C00U; ++half) {
    ASSERT_EQ(to_half(from_half(static_cast<std::uint16_t>(half))), half);
  }
}

TEST(Weights, NibbleZeroNeverAppears) {
  std::string bytes(18 * 512, '\0');
  fill_row(TensorType::kQ4_0, 1, 9, 32 * 512, bytes.data());
  std::set<int> seen;
  std::set<std::uint16_t> scales;
  for (std::size_t b = 0; b < 512; ++b) {
    scales.insert(load<std::uint16_t>(bytes.data() + 18 * b));
    for (std::size_t i = 2; i < 18; ++i) {
      seen.insert(at(bytes, 18 * b + i) & 15);
      seen.insert(at(bytes, 18 * b + i) >> 4);
    }
  }
  EXPECT_EQ(seen.size(), 15U);
  EXPECT_EQ(seen.count(0), 0U);
  EXPECT_EQ(scales.size(), 8U);
}

TEST(Weights, StreamsDifferByNameAndSeed) {
  std::set<std::uint64_t> keys;
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    for (const char* name : {"a", "b", "blk.0.attn_q.weight", "blk.1.attn_q.weight"}) {
      keys.insert(stream_key(seed, name));
    }
  }
  EXPECT_EQ(keys.size(), 400U);
}

TEST(Weights, DrawsAreSplitMix64) {
  // The published generator's first three outputs for seed 0.
  EXPECT_EQ(draw(0, 0), 0xE220A8397B1DCDAFU);
  EXPECT_EQ(draw(0, 1), 0x6E789E6AA1B965F4U);
  EXPECT_EQ(draw(0, 2), 0x06C45D188009454FU);
}

TEST(Weights, FactorsStayAroundOne) {
  std::string bytes(4 * 1024, '\0');
  fill_factors(3, 1024, bytes.data());
  double sum = 0;
  for (std::size_t i = 0; i < 1024; ++i) {
    const auto value = static_cast<double>(load<float>(bytes.data() + 4 * i));
    EXPECT_GE(value, 0.875);
    EXPECT_LE(value, 1.11);
    sum += value;
  }
  EXPECT_NEAR(sum / 1024, 0.992, 0.01);
}

}  // namespace
}  // namespace capbench::models
