#include "reports/server/verifier.h"

#include <pthread.h>
#include <sys/resource.h>

#include <algorithm>
#include <exception>
#include <utility>

#include "reports/server/outcome.h"
#include "schema/inbox.h"

#ifdef __linux__
#include <sys/syscall.h>
#include <unistd.h>
#endif

namespace capbench::server {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using std::chrono::steady_clock;

constexpr seconds kOpeningPatience{10};
constexpr seconds kLookAround{10};   // how often an idle one looks for what others left
constexpr seconds kLeftBehind{60};   // since when that lies there
constexpr milliseconds kPause{500};  // when the machine cannot do it now; twice as long each time
constexpr seconds kLongestPause{30};
constexpr std::size_t kMostLeft = 1000;   // of what others left, at a time
constexpr std::size_t kMostWriting = 16;  // decisions on their way to the disk

// Requests go first: a server under load answers, and looks at what it got with what is left over. Not with the
// scheduler's idle class: a thread of it that holds a lock could keep the others waiting for as long as they are busy.
void give_way() {
#ifdef __linux__
  constexpr int kNice = 19;
  static_cast<void>(::setpriority(PRIO_PROCESS, static_cast<id_t>(::syscall(SYS_gettid)), kNice));
#elif defined(__APPLE__)
  static_cast<void>(::pthread_set_qos_class_self_np(QOS_CLASS_UTILITY, 0));
#endif
}

Error machine_error(std::string cause) {
  return {ErrorKind::kMachine, "the store", std::move(cause), "try again later"};
}

Decision refusal(int status, std::string outcome, Error error) {
  Decision decision;
  decision.status = status;
  decision.outcome = std::move(outcome);
  decision.error = std::move(error);
  return decision;
}

}  // namespace

Verifier::Verifier(const Options& options, Committer& committer, Readers& readers, Budget& opening, Metrics& metrics)
    : options_(options), committer_(committer), readers_(readers), opening_(opening), metrics_(metrics) {
  look_for_more(seconds(0));
  for (std::size_t i = 0; i < std::max<std::size_t>(options_.verify_threads, 1); ++i) {
    threads_.emplace_back([this] {
      give_way();
      work();
    });
  }
}

Verifier::~Verifier() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
    deadline_ = steady_clock::now() + options_.verify_grace;
  }
  changed_.notify_all();
  for (std::thread& thread : threads_) thread.join();
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return writing_ == 0; });
  if (!queue_.empty()) log(std::to_string(queue_.size()) + " submissions stay in the inbox for the next start");
}

void Verifier::log(const std::string& line) const {
  if (options_.log) options_.log(line);
}

bool Verifier::has_room(std::uint64_t bytes) const {
  return pending() < options_.inbox_bundles && pending_bytes() + bytes <= options_.inbox_bytes;
}

bool Verifier::is_idle() const {
  const std::lock_guard lock(mutex_);
  return queue_.empty() && busy_ < threads_.size() && writing_ < kMostWriting;
}

void Verifier::add(const std::string& id, std::uint64_t bytes, std::shared_ptr<const OpenedBundle> opened) {
  const auto now = steady_clock::now();
  bool wake = false;
  {
    const std::lock_guard lock(mutex_);
    if (!known_.insert(id).second) return;
    in_burst_ = now < last_added_ + options_.burst_gap;
    last_added_ = now;
    queue_.push_back({id, bytes, std::move(opened), now, 0});
    wake = queue_.size() == 1 || now >= begins_at();
  }
  pending_.fetch_add(1, std::memory_order_relaxed);
  bytes_.fetch_add(bytes, std::memory_order_relaxed);
  if (wake) changed_.notify_all();
}

steady_clock::time_point Verifier::begins_at() const {
  const bool waits =
      in_burst_ && !stopping_ && awaited_.empty() && !queue_.empty() && queue_.size() < options_.inbox_bundles / 2;
  if (!waits) return steady_clock::time_point::min();
  return std::min(last_added_ + options_.burst_gap, queue_.front().since + options_.burst_most);
}

void Verifier::compare_later(const std::string& id) {
  if (!options_.judges.reproduced) return;
  {
    const std::lock_guard lock(mutex_);
    to_compare_.push_back(id);
  }
  changed_.notify_all();
}

void Verifier::look_for_more(seconds age) {
  std::vector<schema::InboxEntry> entries;
  {
    const Readers::Lease reader = readers_.lend();
    const auto found = schema::Inbox(reader->store).pending(age.count() == 0 ? options_.inbox_bundles : kMostLeft, age);
    if (!found) return log(to_string(found.error()));
    entries = *found;
  }
  for (const schema::InboxEntry& entry : entries) add(entry.id, entry.size, nullptr);
}

// What is to be done next; false: nothing more, ever.
bool Verifier::next(Item& item, std::string& to_compare) {
  std::unique_lock lock(mutex_);
  for (;;) {
    const auto begins = [this] { return std::max(begins_at(), paused_until_); };
    const auto ready = [&] {
      return (!queue_.empty() || !to_compare_.empty()) && writing_ < kMostWriting && steady_clock::now() >= begins();
    };
    const auto now = steady_clock::now();
    const auto until = begins() > now ? begins() : now + kLookAround;
    const bool some = changed_.wait_until(lock, until, [&] { return stopping_ || ready(); });
    if (stopping_ && (queue_.empty() || steady_clock::now() >= deadline_)) return false;
    if (ready()) break;
    if (some) {
      // Stopping, with decisions still on their way.
      changed_.wait_for(lock, milliseconds(10));
      continue;
    }
    if (!queue_.empty()) continue;  // the burst goes on, or the disk is slow
    lock.unlock();
    look_for_more(kLeftBehind);
    lock.lock();
  }
  ++busy_;
  if (queue_.empty()) {
    to_compare = std::move(to_compare_.front());
    to_compare_.pop_front();
    return true;
  }
  item = std::move(queue_.front());
  queue_.pop_front();
  return true;
}

void Verifier::work() {
  for (;;) {
    Item item;
    std::string to_compare;
    if (!next(item, to_compare)) return;
    if (!to_compare.empty()) {
      compare(to_compare);
    } else if (!look_at_safely(item)) {
      again(std::move(item));
    }
    const std::lock_guard lock(mutex_);
    --busy_;
  }
}

// Bundles whose tier is another one now that this one is here: it, or those that it reproduces.
void Verifier::compare(const std::string& id) {
  Result<std::vector<TierChange>> changes = [&] {
    const Readers::Lease reader = readers_.lend();
    return options_.judges.reproduced(reader->store, id);
  }();
  if (!changes) return log(to_string(changes.error()));
  if (changes->empty()) return;
  const auto written = committer_.write<bool>([&](schema::Store& store) -> Result<bool> {
    for (const TierChange& change : *changes) {
      if (Status status = store.set_tier(change.id, change.tier, change.verdict); !status) return status.error();
    }
    return true;
  });
  if (!written) return log(to_string(written.error()));
  for (const TierChange& change : *changes) metrics_.count_submission(change.tier);
}

void Verifier::again(Item item) {
  item.opened = nullptr;
  const std::lock_guard lock(mutex_);
  queue_.push_back(std::move(item));
  // Those that were on their way to the disk together fail together: that is one failure.
  const auto now = steady_clock::now();
  if (now < paused_until_) return;
  pause_ = std::clamp(2 * pause_, kPause, milliseconds(kLongestPause));
  paused_until_ = now + pause_;
}

Verifier::Opening Verifier::open(const Item& item) {
  Result<std::optional<std::string>> archive = [&] {
    const Readers::Lease reader = readers_.lend();
    return schema::Inbox(reader->store).archive(item.id);
  }();
  if (!archive) {
    log(to_string(archive.error()));
    return {};
  }
  if (!archive->has_value()) return {nullptr, /*gone=*/true};
  Budget::Share room = opening_.take(opening_cost(**archive, options_.bundle), kOpeningPatience);
  if (!room) return {};
  Result<bundle::Opened> opened = bundle::open_bundle(**archive, options_.bundle);
  if (!opened) {
    // It was acknowledged with other limits, or the disk has changed it.
    refuse(item, refusal(422, "unreadable", opened.error()));
    return {nullptr, /*gone=*/false, /*refused=*/true};
  }
  return {
      std::make_shared<const OpenedBundle>(OpenedBundle{std::move(*opened), std::move(**archive), std::move(room)})};
}

bool Verifier::look_at(const Item& item) {
  std::shared_ptr<const OpenedBundle> bundle = item.opened;
  if (!bundle) {
    Opening opening = open(item);
    if (!opening.bundle) {
      if (opening.gone) dropped(item);
      return opening.gone || opening.refused;
    }
    bundle = std::move(opening.bundle);
  }
  Result<Judgement> judgement = options_.judges.judge(bundle->opened);
  if (!judgement) {
    if (judgement.error().kind == ErrorKind::kMachine) {
      log(to_string(judgement.error()));
      return false;
    }
    refuse(item, refusal(422, "refused", judgement.error()));
  } else if (judgement->failed) {
    Decision decision = refusal(422, "refused", failed_checks(item.id, *judgement));
    decision.verdict = std::move(judgement->verdict);
    refuse(item, std::move(decision));
  } else if (options_.require == Require::kSignature && judgement->signer.empty()) {
    refuse(item, refusal(403, "unsigned",
                         {ErrorKind::kUsage, "the bundle", "its signature could not be checked", "sign it again"}));
  } else {
    take(item, std::move(bundle), std::move(*judgement));
  }
  return true;
}

// Memory may be short for a while; what cannot be looked at again and again does not stay for ever.
bool Verifier::look_at_safely(Item& item) {
  constexpr int kMostThrown = 5;
  try {
    return look_at(item);
  } catch (const std::exception& thrown) {
    log("bundle " + item.id.substr(0, 12) + ": " + thrown.what());
  }
  if (++item.thrown < kMostThrown) return false;
  refuse(item, refusal(422, "unreadable",
                       {ErrorKind::kMachine, "bundle " + item.id.substr(0, 12), "this server could not look at it",
                        "tell whoever runs the server"}));
  return true;
}

void Verifier::refuse(const Item& item, Decision decision) {
  {
    const std::lock_guard lock(mutex_);
    ++writing_;
  }
  const std::string outcome = outcome_json(decision);
  committer_.write_later(
      [this, id = item.id, outcome](schema::Store& store) {
        if (const auto done = schema::Inbox(store).refuse(id, outcome); !done) log(to_string(done.error()));
      },
      [this, item, decision = std::move(decision)](const std::optional<Error>& failure) mutable {
        if (failure) {
          log(to_string(*failure));
          again(item);
        } else {
          decided(item, std::move(decision));
        }
        const std::lock_guard lock(mutex_);
        --writing_;
        changed_.notify_all();
      });
}

namespace {

// In one transaction: what it holds, and that it is no longer pending.
Result<Decision> take_in(schema::Store& store, const std::string& id, const OpenedBundle& bundle,
                         const bundle::Prepared& prepared, const Judgement& judgement) {
  schema::Inbox inbox(store);
  const auto entry = inbox.find(id);
  if (!entry) return entry.error();
  // Somebody withdrew it, or another server has looked at it.
  if (!entry->has_value() || (*entry)->state != schema::InboxState::kPending) return Decision();
  bundle::Provenance provenance;
  provenance.signer = judgement.signer;
  provenance.tier = judgement.tier;
  provenance.verdict = judgement.verdict;
  provenance.received_at = (*entry)->received_at;
  provenance.receipt_sha256 = (*entry)->receipt_sha256;
  provenance.record_own = true;
  const auto outcome = bundle::ingest(store, bundle.opened, bundle.archive, provenance, prepared);
  if (!outcome) return outcome.error();
  Decision decision;
  decision.signer = judgement.signer;
  decision.tier = judgement.tier;
  decision.verdict = judgement.verdict;
  decision.added = outcome->added;
  decision.known = outcome->known;
  using Kind = bundle::IngestOutcome::Kind;
  switch (outcome->kind) {
    case Kind::kConflict: {
      decision.status = 409;
      decision.outcome = "conflict";
      decision.error = outcome->conflict;
      const auto refused = inbox.refuse(id, outcome_json(decision));
      if (!refused) return refused.error();
      return decision;
    }
    case Kind::kWithdrawn:
      decision.status = 409;
      decision.outcome = "withdrawn";
      decision.error = was_withdrawn(id);
      break;
    case Kind::kKnown:
      decision.status = 200;
      decision.outcome = "known";
      break;
    case Kind::kAdded:
    case Kind::kOwn:
      decision.status = 201;
      decision.outcome = "added";
      break;
  }
  if (const auto taken = inbox.take_out(id); !taken) return taken.error();
  return decision;
}

}  // namespace

void Verifier::take(const Item& item, std::shared_ptr<const OpenedBundle> bundle, Judgement judgement) {
  // Compressing needs no store, so it is done before the one writer's turn.
  Result<bundle::Prepared> prepared = bundle::prepare(bundle->opened, bundle->archive);
  if (!prepared) {
    log(to_string(prepared.error()));
    return again(item);
  }
  {
    const std::lock_guard lock(mutex_);
    ++writing_;
  }
  struct Taking {
    std::shared_ptr<const OpenedBundle> bundle;
    bundle::Prepared prepared;
    Judgement judgement;
    Result<Decision> decision = machine_error("was not asked");
  };
  auto taking = std::make_shared<Taking>(Taking{std::move(bundle), std::move(*prepared), std::move(judgement)});
  committer_.write_later(
      [taking, id = item.id](schema::Store& store) {
        taking->decision = take_in(store, id, *taking->bundle, taking->prepared, taking->judgement);
      },
      [this, taking, item](const std::optional<Error>& failure) {
        if (failure || !taking->decision) {
          log(to_string(failure ? *failure : taking->decision.error()));
          again(item);
        } else if (taking->decision->status == 0) {
          dropped(item);
        } else {
          decided(item, *taking->decision);
        }
        const std::lock_guard lock(mutex_);
        --writing_;
        changed_.notify_all();
      });
}

void Verifier::dropped(const Item& item) {
  pending_.fetch_sub(1, std::memory_order_relaxed);
  bytes_.fetch_sub(item.bytes, std::memory_order_relaxed);
  const std::lock_guard lock(mutex_);
  known_.erase(item.id);
}

void Verifier::decided(const Item& item, Decision decision) {
  metrics_.count_submission(decision.outcome);
  dropped(item);
  const std::lock_guard lock(mutex_);
  pause_ = milliseconds(0);
  if (decision.status == 201 && !decision.signer.empty() && options_.judges.reproduced) to_compare_.push_back(item.id);
  if (const auto found = awaited_.find(item.id); found != awaited_.end()) found->second.decision = std::move(decision);
  changed_.notify_all();
}

Verifier::Awaited::Awaited(Verifier& verifier, std::string id) : verifier_(verifier), id_(std::move(id)) {
  const std::lock_guard lock(verifier_.mutex_);
  ++verifier_.awaited_[id_].count;
}

Verifier::Awaited::~Awaited() {
  const std::lock_guard lock(verifier_.mutex_);
  const auto mine = verifier_.awaited_.find(id_);
  if (--mine->second.count == 0) verifier_.awaited_.erase(mine);
}

std::optional<Decision> Verifier::Awaited::wait(milliseconds patience) {
  std::unique_lock lock(verifier_.mutex_);
  const Waiting& mine = verifier_.awaited_.at(id_);
  verifier_.changed_.wait_for(lock, patience, [&] { return verifier_.stopping_ || mine.decision.has_value(); });
  return mine.decision;
}

}  // namespace capbench::server
