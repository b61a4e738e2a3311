#include "reports/server/readers.h"

#include <chrono>

namespace capbench::server {
namespace {

constexpr std::chrono::seconds kPatience{5};

Result<schema::Database> open_database(const std::filesystem::path& path) {
  Result<schema::Database> database = schema::Database::open(path, schema::Database::Access::kRead, kPatience);
  if (!database) return database;
  // Without this each reader of a file may keep two megabytes of pages.
  if (database->backend() != schema::Backend::kSqlite) return database;
  if (Status status = database->exec("PRAGMA cache_size = -1024"); !status) return std::move(status).error();
  return database;
}

}  // namespace

Result<std::unique_ptr<Readers>> Readers::open(const std::filesystem::path& path, std::size_t count) {
  std::vector<std::unique_ptr<Reader>> readers;
  for (std::size_t i = 0; i < count; ++i) {
    Result<schema::Store> store = schema::Store::open(path, schema::OpenMode::kReadOnly, kPatience);
    if (!store) return std::move(store).error();
    Result<schema::Database> database = open_database(path);
    if (!database) return std::move(database).error();
    // A store of an older version can be read through a copy, which a server would not see grow.
    if (const auto table = database->has_table("bundle_trial"); !table || !*table) {
      if (!table) return table.error();
      return Error{ErrorKind::kUsage, path.string(), "of an older version of capbench",
                   "bring it up to date: serve it once without --read-only"};
    }
    readers.push_back(std::make_unique<Reader>(Reader{std::move(*store), std::move(*database)}));
  }
  Result<schema::Database> watch = open_database(path);
  if (!watch) return std::move(watch).error();
  return std::make_unique<Readers>(std::move(readers), std::move(*watch));
}

Readers::Lease Readers::lend() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return !idle_.empty(); });
  std::unique_ptr<Reader> reader = std::move(idle_.back());
  idle_.pop_back();
  return {this, std::move(reader)};
}

void Readers::give_back(std::unique_ptr<Reader> reader) {
  {
    const std::lock_guard lock(mutex_);
    idle_.push_back(std::move(reader));
  }
  changed_.notify_one();
}

Result<std::uint64_t> Readers::state() {
  const std::lock_guard lock(watch_mutex_);
  // Of one connection that never writes: there every commit of anybody else counts.
  return watch_.state();
}

}  // namespace capbench::server
