#include "harness/bisect/bisect.h"

#include <bit>
#include <cmath>

namespace capbench::bisect {

Bisection::Bisection(std::size_t count) : first_bad_(count - 1), unclear_(count, false) {}

std::optional<std::size_t> Bisection::next() const {
  const std::size_t middle = last_good_ + (first_bad_ - last_good_) / 2;
  for (std::size_t away = 0; away <= first_bad_ - last_good_; ++away) {
    if (middle > last_good_ + away && !unclear_[middle - away]) return middle - away;
    if (middle + away > last_good_ && middle + away < first_bad_ && !unclear_[middle + away]) return middle + away;
  }
  return std::nullopt;
}

void Bisection::tell(std::size_t build, Verdict verdict) {
  if (build <= last_good_ || build >= first_bad_) return;
  if (verdict == Verdict::kGood) {
    last_good_ = build;
  } else if (verdict == Verdict::kBad) {
    first_bad_ = build;
  } else {
    unclear_[build] = true;
  }
}

std::vector<std::size_t> Bisection::open() const {
  std::vector<std::size_t> out;
  for (std::size_t i = last_good_ + 1; i < first_bad_; ++i) out.push_back(i);
  return out;
}

std::size_t Bisection::steps_left() const {
  return static_cast<std::size_t>(std::bit_width(first_bad_ - last_good_ - 1));
}

Verdict judge(double low, double high, double bad_ratio) {
  const double limit = std::sqrt(bad_ratio);
  if (low > limit) return Verdict::kGood;
  if (high < limit) return Verdict::kBad;
  return Verdict::kCannotTell;
}

}  // namespace capbench::bisect
