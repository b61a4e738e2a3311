#include "reports/server/service.h"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <utility>

#include "base/digest.h"
#include "reports/server/call.h"
#include "reports/server/embedded.h"
#include "reports/server/http/problem.h"
#include "schema/address.h"

namespace capbench::server {
namespace {

constexpr std::size_t kReadersOfSubmissions = 2;          // they look up one bundle each
constexpr std::size_t kMostWithdrawalBytes = 16U << 10U;  // of a signature

// Beside the store's file. Of a server's store: where this user's data lie, one for all servers of this machine.
std::filesystem::path uploads_folder(std::filesystem::path db) {
  if (schema::is_address(db.native())) {
    const auto data = schema::default_store_path(std::getenv("XDG_DATA_HOME"), std::getenv("HOME")).parent_path();
    return data / ("server-" + sha256(schema::shown(db.native())).substr(0, 16) + ".uploads");
  }
  db += ".uploads";
  return db;
}

std::string joined(const std::vector<std::string_view>& words) {
  std::string text;
  for (const std::string_view word : words) text += (text.empty() ? "" : ", ") + std::string(word);
  return text;
}

http::Reply wait_reply(std::chrono::seconds wait) {
  http::Reply reply =
      http::problem(429, request_error("the rate of requests", "more than one client may send",
                                       "wait " + std::to_string(wait.count()) + " s, as Retry-After says"));
  reply.with("Retry-After", std::to_string(std::max<std::int64_t>(wait.count(), 1)));
  return reply;
}

// The media type without its parameters, in lower case.
std::string media_type(std::string_view field) {
  std::string type(field.substr(0, field.find(';')));
  while (!type.empty() && type.back() == ' ') type.pop_back();
  for (char& c : type) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return type;
}

}  // namespace

// There is no Cross-Origin-Opener-Policy: nobody is logged in here, so there is nothing to keep from the page that
// opened this one, and a browser would begin each visit with a new process for it, a tenth of a second.
std::vector<http::Field> security_fields() {
  return {
      {"Content-Security-Policy",
       "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; base-uri 'none'; form-action 'none'; "
       "frame-ancestors 'none'"},
      {"X-Content-Type-Options", "nosniff"},
      {"X-Frame-Options", "DENY"},
      {"Referrer-Policy", "no-referrer"}};
}

Result<std::unique_ptr<Service>> Service::open(Options options) {
  std::unique_ptr<Committer> committer;
  if (!options.read_only) {
    Result<std::unique_ptr<Committer>> opened = Committer::open(options.db);
    if (!opened) return std::move(opened).error();
    committer = std::move(*opened);
  }
  Result<std::unique_ptr<Readers>> readers =
      Readers::open(options.db, options.read_threads + options.verify_threads + kReadersOfSubmissions);
  if (!readers) return std::move(readers).error();
  return std::make_unique<Service>(std::move(options), std::move(*readers), std::move(committer));
}

Service::Service(Options options, std::unique_ptr<Readers> readers, std::unique_ptr<Committer> committer)
    : options_(std::move(options)),
      readers_(std::move(readers)),
      committer_(std::move(committer)),
      uploads_(uploads_folder(options_.db), options_.uploads, options_.bundle.archive_bytes),
      cache_(options_.cache_bytes),
      submission_rate_(options_.submissions),
      read_rate_(options_.reads),
      opening_(options_.opening_bytes),
      openapi_(std::make_shared<const Made>(compressed(make("application/json", std::string(kOpenApi))))),
      site_pages_(options_.db, options_.log),
      verifier_(committer_ ? std::make_unique<Verifier>(options_, *committer_, *readers_, opening_, metrics_)
                           : nullptr) {
  for (const site::Asset& asset : site::assets()) {
    assets_["/" + std::string(asset.path)] =
        std::make_shared<const Made>(compressed(make(std::string(asset.type), std::string(asset.bytes))));
  }
}

void Service::begin_reading() {
  if (const Result<std::uint64_t> state = readers_->state()) site_pages_.begin(*state);
}

std::string Service::client_address(const http::Head& head, std::string_view peer) const {
  if (!options_.trust_proxy) return client_key(peer);
  // The last entry is what our proxy saw; those in front of it are what the client claims.
  std::string_view list;
  for (const http::Field& field : head.fields) {
    if (field.name == "x-forwarded-for") list = field.value;
  }
  const std::size_t comma = list.rfind(',');
  if (comma != std::string_view::npos) list.remove_prefix(comma + 1);
  while (!list.empty() && list.front() == ' ') list.remove_prefix(1);
  return client_key(list.empty() ? peer : list.substr(0, 64));
}

std::size_t Service::lane(const http::Head& head) const {
  return head.method == "GET" || head.method == "HEAD" ? kReadLane : kSubmissionLane;
}

std::optional<http::Reply> Service::admit(const http::Head& head, std::string_view address) {
  const Matched matched = match(head.method, head.path);
  const auto counted = [&](http::Reply reply) {
    metrics_.observe(head.method.size() < 8 ? head.method : "other",
                     matched.route == nullptr ? "none" : matched.route->pattern, reply.status,
                     std::chrono::duration<double>(0));
    return std::optional<http::Reply>(std::move(reply));
  };
  const std::string client = client_address(head, address);
  RateLimit& rate = matched.route != nullptr && matched.route->writes ? submission_rate_ : read_rate_;
  // The parts of an upload are counted with the submission they are for: their number and size have limits of their
  // own.
  const bool is_part = matched.route != nullptr && matched.route->resource == Resource::kPutPart;
  if (const auto wait = (is_part ? read_rate_ : rate).take(client)) return counted(wait_reply(*wait));
  if (matched.route == nullptr) {
    if (matched.allowed.empty()) {
      return counted(http::problem(404, request_error("the path", "there is nothing under it",
                                                      "see /api/v1/openapi.json, which lists what there is")));
    }
    http::Reply reply =
        http::problem(405, request_error("the method", "not one for this path", "use " + joined(matched.allowed)));
    reply.with("Allow", joined(matched.allowed));
    return counted(std::move(reply));
  }
  for (const http::Field& given : head.query) {
    const auto& known = matched.route->parameters;
    if (std::find(known.begin(), known.end(), given.name) == known.end()) {
      return counted(http::problem(400, request_error("parameter " + given.name, "not one of this path",
                                                      known.empty() ? "leave it out" : "use " + joined(known))));
    }
    const auto same = [&](const http::Field& other) { return other.name == given.name; };
    if (std::count_if(head.query.begin(), head.query.end(), same) > 1) {
      return counted(http::problem(400, request_error("parameter " + given.name, "given twice", "give it once")));
    }
  }
  if (matched.route->writes) {
    if (std::optional<http::Reply> refusal = admit_writer(head)) return counted(std::move(*refusal));
  }
  if (std::optional<http::Reply> refusal = admit_body(head, *matched.route)) return counted(std::move(*refusal));
  return std::nullopt;
}

std::optional<http::Reply> Service::admit_writer(const http::Head& head) const {
  if (options_.read_only) {
    return http::problem(
        403, request_error("this server", "takes no submissions: it is served read-only", "submit to another one"));
  }
  const std::string digest = bearer_digest(head.field("authorization"));
  const bool has_token = !digest.empty() && options_.tokens.find(digest) != options_.tokens.end();
  if (options_.require == Require::kToken && !has_token) {
    http::Reply reply =
        http::problem(digest.empty() ? 401 : 403,
                      request_error("the token", digest.empty() ? "missing" : "not one that this server knows",
                                    "send `Authorization: Bearer TOKEN` with one that you were given"));
    if (digest.empty()) reply.with("WWW-Authenticate", "Bearer realm=\"capbench\"");
    return reply;
  }
  return std::nullopt;
}

std::optional<http::Reply> Service::admit_body(const http::Head& head, const Route& route) const {
  if (!route.writes) {
    if (head.content_length == 0) return std::nullopt;
    return http::problem(400, request_error("the body", "this request takes none", "leave it out"));
  }
  if (route.resource == Resource::kWithdraw) {
    if (head.content_length <= kMostWithdrawalBytes) return std::nullopt;
    return http::problem(413, request_error("the body", "longer than a signature", "send only the signature"));
  }
  const bool is_uploaded =
      std::any_of(head.query.begin(), head.query.end(), [](const auto& f) { return f.name == "upload"; });
  if (head.field("content-length").empty() && !is_uploaded) {
    return http::problem(411, request_error("Content-Length", "missing", "send the body's size"));
  }
  const std::string type = media_type(head.field("content-type"));
  if (head.content_length > 0 && !type.empty() && type != "application/octet-stream" && type != "application/zstd" &&
      type != "application/vnd.capbench.bundle") {
    return http::problem(415,
                         request_error("Content-Type", "not that of a bundle", "send application/vnd.capbench.bundle"));
  }
  if (route.resource == Resource::kPutPart && head.content_length > options_.uploads.part_bytes) {
    return http::problem(413, request_error("the part",
                                            std::to_string(head.content_length) + " bytes, more than " +
                                                std::to_string(options_.uploads.part_bytes),
                                            "send smaller parts"));
  }
  if (head.content_length > options_.bundle.archive_bytes) {
    return http::problem(413, request_error("the bundle",
                                            std::to_string(head.content_length) + " bytes, more than " +
                                                std::to_string(options_.bundle.archive_bytes),
                                            "submit less at once, or without raw output"));
  }
  return std::nullopt;
}

http::Reply Service::handle(http::Request& request) {
  const auto start = std::chrono::steady_clock::now();
  Call call{request, match(request.head.method, request.head.path)};
  if (call.matched.route == nullptr) {
    return http::problem(404, request_error("the path", "there is nothing under it", "see /api/v1/openapi.json"));
  }
  http::Reply reply;
  if (call.matched.route->writes) {
    const std::string digest = bearer_digest(request.head.field("authorization"));
    const bool known = !digest.empty() && options_.tokens.find(digest) != options_.tokens.end();
    const auto wait = known && call.matched.route->resource != Resource::kPutPart
                          ? submission_rate_.take("token " + digest)
                          : std::nullopt;
    reply = wait ? wait_reply(*wait) : dispatch(call);
  } else {
    reply = dispatch(call);
  }
  const std::string_view path = request.head.path;
  if (path.substr(0, 5) == "/api/") {
    // What anybody may read, any page may read.
    reply.with("Cross-Origin-Resource-Policy", "cross-origin");
    if (!call.matched.route->writes) reply.with("Access-Control-Allow-Origin", "*");
  } else {
    reply.with("Cross-Origin-Resource-Policy", "same-origin");
  }
  metrics_.observe(request.head.method, call.matched.route->pattern, reply.status,
                   std::chrono::steady_clock::now() - start);
  return reply;
}

http::Reply Service::dispatch(Call& call) {
  switch (call.matched.route->resource) {
    case Resource::kPage:
      return page(call);
    case Resource::kOpenApi:
      return fixed(call, openapi_);
    case Resource::kHealth:
      return health();
    case Resource::kMetrics:
      return metrics_text();
    case Resource::kSubmit:
      return submit(call);
    case Resource::kWithdraw:
      return withdraw(call);
    case Resource::kPutPart:
      return put_part(call);
    case Resource::kUpload:
      return upload_progress(call);
    case Resource::kArchive:
      return archive(call);
    case Resource::kRaw:
      return raw(call);
    case Resource::kReport:
      return report(call);
    case Resource::kSubmission:
    case Resource::kSuite:
    case Resource::kEnvironment:
    case Resource::kTrial:
      return one(call);
    case Resource::kSuites:
    case Resource::kMachines:
    case Resource::kTrials:
    case Resource::kBundles:
      return list(call);
  }
  return http::problem(404, request_error("the path", "there is nothing under it", "see /api/v1/openapi.json"));
}

std::string_view Service::parameter(const Call& call, std::string_view name) const {
  for (const http::Field& field : call.request.head.query) {
    if (field.name == name) return field.value;
  }
  return {};
}

}  // namespace capbench::server
