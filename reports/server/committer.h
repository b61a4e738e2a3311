// The one who writes: a thread with the only connection that may, which gathers what is waiting into one commit. So a
// hundred submissions that come together wait for the disk once and not a hundred times, and none is answered before
// it is on it.
#ifndef CAPBENCH_REPORTS_SERVER_COMMITTER_H_
#define CAPBENCH_REPORTS_SERVER_COMMITTER_H_

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <filesystem>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>

#include "base/result.h"
#include "schema/store.h"

namespace capbench::server {

class Committer {
 public:
  // Makes the store if there is none.
  static Result<std::unique_ptr<Committer>> open(const std::filesystem::path& path);
  explicit Committer(schema::Store store);
  Committer(const Committer&) = delete;
  Committer& operator=(const Committer&) = delete;
  // What has been handed in is finished first.
  ~Committer();

  // Runs `write` in the writer's thread and returns what it returned once that is on disk. Any thread. The error of a
  // commit that failed comes instead, and then nothing of it was written.
  template <class T>
  Result<T> write(const std::function<Result<T>(schema::Store&)>& write) {
    std::optional<Result<T>> answer;
    const std::optional<Error> failure = run([&](schema::Store& store) { answer.emplace(write(store)); });
    if (failure) return *failure;
    return std::move(*answer);
  }

  std::uint64_t commits() const { return commits_.load(std::memory_order_relaxed); }
  std::uint64_t writes() const { return writes_.load(std::memory_order_relaxed); }

 private:
  struct Job {
    std::function<void(schema::Store&)> work;
    std::optional<Error> failure;
    bool done = false;
    std::condition_variable changed;
  };

  std::optional<Error> run(std::function<void(schema::Store&)> work);
  void work();
  // Those of `batch` that were dealt with are taken out of it.
  void commit_together(std::deque<Job*>& batch);
  void finish(std::deque<Job*>& batch, std::size_t count, const std::optional<Error>& failure);

  schema::Store store_;
  std::mutex mutex_;
  std::condition_variable waiting_;
  std::deque<Job*> jobs_;
  bool stopping_ = false;
  std::atomic<std::uint64_t> commits_ = 0;
  std::atomic<std::uint64_t> writes_ = 0;
  std::thread thread_;
};

}  // namespace capbench::server

#endif  // CAPBENCH_REPORTS_SERVER_COMMITTER_H_
