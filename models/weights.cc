#include "models/weights.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstddef>

#include "models/little_endian.h"

namespace capbench::models {
namespace {

// The upper half of 256 levels of equal probability: round(44 * z((b + 0.5) / 256)) for b = 128..255, z being the
// normal distribution's quantile. Written out because libraries differ in the last digit of z.
constexpr std::array<std::int8_t, 128> kUpperLevels = {
    0,  1,  1,  2,  2,  2,  3,  3,  4,  4,  5,  5,  5,  6,  6,  7,  7,  8,  8,  8,  9,  9,   10,  10, 11, 11,
    12, 12, 12, 13, 13, 14, 14, 15, 15, 16, 16, 17, 17, 17, 18, 18, 19, 19, 20, 20, 21, 21,  22,  22, 23, 23,
    24, 24, 25, 25, 26, 26, 27, 27, 28, 28, 29, 29, 30, 30, 31, 32, 32, 33, 33, 34, 34, 35,  36,  36, 37, 37,
    38, 39, 39, 40, 41, 41, 42, 43, 43, 44, 45, 46, 46, 47, 48, 49, 49, 50, 51, 52, 53, 54,  55,  56, 56, 57,
    59, 60, 61, 62, 63, 64, 65, 67, 68, 70, 71, 73, 75, 77, 79, 81, 83, 86, 89, 93, 97, 103, 111, 127};
constexpr int kMaxLevel = 127;

// The 256 levels scaled to [-limit, limit] and rounded, symmetric around zero: an uneven grid (all 16 values of a
// nibble) would give every block a mean, and the model would collapse into one direction.
constexpr std::array<std::int8_t, 256> levels(int limit) {
  std::array<std::int8_t, 256> table{};
  for (std::size_t i = 0; i < kUpperLevels.size(); ++i) {
    const int scaled = (2 * kUpperLevels[i] * limit + kMaxLevel) / (2 * kMaxLevel);
    table[128 + i] = static_cast<std::int8_t>(scaled);
    table[127 - i] = static_cast<std::int8_t>(-scaled);
  }
  return table;
}

// The same with an offset, as the block stores it.
constexpr std::array<std::uint8_t, 256> codes(int limit, int offset) {
  std::array<std::uint8_t, 256> table{};
  const auto from = levels(limit);
  for (std::size_t i = 0; i < table.size(); ++i) table[i] = static_cast<std::uint8_t>(from[i] + offset);
  return table;
}

constexpr auto kLevels8 = levels(127);
constexpr auto kLevels6 = levels(31);
constexpr auto kLevels4 = levels(7);
constexpr auto kCodes8 = codes(127, 256);  // two's complement
constexpr auto kCodes6 = codes(31, 32);
constexpr auto kCodes4 = codes(7, 8);  // never 0

constexpr int square_sum(const std::array<std::int8_t, 256>& table) {
  int sum = 0;
  for (const int level : table) sum += level * level;
  return sum;
}

// Block scales are small integers, equally likely from `first` to `first + count - 1`.
struct Scales {
  int first;
  int count;

  constexpr int square_sum() const {
    int sum = 0;
    for (int i = first; i < first + count; ++i) sum += i * i;
    return sum;
  }
};
constexpr Scales kBlockScales{8, 8};
// Six-bit scales above 15 and minima above 31, so that the bits packed apart from the others are used too.
constexpr Scales kQ4_KScales{16, 16};

// deviation / (root mean square of level x scale).
double unit_of(double deviation, int level_squares, Scales scales) {
  const double mean_square =
      static_cast<double>(level_squares) * static_cast<double>(scales.square_sum()) / (256.0 * scales.count);
  return deviation / std::sqrt(mean_square);
}

void put_u16(char* out, std::uint16_t value) {
  store(out, value);
}

// `count` (a multiple of 8) entries of `table`, picked by the draws from number `first` on.
template <std::size_t kCount>
void pick(const std::array<std::uint8_t, 256>& table, std::uint64_t key, std::uint64_t first,
          std::array<std::uint8_t, kCount>& out) {
  static_assert(kCount % 8 == 0);
  for (std::size_t word = 0; word < kCount / 8; ++word) {
    const std::uint64_t bits = draw(key, first + word);
    for (std::size_t i = 0; i < 8; ++i) out[8 * word + i] = table[(bits >> (8 * i)) & 0xFFU];
  }
}

// Draws of scales must not be those of levels.
std::uint64_t scale_key(std::uint64_t row_key) {
  return draw(row_key, 0x5CA1E5U);
}

int block_scale(std::uint64_t bits, unsigned index) {
  return kBlockScales.first + static_cast<int>((bits >> (3 * index)) & 7U);
}

char byte(unsigned value) {
  return static_cast<char>(static_cast<unsigned char>(value));
}

void fill_q4_0(double deviation, std::uint64_t key, std::uint64_t blocks, char* out) {
  const double unit = unit_of(deviation, square_sum(kLevels4), kBlockScales);
  const std::uint64_t scales = scale_key(key);
  std::array<std::uint8_t, 32> q{};
  for (std::uint64_t b = 0; b < blocks; ++b, out += 18) {
    put_u16(out, to_half(unit * block_scale(draw(scales, b), 0)));
    pick(kCodes4, key, b * 4, q);
    for (std::size_t i = 0; i < 16; ++i) out[2 + i] = byte(q[i] | static_cast<unsigned>(q[16 + i]) << 4U);
  }
}

void fill_q8_0(double deviation, std::uint64_t key, std::uint64_t blocks, char* out) {
  const double unit = unit_of(deviation, square_sum(kLevels8), kBlockScales);
  const std::uint64_t scales = scale_key(key);
  std::array<std::uint8_t, 32> q{};
  for (std::uint64_t b = 0; b < blocks; ++b, out += 34) {
    put_u16(out, to_half(unit * block_scale(draw(scales, b), 0)));
    pick(kCodes8, key, b * 4, q);
    for (std::size_t i = 0; i < 32; ++i) out[2 + i] = byte(q[i]);
  }
}

// value = d * scale * q - dmin * min. With min = 2 scale and dmin = 4 d that is d * scale * (q - 8): no mean, and scale
// and min still differ enough that mistaking one for the other shows.
void fill_q4_k(double deviation, std::uint64_t key, std::uint64_t blocks, char* out) {
  const double unit = unit_of(deviation, square_sum(kLevels4), kQ4_KScales);
  const std::uint16_t d = to_half(unit);
  const std::uint16_t d_min = to_half(unit * 4);
  const std::uint64_t scales = scale_key(key);
  std::array<std::uint8_t, 256> q{};
  for (std::uint64_t b = 0; b < blocks; ++b, out += 144) {
    put_u16(out, d);
    put_u16(out + 2, d_min);
    const std::uint64_t bits = draw(scales, b);
    std::array<unsigned, 8> scale{};
    for (unsigned i = 0; i < 8; ++i) scale[i] = 16U + static_cast<unsigned>((bits >> (4 * i)) & 15U);
    for (std::size_t i = 0; i < 4; ++i) {
      const unsigned high = scale[i + 4];
      out[4 + i] = byte(scale[i] | (high >> 4U) << 6U);
      out[8 + i] = byte(2 * scale[i] | (2 * high >> 4U) << 6U);
      out[12 + i] = byte((high & 15U) | ((2 * high) & 15U) << 4U);
    }
    pick(kCodes4, key, b * 32, q);
    // Groups of 64: the first half in the low nibbles, the second in the high ones.
    for (std::size_t group = 0; group < 4; ++group) {
      for (std::size_t i = 0; i < 32; ++i) {
        out[16 + 32 * group + i] = byte(q[64 * group + i] | static_cast<unsigned>(q[64 * group + 32 + i]) << 4U);
      }
    }
  }
}

void fill_q6_k(double deviation, std::uint64_t key, std::uint64_t blocks, char* out) {
  const double unit = unit_of(deviation, square_sum(kLevels6), kBlockScales);
  const std::uint16_t d = to_half(unit);
  const std::uint64_t scales = scale_key(key);
  std::array<std::uint8_t, 256> q{};
  for (std::uint64_t b = 0; b < blocks; ++b, out += 210) {
    pick(kCodes6, key, b * 32, q);
    // Halves of 128: elements i, i+32, i+64, i+96 share bytes, the low four bits in ql and the high two in qh.
    for (std::size_t half = 0; half < 2; ++half) {
      const std::uint8_t* from = q.data() + 128 * half;
      char* low = out + 64 * half;
      char* high = out + 128 + 32 * half;
      for (std::size_t i = 0; i < 32; ++i) {
        const unsigned a = from[i];
        const unsigned c = from[i + 32];
        const unsigned e = from[i + 64];
        const unsigned g = from[i + 96];
        low[i] = byte((a & 15U) | (e & 15U) << 4U);
        low[i + 32] = byte((c & 15U) | (g & 15U) << 4U);
        high[i] = byte(a >> 4U | (c >> 4U) << 2U | (e >> 4U) << 4U | (g >> 4U) << 6U);
      }
    }
    const std::uint64_t bits = draw(scales, b);
    for (unsigned i = 0; i < 16; ++i) out[192 + i] = byte(static_cast<unsigned>(block_scale(bits, i)));
    put_u16(out + 208, d);
  }
}

std::uint16_t to_brain(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  return static_cast<std::uint16_t>((bits + 0x7FFFU + ((bits >> 16U) & 1U)) >> 16U);
}

void fill_floats(TensorType type, double deviation, std::uint64_t key, std::uint64_t elements, char* out) {
  const double unit = unit_of(deviation, square_sum(kLevels8), Scales{1, 1});
  for (std::uint64_t word = 0; word < elements / 8; ++word) {
    const std::uint64_t bits = draw(key, word);
    for (unsigned i = 0; i < 8; ++i) {
      const double value = unit * kLevels8[(bits >> (8 * i)) & 0xFFU];
      if (type == TensorType::kF16) {
        put_u16(out, to_half(value));
        out += 2;
      } else if (type == TensorType::kBF16) {
        put_u16(out, to_brain(static_cast<float>(value)));
        out += 2;
      } else {
        store(out, static_cast<float>(value));
        out += 4;
      }
    }
  }
}

}  // namespace

std::uint64_t stream_key(std::uint64_t seed, std::string_view stream) {
  // FNV-1a of the name, then mixed with the seed.
  std::uint64_t hash = 0xCBF29CE484222325U;
  for (const char c : stream) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001B3U;
  return draw(draw(seed, 0) ^ hash, 1);
}

std::uint16_t to_half(double value) {
  const auto bits = std::bit_cast<std::uint64_t>(value);
  const auto sign = static_cast<std::uint64_t>(bits >> 63U) << 15U;
  const int exponent = static_cast<int>((bits >> 52U) & 0x7FFU) - 1023;
  if (exponent > 15) return static_cast<std::uint16_t>(sign | 0x7C00U);
  if (exponent < -25) return static_cast<std::uint16_t>(sign);
  // A half has 10 bits after the point, a subnormal one fewer for each step below -14.
  const std::uint64_t mantissa = (bits & 0xFFFFFFFFFFFFFU) | 0x10000000000000U;
  const int drop = 42 + std::max(0, -14 - exponent);
  const std::uint64_t kept = mantissa >> drop;
  const std::uint64_t rest = mantissa & ((std::uint64_t{1} << drop) - 1);
  const std::uint64_t tie = std::uint64_t{1} << (drop - 1);
  const std::uint64_t rounded = kept + (rest > tie || (rest == tie && (kept & 1U) != 0) ? 1U : 0U);
  // Adding the exponent lets a mantissa that rounded up carry into it.
  const std::uint64_t biased = exponent >= -14 ? static_cast<std::uint64_t>(exponent + 14) << 10U : 0U;
  return static_cast<std::uint16_t>(sign | (biased + rounded));
}

bool can_fill(TensorType type) {
  switch (type) {
    case TensorType::kF32:
    case TensorType::kF16:
    case TensorType::kBF16:
    case TensorType::kQ8_0:
    case TensorType::kQ4_0:
    case TensorType::kQ4_K:
    case TensorType::kQ6_K:
      return true;
    default:
      return false;
  }
}

void fill_row(TensorType type, double deviation, std::uint64_t row_key, std::uint64_t elements, char* out) {
  const std::uint64_t blocks = elements / tensor_type_info(type).block_elements;
  switch (type) {
    case TensorType::kQ4_0:
      return fill_q4_0(deviation, row_key, blocks, out);
    case TensorType::kQ8_0:
      return fill_q8_0(deviation, row_key, blocks, out);
    case TensorType::kQ4_K:
      return fill_q4_k(deviation, row_key, blocks, out);
    case TensorType::kQ6_K:
      return fill_q6_k(deviation, row_key, blocks, out);
    default:
      return fill_floats(type, deviation, row_key, elements, out);
  }
}

void fill_factors(std::uint64_t row_key, std::uint64_t elements, char* out) {
  for (std::uint64_t i = 0; i < elements; ++i) {
    const auto sixty_fourths = 56U + static_cast<unsigned>(draw(row_key, i) & 15U);
    store(out + 4 * i, static_cast<float>(sixty_fourths) / 64.0F);
  }
}

}  // namespace capbench::models
