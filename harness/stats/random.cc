#include "harness/stats/random.h"

#include <bit>

namespace capbench::stats {
namespace {

std::uint64_t splitmix64(std::uint64_t& state) {
  state += 0x9E3779B97F4A7C15U;
  std::uint64_t z = state;
  z = (z ^ (z >> 30U)) * 0xBF58476D1CE4E5B9U;
  z = (z ^ (z >> 27U)) * 0x94D049BB133111EBU;
  return z ^ (z >> 31U);
}

}  // namespace

Random::Random(std::uint64_t seed) {
  for (std::uint64_t& word : state_) word = splitmix64(seed);
}

std::uint64_t Random::next() {
  const std::uint64_t result = std::rotl(state_[1] * 5, 7) * 9;
  const std::uint64_t shifted = state_[1] << 17U;
  state_[2] ^= state_[0];
  state_[3] ^= state_[1];
  state_[1] ^= state_[2];
  state_[0] ^= state_[3];
  state_[2] ^= shifted;
  state_[3] = std::rotl(state_[3], 45);
  return result;
}

std::uint64_t Random::below(std::uint64_t bound) {
  // 2^64 mod bound: the values under it are the ones that would make the low residues too likely.
  const std::uint64_t surplus = (0 - bound) % bound;
  for (;;) {
    const std::uint64_t value = next();
    if (value >= surplus) return value % bound;
  }
}

double Random::unit() {
  return static_cast<double>(next() >> 11U) * 0x1.0p-53;
}

}  // namespace capbench::stats
