// The server without its sockets: a request in, a reply out. Thread-safe.
#ifndef CAPBENCH_REPORTS_SERVER_SERVICE_H_
#define CAPBENCH_REPORTS_SERVER_SERVICE_H_

#include <atomic>
#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "reports/server/budget.h"
#include "reports/server/committer.h"
#include "reports/server/http/message.h"
#include "reports/server/metrics.h"
#include "reports/server/options.h"
#include "reports/server/queries.h"
#include "reports/server/rate_limit.h"
#include "reports/server/readers.h"
#include "reports/server/reply_cache.h"
#include "reports/server/routes.h"
#include "reports/server/site_pages.h"
#include "reports/server/uploads.h"
#include "reports/server/verifier.h"

namespace capbench::server {

inline constexpr std::size_t kReadLane = 0;
inline constexpr std::size_t kSubmissionLane = 1;

// Fields of every reply: no script but the site's own files, nothing from elsewhere, no framing.
std::vector<http::Field> security_fields();

class Service {
 public:
  // Opens the store: makes it or brings it up to date unless it is served read-only.
  static Result<std::unique_ptr<Service>> open(Options options);
  Service(Options options, std::unique_ptr<Readers> readers, std::unique_ptr<Committer> committer);

  // What can be refused from the head alone: unknown paths, policy, rate, kind and size of the body.
  std::optional<http::Reply> admit(const http::Head& head, std::string_view address);
  std::size_t lane(const http::Head& head) const;
  http::Reply handle(http::Request& request);

  // More metrics, asked for at each reading of /metrics.
  void set_more_metrics(std::function<std::string()> more) { more_metrics_ = std::move(more); }
  // Begins to read what pages are made from, so that the first who asks for one finds it done.
  void begin_reading();
  // /healthz says from now on that no more should come.
  void set_stopping() { stopping_ = true; }

 private:
  struct Call;

  http::Reply dispatch(Call& call);
  std::optional<http::Reply> admit_body(const http::Head& head, const Route& route) const;
  std::optional<http::Reply> admit_writer(const http::Head& head) const;
  std::string client_address(const http::Head& head, std::string_view peer) const;
  std::string_view parameter(const Call& call, std::string_view name) const;

  // Reads, in service_read.cc.
  using MakeBody = std::function<Result<std::optional<std::string>>(Reader& reader)>;
  http::Reply cached(const Call& call, const std::string& type, const MakeBody& make_body,
                     std::chrono::milliseconds may_be_old = std::chrono::milliseconds(0));
  http::Reply finish(const Call& call, const Made& made) const;
  http::Reply store_problem(const Error& error) const;
  http::Reply health();
  http::Reply metrics_text();
  http::Reply list(const Call& call);
  http::Reply one(const Call& call);
  http::Reply raw(const Call& call);
  http::Reply archive(const Call& call);
  http::Reply report(const Call& call);
  http::Reply page(const Call& call);
  http::Reply fixed(const Call& call, const MadePtr& made) const;

  // Writes, in service_submit.cc.
  http::Reply submit(Call& call);
  http::Reply submit_bytes(std::string archive, const std::string& upload, std::string_view receipt_sha256,
                           Budget::Share room);
  std::optional<http::Reply> known(const std::string& id, std::string_view receipt_sha256);
  http::Reply withdraw(const Call& call);
  // One that nobody has looked at yet.
  http::Reply withdraw_pending(const Call& call, const schema::InboxEntry& entry);
  http::Reply put_part(const Call& call);
  http::Reply upload_progress(const Call& call);

  const Options options_;
  std::unique_ptr<Readers> readers_;
  std::unique_ptr<Committer> committer_;  // null: read-only
  Uploads uploads_;
  ReplyCache cache_;
  RateLimit submission_rate_;
  RateLimit read_rate_;
  Budget opening_;
  Metrics metrics_;
  MadePtr openapi_;
  std::map<std::string, MadePtr, std::less<>> assets_;  // by path
  SitePages site_pages_;
  std::mutex report_turn_;          // one report at a time: each holds many trials
  std::atomic<int> reporters_ = 0;  // who makes one or waits for it
  std::function<std::string()> more_metrics_;
  std::atomic<bool> stopping_ = false;
  std::unique_ptr<Verifier> verifier_;  // null: read-only. Goes first: it uses the others
};

}  // namespace capbench::server

#endif  // CAPBENCH_REPORTS_SERVER_SERVICE_H_
