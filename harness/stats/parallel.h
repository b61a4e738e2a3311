// One function over many indices on a few threads. Internal to this room.
#ifndef CAPBENCH_HARNESS_STATS_PARALLEL_H_
#define CAPBENCH_HARNESS_STATS_PARALLEL_H_

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <thread>
#include <vector>

namespace capbench::stats {

// work(i) for i = 0 .. count-1, in any order, on up to `threads` threads; back when all are done. `work` must be safe
// to call at the same time for different indices, and must not throw.
template <class Work>
void for_each_index(std::size_t count, unsigned threads, const Work& work) {
  std::atomic<std::size_t> next{0};
  const auto run = [&] {
    for (std::size_t i = next++; i < count; i = next++) work(i);
  };
  std::vector<std::jthread> helpers;
  const std::size_t wanted = std::min<std::size_t>(threads, count);
  for (std::size_t i = 1; i < wanted; ++i) helpers.emplace_back(run);
  run();
}

}  // namespace capbench::stats

#endif  // CAPBENCH_HARNESS_STATS_PARALLEL_H_
