#include "reports/server/reply_cache.h"

#include <zlib.h>

#include <utility>

#include "base/digest.h"

namespace capbench::server {
namespace {

constexpr std::size_t kWorthCompressing = 1024;
constexpr int kGzip = 16 + MAX_WBITS;  // zlib's way of asking for that format
constexpr int kLevel = 5;
constexpr std::size_t kEntryOverhead = 512;

}  // namespace

std::string gzip(std::string_view bytes) {
  z_stream stream{};
  if (deflateInit2(&stream, kLevel, Z_DEFLATED, kGzip, 8, Z_DEFAULT_STRATEGY) != Z_OK) return "";
  std::string out(deflateBound(&stream, static_cast<uLong>(bytes.size())), '\0');
  // The interface is older than const; it does not write to its input.
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
  stream.avail_in = static_cast<uInt>(bytes.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  const int code = deflate(&stream, Z_FINISH);
  out.resize(stream.total_out);
  deflateEnd(&stream);
  return code == Z_STREAM_END ? out : "";
}

Made make(std::string type, std::string body) {
  Made made;
  made.type = std::move(type);
  made.etag = "\"" + sha256(body).substr(0, 32) + "\"";
  made.plain = std::make_shared<const std::string>(std::move(body));
  return made;
}

bool may_compress(const Made& made) {
  return !made.is_compressed && made.plain->size() >= kWorthCompressing;
}

Made compressed(Made made) {
  made.is_compressed = true;
  std::string small = gzip(*made.plain);
  if (!small.empty() && small.size() < made.plain->size()) {
    made.gzip = std::make_shared<const std::string>(std::move(small));
  }
  return made;
}

MadePtr ReplyCache::find(const std::string& key, std::uint64_t state) {
  const std::lock_guard lock(mutex_);
  const auto found = index_.find(key);
  if (found == index_.end()) {
    ++misses_;
    return nullptr;
  }
  const MadePtr made = found->second->made;
  if (made->state != state && made->until <= std::chrono::steady_clock::now()) {
    drop(found->second);
    ++misses_;
    return nullptr;
  }
  ++hits_;
  entries_.splice(entries_.begin(), entries_, found->second);
  return made;
}

void ReplyCache::put(const std::string& key, MadePtr made) {
  const std::size_t bytes =
      key.size() * 2 + kEntryOverhead + made->plain->size() + (made->gzip ? made->gzip->size() : 0);
  const std::lock_guard lock(mutex_);
  if (const auto found = index_.find(key); found != index_.end()) drop(found->second);
  // One reply must not drive all others out.
  if (bytes > most_bytes_ / 4) return;
  entries_.push_front({key, std::move(made), bytes});
  index_.emplace(key, entries_.begin());
  bytes_ += bytes;
  while (bytes_ > most_bytes_) drop(std::prev(entries_.end()));
}

void ReplyCache::drop(std::list<Entry>::iterator entry) {
  bytes_ -= entry->bytes;
  index_.erase(entry->key);
  entries_.erase(entry);
}

std::uint64_t ReplyCache::hits() const {
  const std::lock_guard lock(mutex_);
  return hits_;
}

std::uint64_t ReplyCache::misses() const {
  const std::lock_guard lock(mutex_);
  return misses_;
}

}  // namespace capbench::server
