// Service, the writing half.
#include <chrono>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/digest.h"
#include "reports/server/call.h"
#include "reports/server/http/problem.h"
#include "reports/server/outcome.h"
#include "reports/server/service.h"
#include "schema/inbox.h"

namespace capbench::server {
namespace {

using nlohmann::json;

constexpr std::chrono::seconds kOpeningPatience{10};
constexpr std::string_view kReceiptField = "capbench-receipt";
constexpr std::size_t kLongestWhy = 500;

http::Reply busy(std::string cause) {
  http::Reply reply =
      http::problem(503, {ErrorKind::kMachine, "this server", std::move(cause), "try again in a moment"});
  reply.with("Retry-After", "2");
  return reply;
}

// Why a bundle was not taken.
http::Reply refused(const std::string& id, int status, const json& error, json checks) {
  return http::json_reply(status, {{"error", error}, {"id", id}, {"state", "refused"}, {"checks", std::move(checks)}});
}

}  // namespace

http::Reply Service::submit(Call& call) {
  const std::string upload(parameter(call, "upload"));
  const std::string_view receipt_sha256 = call.request.head.field(kReceiptDigestField);
  if (!receipt_sha256.empty() && !is_sha256(receipt_sha256)) {
    return http::problem(400, request_error("Capbench-Receipt-SHA256", "not a SHA-256",
                                            "send the digest of a secret of your own, or leave it out"));
  }
  if (upload.empty()) {
    if (call.request.body.empty()) {
      return http::problem(422, request_error("the body", "empty", "send a bundle: `capbench submit --to URL`"));
    }
    Budget::Share room = opening_.take(opening_cost(call.request.body, options_.bundle), kOpeningPatience);
    if (!room) return busy("other bundles are being looked at");
    return submit_bytes(std::move(call.request.body), "", receipt_sha256, std::move(room));
  }
  if (!is_sha256(upload) || !call.request.body.empty()) {
    return http::problem(400, request_error("parameter upload", "goes with the id of a bundle and an empty body",
                                            "send the bundle's parts first, or the bundle without ?upload"));
  }
  const auto progress = uploads_.progress(upload);
  // How much it unpacks to is not known before it is read; what comes in parts is large, so it has its turn alone.
  Budget::Share room = opening_.take(options_.opening_bytes, kOpeningPatience);
  if (!room) return busy("other bundles are being looked at");
  Result<std::string> archive = uploads_.read(upload);
  if (!archive) {
    if (archive.error().kind != ErrorKind::kUsage) return store_problem(archive.error());
    http::Reply reply = http::problem(progress ? 409 : 404, archive.error());
    if (progress) reply.with("Upload-Offset", std::to_string(progress->offset));
    return reply;
  }
  return submit_bytes(std::move(*archive), upload, receipt_sha256, std::move(room));
}

http::Reply Service::submit_bytes(std::string archive, const std::string& upload, std::string_view receipt_sha256,
                                  Budget::Share room) {
  const auto done = [&](http::Reply reply, std::string_view outcome) {
    if (!outcome.empty()) metrics_.count_submission(outcome);
    // What is wrong stays wrong, and what was acknowledged is in the store.
    if (!upload.empty() && reply.status != 503) uploads_.remove(upload);
    return reply;
  };
  Result<bundle::Opened> opened = bundle::open_bundle(archive, options_.bundle);
  if (!opened) return done(http::problem(422, opened.error()), "unreadable");
  const std::string id = opened->id;
  if (!upload.empty() && id != upload) {
    return done(http::problem(422, request_error("the upload", "is bundle " + id + ", not the one of its path",
                                                 "send it again under its own id")),
                "unreadable");
  }
  // What is known need not be looked at again.
  if (auto reply = known(id, receipt_sha256)) {
    return done(std::move(*reply), reply->status == 200 ? "known" : reply->status == 409 ? "withdrawn" : "");
  }
  if (options_.require == Require::kSignature && opened->signature.empty()) {
    return done(http::problem(403, request_error("the bundle", "is not signed",
                                                 "sign it: `capbench submit --sign KEY --to URL`")),
                "unsigned");
  }
  if (!verifier_->has_room(archive.size())) return busy("it has as many submissions to look at as it takes");

  const std::string receipt = receipt_sha256.empty() ? random_secret() : std::string();
  const std::string digest = receipt_sha256.empty() ? sha256(receipt) : std::string(receipt_sha256);
  const Result<bool> is_new = committer_->write<bool>(
      [&](schema::Store& store) -> Result<bool> { return schema::Inbox(store).put(id, digest, archive); });
  if (!is_new) return store_problem(is_new.error());
  if (!*is_new) {
    if (auto reply = known(id, receipt_sha256)) return done(std::move(*reply), "known");
    return busy("the same bundle came twice at once");
  }
  metrics_.count_submission("acknowledged");
  // An answer with the verdict, if nobody else waits for one.
  std::optional<Decision> decision;
  const std::size_t bytes = archive.size();
  if (verifier_->is_idle()) {
    Verifier::Awaited awaited(*verifier_, id);
    verifier_->add(
        id, bytes,
        std::make_shared<const OpenedBundle>(OpenedBundle{std::move(*opened), std::move(archive), std::move(room)}));
    decision = awaited.wait(options_.verify_wait);
  } else {
    verifier_->add(id, bytes, nullptr);
  }
  const std::string path = "/api/v1/submissions/" + id;
  json said{{"id", id}, {"url", options_.public_url + path}, {"state", "pending"}};
  if (decision) {
    if (decision->status >= 400) {
      return done(refused(id, decision->status, error_json(decision->error), checks_of(decision->verdict)), "");
    }
    said["state"] = "taken";
    said["tier"] = decision->tier;
    said["signer"] = decision->signer;
    said["checks"] = checks_of(decision->verdict);
    said["trials"] = {{"added", decision->added}, {"known", decision->known}};
  }
  if (receipt.empty()) {
    said["yours"] = true;
  } else {
    said["receipt"] = receipt;
  }
  http::Reply reply = http::json_reply(201, said);
  reply.with("Location", path).with("Cache-Control", "no-store");
  return done(std::move(reply), "");
}

// What is said of one that the store has, or that waits to be looked at; nothing if there is none.
std::optional<http::Reply> Service::known(const std::string& id, std::string_view receipt_sha256) {
  const Readers::Lease reader = readers_->lend();
  const Result<Submission> found = find_submission(reader->store, id);
  if (!found) return store_problem(found.error());
  json said{{"id", id}, {"known", true}, {"url", options_.public_url + "/api/v1/submissions/" + id}};
  const auto add_yours = [&](const std::string& held) {
    if (!receipt_sha256.empty()) said["yours"] = held == receipt_sha256;
  };
  if (found->taken) {
    const schema::BundleRecord& held = *found->taken;
    if (!held.withdrawn_at.empty()) return http::problem(409, was_withdrawn(id));
    said["state"] = "taken";
    said["tier"] = held.tier;
    said["checks"] = checks_of(held.verdict);
    add_yours(held.receipt_sha256);
    return http::json_reply(200, said);
  }
  if (!found->waiting || found->waiting->state == schema::InboxState::kRefused) return std::nullopt;
  if (found->waiting->state == schema::InboxState::kWithdrawn) return http::problem(409, was_withdrawn(id));
  said["state"] = "pending";
  add_yours(found->waiting->receipt_sha256);
  return http::json_reply(200, said);
}

http::Reply Service::withdraw(const Call& call) {
  const std::string& id = call.matched.captured.front();
  const auto unknown = [] {
    return http::problem(404, request_error("the submission", "there is none of that id", "look the id up"));
  };
  if (!is_sha256(id)) return unknown();
  const Result<Submission> found = [&] {
    const Readers::Lease reader = readers_->lend();
    return find_submission(reader->store, id);
  }();
  if (!found) return store_problem(found.error());
  if (!found->taken) {
    if (!found->waiting || found->waiting->state == schema::InboxState::kRefused) return unknown();
    return withdraw_pending(call, *found->waiting);
  }
  const schema::BundleRecord& record = *found->taken;
  const std::string_view receipt = call.request.head.field(kReceiptField);
  std::string who;
  if (!receipt.empty()) {
    if (!record.receipt_sha256.empty() && sha256(receipt) == record.receipt_sha256) who = "whoever submitted it";
  } else if (!call.request.body.empty()) {
    const Result<std::string> signer = options_.judges.withdrawal_signer(id, call.request.body);
    if (!signer && signer.error().kind == ErrorKind::kMachine) return store_problem(signer.error());
    if (!signer) return http::problem(403, signer.error());
    if (!record.signer.empty() && *signer == record.signer) who = "its signer";
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
  verifier_->compare_later(id);
  return http::json_reply(
      200, {{"id", id}, {"withdrawn", true}, {"already", !record.withdrawn_at.empty()}, {"excluded", *excluded}});
}

// One that nobody has looked at yet: nothing of it is shown anywhere, and nothing will be.
http::Reply Service::withdraw_pending(const Call& call, const schema::InboxEntry& entry) {
  const auto later = [](std::string cause) {
    http::Reply reply = http::problem(409, request_error("the submission", std::move(cause), "try again in a moment"));
    reply.with("Retry-After", "2");
    return reply;
  };
  const std::string_view receipt = call.request.head.field(kReceiptField);
  if (receipt.empty()) return later("has yet to be looked at, its signature too; a receipt withdraws it now");
  if (entry.receipt_sha256.empty() || sha256(receipt) != entry.receipt_sha256) {
    return http::problem(403, request_error("the withdrawal", "that is not the receipt of this submission",
                                            "use what the submission was answered with"));
  }
  const bool already = entry.state == schema::InboxState::kWithdrawn;
  if (!already) {
    const std::string_view why = parameter(call, "why");
    const json outcome{{"why", std::string(why.substr(0, kLongestWhy))}};
    const std::string text = outcome.dump(-1, ' ', false, json::error_handler_t::replace);
    const Result<bool> withdrawn = committer_->write<bool>(
        [&](schema::Store& store) -> Result<bool> { return schema::Inbox(store).withdraw(entry.id, text); });
    if (!withdrawn) return store_problem(withdrawn.error());
    if (!*withdrawn) return later("is being looked at");
  }
  return http::json_reply(200, {{"id", entry.id}, {"withdrawn", true}, {"already", already}, {"excluded", 0}});
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
