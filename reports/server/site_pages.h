// The pages of the site, made of what the store holds. Reading a large store takes seconds, so the site is kept and
// read again in the background when the store has changed. Thread-safe.
#ifndef CAPBENCH_REPORTS_SERVER_SITE_PAGES_H_
#define CAPBENCH_REPORTS_SERVER_SITE_PAGES_H_

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "base/result.h"
#include "reports/site/site.h"

namespace capbench::server {

class SitePages {
 public:
  // `log` is told what a reading in the background failed by; may be empty.
  SitePages(std::filesystem::path db, std::function<void(const std::string&)> log);
  SitePages(const SitePages&) = delete;
  SitePages& operator=(const SitePages&) = delete;
  ~SitePages();

  // Begins the first reading, if it has not begun, and does not wait for it.
  void begin(std::uint64_t state);

  struct View {
    std::shared_ptr<const site::Site> site;  // null while the first reading goes on
    std::uint64_t generation = 0;            // another number for each reading
    std::uint64_t state = 0;                 // of the store, when it was read
  };
  // The site as of the store's state `state` (see Readers::state()), or an earlier one: what took long to read is used
  // for ten times as long, a minute at most, and then until the next one is there. Waits for the first one, but not so
  // long that whoever asks for pages holds up others.
  Result<View> current(std::uint64_t state);
  // For what an earlier reading cannot know: begins another one, and waits as long for it. The view may be the earlier
  // one still.
  View read_again(std::uint64_t state);

  Result<std::optional<std::string>> render(const View& view, std::string_view path);

 private:
  Status read(std::uint64_t state);
  void read_beside(std::uint64_t state);  // with mutex_ held
  std::unique_ptr<site::Connections> take();

  const std::filesystem::path db_;
  const std::function<void(const std::string&)> log_;
  std::mutex reading_;  // held while one is read
  std::mutex mutex_;    // of what follows
  View view_;
  std::chrono::steady_clock::time_point until_;
  std::chrono::steady_clock::duration took_{};
  bool refreshing_ = false;
  std::optional<Error> failure_;  // what the last reading in the background failed by
  std::condition_variable done_;  // when such a reading ends
  std::thread refresher_;
  std::vector<std::unique_ptr<site::Connections>> idle_;
};

}  // namespace capbench::server

#endif  // CAPBENCH_REPORTS_SERVER_SITE_PAGES_H_
