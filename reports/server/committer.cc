#include "reports/server/committer.h"

#include <algorithm>
#include <exception>
#include <iterator>

namespace capbench::server {
namespace {

// A commit of more would keep those in front waiting for those behind.
constexpr std::size_t kMostTogether = 64;
// What is done later has its turn, however many wait all the time. It takes a commit of its own, in which far more is
// written than in one of theirs.
constexpr int kMostTurnsBefore = 16;

}  // namespace

Result<std::unique_ptr<Committer>> Committer::open(const std::filesystem::path& path) {
  Result<schema::Store> store = schema::Store::open(path, schema::OpenMode::kCreate);
  if (!store) return std::move(store).error();
  return std::make_unique<Committer>(std::move(*store));
}

Committer::Committer(schema::Store store) : store_(std::move(store)), thread_([this] { work(); }) {}

Committer::~Committer() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  waiting_.notify_one();
  thread_.join();
}

std::optional<Error> Committer::run(Work work) {
  struct Answer {
    std::optional<Error> failure;
    bool done = false;
    std::condition_variable changed;
  } answer;
  std::unique_lock lock(mutex_);
  awaited_.push_back({std::move(work), [&](const std::optional<Error>& failure) {
                        // Told under the lock: the answer is its waiter's, who goes away with it.
                        const std::lock_guard inner(mutex_);
                        answer.failure = failure;
                        answer.done = true;
                        answer.changed.notify_one();
                      }});
  waiting_.notify_one();
  answer.changed.wait(lock, [&] { return answer.done; });
  return std::move(answer.failure);
}

void Committer::write_later(Work work, Done done) {
  {
    const std::lock_guard lock(mutex_);
    later_.push_back({std::move(work), std::move(done)});
  }
  waiting_.notify_one();
}

bool Committer::is_awaited() {
  const std::lock_guard lock(mutex_);
  return !awaited_.empty();
}

void Committer::work() {
  int turns = 0;  // of those that wait, since the last of the others
  for (;;) {
    std::deque<Job> batch;
    bool awaited = false;
    {
      std::unique_lock lock(mutex_);
      waiting_.wait(lock, [this] { return stopping_ || !awaited_.empty() || !later_.empty(); });
      if (awaited_.empty() && later_.empty()) return;
      awaited = !awaited_.empty() && (later_.empty() || turns < kMostTurnsBefore);
      std::deque<Job>& from = awaited ? awaited_ : later_;
      const auto count = static_cast<std::ptrdiff_t>(std::min(from.size(), kMostTogether));
      std::move(from.begin(), from.begin() + count, std::back_inserter(batch));
      from.erase(from.begin(), from.begin() + count);
    }
    turns = awaited ? turns + 1 : 0;
    do {
      commit_together(batch, awaited);
    } while (!batch.empty() && (awaited || !is_awaited()));
    if (batch.empty()) continue;
    const std::lock_guard lock(mutex_);
    std::move(batch.rbegin(), batch.rend(), std::front_inserter(later_));
  }
}

void Committer::commit_together(std::deque<Job>& batch, bool awaited) {
  Result<schema::Batch> together = store_.begin_batch();
  std::size_t count = 0;
  std::optional<Error> failure;
  if (!together) {
    failure = together.error();
    count = batch.size();
  }
  std::deque<std::optional<Error>> thrown;
  while (!failure && count < batch.size()) {
    std::optional<Error>& own = thrown.emplace_back();
    try {
      batch[count].work(store_);
    } catch (const std::exception& exception) {
      own = Error{ErrorKind::kMachine, "the store", exception.what(), "try again"};
    }
    ++count;
    // A full disk makes SQLite undo everything by itself, and so does a PostgreSQL that goes away. Those behind get a
    // commit of their own.
    if (!together->is_open()) {
      failure = Error{ErrorKind::kMachine, "the store", "could not be written to, and is as it was before",
                      "see whether its disk is full, or its server away; try again later"};
    } else if (!awaited && is_awaited()) {
      break;
    }
  }
  if (!failure) {
    if (Status status = together->commit(); !status) failure = status.error();
  }
  if (!failure) {
    commits_.fetch_add(1, std::memory_order_relaxed);
    writes_.fetch_add(count, std::memory_order_relaxed);
  }
  for (std::size_t i = 0; i < count; ++i) {
    const Job job = std::move(batch.front());
    batch.pop_front();
    job.done(failure || i >= thrown.size() ? failure : thrown[i]);
  }
}

}  // namespace capbench::server
