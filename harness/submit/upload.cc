#include "harness/submit/upload.h"

#include <algorithm>
#include <charconv>
#include <nlohmann/json.hpp>
#include <optional>
#include <random>
#include <thread>

#include "base/digest.h"
#include "base/utf8.h"

namespace capbench::submit {
namespace {

using nlohmann::json;
using std::chrono::milliseconds;

constexpr const char* kSubmissions = "/api/v1/submissions";
constexpr const char* kUploads = "/api/v1/uploads/";
constexpr const char* kBundleType = "application/vnd.capbench.bundle";

// A server's words, for a terminal: one line without control characters.
std::string shown(std::string_view text, std::size_t longest = 400) {
  std::string result = to_utf8(text.substr(0, longest));
  std::replace_if(
      result.begin(), result.end(), [](char c) { return static_cast<unsigned char>(c) < ' ' || c == '\x7F'; }, ' ');
  return result;
}

std::string text_of(const json& object, const char* key) {
  if (!object.is_object()) return "";
  const auto it = object.find(key);
  return it != object.end() && it->is_string() ? shown(it->get_ref<const std::string&>()) : "";
}

std::optional<std::uint64_t> whole_number(std::string_view text) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (text.empty() || error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

bool is_visible_ascii(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) { return c > ' ' && c < '\x7F'; });
}

std::string percent_encoded(std::string_view text) {
  constexpr std::string_view kDigits = "0123456789ABCDEF";
  std::string out;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
                       c == '.' || c == '_' || c == '~';
    if (plain) {
      out += c;
    } else {
      out += '%';
      out += kDigits[byte >> 4U];
      out += kDigits[byte & 0xFU];
    }
  }
  return out;
}

// Trying again may help: no answer, a limit on the rate, trouble of the server itself.
bool is_passing(const HttpAnswer& answer) {
  switch (answer.status) {
    case 0:
      return !answer.untrusted;
    case 408:
    case 429:
    case 500:
    case 502:
    case 503:
    case 504:
      return true;
    default:
      return false;
  }
}

// The answer may have got lost behind work that was done.
bool may_be_done(const HttpAnswer& answer) {
  return answer.status == 0 || answer.status == 500 || answer.status == 502 || answer.status == 504;
}

bool has_no_such_thing(const HttpAnswer& answer) {
  return answer.status == 404 || answer.status == 405 || answer.status == 501;
}

// {"error":{"name","cause","remedy"}}, as far as it is that.
Error words_of(const HttpAnswer& answer) {
  Error error{ErrorKind::kFinding, "", "", ""};
  const json whole = json::parse(answer.body, nullptr, false);
  if (!whole.is_object() || !whole.contains("error")) return error;
  const json& inner = whole["error"];
  if (inner.is_string()) {
    error.cause = shown(inner.get_ref<const std::string&>());
  } else {
    error.what = text_of(inner, "name");
    error.cause = text_of(inner, "cause");
    error.remedy = text_of(inner, "remedy");
  }
  return error;
}

class Conversation {
 public:
  Conversation(const ServerAddress& server, std::string_view id, const UploadOptions& options)
      : server_(server), id_(id), options_(options), client_(server, options.limits) {}

  // A wrong one is named before anything is sent.
  Status check() const {
    if (!is_sha256(id_)) {
      return Error{ErrorKind::kUsage, "id '" + shown(id_, 80) + "'", "not 64 hexadecimal digits",
                   "the id that `capbench submit` printed; it is in receipts.json too"};
    }
    if (options_.token.empty()) return {};
    if (!is_visible_ascii(options_.token)) {
      return Error{ErrorKind::kUsage, "token", "has a space or a byte that no token has", "check the token's file"};
    }
    if (server_.is_private()) return {};
    return Error{ErrorKind::kUsage, server_.text(), "a token would be sent in the clear", "https://" + server_.host};
  }

  HttpAnswer ask(const std::string& method, const std::string& path, HttpClient::Headers headers = {},
                 std::string_view body = {}) {
    if (!options_.token.empty()) headers.emplace_back("Authorization", "Bearer " + options_.token);
    return client_.send(method, path, headers, body);
  }

  // Until the answer is one that stays. Only for what may be asked twice.
  Result<HttpAnswer> ask_patiently(const std::string& method, const std::string& path,
                                   const HttpClient::Headers& headers = {}, std::string_view body = {}) {
    for (;;) {
      HttpAnswer answer = ask(method, path, headers, body);
      if (!is_passing(answer)) return answer;
      if (Status status = pause(answer); !status) return std::move(status).error();
    }
  }

  // Waits before another attempt; an error if there were too many.
  Status pause(const HttpAnswer& answer) {
    if (answer.untrusted || ++failures_ >= options_.attempts) return failure(answer);
    milliseconds wait = backoff();
    if (const auto asked = whole_number(answer.header("Retry-After"))) {
      const auto most = std::chrono::duration_cast<std::chrono::seconds>(options_.longest_asked_wait).count();
      if (*asked > static_cast<std::uint64_t>(most)) {
        Error error = failure(answer);
        error.cause += ", and asks to come back in " + std::to_string(*asked) + " s";
        return error;
      }
      wait = std::max(wait, milliseconds(1000 * *asked));
    }
    note(server_.text() + ": " + reason(answer) + "; again in " + seconds(wait) + " s");
    return sleep(wait);
  }

  void gained() { failures_ = 0; }

  // Between two questions that are answered.
  Status rest(milliseconds wait) { return sleep(wait); }

  void note(const std::string& what) const {
    if (options_.note) options_.note(what);
  }

  Status progress(std::uint64_t done, std::uint64_t total) {
    done_ = done;
    total_ = total;
    if (!options_.progress || options_.progress(done, total)) return {};
    return Error{ErrorKind::kInterrupted, server_.text(), "stopped with " + std::to_string(done) + " bytes there",
                 "the same command, which goes on from there"};
  }

  // What an answer means that is none of those hoped for.
  Error failure(const HttpAnswer& answer) const {
    Error error = words_of(answer);
    const std::string named = error.what.empty() ? "" : error.what + ": ";
    error.cause = reason_with(answer, error.cause.empty() ? "" : named + error.cause);
    error.what = server_.text();
    set_kind(answer, error);
    return error;
  }

  std::string server() const { return server_.text(); }

  Error odd(std::string cause) const {
    return {ErrorKind::kMachine, server_.text(), std::move(cause),
            "check that this is a capbench server, and up to date"};
  }

 private:
  static std::string reason_with(const HttpAnswer& answer, const std::string& words) {
    if (answer.status == 0) return answer.why;
    std::string text = "answers " + std::to_string(answer.status);
    return words.empty() ? text : text + " (" + words + ")";
  }

  static std::string reason(const HttpAnswer& answer) {
    const Error words = words_of(answer);
    return reason_with(answer, words.cause);
  }

  static void set_kind(const HttpAnswer& answer, Error& error) {
    const auto remedy = [&](std::string_view text) {
      if (error.remedy.empty()) error.remedy = text;
    };
    switch (answer.status) {
      case 0:
        error.kind = ErrorKind::kMachine;
        remedy(answer.untrusted
                   ? "check the address; $SSL_CERT_FILE names further authorities"
                   : "check the address and the network, then the same command: it goes on where it was cut");
        return;
      case 401:
        error.kind = ErrorKind::kUsage;
        error.remedy = "--token-file F or $CAPBENCH_TOKEN, with a token of that server";
        return;
      case 403:
        error.kind = ErrorKind::kUsage;
        remedy("ask whoever runs the server what it takes; --token-file F, if it is a token");
        return;
      case 404:
      case 405:
        error.kind = ErrorKind::kUsage;
        remedy("check the address: no results server answers there");
        return;
      case 409:
        remedy("`capbench verify` on the file; the server has other results under the same names");
        return;
      case 413:
        remedy("fewer trials in one bundle: --suite or --run");
        return;
      case 408:
      case 429:
      case 500:
      case 502:
      case 503:
      case 504:
        error.kind = ErrorKind::kMachine;
        remedy("the same command later");
        return;
      default:
        break;
    }
    if (answer.status >= 300 && answer.status < 400) {
      error.kind = ErrorKind::kUsage;
      const std::string where = shown(answer.header("Location"), 200);
      error.remedy = where.empty() ? "the address that it has moved to" : "the address that it points to: " + where;
    }
    remedy("`capbench verify` on the file, which names what is wrong with it");
  }

  milliseconds backoff() {
    milliseconds wait = options_.first_wait;
    for (int i = 1; i < failures_ && wait < options_.longest_wait; ++i) wait *= 2;
    wait = std::min(wait, options_.longest_wait);
    // Many clients that were turned away together should not come back together.
    return wait + milliseconds(std::uniform_int_distribution<milliseconds::rep>(0, wait.count() / 4)(random_));
  }

  static std::string seconds(milliseconds wait) {
    const auto tenths = (wait.count() + 99) / 100;
    return std::to_string(tenths / 10) + "." + std::to_string(tenths % 10);
  }

  Status sleep(milliseconds wait) {
    constexpr milliseconds kStep{100};
    while (wait.count() > 0) {
      std::this_thread::sleep_for(std::min(wait, kStep));
      wait -= kStep;
      if (Status status = progress(done_, total_); !status) return status;
    }
    return {};
  }

  const ServerAddress& server_;
  const std::string id_;
  const UploadOptions& options_;
  HttpClient client_;
  int failures_ = 0;
  std::uint64_t done_ = 0;
  std::uint64_t total_ = 0;
  std::minstd_rand random_{std::random_device{}()};
};

class Uploading {
 public:
  Uploading(const ServerAddress& server, std::string_view id, std::string_view archive, const UploadOptions& options)
      : conversation_(server, id, options),
        options_(options),
        id_(id),
        archive_(archive),
        part_(std::max<std::size_t>(options.part_bytes, 1)) {}

  Result<Submission> run() {
    if (Status status = conversation_.check(); !status) return std::move(status).error();
    if (Status status = conversation_.progress(0, archive_.size()); !status) return std::move(status).error();
    auto known = ask_known();
    if (!known) return std::move(known).error();
    if (*known) return with_verdict(std::move(**known));
    auto sent = send();
    return sent ? with_verdict(std::move(*sent)) : std::move(sent);
  }

 private:
  Result<Submission> send() {
    if (archive_.size() <= part_) return send_whole();
    auto offset = ask_offset();
    if (!offset) return std::move(offset).error();
    if (!*offset) return send_whole();
    return send_parts(**offset);
  }

  // What the server thinks of one that it took unseen, if it says so in time.
  Result<Submission> with_verdict(Submission submission) {
    milliseconds wait{100};
    milliseconds left = options_.verdict_wait;
    if (submission.pending && left.count() > 0) conversation_.note("the server has it, and looks at it now");
    while (submission.pending && left.count() > 0) {
      if (Status status = conversation_.rest(std::min(wait, left)); !status) return std::move(status).error();
      left -= wait;
      wait = std::min<milliseconds>(2 * wait, milliseconds(2000));
      auto answer = conversation_.ask_patiently("GET", path_of_submission(), receipt_field());
      if (!answer) return std::move(answer).error();
      if (answer->status != 200) return conversation_.failure(*answer);
      if (state_of(*answer) == "refused") return refusal(*answer);
      auto read_again = read(*answer);
      if (!read_again) return read_again;
      submission.pending = read_again->pending;
      submission.tier = std::move(read_again->tier);
      submission.checks = std::move(read_again->checks);
    }
    return submission;
  }

  static std::string state_of(const HttpAnswer& answer) {
    return text_of(json::parse(answer.body, nullptr, false), "state");
  }

  // In the server's words.
  Error refusal(const HttpAnswer& answer) const {
    Error error = words_of(answer);
    error.cause = "refuses it: " + (error.what.empty() ? "" : error.what + ": ") + error.cause;
    error.what = conversation_.server();
    if (error.remedy.empty()) error.remedy = "`capbench verify` on the file, which names what is wrong with it";
    return error;
  }

  HttpClient::Headers receipt_field() const {
    if (options_.receipt.empty()) return {};
    return {{"Capbench-Receipt-SHA256", sha256(options_.receipt)}};
  }

  std::string path_of_submission() const { return std::string(kSubmissions) + "/" + id_; }

  // Nothing: it does not have it.
  Result<std::optional<Submission>> ask_known() {
    auto answer = conversation_.ask_patiently("GET", path_of_submission(), receipt_field());
    if (!answer) return std::move(answer).error();
    if (answer->status == 404) return std::optional<Submission>();
    // It may think otherwise of it today.
    if (answer->status == 200 && state_of(*answer) == "refused") return std::optional<Submission>();
    if (answer->status == 410) return withdrawn();
    if (answer->status != 200) return conversation_.failure(*answer);
    auto submission = read(*answer);
    if (!submission) return std::move(submission).error();
    submission->known = true;
    return std::optional(std::move(submission).value());
  }

  Error withdrawn() const {
    return {ErrorKind::kFinding, "bundle " + id_.substr(0, 12), "was withdrawn from this server",
            "measure again, or ask whoever runs the server"};
  }

  Result<Submission> read(const HttpAnswer& answer) const {
    const json whole = json::parse(answer.body, nullptr, false);
    if (!whole.is_object()) return conversation_.odd("its answer is not what a results server says");
    if (text_of(whole, "id") != id_) return conversation_.odd("it speaks of another bundle");
    const auto at = whole.find("withdrawn_at");
    if (at != whole.end() && at->is_string() && !at->get_ref<const std::string&>().empty()) return withdrawn();
    const std::string state = text_of(whole, "state");
    if (state == "withdrawn") return withdrawn();
    Submission submission;
    submission.id = id_;
    submission.tier = text_of(whole, "tier");
    submission.url = text_of(whole, "url");
    submission.receipt = text_of(whole, "receipt");
    constexpr std::size_t kLongestReceipt = 256;
    if (submission.receipt.size() > kLongestReceipt || !is_visible_ascii(submission.receipt)) {
      return conversation_.odd("its receipt is none");
    }
    submission.pending = state == "pending";
    // The one whose digest it was given.
    if (submission.receipt.empty() && whole.value("yours", json(false)) == true) submission.receipt = options_.receipt;
    constexpr std::size_t kMostChecks = 1000;
    if (const auto checks = whole.find("checks"); checks != whole.end() && checks->is_array()) {
      for (std::size_t i = 0; i < std::min(checks->size(), kMostChecks); ++i) {
        const json& check = (*checks)[i];
        std::string outcome = text_of(check, "outcome");
        if (outcome.empty()) outcome = text_of(check, "status");
        submission.checks.push_back({text_of(check, "name"), std::move(outcome), text_of(check, "detail")});
      }
    }
    submission.resumed_from = resumed_from_;
    return submission;
  }

  // 201: new. 200: known.
  Result<Submission> accepted(const HttpAnswer& answer) {
    auto submission = read(answer);
    if (!submission) return submission;
    submission->known = answer.status == 200;
    if (Status status = conversation_.progress(archive_.size(), archive_.size()); !status) conversation_.gained();
    return submission;
  }

  // The end of it: the whole bundle, or the word that its parts are all there. Nothing: that upload is not there.
  Result<std::optional<Submission>> post(const std::string& path, std::string_view body) {
    for (;;) {
      HttpClient::Headers headers = receipt_field();
      if (!body.empty()) headers.emplace_back("Content-Type", kBundleType);
      const HttpAnswer answer = conversation_.ask("POST", path, headers, body);
      if (answer.status == 200 || answer.status == 201) {
        auto submission = accepted(answer);
        if (!submission) return std::move(submission).error();
        return std::optional(std::move(submission).value());
      }
      if (answer.status == 404 && body.empty()) return std::optional<Submission>();
      if (!is_passing(answer)) return conversation_.failure(answer);
      if (Status status = conversation_.pause(answer); !status) return std::move(status).error();
      if (!may_be_done(answer)) continue;
      auto known = ask_known();
      if (!known) return std::move(known).error();
      if (*known) {
        // Its answer was lost.
        if ((*known)->receipt.empty()) {
          conversation_.note("the server has it, but its answer was lost, and the receipt with it");
        } else {
          (*known)->known = false;
        }
        return known;
      }
    }
  }

  Result<Submission> send_whole() {
    auto submission = post(kSubmissions, archive_);
    if (!submission) return std::move(submission).error();
    if (*submission) return std::move(**submission);
    return conversation_.odd("does not take submissions");
  }

  // Bytes that an upload has; 0 for a new one. Nothing: the server knows no uploads.
  Result<std::optional<std::uint64_t>> ask_offset() {
    auto answer = conversation_.ask_patiently("HEAD", kUploads + id_);
    if (!answer) return std::move(answer).error();
    if (answer->status == 404) return std::optional<std::uint64_t>(0);
    if (answer->status == 405 || answer->status == 501) return std::optional<std::uint64_t>();
    if (answer->status != 200 && answer->status != 204) return conversation_.failure(*answer);
    const auto offset = whole_number(answer->header("Upload-Offset"));
    if (!offset || *offset > archive_.size()) {
      return conversation_.odd("says that it has " + shown(answer->header("Upload-Offset"), 40) + " of " +
                               std::to_string(archive_.size()) + " bytes");
    }
    return std::optional(*offset);
  }

  HttpAnswer put(std::uint64_t offset, std::uint64_t end) {
    const std::string range =
        "bytes " + std::to_string(offset) + "-" + std::to_string(end - 1) + "/" + std::to_string(archive_.size());
    return conversation_.ask("PUT", kUploads + id_, {{"Content-Type", kBundleType}, {"Content-Range", range}},
                             archive_.substr(offset, end - offset));
  }

  Result<Submission> send_parts(std::uint64_t offset) {
    resumed_from_ = offset;
    if (offset > 0) conversation_.note("the server has " + std::to_string(offset) + " bytes of it already");
    std::uint64_t reached = offset;  // the most that was ever there
    for (;;) {
      while (offset < archive_.size()) {
        const std::uint64_t end = std::min<std::uint64_t>(offset + part_, archive_.size());
        const HttpAnswer answer = put(offset, end);
        if (has_no_such_thing(answer) && reached == 0) return send_whole();
        // What lies there is of another file, such as the same bundle without its signature.
        if (answer.status == 409 && offset == 0) return send_whole();
        const bool taken = answer.status >= 200 && answer.status < 300;
        const auto said = whole_number(answer.header("Upload-Offset"));
        if (taken && said.value_or(end) > offset && said.value_or(end) <= archive_.size()) {
          offset = said.value_or(end);
        } else if (auto next = after_trouble(answer, offset, taken); next) {
          offset = *next;
        } else {
          return std::move(next).error();
        }
        // Only what was never there before is a gain: a server that loses parts is not asked forever.
        if (offset > reached) {
          reached = offset;
          conversation_.gained();
        }
        if (Status status = conversation_.progress(offset, archive_.size()); !status) return std::move(status).error();
      }
      auto submission = post(std::string(kSubmissions) + "?upload=" + id_, {});
      if (!submission) return std::move(submission).error();
      if (*submission) return std::move(**submission);
      if (Status status = conversation_.pause({404, "", false, "", no_header()}); !status) {
        return std::move(status).error();
      }
      auto again = ask_offset();
      if (!again) return std::move(again).error();
      offset = again->value_or(0);
    }
  }

  static std::function<std::string(std::string_view)> no_header() {
    return [](std::string_view) { return std::string(); };
  }

  // A part was not taken as it should be: where to go on.
  Result<std::uint64_t> after_trouble(const HttpAnswer& answer, std::uint64_t offset, bool taken) {
    const bool misplaced = answer.status == 404 || answer.status == 409 || answer.status == 416;
    if (!taken && !misplaced && !is_passing(answer)) return conversation_.failure(answer);
    if (Status status = conversation_.pause(answer); !status) return std::move(status).error();
    auto next = ask_offset();
    if (!next) return std::move(next).error();
    const std::uint64_t there = next->value_or(0);
    // It refuses the very place that it names, so nothing fits behind it.
    return misplaced && there == offset ? 0 : there;
  }

  Conversation conversation_;
  const UploadOptions& options_;
  const std::string id_;
  const std::string_view archive_;
  const std::size_t part_;
  std::uint64_t resumed_from_ = 0;
};

}  // namespace

Result<Submission> upload(const ServerAddress& server, std::string_view id, std::string_view archive,
                          const UploadOptions& options) {
  return Uploading(server, id, archive, options).run();
}

Result<Withdrawal> withdraw(const ServerAddress& server, std::string_view id, const WithdrawalProof& proof,
                            const UploadOptions& options) {
  Conversation conversation(server, id, options);
  if (Status status = conversation.check(); !status) return std::move(status).error();
  if (!is_visible_ascii(proof.receipt)) {
    return Error{ErrorKind::kUsage, "receipt", "has a space or a byte that no receipt has", "copy it whole"};
  }
  if (!proof.receipt.empty() && !server.is_private()) {
    return Error{ErrorKind::kUsage, server.text(), "the receipt would be sent in the clear", "https://" + server.host};
  }
  HttpClient::Headers headers;
  if (!proof.receipt.empty()) headers.emplace_back("Capbench-Receipt", proof.receipt);
  if (!proof.signature.empty()) headers.emplace_back("Content-Type", "text/plain");
  std::string path = std::string(kSubmissions) + "/" + std::string(id);
  if (!proof.why.empty()) path += "?why=" + percent_encoded(proof.why);
  auto answer = conversation.ask_patiently("DELETE", path, headers, proof.signature);
  if (!answer) return std::move(answer).error();
  if (answer->status == 200 || answer->status == 204 || answer->status == 410) {
    const json whole = json::parse(answer->body, nullptr, false);
    const bool counted = whole.is_object() && whole.contains("excluded") && whole["excluded"].is_number_integer();
    const bool already = answer->status == 410 || (whole.is_object() && whole.value("already", json(false)) == true);
    return Withdrawal{counted ? whole["excluded"].get<std::int64_t>() : 0, already};
  }
  Error error = conversation.failure(*answer);
  if (answer->status == 404) {
    error.kind = ErrorKind::kFinding;
    error.remedy = "check the id and the address: this server has no such bundle";
  } else if (answer->status == 401 || answer->status == 403) {
    error.kind = ErrorKind::kFinding;
    error.remedy = "--receipt with what `capbench submit` kept in receipts.json, or --sign with the key that signed it";
  }
  return error;
}

}  // namespace capbench::submit
