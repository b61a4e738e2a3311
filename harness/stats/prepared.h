// The arms of one test made ready for comparison: logarithms of trial medians, the effects of blocks removed, and what
// is known of their spread. Internal to this room. Pure, thread-safe.
#ifndef CAPBENCH_HARNESS_STATS_PREPARED_H_
#define CAPBENCH_HARNESS_STATS_PREPARED_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "harness/stats/interval.h"
#include "harness/stats/moderation.h"
#include "harness/stats/summary.h"

namespace capbench::stats {

// With fewer trials than this on a side nothing can be claimed.
inline constexpr std::size_t kFewestForClaims = 3;

struct ArmView {
  std::string name;
  std::span<const Trial> trials;
  std::string why_empty;
};

struct PreparedArm {
  std::string problem;       // not usable, and why; the rest is then empty
  double log_median = 0;     // of the headline
  std::vector<double> logs;  // of trial medians, blocks removed, sorted
  Spread own;                // of `logs`
  Spread moderated;
};

struct PreparedTest {
  std::vector<ArmView> views;  // of the caller's trials, which must stay
  std::vector<PreparedArm> arms;
  bool aligned = false;    // effects of blocks were removed
  bool moderated = false;  // arms have learned their variances from each other
};

PreparedTest prepare(std::vector<ArmView> arms);

// Mann-Whitney ranks by sizes and tail: they are slow to make and the same for every pair of a table.
class Ranks {
 public:
  std::uint64_t at(std::size_t m, std::size_t n, double tail);

 private:
  std::map<std::pair<std::pair<std::size_t, std::size_t>, double>, std::uint64_t> known_;
};

// How many comparisons share the confidence; 1: an interval alone.
struct Level {
  double confidence = 0.95;
  std::size_t family = 1;
  double tail() const { return (1 - confidence) / (2 * static_cast<double>(family)); }
};

bool usable(const PreparedTest& test, std::size_t arm);
bool can_claim(const PreparedTest& test, std::size_t arm, std::size_t reference);

// `arm` over `reference`, both usable and with three trials or more; with fewer, ratio_interval() of the raw trials is
// the caller's.
RatioInterval claimable_ratio(const PreparedTest& test, std::size_t arm, std::size_t reference, const Level& level,
                              Ranks& ranks);

// A sum of arms' log speeds with the given weights, which add up to 0, as a ratio: all usable. The interval is there if
// every arm has three trials or more.
struct Weight {
  std::size_t arm = 0;
  double weight = 0;
};
RatioInterval contrast_ratio(const PreparedTest& test, std::span<const Weight> weights, const Level& level);

}  // namespace capbench::stats

#endif  // CAPBENCH_HARNESS_STATS_PREPARED_H_
