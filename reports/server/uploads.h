// Bundles that come in parts: a client whose connection breaks goes on where it stopped. Parts lie as files in a folder
// of their own until the bundle is submitted, and are nothing to anybody before that. Thread-safe; one server a folder
// at a time is best, several do no harm.
#ifndef CAPBENCH_REPORTS_SERVER_UPLOADS_H_
#define CAPBENCH_REPORTS_SERVER_UPLOADS_H_

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace capbench::server {

struct UploadLimits {
  std::size_t sessions = 64;
  std::uint64_t total_bytes = 256U << 20U;  // of all sessions, each counted as large as it will be
  std::uint64_t part_bytes = 1U << 20U;
  std::chrono::seconds age = std::chrono::hours(24);  // since the last part
};

// "bytes A-B/TOTAL".
struct ContentRange {
  std::uint64_t first = 0;
  std::uint64_t last = 0;
  std::uint64_t total = 0;
};
std::optional<ContentRange> parse_content_range(std::string_view text);

class Uploads {
 public:
  // `most_bytes`: of one bundle. The folder is made when the first part comes.
  Uploads(std::filesystem::path folder, UploadLimits limits, std::uint64_t most_bytes)
      : folder_(std::move(folder)), limits_(limits), most_bytes_(most_bytes) {}

  // What a request comes to, as a status of HTTP: 0 for done, else what the reply says.
  struct Answer {
    int status = 0;
    Error error;
    std::uint64_t offset = 0;  // bytes there are now
  };

  // The part goes behind what is there. One that begins earlier is taken as far as it is new, so that a client may
  // repeat what it got no reply to; one that begins later is refused with 409 and the offset to go on at.
  Answer put(std::string_view id, const ContentRange& range, std::string_view part);

  struct Progress {
    std::uint64_t offset = 0;
    std::uint64_t total = 0;
  };
  // Nothing: there is no such session.
  std::optional<Progress> progress(std::string_view id);
  // The bytes of a session that is complete.
  Result<std::string> read(std::string_view id);
  void remove(std::string_view id);

 private:
  struct Session {
    std::uint64_t total = 0;
    std::uint64_t offset = 0;
    std::filesystem::file_time_type changed;
  };
  std::filesystem::path file(std::string_view id, std::uint64_t total) const;
  // What lies there, without what is too old; that is removed.
  std::map<std::string, Session, std::less<>> sessions();

  const std::filesystem::path folder_;
  const UploadLimits limits_;
  const std::uint64_t most_bytes_;
  std::mutex mutex_;
};

}  // namespace capbench::server

#endif  // CAPBENCH_REPORTS_SERVER_UPLOADS_H_
