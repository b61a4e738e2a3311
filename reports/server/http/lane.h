// A bounded queue of jobs with its own threads: what waits here cannot hold up the jobs of another lane.
#ifndef CAPBENCH_REPORTS_SERVER_HTTP_LANE_H_
#define CAPBENCH_REPORTS_SERVER_HTTP_LANE_H_

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

namespace capbench::http {

struct LaneSize {
  std::size_t threads = 4;
  std::size_t waiting = 64;  // jobs that no thread has taken yet; above that, offers are declined
};

template <class Job>
class Lane {
 public:
  Lane(LaneSize size, std::function<void(Job)> work) : capacity_(size.waiting), work_(std::move(work)) {
    for (std::size_t i = 0; i < size.threads; ++i) threads_.emplace_back([this] { run(); });
  }
  Lane(const Lane&) = delete;
  Lane& operator=(const Lane&) = delete;
  ~Lane() { finish(); }

  // Takes the job, or leaves it to the caller if the queue is full.
  bool offer(Job& job) {
    {
      const std::lock_guard lock(mutex_);
      if (finishing_ || jobs_.size() >= capacity_) return false;
      jobs_.push_back(std::move(job));
      waiting_.store(jobs_.size(), std::memory_order_relaxed);
    }
    changed_.notify_one();
    return true;
  }

  std::size_t waiting() const { return waiting_.load(std::memory_order_relaxed); }

  // Does what is queued and returns when that is done. Later offers are declined.
  void finish() {
    {
      const std::lock_guard lock(mutex_);
      finishing_ = true;
    }
    changed_.notify_all();
    for (std::thread& thread : threads_) {
      if (thread.joinable()) thread.join();
    }
  }

 private:
  void run() {
    for (;;) {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [this] { return finishing_ || !jobs_.empty(); });
      if (jobs_.empty()) return;
      Job job = std::move(jobs_.front());
      jobs_.pop_front();
      waiting_.store(jobs_.size(), std::memory_order_relaxed);
      lock.unlock();
      work_(std::move(job));
    }
  }

  const std::size_t capacity_;
  const std::function<void(Job)> work_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Job> jobs_;
  std::atomic<std::size_t> waiting_ = 0;
  bool finishing_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace capbench::http

#endif  // CAPBENCH_REPORTS_SERVER_HTTP_LANE_H_
