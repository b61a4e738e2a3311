// Looks at what the inbox holds, the oldest first, in threads that give way to requests and, for a while, to a burst of
// submissions: each bundle is opened, judged and taken into the store, or refused with the reason. What is left when
// the server ends stays in the inbox and is looked at by the next one. Thread-safe.
#ifndef CAPBENCH_REPORTS_SERVER_VERIFIER_H_
#define CAPBENCH_REPORTS_SERVER_VERIFIER_H_

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <unordered_set>
#include <vector>

#include "reports/server/budget.h"
#include "reports/server/committer.h"
#include "reports/server/metrics.h"
#include "reports/server/options.h"
#include "reports/server/outcome.h"
#include "reports/server/readers.h"
#include "schema/bundle/exchange.h"

namespace capbench::server {

// One that was opened, for whoever looks at it next.
struct OpenedBundle {
  bundle::Opened opened;
  std::string archive;
  Budget::Share room;
};

class Verifier {
 public:
  // Begins with what is pending. All but the options must outlive it.
  Verifier(const Options& options, Committer& committer, Readers& readers, Budget& opening, Metrics& metrics);
  Verifier(const Verifier&) = delete;
  Verifier& operator=(const Verifier&) = delete;
  // Goes on for at most Options::verify_grace; the rest stays pending.
  ~Verifier();

  // Whether the inbox takes another one of that size.
  bool has_room(std::uint64_t bytes) const;
  // Whether one that came now would be looked at at once.
  bool is_idle() const;
  // It is in the inbox. `opened` saves opening it again; may be null.
  void add(const std::string& id, std::uint64_t bytes, std::shared_ptr<const OpenedBundle> opened);
  // Whoever wants to know what becomes of a bundle says so before it is added.
  class Awaited {
   public:
    Awaited(Verifier& verifier, std::string id);
    Awaited(const Awaited&) = delete;
    Awaited& operator=(const Awaited&) = delete;
    ~Awaited();
    // Nothing: it was not decided before `patience` was over.
    std::optional<Decision> wait(std::chrono::milliseconds patience);

   private:
    Verifier& verifier_;
    const std::string id_;
  };

  // It was withdrawn: bundles that it reproduced may not be any more.
  void compare_later(const std::string& id);

  std::uint64_t pending() const { return pending_.load(std::memory_order_relaxed); }
  std::uint64_t pending_bytes() const { return bytes_.load(std::memory_order_relaxed); }

 private:
  struct Item {
    std::string id;
    std::uint64_t bytes = 0;
    std::shared_ptr<const OpenedBundle> opened;
    std::chrono::steady_clock::time_point since;  // when it was queued
    int thrown = 0;                               // how often looking at it ended in an exception
  };
  struct Opening {
    std::shared_ptr<const OpenedBundle> bundle;  // null: one of the others, or not now
    bool gone = false;                           // it is not pending any more
    bool refused = false;
  };
  struct Waiting {
    int count = 0;  // how many do
    std::optional<Decision> decision;
  };

  void work();
  bool next(Item& item, std::string& to_compare);
  // With the mutex: when the oldest is to be looked at; long ago, unless a burst goes on.
  std::chrono::steady_clock::time_point begins_at() const;
  // What other servers left, or this one before it was started again.
  void look_for_more(std::chrono::seconds age);
  // False: not now.
  bool look_at(const Item& item);
  bool look_at_safely(Item& item);
  Opening open(const Item& item);
  void refuse(const Item& item, Decision decision);
  void take(const Item& item, std::shared_ptr<const OpenedBundle> bundle, Judgement judgement);
  void compare(const std::string& id);
  void decided(const Item& item, Decision decision);
  void dropped(const Item& item);
  void again(Item item);  // later: it could not be looked at, or not written
  void log(const std::string& line) const;

  const Options& options_;
  Committer& committer_;
  Readers& readers_;
  Budget& opening_;
  Metrics& metrics_;

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Item> queue_;
  std::deque<std::string> to_compare_;      // with what others measured
  std::unordered_set<std::string> known_;   // queued, or being looked at
  std::map<std::string, Waiting> awaited_;  // by id
  std::chrono::steady_clock::time_point last_added_;
  std::chrono::steady_clock::time_point paused_until_;  // nothing is looked at before
  std::chrono::milliseconds pause_{0};                  // the last one, if nothing has worked since
  bool in_burst_ = false;                               // the last one came soon after the one before
  std::size_t busy_ = 0;                                // threads that look at something
  std::size_t writing_ = 0;                             // decisions that are on their way to the disk
  bool stopping_ = false;
  std::chrono::steady_clock::time_point deadline_;
  std::atomic<std::uint64_t> pending_ = 0;
  std::atomic<std::uint64_t> bytes_ = 0;
  std::vector<std::thread> threads_;
};

}  // namespace capbench::server

#endif  // CAPBENCH_REPORTS_SERVER_VERIFIER_H_
