#include "reports/server/site_pages.h"

#include <sys/resource.h>

#include <algorithm>
#include <utility>

namespace capbench::server {
namespace {

using std::chrono::steady_clock;

// What is read faster than this is read while the request waits.
constexpr std::chrono::milliseconds kAtOnce{100};
constexpr int kAgeFactor = 10;
constexpr std::chrono::seconds kMostAge{60};
constexpr std::chrono::seconds kPatience{1};

// What reads again while there are pages to show leaves the processors to whoever asks for them; so do its helpers,
// which inherit it. Elsewhere this would be of the whole process.
void give_way() {
#ifdef __linux__
  constexpr int kNice = 10;
  static_cast<void>(::setpriority(PRIO_PROCESS, 0, kNice));  // of the calling thread
#endif
}

}  // namespace

SitePages::SitePages(std::filesystem::path db, std::function<void(const std::string&)> log)
    : db_(std::move(db)), log_(std::move(log)) {}

SitePages::~SitePages() {
  if (refresher_.joinable()) refresher_.join();
}

Status SitePages::read(std::uint64_t state) {
  const std::lock_guard turn(reading_);
  {
    const std::lock_guard lock(mutex_);
    if (view_.site && view_.state == state) return {};  // somebody else did
  }
  site::Options options;
  options.served = true;
  options.most_trials = 0;
  options.most_series = 0;
  options.most_submissions = 0;
  const auto start = steady_clock::now();
  Result<site::Site> site = site::read_site({db_}, options);
  if (!site) return std::move(site).error();
  auto shared = std::make_shared<const site::Site>(std::move(*site));
  const auto end = steady_clock::now();
  const std::lock_guard lock(mutex_);
  view_ = {std::move(shared), view_.generation + 1, state};
  took_ = end - start;
  until_ = end + std::min<steady_clock::duration>(took_ * kAgeFactor, kMostAge);
  return {};
}

void SitePages::read_beside(std::uint64_t state) {
  if (refreshing_) return;
  refreshing_ = true;
  if (refresher_.joinable()) refresher_.join();
  const bool is_first = !view_.site;
  refresher_ = std::thread([this, state, is_first] {
    if (!is_first) give_way();
    Status status = read(state);
    if (!status && log_) log_(to_string(status.error()));
    const std::lock_guard lock(mutex_);
    failure_.reset();
    if (!status) failure_ = std::move(status).error();
    refreshing_ = false;
    done_.notify_all();
  });
}

void SitePages::begin(std::uint64_t state) {
  const std::lock_guard lock(mutex_);
  if (!view_.site) read_beside(state);
}

Result<SitePages::View> SitePages::current(std::uint64_t state) {
  {
    std::unique_lock lock(mutex_);
    if (view_.site && (view_.state == state || (took_ > kAtOnce && steady_clock::now() < until_))) return view_;
    const bool at_once = view_.site && took_ <= kAtOnce;
    if (!at_once) {
      const bool is_first = !view_.site;
      read_beside(state);
      if (!is_first) return view_;
      done_.wait_for(lock, kPatience, [this] { return !refreshing_; });
      if (!view_.site && !refreshing_ && failure_) return *failure_;
      return view_;
    }
  }
  if (Status status = read(state); !status) return std::move(status).error();
  const std::lock_guard lock(mutex_);
  return view_;
}

SitePages::View SitePages::read_again(std::uint64_t state) {
  std::unique_lock lock(mutex_);
  if (view_.site && view_.state == state) return view_;
  read_beside(state);
  done_.wait_for(lock, kPatience, [this] { return !refreshing_; });
  return view_;
}

std::unique_ptr<site::Connections> SitePages::take() {
  const std::lock_guard lock(mutex_);
  if (idle_.empty()) return std::make_unique<site::Connections>(std::vector<std::filesystem::path>{db_});
  std::unique_ptr<site::Connections> connections = std::move(idle_.back());
  idle_.pop_back();
  return connections;
}

Result<std::optional<std::string>> SitePages::render(const View& view, std::string_view path) {
  std::unique_ptr<site::Connections> connections = take();
  Result<std::optional<std::string>> page = site::render_page(*view.site, *connections, path);
  const std::lock_guard lock(mutex_);
  idle_.push_back(std::move(connections));
  return page;
}

}  // namespace capbench::server
