// Service, the writing half.
#include <zstd.h>

#include <chrono>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/digest.h"
#include "reports/server/call.h"
#include "reports/server/http/problem.h"
#include "reports/server/service.h"
#include "schema/bundle/exchange.h"

namespace capbench::server {
namespace {

using nlohmann::json;

constexpr std::chrono::seconds kOpeningPatience{10};
constexpr std::string_view kReceiptField = "capbench-receipt";
constexpr std::size_t kMostFailuresTold = 20;
constexpr std::size_t kLongestWhy = 500;

// What opening it will take: the text, the records made of it and what is between them.
std::uint64_t opening_cost(std::string_view archive, const bundle::Limits& limits) {
  const unsigned long long stated = ZSTD_getFrameContentSize(archive.data(), archive.size());
  const bool is_known = stated != ZSTD_CONTENTSIZE_UNKNOWN && stated != ZSTD_CONTENTSIZE_ERROR;
  const std::uint64_t unpacked = is_known ? std::min<std::uint64_t>(stated, limits.unpacked_bytes) : 0;
  return 3 * unpacked + (64U << 10U);
}

http::Reply busy(std::string cause) {
  http::Reply reply =
      http::problem(503, {ErrorKind::kMachine, "this server", std::move(cause), "try again in a moment"});
  reply.with("Retry-After", "2");
  return reply;
}

json checks_of(const std::string& verdict) {
  json parsed = json::parse(verdict, nullptr, false);
  if (!parsed.is_object() || !parsed.contains("checks")) return json::array();
  return std::move(parsed["checks"]);
}

http::Reply failed_checks(const bundle::Opened& opened, const Judgement& judgement) {
  std::string cause;
  for (std::size_t i = 0; i < judgement.failures.size() && i < kMostFailuresTold; ++i) {
    cause += (i == 0 ? "" : "; ") + judgement.failures[i];
  }
  if (judgement.failures.size() > kMostFailuresTold) cause += "; and more";
  const json error{{"name", "bundle " + opened.id.substr(0, 12)},
                   {"cause", "does not prove itself: " + cause},
                   {"remedy", "`capbench verify FILE` shows every check; make the bundle again from the store"}};
  return http::json_reply(422, {{"error", error}, {"id", opened.id}, {"checks", checks_of(judgement.verdict)}});
}

}  // namespace

http::Reply Service::submit(Call& call) {
  const std::string upload(parameter(call, "upload"));
  if (upload.empty()) {
    if (call.request.body.empty()) {
      return http::problem(422, request_error("the body", "empty", "send a bundle: `capbench submit --to URL`"));
    }
    const Budget::Share room = opening_.take(opening_cost(call.request.body, options_.bundle), kOpeningPatience);
    if (!room) return busy("other bundles are being looked at");
    return submit_bytes(call.request.body, "");
  }
  if (!is_sha256(upload) || !call.request.body.empty()) {
    return http::problem(400, request_error("parameter upload", "goes with the id of a bundle and an empty body",
                                            "send the bundle's parts first, or the bundle without ?upload"));
  }
  const auto progress = uploads_.progress(upload);
  // How much it unpacks to is not known before it is read; what comes in parts is large, so it has its turn alone.
  const Budget::Share room = opening_.take(options_.opening_bytes, kOpeningPatience);
  if (!room) return busy("other bundles are being looked at");
  const Result<std::string> archive = uploads_.read(upload);
  if (!archive) {
    if (archive.error().kind != ErrorKind::kUsage) return store_problem(archive.error());
    http::Reply reply = http::problem(progress ? 409 : 404, archive.error());
    if (progress) reply.with("Upload-Offset", std::to_string(progress->offset));
    return reply;
  }
  return submit_bytes(*archive, upload);
}

http::Reply Service::submit_bytes(const std::string& archive, const std::string& upload) {
  const auto done = [&](http::Reply reply, std::string_view outcome) {
    metrics_.count_submission(outcome);
    // What is wrong stays wrong, and what was taken is in the store.
    if (!upload.empty() && reply.status != 503) uploads_.remove(upload);
    return reply;
  };
  const Result<bundle::Opened> opened = bundle::open_bundle(archive, options_.bundle);
  if (!opened) return done(http::problem(422, opened.error()), "unreadable");
  if (!upload.empty() && opened->id != upload) {
    return done(http::problem(422, request_error("the upload", "is bundle " + opened->id + ", not the one of its path",
                                                 "send it again under its own id")),
                "unreadable");
  }
  {
    // What is known need not be judged again.
    const Readers::Lease reader = readers_->lend();
    const Result<std::optional<schema::BundleRecord>> record = reader->store.bundle(opened->id);
    if (!record) return store_problem(record.error());
    if (record->has_value()) {
      if ((*record)->withdrawn_at.empty()) return done(known(opened->id, (*record)->tier, (*record)->verdict), "known");
      return done(
          http::problem(409, request_error("bundle " + opened->id, "was withdrawn", "measure anew and submit that")),
          "withdrawn");
    }
  }
  if (options_.require == Require::kSignature && opened->signature.empty()) {
    return done(http::problem(403, request_error("the bundle", "is not signed",
                                                 "sign it: `capbench submit --sign KEY --to URL`")),
                "unsigned");
  }
  const Result<Judgement> judgement = options_.judges.judge(*opened);
  if (!judgement) {
    if (judgement.error().kind == ErrorKind::kMachine) return store_problem(judgement.error());
    return done(http::problem(422, judgement.error()), "refused");
  }
  if (judgement->failed) return done(failed_checks(*opened, *judgement), "refused");
  if (options_.require == Require::kSignature && judgement->signer.empty()) {
    return done(http::problem(403, request_error("the bundle", "its signature could not be checked", "sign it again")),
                "unsigned");
  }

  const std::string receipt = random_secret();
  bundle::Provenance provenance;
  provenance.signer = judgement->signer;
  provenance.tier = judgement->tier;
  provenance.verdict = judgement->verdict;
  provenance.receipt_sha256 = sha256(receipt);
  provenance.record_own = true;
  // Compressing needs no store, so it is done before the one writer's turn.
  const Result<bundle::Prepared> prepared = bundle::prepare(*opened, archive);
  if (!prepared) return store_problem(prepared.error());
  const Result<bundle::IngestOutcome> outcome =
      committer_->write<bundle::IngestOutcome>([&](schema::Store& store) -> Result<bundle::IngestOutcome> {
        return bundle::ingest(store, *opened, archive, provenance, *prepared);
      });
  if (!outcome) return store_problem(outcome.error());
  using Kind = bundle::IngestOutcome::Kind;
  switch (outcome->kind) {
    case Kind::kKnown:
      return done(known(opened->id, judgement->tier, judgement->verdict), "known");
    case Kind::kWithdrawn:
      return done(
          http::problem(409, request_error("bundle " + opened->id, "was withdrawn", "measure anew and submit that")),
          "withdrawn");
    case Kind::kConflict:
      return done(http::problem(409, outcome->conflict), "conflict");
    case Kind::kAdded:
    case Kind::kOwn:
      break;
  }
  const std::string path = "/api/v1/submissions/" + opened->id;
  http::Reply reply = http::json_reply(201, {{"id", opened->id},
                                             {"receipt", receipt},
                                             {"tier", judgement->tier},
                                             {"signer", judgement->signer},
                                             {"checks", checks_of(judgement->verdict)},
                                             {"trials", {{"added", outcome->added}, {"known", outcome->known}}},
                                             {"url", options_.public_url + path}});
  reply.with("Location", path).with("Cache-Control", "no-store");
  return done(std::move(reply), "added");
}

http::Reply Service::known(const std::string& id, const std::string& tier, const std::string& verdict) const {
  return http::json_reply(200, {{"id", id},
                                {"tier", tier},
                                {"checks", checks_of(verdict)},
                                {"known", true},
                                {"url", options_.public_url + "/api/v1/submissions/" + id}});
}

http::Reply Service::withdraw(const Call& call) {
  const std::string& id = call.matched.captured.front();
  const auto unknown = [] {
    return http::problem(404, request_error("the submission", "there is none of that id", "look the id up"));
  };
  if (!is_sha256(id)) return unknown();
  std::optional<schema::BundleRecord> record;
  {
    const Readers::Lease reader = readers_->lend();
    Result<std::optional<schema::BundleRecord>> found = reader->store.bundle(id);
    if (!found) return store_problem(found.error());
    record = std::move(*found);
  }
  if (!record) return unknown();
  const std::string_view receipt = call.request.head.field(kReceiptField);
  std::string who;
  if (!receipt.empty()) {
    if (!record->receipt_sha256.empty() && sha256(receipt) == record->receipt_sha256) who = "whoever submitted it";
  } else if (!call.request.body.empty()) {
    const Result<std::string> signer = options_.judges.withdrawal_signer(id, call.request.body);
    if (!signer && signer.error().kind == ErrorKind::kMachine) return store_problem(signer.error());
    if (!signer) return http::problem(403, signer.error());
    if (!record->signer.empty() && *signer == record->signer) who = "its signer";
  } else {
    return http::problem(401, request_error("the withdrawal", "neither receipt nor signature",
                                            "send the receipt as Capbench-Receipt, or the signature as the body"));
  }
  if (who.empty()) {
    return http::problem(403, request_error("the withdrawal", "that is not the receipt or signer of this submission",
                                            "use what the submission was answered or signed with"));
  }
  const std::string_view why = parameter(call, "why");
  const std::string reason = "by " + who + (why.empty() ? "" : ": " + std::string(why.substr(0, kLongestWhy)));
  const Result<std::int64_t> excluded = committer_->write<std::int64_t>(
      [&](schema::Store& store) -> Result<std::int64_t> { return store.withdraw_bundle(id, reason); });
  if (!excluded) return store_problem(excluded.error());
  return http::json_reply(
      200, {{"id", id}, {"withdrawn", true}, {"already", !record->withdrawn_at.empty()}, {"excluded", *excluded}});
}

http::Reply Service::put_part(const Call& call) {
  const std::string& id = call.matched.captured.front();
  if (!is_sha256(id)) {
    return http::problem(400, request_error("the upload", "its name is not a bundle's id", "use the bundle's id"));
  }
  const auto range = parse_content_range(call.request.head.field("content-range"));
  if (!range) {
    return http::problem(400, request_error("Content-Range", "missing, or not `bytes A-B/TOTAL`",
                                            "say which bytes of the bundle these are"));
  }
  const Uploads::Answer answer = uploads_.put(id, *range, call.request.body);
  http::Reply reply;
  if (answer.status == 0) {
    reply.status = 204;
  } else {
    reply = http::problem(answer.status, answer.error);
    if (answer.status == 503) reply.with("Retry-After", "60");
  }
  if (answer.status == 0 || answer.status == 409) reply.with("Upload-Offset", std::to_string(answer.offset));
  return reply;
}

http::Reply Service::upload_progress(const Call& call) {
  const std::string& id = call.matched.captured.front();
  const auto progress = is_sha256(id) ? uploads_.progress(id) : std::nullopt;
  if (!progress) {
    return http::problem(404, request_error("the upload", "there is none of that id", "begin with its first part"));
  }
  http::Reply reply;
  reply.with("Upload-Offset", std::to_string(progress->offset))
      .with("Upload-Length", std::to_string(progress->total))
      .with("Cache-Control", "no-store");
  return reply;
}

}  // namespace capbench::server
