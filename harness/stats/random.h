// Seeded random numbers that are the same on every platform and compiler (the standard library's distributions are
// not).
#ifndef CAPBENCH_HARNESS_STATS_RANDOM_H_
#define CAPBENCH_HARNESS_STATS_RANDOM_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

namespace capbench::stats {

// xoshiro256** (Blackman and Vigna, "Scrambled linear pseudorandom number generators", 2021), its state filled by
// splitmix64 from the seed. One thread at a time. Not for secrets.
class Random {
 public:
  explicit Random(std::uint64_t seed);

  std::uint64_t next();
  // Uniform over 0 .. bound-1, without modulo bias. `bound` is at least 1.
  std::uint64_t below(std::uint64_t bound);
  // Uniform in [0, 1), 53 bits.
  double unit();

 private:
  std::array<std::uint64_t, 4> state_{};
};

// Fisher-Yates: every order equally likely.
template <class T>
void shuffle(std::span<T> items, Random& random) {
  for (std::size_t i = items.size(); i > 1; --i) {
    std::swap(items[i - 1], items[static_cast<std::size_t>(random.below(i))]);
  }
}

}  // namespace capbench::stats

#endif  // CAPBENCH_HARNESS_STATS_RANDOM_H_
