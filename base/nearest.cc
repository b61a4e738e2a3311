#include "base/nearest.h"

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <vector>

namespace capbench {
namespace {

// The optimal string alignment distance.
std::size_t distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> before_last(b.size() + 1);
  std::vector<std::size_t> last(b.size() + 1);
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 1; i <= a.size(); ++i) {
    before_last.swap(last);
    last.swap(row);
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      row[j] = std::min({last[j] + 1, row[j - 1] + 1, last[j - 1] + (a[i - 1] == b[j - 1] ? 0U : 1U)});
      const bool swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
      if (swapped) row[j] = std::min(row[j], before_last[j - 2] + 1);
    }
  }
  return row.back();
}

}  // namespace

std::string_view nearest(std::string_view word, std::span<const std::string_view> choices) {
  constexpr std::size_t kLongest = 64;  // the distance takes time in the square
  if (word.size() > kLongest) return {};
  std::string_view best;
  std::size_t best_distance = std::max<std::size_t>(word.size() / 3, 1) + 1;
  for (const std::string_view choice : choices) {
    const std::size_t edits = distance(word, choice);
    // A one-letter key is near everything short.
    if (edits < best_distance && edits < choice.size()) {
      best_distance = edits;
      best = choice;
    }
  }
  return best;
}

std::string nearest_or_all(std::string_view word, std::span<const std::string_view> choices) {
  if (const std::string_view near = nearest(word, choices); !near.empty()) return "\"" + std::string(near) + "\"";
  std::string all;
  for (const std::string_view choice : choices) {
    all += all.empty() ? "one of " : ", ";
    all += choice;
  }
  return all;
}

}  // namespace capbench
