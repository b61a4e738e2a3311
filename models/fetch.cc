#include "models/fetch.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
#include <system_error>
#include <thread>
#include <utility>

#include "base/digest.h"
#include "models/content_range.h"
#include "models/format.h"
#include "models/http_get.h"
#include "models/partial_file.h"
#include "models/url.h"

namespace capbench::models {
namespace {

using std::chrono::milliseconds;

constexpr int kMostRedirects = 10;

bool is_this_machine(const Url& url) {
  return url.host == "localhost" || url.host == "127.0.0.1" || url.host == "::1";
}

// A tag that names one version byte for byte.
bool is_strong(const std::string& entity_tag) {
  return entity_tag.size() >= 2 && entity_tag.front() == '"' && entity_tag.back() == '"' &&
         std::all_of(entity_tag.begin(), entity_tag.end(), [](char c) { return c > ' ' && c < 0x7F; });
}

Error wrong_bytes(const std::filesystem::path& path, std::string cause, bool removed) {
  return {ErrorKind::kFinding, path.string(), std::move(cause),
          removed ? "try once more (what had come was removed), or look whether the publisher has changed the file"
                  : "remove the file, or name another place"};
}

std::string digest_cause(const std::string& digest, const std::string& pinned) {
  return fmt::format("SHA-256 is {}, pinned is {}", digest, pinned);
}

Result<FetchReport> verify_what_is_there(const FetchSource& source, const std::filesystem::path& path) {
  std::error_code error;
  const std::uint64_t size = std::filesystem::file_size(path, error);
  if (error) {
    return Error{ErrorKind::kUsage, path.string(), "is there and is no file", "name another place"};
  }
  if (source.size != 0 && size != source.size) {
    return wrong_bytes(path, fmt::format("is there with {} bytes, pinned are {}", size, source.size), false);
  }
  auto digest = sha256_file(path);
  if (!digest) return std::move(digest).error();
  if (!source.sha256.empty() && *digest != source.sha256) {
    return wrong_bytes(path, "is there, and its " + digest_cause(*digest, source.sha256), false);
  }
  return FetchReport{path, size, std::move(*digest), !source.sha256.empty(), 0, true};
}

// What came of one request.
struct Attempt {
  enum class Next { kDone, kAgain, kFailed };
  Next next = Next::kAgain;
  std::string why;               // for kAgain
  milliseconds wait{0};          // that the server asked for
  std::optional<Error> failure;  // for kFailed
};

class Download {
 public:
  Download(const FetchSource& source, const FetchOptions& options, Url url, PartialFile& file)
      : source_(source), options_(options), first_(std::move(url)), file_(file) {}

  Status run() {
    int fruitless = 0;
    std::uint64_t best = file_.size();
    for (;;) {
      Attempt attempt = request();
      if (attempt.next == Attempt::Next::kDone) return {};
      if (attempt.next == Attempt::Next::kFailed) return std::move(*attempt.failure);
      fruitless = file_.size() > best ? 0 : fruitless + 1;
      best = std::max(best, file_.size());
      if (fruitless >= options_.attempts) {
        return failure(fmt::format("{}, {} times in a row", attempt.why, fruitless),
                       "check the network and run it again: it goes on where it stopped");
      }
      const milliseconds pause = pause_after(fruitless, attempt.wait);
      note(fmt::format("{}; again in {:g} s", attempt.why, static_cast<double>(pause.count()) / 1000));
      if (Status status = sleep(pause); !status) return status;
    }
  }

 private:
  Error failure(std::string cause, std::string remedy, ErrorKind kind = ErrorKind::kMachine) const {
    return {kind, first_.shown(), std::move(cause), std::move(remedy)};
  }

  Attempt failed(Error error) const { return {Attempt::Next::kFailed, "", milliseconds(0), std::move(error)}; }
  static Attempt again(std::string why, milliseconds wait = milliseconds(0)) {
    return {Attempt::Next::kAgain, std::move(why), wait, std::nullopt};
  }
  static Attempt done() { return {Attempt::Next::kDone, "", milliseconds(0), std::nullopt}; }

  void note(const std::string& text) const {
    if (options_.note) options_.note(text);
  }

  bool go_on() const { return !options_.progress || options_.progress(file_.size(), total_); }

  Error interrupted() const {
    return {ErrorKind::kInterrupted, first_.shown(), "stopped; what has come is kept", "run it again to go on"};
  }

  milliseconds pause_after(int fruitless, milliseconds asked) const {
    milliseconds pause = options_.first_wait;
    for (int i = 1; i < fruitless && pause < options_.longest_wait; ++i) pause *= 2;
    return std::min(std::max(pause, asked), options_.longest_wait);
  }

  Status sleep(milliseconds pause) const {
    constexpr milliseconds kStep{100};
    for (; pause > milliseconds(0); pause -= std::min(pause, kStep)) {
      if (!go_on()) return interrupted();
      std::this_thread::sleep_for(std::min(pause, kStep));
    }
    return {};
  }

  // Bytes of the whole file; 0 if nobody has said.
  std::uint64_t expected() const { return source_.size != 0 ? source_.size : total_; }

  Attempt request() {
    total_ = source_.size;
    // Without a digest to tell in the end, the rest of another version would go unnoticed.
    const bool resumable = !source_.sha256.empty() || is_strong(file_.entity_tag());
    if (file_.size() > 0 && (!resumable || (source_.size != 0 && file_.size() > source_.size))) {
      if (Status status = file_.restart(""); !status) return failed(status.error());
    }
    if (source_.size != 0 && file_.size() == source_.size) return done();
    if (source_.size != 0) {
      if (Status status = file_.check_room(source_.size - file_.size()); !status) return failed(status.error());
    }
    Url url = first_;
    for (int redirects = 0; redirects <= kMostRedirects; ++redirects) {
      verdict_.reset();
      location_.clear();
      const HttpOutcome outcome =
          http_get(request_for(url), {[this](const HttpHead& head) { return on_head(head); },
                                      [this](std::string_view piece) { return on_body(piece); }});
      if (location_.empty()) return conclude(outcome, url);
      auto next = follow(url, location_);
      if (!next) return failed(failure(next.error().cause, "name another address"));
      url = std::move(*next);
    }
    return failed(failure("the server redirects in circles", "name another address"));
  }

  HttpRequest request_for(const Url& url) {
    HttpRequest request{url, {}, options_.connect_timeout, options_.read_timeout};
    asked_from_ = file_.size();
    if (asked_from_ > 0) {
      request.headers.emplace_back("Range", fmt::format("bytes={}-", asked_from_));
      if (is_strong(file_.entity_tag())) request.headers.emplace_back("If-Range", file_.entity_tag());
    }
    if (!options_.token.empty() && url.origin() == first_.origin() && (url.secure || is_this_machine(url))) {
      request.headers.emplace_back("Authorization", "Bearer " + options_.token);
    }
    return request;
  }

  // Ends the request with that verdict.
  bool end(Attempt verdict) {
    verdict_ = std::move(verdict);
    return false;
  }

  bool on_head(const HttpHead& head) {
    const int status = head.status;
    if (status == 301 || status == 302 || status == 303 || status == 307 || status == 308) {
      location_ = head.header("Location");
      return location_.empty() ? end(failed(failure("a redirect that leads nowhere", "name another address"))) : false;
    }
    if (status == 416 && asked_from_ > 0) return on_unsatisfiable(head);
    if (status == 408 || status == 429 || status >= 500) {
      const std::uint64_t seconds = whole_number(head.header("Retry-After")).value_or(0);
      return end(again(fmt::format("the server says {}", status),
                       milliseconds(1000 * static_cast<std::int64_t>(std::min<std::uint64_t>(seconds, 3600)))));
    }
    if (status != 200 && status != 206) return end(failed(refusal(status)));
    const std::string encoding = head.header("Content-Encoding");
    if (!encoding.empty() && encoding != "identity") {
      return end(failed(
          failure(fmt::format("the server packs the file ({})", printable(encoding, 20)), "name another address")));
    }
    return status == 206 ? on_part(head) : on_whole(head);
  }

  Error refusal(int status) const {
    if (status == 401 || status == 403) {
      return failure(fmt::format("the server refuses it ({})", status),
                     "accept the model's licence on its page, then set $HF_TOKEN to a token of yours");
    }
    if (status == 404 || status == 410) {
      return failure(fmt::format("the server has no such file ({})", status),
                     "check repository, revision and file name, or name another address");
    }
    return failure(fmt::format("the server says {}", status), "open the address in a browser");
  }

  // "bytes */200": the file ends before where we are.
  bool on_unsatisfiable(const HttpHead& head) {
    const std::string range = head.header("Content-Range");
    constexpr std::string_view kAll = "bytes */";
    const auto total =
        range.starts_with(kAll) ? whole_number(std::string_view(range).substr(kAll.size())) : std::nullopt;
    if (total && *total == file_.size() && source_.size == 0) return end(done());
    return start_anew(head.header("ETag"), "the server has nothing behind what is here");
  }

  bool start_anew(const std::string& entity_tag, const std::string& why) {
    if (Status status = file_.restart(entity_tag); !status) return end(failed(status.error()));
    return end(again(why + ": from the start"));
  }

  bool on_part(const HttpHead& head) {
    const auto range = parse_content_range(head.header("Content-Range"));
    if (!range || range->first != file_.size() || asked_from_ == 0) {
      return start_anew("", "the server sent another part than the one asked for");
    }
    if (source_.size != 0 && range->total != 0 && range->total != source_.size) return end(wrong_size(range->total));
    if (total_ == 0) total_ = range->total;
    return true;
  }

  bool on_whole(const HttpHead& head) {
    const std::uint64_t length = whole_number(head.header("Content-Length")).value_or(0);
    if (source_.size != 0 && length != 0 && length != source_.size) return end(wrong_size(length));
    if (asked_from_ > 0) note("the server does not go on in the middle: from the start");
    if (Status status = file_.restart(head.header("ETag")); !status) return end(failed(status.error()));
    if (total_ == 0) total_ = length;
    if (Status status = file_.check_room(total_); !status) return end(failed(status.error()));
    return true;
  }

  Attempt wrong_size(std::uint64_t size) const {
    return failed(failure(fmt::format("the server's file has {} bytes, pinned are {}", size, source_.size),
                          "look whether the publisher has changed the file", ErrorKind::kFinding));
  }

  bool on_body(std::string_view piece) {
    if (expected() != 0 && piece.size() > expected() - std::min(file_.size(), expected())) {
      return end(failed(failure(fmt::format("the server sends more than {} bytes", expected()),
                                "look whether the publisher has changed the file", ErrorKind::kFinding)));
    }
    if (Status status = file_.append(piece); !status) return end(failed(status.error()));
    return go_on() || end(failed(interrupted()));
  }

  Attempt conclude(const HttpOutcome& outcome, const Url& url) {
    if (verdict_) return std::move(*verdict_);
    switch (outcome.end) {
      case HttpEnd::kNotTrusted:
        return failed(failure(fmt::format("{}: {}", url.host, outcome.why), "install the system's CA certificates"));
      case HttpEnd::kNoAnswer:
        return again(fmt::format("no answer from {} ({})", url.host, outcome.why));
      case HttpEnd::kCut:
      case HttpEnd::kStopped:
        return again(fmt::format("the line was cut at {}", size_text(file_.size())));
      case HttpEnd::kWhole:
        break;
    }
    // A body without a length ends where the line does, cut or not.
    if (expected() != 0 && file_.size() < expected()) {
      return again(fmt::format("the line was cut at {}", size_text(file_.size())));
    }
    return done();
  }

  const FetchSource& source_;
  const FetchOptions& options_;
  const Url first_;
  PartialFile& file_;
  std::uint64_t total_ = 0;       // as the server says, or pinned
  std::uint64_t asked_from_ = 0;  // where the request in progress starts
  std::optional<Attempt> verdict_;
  std::string location_;
};

}  // namespace

Result<FetchSource> source_of(const CatalogEntry& entry, std::string_view endpoint) {
  if (!entry.file) {
    return Error{ErrorKind::kUsage, fmt::format("model '{}'", entry.name), "exists as a twin only",
                 fmt::format("capbench models synth --like {} --out {}.gguf", entry.name, entry.name)};
  }
  const PinnedFile& file = *entry.file;
  if (file.file_name.empty() || file.revision.empty()) {
    return Error{ErrorKind::kUsage, fmt::format("model '{}'", entry.name), "is no single file",
                 fmt::format("get {} with its publisher's tool", file.repository)};
  }
  while (endpoint.ends_with('/')) endpoint.remove_suffix(1);
  return FetchSource{fmt::format("{}/{}/resolve/{}/{}", endpoint, encode_path(file.repository),
                                 encode_path(file.revision), encode_path(file.file_name)),
                     file.size, file.sha256};
}

Result<FetchReport> fetch(const FetchSource& source, const std::filesystem::path& path, const FetchOptions& options) {
  auto url = parse_url(source.url);
  if (!url) return std::move(url).error();
  std::error_code ignored;
  if (std::filesystem::exists(path, ignored)) return verify_what_is_there(source, path);
  auto file = PartialFile::open(path);
  if (!file) return std::move(file).error();
  // Another download may have ended while this one waited for its turn.
  if (std::filesystem::exists(path, ignored)) {
    file->discard();
    return verify_what_is_there(source, path);
  }
  FetchReport report;
  report.path = path;
  report.resumed_from = file->size();
  report.pinned = !source.sha256.empty();
  Download download(source, options, std::move(*url), *file);
  if (Status status = download.run(); !status) {
    // Nothing to go on from: leave nothing.
    if (file->size() == 0 || status.error().kind == ErrorKind::kFinding) file->discard();
    return status.error();
  }
  report.size = file->size();
  report.sha256 = file->finish_digest();
  if (report.pinned && report.sha256 != source.sha256) {
    file->discard();
    return wrong_bytes(path, "what came is not the pinned file: " + digest_cause(report.sha256, source.sha256), true);
  }
  if (Status status = file->commit(); !status) return status.error();
  return report;
}

std::string fetch_text(const FetchReport& report) {
  const std::string how = report.was_there           ? "was there already"
                          : report.resumed_from == 0 ? "downloaded"
                                                     : "downloaded, going on from " + size_text(report.resumed_from);
  return fmt::format("{}: {}, {}, {}\nsha256 {}\n", report.path.string(), how, size_text(report.size),
                     report.pinned ? "the pinned file" : "unpinned: nobody says what it must be", report.sha256);
}

std::string fetch_json(const FetchReport& report) {
  const nlohmann::ordered_json object{{"file", report.path.string()},
                                      {"size", report.size},
                                      {"sha256", report.sha256},
                                      {"pinned", report.pinned},
                                      {"resumed_from", report.resumed_from},
                                      {"was_there", report.was_there}};
  return object.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

}  // namespace capbench::models
