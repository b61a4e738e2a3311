// Replies that need not be made again: each is good for one state of the store. Thread-safe.
#ifndef CAPBENCH_REPORTS_SERVER_REPLY_CACHE_H_
#define CAPBENCH_REPORTS_SERVER_REPLY_CACHE_H_

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>

namespace capbench::server {

using Text = std::shared_ptr<const std::string>;

// A body with what is derived from it.
struct Made {
  std::string type;
  std::string etag;  // of the body's bytes, in quotes
  Text plain;
  Text gzip;                                    // null: not smaller, or not asked for yet
  bool is_compressed = false;                   // it was tried
  std::uint64_t state = 0;                      // of the store that it was made from
  std::chrono::steady_clock::time_point until;  // good so long even if the store has changed
};
using MadePtr = std::shared_ptr<const Made>;

// Digests the body.
Made make(std::string type, std::string body);
// Whether it is worth compressing and nobody has tried.
bool may_compress(const Made& made);
// The same with its compressed form, if that is smaller.
Made compressed(Made made);
// The same bytes as a gzip member; empty if that fails.
std::string gzip(std::string_view bytes);

class ReplyCache {
 public:
  explicit ReplyCache(std::size_t most_bytes) : most_bytes_(most_bytes) {}
  // Null if there is none that is good now.
  MadePtr find(const std::string& key, std::uint64_t state);
  void put(const std::string& key, MadePtr made);
  std::uint64_t hits() const;
  std::uint64_t misses() const;

 private:
  struct Entry {
    std::string key;
    MadePtr made;
    std::size_t bytes = 0;
  };
  void drop(std::list<Entry>::iterator entry);

  const std::size_t most_bytes_;
  mutable std::mutex mutex_;
  std::list<Entry> entries_;  // used last in front
  std::unordered_map<std::string, std::list<Entry>::iterator> index_;
  std::size_t bytes_ = 0;
  std::uint64_t hits_ = 0;
  std::uint64_t misses_ = 0;
};

}  // namespace capbench::server

#endif  // CAPBENCH_REPORTS_SERVER_REPLY_CACHE_H_
