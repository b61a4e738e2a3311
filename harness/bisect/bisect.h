// Which build is the first bad one? The search alone: who measures, and how, is the caller's. Pure, thread-safe.
#ifndef CAPBENCH_HARNESS_BISECT_BISECT_H_
#define CAPBENCH_HARNESS_BISECT_BISECT_H_

#include <cstddef>
#include <optional>
#include <vector>

namespace capbench::bisect {

enum class Verdict {
  kGood,
  kBad,
  kCannotTell,  // measured, and it could be either
  kSkipped,     // it cannot be built or does not run
};

// Builds 0 .. count-1 in order: the first is good, the last is bad, and one of those after the first is the first bad.
class Bisection {
 public:
  // `count` is at least 2.
  explicit Bisection(std::size_t count);

  // The build to look at next: the one nearest to the middle that nothing is known of. Nothing: the search is over.
  std::optional<std::size_t> next() const;
  // Of a build strictly between last_good() and first_bad(); anything else changes nothing.
  void tell(std::size_t build, Verdict verdict);

  std::size_t last_good() const { return last_good_; }
  std::size_t first_bad() const { return first_bad_; }
  // Builds between the two of which it could not be told: any of them, or first_bad(), is the first bad one.
  std::vector<std::size_t> open() const;
  // How many builds are still to be looked at, at most.
  std::size_t steps_left() const;

 private:
  std::size_t last_good_ = 0;
  std::size_t first_bad_;
  std::vector<bool> unclear_;
};

// What an interval of a build's speed over the good build's says, given the bad build's ratio: the limit lies half way
// between the two on the logarithmic scale. `low` and `high` bound the ratio.
Verdict judge(double low, double high, double bad_ratio);

}  // namespace capbench::bisect

#endif  // CAPBENCH_HARNESS_BISECT_BISECT_H_
