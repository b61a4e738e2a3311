// A store, opened: what it is has been checked, it has the current format, and it is left tidy. For this room
// only.
#ifndef CAPBENCH_SCHEMA_CONNECTION_H_
#define CAPBENCH_SCHEMA_CONNECTION_H_

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <utility>

#include "base/result.h"
#include "schema/database.h"
#include "schema/store.h"

namespace capbench::schema {

class Connection {
 public:
  static Result<Connection> open(const std::filesystem::path& path, OpenMode mode, std::chrono::milliseconds patience);
  Connection(Connection&&) noexcept = default;
  Connection& operator=(Connection&&) = delete;
  ~Connection();

  Database& database() { return database_; }
  // An error if the store was opened for reading.
  Result<Transaction> begin_write(Transaction::Kind kind = Transaction::Kind::kWrite);
  // The same for a batch that may be most of what the store will hold. An SQLite store that this connection has made,
  // with nothing but imports in it, keeps its rollback journal: what is appended to an empty file is then written once,
  // where WAL writes it twice. Readers wait while it is committed, or all along once it outgrows the page cache.
  Result<Transaction> begin_import();
  // One consistent view for the queries of one call.
  Result<Transaction> begin_read();
  // To be called when the reading is done: an error if somebody else wrote where locks could not be had.
  Status end_read() const;

  // One consistent view for everything that `read` asks of the database.
  template <class Read>
  auto reading(Read read) -> decltype(read(std::declval<Database&>())) {
    Result<Transaction> transaction = begin_read();
    if (!transaction) return std::move(transaction).error();
    auto answer = read(database_);
    if (Status status = end_read(); !status) return std::move(status).error();
    return answer;
  }

 private:
  // What tells that a file read without locks was written to.
  struct Stamp {
    std::int64_t seconds = 0;
    std::int64_t nanoseconds = 0;
    std::int64_t size = 0;
    bool operator==(const Stamp&) const = default;
  };

  Connection(Database database, OpenMode mode, std::chrono::milliseconds patience)
      : database_(std::move(database)), mode_(mode), patience_(patience) {}
  static Result<Connection> open_for_writing(const std::filesystem::path& path, std::chrono::milliseconds patience);
  static Result<Connection> open_for_reading(const std::filesystem::path& path, std::chrono::milliseconds patience);
  static Result<Connection> open_address(const std::filesystem::path& address, OpenMode mode,
                                         std::chrono::milliseconds patience);
  static Stamp stamp(const std::filesystem::path& path);

  Database database_;
  OpenMode mode_;
  std::chrono::milliseconds patience_;
  bool is_new_ = false;            // made by this connection, and still with a rollback journal
  bool tidy_ = false;              // side files that are there at the end are this connection's
  std::optional<Stamp> unlocked_;  // set if the file is read without locks: how it was
};

}  // namespace capbench::schema

#endif  // CAPBENCH_SCHEMA_CONNECTION_H_
