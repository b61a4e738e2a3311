// Service, the reading half.
#include <algorithm>
#include <charconv>
#include <chrono>
#include <utility>

#include "base/digest.h"
#include "reports/render.h"
#include "reports/server/call.h"
#include "reports/server/http/problem.h"
#include "reports/server/service.h"

namespace capbench::server {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr std::size_t kMostItems = 200;
// A report may be as old as it took to make, several times over: a store that changes all the time does not keep the
// server at nothing else.
constexpr int kReportAgeFactor = 10;
constexpr milliseconds kMostReportAge{30'000};
constexpr std::string_view kForever = "public, max-age=31536000, immutable";

// If-None-Match compares weakly, and both codings of a body are the same to it.
bool names_tag(std::string_view field, std::string_view etag) {
  const std::string_view core = etag.substr(1, etag.size() - 2);
  while (!field.empty()) {
    std::string_view one = field.substr(0, field.find(','));
    field.remove_prefix(std::min(field.size(), one.size() + 1));
    while (!one.empty() && (one.front() == ' ' || one.front() == '\t')) one.remove_prefix(1);
    while (!one.empty() && (one.back() == ' ' || one.back() == '\t')) one.remove_suffix(1);
    if (one == "*") return true;
    if (one.substr(0, 2) == "W/") one.remove_prefix(2);
    if (one.size() < 2 || one.front() != '"' || one.back() != '"') continue;
    one = one.substr(1, one.size() - 2);
    if (one == core ||
        (one.size() == core.size() + 3 && one.substr(0, core.size()) == core && one.substr(core.size()) == "-gz")) {
      return true;
    }
  }
  return false;
}

// Whether gzip is among what the client takes; "gzip;q=0" is not.
bool takes_gzip(std::string_view field) {
  while (!field.empty()) {
    std::string_view one = field.substr(0, field.find(','));
    field.remove_prefix(std::min(field.size(), one.size() + 1));
    while (!one.empty() && one.front() == ' ') one.remove_prefix(1);
    const std::string_view name = one.substr(0, one.find_first_of("; "));
    if (name != "gzip") continue;
    const std::size_t q = one.find("q=");
    return q == std::string_view::npos || one.substr(q + 2).find_first_of("123456789") != std::string_view::npos;
  }
  return false;
}

class Waiting {
 public:
  explicit Waiting(std::atomic<int>& all) : all_(all), count_(++all) {}
  Waiting(const Waiting&) = delete;
  Waiting& operator=(const Waiting&) = delete;
  ~Waiting() { --all_; }
  int count() const { return count_; }

 private:
  std::atomic<int>& all_;
  int count_;
};

http::Reply not_there(std::string_view what) {
  return http::problem(404, request_error(std::string(what), "there is none of that id",
                                          "take ids from the lists; see /api/v1/openapi.json"));
}

http::Reply not_modified(std::string_view etag) {
  http::Reply reply;
  reply.status = 304;
  reply.with("ETag", std::string(etag));
  return reply;
}

// One spelling for the requests that mean the same.
std::string cache_key(const http::Head& head) {
  std::vector<http::Field> query = head.query;
  std::sort(query.begin(), query.end(), [](const auto& a, const auto& b) { return a.name < b.name; });
  std::string key = head.path;
  for (const http::Field& field : query) key += "\n" + field.name + "=" + field.value;
  return key;
}

}  // namespace

http::Reply Service::store_problem(const Error& error) const {
  if (options_.log) options_.log(to_string(error));
  // Paths on this machine are nobody's business.
  const bool busy = error.kind == ErrorKind::kMachine;
  http::Reply reply = http::problem(busy ? 503 : 500, {error.kind, "the store", "cannot be used at the moment",
                                                       "try again later, or tell who runs this server"});
  if (busy) reply.with("Retry-After", "2");
  return reply;
}

http::Reply Service::finish(const Call& call, const Made& made) const {
  const http::Head& head = call.request.head;
  http::Reply reply;
  if (names_tag(head.field("if-none-match"), made.etag)) {
    reply = not_modified(made.etag);
  } else {
    const bool small = made.gzip != nullptr && takes_gzip(head.field("accept-encoding"));
    reply.type = made.type;
    reply.body = small ? made.gzip : made.plain;
    std::string etag = made.etag;
    if (small) {
      etag.insert(etag.size() - 1, "-gz");
      reply.with("Content-Encoding", "gzip");
    }
    reply.with("ETag", std::move(etag));
  }
  reply.with("Cache-Control", "no-cache").with("Vary", "Accept-Encoding");
  return reply;
}

http::Reply Service::fixed(const Call& call, const MadePtr& made) const {
  return finish(call, *made);
}

http::Reply Service::cached(const Call& call, const std::string& type, const MakeBody& make_body,
                            milliseconds may_be_old) {
  const Result<std::uint64_t> state = readers_->state();
  if (!state) return store_problem(state.error());
  const std::string key = cache_key(call.request.head);
  const bool compress = takes_gzip(call.request.head.field("accept-encoding"));
  if (MadePtr found = cache_.find(key, *state)) {
    if (compress && may_compress(*found)) {
      found = std::make_shared<const Made>(compressed(*found));
      cache_.put(key, found);
    }
    return finish(call, *found);
  }
  const auto start = steady_clock::now();
  Result<std::optional<std::string>> body = [&] {
    const Readers::Lease reader = readers_->lend();
    return make_body(*reader.operator->());
  }();
  if (!body) {
    // The only thing in a query that it finds wrong.
    if (body.error().what == "cursor") return http::problem(400, body.error());
    return store_problem(body.error());
  }
  if (!body->has_value()) return not_there("what was asked for");
  auto made = std::make_shared<Made>(make(type, std::move(**body)));
  if (compress && may_compress(*made)) *made = compressed(std::move(*made));
  made->state = *state;
  const auto now = steady_clock::now();
  const auto age = std::chrono::duration_cast<milliseconds>((now - start) * kReportAgeFactor);
  made->until = now + std::min(may_be_old, age);
  cache_.put(key, made);
  return finish(call, *made);
}

http::Reply Service::health() {
  const bool fine = !stopping_ && readers_->state().ok();
  http::Reply reply = http::reply(fine ? 200 : 503, "application/json",
                                  stopping_ ? "{\"status\":\"stopping\"}\n"
                                  : fine    ? "{\"status\":\"ok\"}\n"
                                            : "{\"status\":\"the store cannot be read\"}\n");
  reply.with("Cache-Control", "no-store");
  return reply;
}

http::Reply Service::metrics_text() {
  std::string text = metrics_.text();
  const auto add = [&](std::string_view name, std::string_view type, std::string_view help, std::uint64_t value) {
    text += metric(name, type, help, static_cast<double>(value));
  };
  add("capbench_cache_hits_total", "counter", "Replies that were not made again.", cache_.hits());
  add("capbench_cache_misses_total", "counter", "Replies that had to be made.", cache_.misses());
  if (committer_) {
    add("capbench_commits_total", "counter", "Transactions written.", committer_->commits());
    add("capbench_writes_total", "counter", "Changes in those transactions.", committer_->writes());
    add("capbench_inbox_bundles", "gauge", "Bundles that have yet to be looked at.", verifier_->pending());
    add("capbench_inbox_bytes", "gauge", "Bytes of those bundles.", verifier_->pending_bytes());
  }
  add("process_resident_memory_bytes", "gauge", "Memory in use.", resident_bytes());
  if (more_metrics_) text += more_metrics_();
  http::Reply reply = http::reply(200, "text/plain; version=0.0.4; charset=utf-8", std::move(text));
  reply.with("Cache-Control", "no-store");
  return reply;
}

http::Reply Service::list(const Call& call) {
  server::Page page;
  const std::string_view limit = parameter(call, "limit");
  if (!limit.empty()) {
    const auto [end, failure] = std::from_chars(limit.data(), limit.data() + limit.size(), page.limit);
    if (failure != std::errc() || end != limit.data() + limit.size() || page.limit < 1 || page.limit > kMostItems) {
      return http::problem(400, request_error("parameter limit", "not a number from 1 to " + std::to_string(kMostItems),
                                              "give one, or leave it out"));
    }
  }
  page.cursor = parameter(call, "cursor");
  const auto text = [&](std::string_view name) { return std::string(parameter(call, name)); };
  const auto some = [](Result<std::string> body) -> Result<std::optional<std::string>> {
    if (!body) return std::move(body).error();
    return std::optional<std::string>(std::move(*body));
  };
  switch (call.matched.route->resource) {
    case Resource::kSuites:
      return cached(call, "application/json",
                    [&](Reader& reader) { return some(suites_page(reader, page, text("name"))); });
    case Resource::kMachines:
      return cached(call, "application/json", [&](Reader& reader) { return some(machines_page(reader, page)); });
    case Resource::kBundles: {
      const std::string withdrawn = text("withdrawn");
      if (!withdrawn.empty() && withdrawn != "true" && withdrawn != "false") {
        return http::problem(400, request_error("parameter withdrawn", "neither true nor false", "give one of them"));
      }
      const BundleQuery query{text("signer"), text("tier"), withdrawn == "true"};
      return cached(call, "application/json", [&](Reader& reader) { return some(bundles_page(reader, page, query)); });
    }
    default: {
      const TrialQuery query{text("suite"),  text("run"),  text("machine"), text("environment"),
                             text("bundle"), text("mode"), text("model"),   text("status")};
      return cached(call, "application/json", [&](Reader& reader) { return some(trials_page(reader, page, query)); });
    }
  }
}

http::Reply Service::one(const Call& call) {
  const std::string& id = call.matched.captured.front();
  if (!is_sha256(id)) return not_there("what was asked for");
  const std::string_view mine = call.request.head.field(kReceiptDigestField);
  if (call.matched.route->resource == Resource::kSubmission && !mine.empty()) {
    // An answer to one client alone.
    const Readers::Lease reader = readers_->lend();
    const Found found = submission_document(*reader.operator->(), id, options_.public_url, mine);
    if (!found) return store_problem(found.error());
    if (!found->has_value()) return not_there("the submission");
    http::Reply reply = http::reply(200, "application/json", **found);
    reply.with("Cache-Control", "no-store");
    return reply;
  }
  return cached(call, "application/json", [&](Reader& reader) {
    switch (call.matched.route->resource) {
      case Resource::kSuite:
        return suite_document(reader, id);
      case Resource::kEnvironment:
        return environment_document(reader, id);
      case Resource::kSubmission:
        return submission_document(reader, id, options_.public_url, "");
      default:
        return trial_document(reader, id);
    }
  });
}

namespace {

// A large store takes seconds to be read when the program has just been started.
http::Reply reading_reply() {
  http::Reply reply = http::reply(
      503, "text/html; charset=utf-8",
      "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><meta http-equiv=\"refresh\" content=\"2\">"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"><title>capbench</title>"
      "<link rel=\"stylesheet\" href=\"/assets/style.css\"></head><body><main><h1>The store is being read</h1>"
      "<p>capbench has just been started. This page asks again by itself.</p></main></body></html>\n");
  reply.with("Retry-After", "2").with("Cache-Control", "no-store");
  return reply;
}

// Whether the trial or the bundle of a path such as trial/ID.html is in the store.
Result<bool> names_stored(schema::Database& database, std::string_view path) {
  const bool is_trial = path.starts_with("trial/");
  std::string_view id = path.substr(path.find('/') + 1);
  constexpr std::string_view kEnding = ".html";
  if (id.ends_with(kEnding)) id.remove_suffix(kEnding.size());
  if (!is_sha256(id)) return false;
  auto row = database.prepare(is_trial ? "SELECT 1 FROM trial WHERE id = ?" : "SELECT 1 FROM bundle WHERE id = ?");
  if (!row) return row.error();
  return row->bind(id).step();
}

}  // namespace

http::Reply Service::page(const Call& call) {
  const std::string& asked = call.request.head.path;
  if (const auto asset = assets_.find(asked); asset != assets_.end()) return fixed(call, asset->second);
  const std::string path = asked == "/" ? "index.html" : asked.substr(1);
  const Result<std::uint64_t> state = readers_->state();
  if (!state) return store_problem(state.error());
  const Result<SitePages::View> view = site_pages_.current(*state);
  if (!view) return store_problem(view.error());
  if (!view->site) return reading_reply();
  // What is asked of the store itself is good for one state of it, everything else for one reading.
  const bool asks_store = path.starts_with("trial/") || path.starts_with("submission/");
  const std::uint64_t version = asks_store ? *state * 0x9e3779b97f4a7c15U + view->generation : view->generation;
  const std::string key = "page\n" + path;
  const bool compress = takes_gzip(call.request.head.field("accept-encoding"));
  if (MadePtr found = cache_.find(key, version)) {
    if (compress && may_compress(*found)) {
      found = std::make_shared<const Made>(compressed(*found));
      cache_.put(key, found);
    }
    return finish(call, *found);
  }
  Result<std::optional<std::string>> text = site_pages_.render(*view, path);
  if (!text) return store_problem(text.error());
  if (!text->has_value() && asks_store && view->state != *state) {
    // It may have come since. Only for what is there is the store read again.
    const Result<bool> is_there = [&] {
      const Readers::Lease reader = readers_->lend();
      return names_stored(reader->database, path);
    }();
    if (!is_there) return store_problem(is_there.error());
    if (*is_there) {
      text = site_pages_.render(site_pages_.read_again(*state), path);
      if (!text) return store_problem(text.error());
      if (!text->has_value()) return reading_reply();
      return finish(call, make("text/html; charset=utf-8", std::move(**text)));
    }
  }
  if (!text->has_value()) {
    return http::problem(404, request_error("the path", "there is nothing under it",
                                            "begin at /, or see /api/v1/openapi.json, which lists what there is"));
  }
  const bool is_script = path.ends_with(".js");
  auto made = std::make_shared<Made>(
      make(is_script ? "text/javascript; charset=utf-8" : "text/html; charset=utf-8", std::move(**text)));
  if (compress && may_compress(*made)) *made = compressed(std::move(*made));
  made->state = version;
  cache_.put(key, made);
  return finish(call, *made);
}

http::Reply Service::raw(const Call& call) {
  const std::string& digest = call.matched.captured.front();
  if (!is_sha256(digest)) return not_there("raw output");
  const Readers::Lease reader = readers_->lend();
  const Result<bool> withdrawn = is_withdrawn_raw(*reader.operator->(), digest);
  if (!withdrawn) return store_problem(withdrawn.error());
  if (*withdrawn) {
    return http::problem(410, request_error("raw output", "withdrawn by who submitted it", "ask its author"));
  }
  const std::string etag = "\"" + digest + "\"";
  if (names_tag(call.request.head.field("if-none-match"), etag)) return not_modified(etag);
  Result<std::string> bytes = reader->store.blob(digest);
  if (!bytes) {
    if (bytes.error().kind == ErrorKind::kUsage) return not_there("raw output");
    return store_problem(bytes.error());
  }
  // Bytes of strangers: to be saved, never shown as anything.
  http::Reply reply = http::reply(200, "application/octet-stream", std::move(*bytes));
  reply.with("ETag", etag).with("Cache-Control", std::string(kForever));
  reply.with("Content-Disposition", "attachment; filename=\"" + digest.substr(0, 12) + ".txt\"");
  return reply;
}

http::Reply Service::archive(const Call& call) {
  const std::string& id = call.matched.captured.front();
  if (!is_sha256(id)) return not_there("the bundle");
  const Readers::Lease reader = readers_->lend();
  const Result<std::optional<schema::BundleRecord>> record = reader->store.bundle(id);
  if (!record) return store_problem(record.error());
  if (!record->has_value()) return not_there("the bundle");
  if (!(*record)->withdrawn_at.empty()) {
    return http::problem(410, request_error("the bundle", "withdrawn by who submitted it", "ask its author"));
  }
  const std::string etag = "\"" + (*record)->archive_sha256 + "\"";
  if (names_tag(call.request.head.field("if-none-match"), etag)) return not_modified(etag);
  Result<std::optional<std::string>> bytes = reader->store.bundle_archive(id);
  if (!bytes) return store_problem(bytes.error());
  if (!bytes->has_value()) return not_there("the bundle");
  http::Reply reply = http::reply(200, "application/vnd.capbench.bundle", std::move(**bytes));
  // Not for ever: it may be withdrawn.
  reply.with("ETag", etag).with("Cache-Control", "no-cache");
  reply.with("Content-Disposition",
             "attachment; filename=\"" + id.substr(0, 12) + std::string(bundle::kFileExtension) + "\"");
  return reply;
}

http::Reply Service::report(const Call& call) {
  const std::string& kind = call.matched.captured.front();
  const auto kinds = reports::report_kinds();
  if (std::none_of(kinds.begin(), kinds.end(), [&](const auto& known) { return known.name == kind; })) {
    return not_there("the report");
  }
  const std::string asked(parameter(call, "format"));
  const std::string format = asked.empty() ? "json" : asked;
  // A report's own page brings its style along, which the policy of this server's pages forbids.
  const std::string type = format == "json"    ? "application/json"
                           : format == "csv"   ? "text/csv; charset=utf-8"
                           : format == "md"    ? "text/markdown; charset=utf-8"
                           : format == "latex" ? "application/x-latex"
                                               : "";
  if (type.empty()) {
    return http::problem(400, request_error("parameter format", "none of json, csv, md, latex", "give one of them"));
  }
  schema::TrialFilter filter;
  filter.suite = parameter(call, "suite");
  std::optional<http::Reply> refusal;
  http::Reply reply = cached(
      call, type,
      [&](Reader& reader) -> Result<std::optional<std::string>> {
        const Result<std::int64_t> trials = count_trials(reader, filter.suite, options_.report_trials + 1);
        if (!trials) return trials.error();
        if (*trials > options_.report_trials) {
          refusal = http::problem(
              400,
              request_error("the report", "would read more than " + std::to_string(options_.report_trials) + " trials",
                            filter.suite.empty() ? "name a suite: ?suite=ID" : "make it of a copy: `capbench report`"));
          return std::optional<std::string>();
        }
        // Those who wait must not be all the threads there are.
        const Waiting waiting(reporters_);
        if (waiting.count() > static_cast<int>(options_.read_threads) / 2) {
          refusal = http::problem(
              503, {ErrorKind::kMachine, "this server", "makes other reports at the moment", "try again in a moment"});
          refusal->with("Retry-After", "2");
          return std::optional<std::string>();
        }
        const std::lock_guard turn(report_turn_);
        Result<reports::Rendered> rendered = reports::render(reader.store, filter, kind, format);
        if (!rendered) return std::move(rendered).error();
        if (format != "json") return std::optional<std::string>(std::move(rendered->text));
        return std::optional<std::string>(http::safe_json_text(rendered->text));
      },
      kMostReportAge);
  return refusal ? std::move(*refusal) : std::move(reply);
}

}  // namespace capbench::server
