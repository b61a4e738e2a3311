// Memory that work may take, handed out in shares; who finds too little waits. Thread-safe.
#ifndef CAPBENCH_REPORTS_SERVER_BUDGET_H_
#define CAPBENCH_REPORTS_SERVER_BUDGET_H_

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <utility>

namespace capbench::server {

class Budget {
 public:
  explicit Budget(std::uint64_t total) : total_(total) {}

  class Share {
   public:
    Share() = default;
    Share(Share&& other) noexcept : budget_(std::exchange(other.budget_, nullptr)), amount_(other.amount_) {}
    Share& operator=(Share&&) = delete;
    Share(const Share&) = delete;
    Share& operator=(const Share&) = delete;
    ~Share() {
      if (budget_ != nullptr) budget_->give_back(amount_);
    }
    explicit operator bool() const { return budget_ != nullptr; }

   private:
    friend class Budget;
    Share(Budget* budget, std::uint64_t amount) : budget_(budget), amount_(amount) {}
    Budget* budget_ = nullptr;
    std::uint64_t amount_ = 0;
  };

  // What is more than everything gets everything. An empty share: the time is over.
  Share take(std::uint64_t amount, std::chrono::milliseconds patience) {
    amount = std::min(amount, total_);
    std::unique_lock lock(mutex_);
    if (!changed_.wait_for(lock, patience, [&] { return used_ <= total_ - amount; })) return {};
    used_ += amount;
    return Share(this, amount);
  }

 private:
  void give_back(std::uint64_t amount) {
    {
      const std::lock_guard lock(mutex_);
      used_ -= amount;
    }
    changed_.notify_all();
  }

  const std::uint64_t total_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::uint64_t used_ = 0;
};

}  // namespace capbench::server

#endif  // CAPBENCH_REPORTS_SERVER_BUDGET_H_
