// A queue between threads that holds only so much. Every member may be called from any thread.
#ifndef CAPBENCH_HARNESS_IMPORT_STORE_CHANNEL_H_
#define CAPBENCH_HARNESS_IMPORT_STORE_CHANNEL_H_

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <mutex>
#include <optional>
#include <utility>

namespace capbench::imports {

template <class T>
class Channel {
 public:
  // At most `capacity` values wait in it. It ends when each of its `writers` has called close().
  Channel(std::size_t capacity, int writers) : capacity_(capacity), writers_(writers) {}

  // Waits while it is full. False: nobody takes anything any more, and the value is gone.
  bool push(T value) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return is_abandoned_ || values_.size() < capacity_; });
    if (is_abandoned_) return false;
    values_.push_back(std::move(value));
    changed_.notify_all();
    return true;
  }

  // Waits for a value; nothing at the end.
  std::optional<T> pop() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return is_abandoned_ || writers_ == 0 || !values_.empty(); });
    if (is_abandoned_ || values_.empty()) return std::nullopt;
    std::optional<T> value(std::move(values_.front()));
    values_.pop_front();
    changed_.notify_all();
    return value;
  }

  // The same without waiting: false, and the value is gone, while it is full.
  bool try_push(T value) {
    const std::lock_guard lock(mutex_);
    if (is_abandoned_ || values_.size() >= capacity_) return false;
    values_.push_back(std::move(value));
    changed_.notify_all();
    return true;
  }

  // Nothing while it is empty.
  std::optional<T> try_pop() {
    const std::lock_guard lock(mutex_);
    if (values_.empty()) return std::nullopt;
    std::optional<T> value(std::move(values_.front()));
    values_.pop_front();
    changed_.notify_all();
    return value;
  }

  // A writer is done.
  void close() {
    const std::lock_guard lock(mutex_);
    --writers_;
    changed_.notify_all();
  }

  // The reader is done, whether or not it has taken everything.
  void abandon() {
    const std::lock_guard lock(mutex_);
    is_abandoned_ = true;
    values_.clear();
    changed_.notify_all();
  }

 private:
  const std::size_t capacity_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<T> values_;
  int writers_;
  bool is_abandoned_ = false;
};

}  // namespace capbench::imports

#endif  // CAPBENCH_HARNESS_IMPORT_STORE_CHANNEL_H_
