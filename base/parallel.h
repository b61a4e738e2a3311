// One function over many indices on a few threads.
#ifndef CAPBENCH_BASE_PARALLEL_H_
#define CAPBENCH_BASE_PARALLEL_H_

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

namespace capbench {

// work(i) for i = 0 .. count-1, in any order, on up to `threads` threads, the caller's among them; back when all are
// done. `work` must be safe to call at the same time for different indices. What it throws first is thrown here, once
// every thread has ended; indices not begun by then are left out.
template <class Work>
void for_each_index(std::size_t count, std::size_t threads, const Work& work) {
  std::atomic<std::size_t> next{0};
  std::mutex mutex;
  std::exception_ptr thrown;
  const auto run = [&] {
    try {
      for (std::size_t i = next++; i < count; i = next++) work(i);
    } catch (...) {
      next = count;
      const std::lock_guard lock(mutex);
      if (!thrown) thrown = std::current_exception();
    }
  };
  {
    std::vector<std::jthread> helpers;
    const std::size_t wanted = std::min(threads, count);
    for (std::size_t i = 1; i < wanted; ++i) helpers.emplace_back(run);
    run();
  }
  if (thrown) std::rethrow_exception(thrown);
}

}  // namespace capbench

#endif  // CAPBENCH_BASE_PARALLEL_H_
