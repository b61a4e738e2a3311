// Connections that only read, a few of them, lent one at a time; and a watch on the store's state. Thread-safe.
#ifndef CAPBENCH_REPORTS_SERVER_READERS_H_
#define CAPBENCH_REPORTS_SERVER_READERS_H_

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "base/result.h"
#include "schema/database.h"
#include "schema/store.h"

namespace capbench::server {

struct Reader {
  schema::Store store;
  schema::Database database;  // for queries that the store has no function for
};

class Readers {
 public:
  // The store must be of this program's format.
  static Result<std::unique_ptr<Readers>> open(const std::filesystem::path& path, std::size_t count);
  Readers(std::vector<std::unique_ptr<Reader>> readers, schema::Database watch)
      : idle_(std::move(readers)), watch_(std::move(watch)) {}

  class Lease {
   public:
    Lease(Readers* owner, std::unique_ptr<Reader> reader) : owner_(owner), reader_(std::move(reader)) {}
    Lease(const Lease&) = delete;
    Lease& operator=(const Lease&) = delete;
    ~Lease() { owner_->give_back(std::move(reader_)); }
    Reader* operator->() const { return reader_.get(); }

   private:
    Readers* owner_;
    std::unique_ptr<Reader> reader_;
  };
  // Waits for one.
  Lease lend();

  // A number that is another one after every change by anybody, another program included.
  Result<std::uint64_t> state();

 private:
  void give_back(std::unique_ptr<Reader> reader);

  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::unique_ptr<Reader>> idle_;
  std::mutex watch_mutex_;
  schema::Database watch_;
};

}  // namespace capbench::server

#endif  // CAPBENCH_REPORTS_SERVER_READERS_H_
