// The one who writes: a thread with the only connection that may, which gathers what is waiting into one commit. So a
// hundred submissions that come together wait for the disk once and not a hundred times, and none is answered before
// it is on it. What somebody waits for goes before what is done later.
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
  using Work = std::function<void(schema::Store&)>;
  // Of a commit: nothing, or why none of it was written.
  using Done = std::function<void(const std::optional<Error>& failure)>;

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

  // Runs `work` when nobody waits for a write, however long that is, and calls `done` when it is on disk; both in the
  // writer's thread, and neither may throw. Any thread.
  void write_later(Work work, Done done);

  std::uint64_t commits() const { return commits_.load(std::memory_order_relaxed); }
  std::uint64_t writes() const { return writes_.load(std::memory_order_relaxed); }

 private:
  struct Job {
    Work work;
    Done done;
  };

  std::optional<Error> run(Work work);
  void work();
  bool is_awaited();
  // Those of `batch` that were dealt with are taken out of it.
  void commit_together(std::deque<Job>& batch, bool awaited);

  schema::Store store_;
  std::mutex mutex_;
  std::condition_variable waiting_;
  std::deque<Job> awaited_;
  std::deque<Job> later_;
  bool stopping_ = false;
  std::atomic<std::uint64_t> commits_ = 0;
  std::atomic<std::uint64_t> writes_ = 0;
  std::thread thread_;
};

}  // namespace capbench::server

#endif  // CAPBENCH_REPORTS_SERVER_COMMITTER_H_
