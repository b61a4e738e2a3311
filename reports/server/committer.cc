#include "reports/server/committer.h"

#include <algorithm>
#include <exception>

namespace capbench::server {
namespace {

// A commit of more would keep those in front waiting for those behind.
constexpr std::size_t kMostTogether = 64;

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

std::optional<Error> Committer::run(std::function<void(schema::Store&)> work) {
  Job job;
  job.work = std::move(work);
  std::unique_lock lock(mutex_);
  jobs_.push_back(&job);
  waiting_.notify_one();
  job.changed.wait(lock, [&] { return job.done; });
  return std::move(job.failure);
}

void Committer::work() {
  for (;;) {
    std::deque<Job*> batch;
    {
      std::unique_lock lock(mutex_);
      waiting_.wait(lock, [this] { return stopping_ || !jobs_.empty(); });
      if (jobs_.empty()) return;
      const auto count = static_cast<std::ptrdiff_t>(std::min(jobs_.size(), kMostTogether));
      batch.assign(jobs_.begin(), jobs_.begin() + count);
      jobs_.erase(jobs_.begin(), jobs_.begin() + count);
    }
    while (!batch.empty()) commit_together(batch);
  }
}

void Committer::finish(std::deque<Job*>& batch, std::size_t count, const std::optional<Error>& failure) {
  const std::lock_guard lock(mutex_);
  for (std::size_t i = 0; i < count; ++i) {
    Job* const job = batch.front();
    batch.pop_front();
    if (failure) job->failure = failure;
    job->done = true;
    job->changed.notify_one();  // under the lock: the job is its waiter's, who goes away with it
  }
}

void Committer::commit_together(std::deque<Job*>& batch) {
  Result<schema::Batch> together = store_.begin_batch();
  if (!together) return finish(batch, batch.size(), together.error());
  std::size_t done = 0;
  std::optional<Error> failure;
  for (Job* job : batch) {
    try {
      job->work(store_);
    } catch (const std::exception& thrown) {
      job->failure = Error{ErrorKind::kMachine, "the store", thrown.what(), "try again"};
    }
    ++done;
    // A full disk makes SQLite undo everything by itself. Those behind get a commit of their own.
    if (!together->is_open()) {
      failure = Error{ErrorKind::kMachine, "the store", "could not be written to, and is as it was before",
                      "see whether its disk is full; try again later"};
      break;
    }
  }
  if (!failure) {
    if (Status status = together->commit(); !status) failure = status.error();
  }
  if (!failure) {
    commits_.fetch_add(1, std::memory_order_relaxed);
    writes_.fetch_add(done, std::memory_order_relaxed);
  }
  finish(batch, done, failure);
}

}  // namespace capbench::server
