// How much of this program's room clients hold, all together and each address by itself. Thread-safe.
#ifndef CAPBENCH_REPORTS_SERVER_HTTP_QUOTA_H_
#define CAPBENCH_REPORTS_SERVER_HTTP_QUOTA_H_

#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>

namespace capbench::http {

class Quota {
 public:
  Quota(std::uint64_t total, std::uint64_t each) : total_(total), each_(each) {}

  // A share that is given back when it goes away.
  class Share {
   public:
    Share() = default;
    Share(Share&& other) noexcept
        : quota_(std::exchange(other.quota_, nullptr)), owner_(std::move(other.owner_)), amount_(other.amount_) {}
    Share& operator=(Share&& other) noexcept {
      if (this == &other) return *this;
      give_back();
      quota_ = std::exchange(other.quota_, nullptr);
      owner_ = std::move(other.owner_);
      amount_ = other.amount_;
      return *this;
    }
    Share(const Share&) = delete;
    Share& operator=(const Share&) = delete;
    ~Share() { give_back(); }
    explicit operator bool() const { return quota_ != nullptr; }
    void give_back() {
      if (quota_ != nullptr) std::exchange(quota_, nullptr)->release(owner_, amount_);
    }

   private:
    friend class Quota;
    Share(Quota* quota, std::string owner, std::uint64_t amount)
        : quota_(quota), owner_(std::move(owner)), amount_(amount) {}
    Quota* quota_ = nullptr;
    std::string owner_;
    std::uint64_t amount_ = 0;
  };

  // An empty share if it is too much. `of_total` (percent) keeps a part of the room for others.
  Share take(std::string_view owner, std::uint64_t amount, std::uint64_t of_total = 100) {
    const std::lock_guard lock(mutex_);
    const auto found = held_.find(owner);
    const std::uint64_t held = found == held_.end() ? 0 : found->second;
    const std::uint64_t room = total_ / 100 * of_total + total_ % 100 * of_total / 100;
    if (amount > room || used_ > room - amount || amount > each_ || held > each_ - amount) return {};
    used_ += amount;
    if (found == held_.end()) {
      held_.emplace(owner, amount);
    } else {
      found->second += amount;
    }
    return Share(this, std::string(owner), amount);
  }

  std::uint64_t used() const {
    const std::lock_guard lock(mutex_);
    return used_;
  }

 private:
  void release(const std::string& owner, std::uint64_t amount) {
    const std::lock_guard lock(mutex_);
    used_ -= amount;
    const auto found = held_.find(owner);
    if (found == held_.end()) return;
    found->second -= amount;
    if (found->second == 0) held_.erase(found);
  }

  const std::uint64_t total_;
  const std::uint64_t each_;
  mutable std::mutex mutex_;
  std::uint64_t used_ = 0;
  std::map<std::string, std::uint64_t, std::less<>> held_;
};

}  // namespace capbench::http

#endif  // CAPBENCH_REPORTS_SERVER_HTTP_QUOTA_H_
