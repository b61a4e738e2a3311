#include "models/http_get.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <optional>

#include "models/content_range.h"
#include "models/net_stream.h"

namespace capbench::models {
namespace {

constexpr std::size_t kMostHeadBytes = 64U << 10U;
constexpr std::size_t kBufferBytes = 256U << 10U;

bool same_name(std::string_view a, std::string_view b) {
  const auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; };
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [&](char x, char y) { return lower(x) == lower(y); });
}

std::string_view trimmed(std::string_view text) {
  const auto blank = [](char c) { return c == ' ' || c == '\t'; };
  while (!text.empty() && blank(text.front())) text.remove_prefix(1);
  while (!text.empty() && blank(text.back())) text.remove_suffix(1);
  return text;
}

struct Head {
  int status = 0;
  std::vector<std::pair<std::string, std::string>> headers;

  std::string header(std::string_view name) const {
    for (const auto& [key, value] : headers) {
      if (same_name(key, name)) return value;
    }
    return "";
  }
};

// "HTTP/1.1 200 OK", then "Name: value" lines. Nothing for what is no HTTP/1.
std::optional<Head> parse_head(std::string_view text) {
  Head head;
  const std::size_t first = text.find("\r\n");
  const std::string_view line = text.substr(0, first);
  constexpr std::string_view kVersion = "HTTP/1.";
  constexpr std::size_t kStatusAt = 9;
  if (!line.starts_with(kVersion) || line.size() < kStatusAt + 3 || line[kStatusAt - 1] != ' ') return std::nullopt;
  const auto status = whole_number(line.substr(kStatusAt, 3));
  if (!status || *status < 100 || *status > 599) return std::nullopt;
  head.status = static_cast<int>(*status);
  text.remove_prefix(first == std::string_view::npos ? text.size() : first + 2);
  while (!text.empty()) {
    const std::size_t end = text.find("\r\n");
    const std::string_view entry = text.substr(0, end);
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 2);
    const std::size_t colon = entry.find(':');
    if (colon == std::string_view::npos || colon == 0) return std::nullopt;
    head.headers.emplace_back(entry.substr(0, colon), trimmed(entry.substr(colon + 1)));
  }
  return head;
}

// The bytes of a connection, with what was read too far.
class Input {
 public:
  explicit Input(NetStream& stream) : stream_(stream), buffer_(kBufferBytes) {}

  // Some bytes, at most `most`; empty at the end.
  std::string_view some(std::uint64_t most) {
    if (rest_.empty() && !fill()) return {};
    const std::string_view piece =
        rest_.substr(0, static_cast<std::size_t>(std::min<std::uint64_t>(most, rest_.size())));
    rest_.remove_prefix(piece.size());
    return piece;
  }

  // Up to and without `mark`; nothing if it does not come within `most` bytes.
  std::optional<std::string> until(std::string_view mark, std::size_t most) {
    std::string text;
    while (!text.ends_with(mark)) {
      const std::string_view one = some(1);
      if (one.empty() || text.size() == most) return std::nullopt;
      text += one;
    }
    text.resize(text.size() - mark.size());
    return text;
  }

  bool failed() const { return failed_; }
  const std::string& why() const { return why_; }

 private:
  bool fill() {
    NetStream::Read read = stream_.read(buffer_.data(), buffer_.size());
    failed_ = failed_ || read.failed;
    if (read.failed) why_ = std::move(read.why);
    rest_ = {buffer_.data(), read.count};
    return read.count > 0;
  }

  NetStream& stream_;
  std::vector<char> buffer_;
  std::string_view rest_;
  bool failed_ = false;
  std::string why_;
};

HttpOutcome cut(const Input& input) {
  return {HttpEnd::kCut, input.why().empty() ? "the connection was closed" : input.why()};
}

// Passes on `count` bytes; what ended it early, if anything did.
std::optional<HttpOutcome> pass_on(Input& input, std::uint64_t count, const HttpReader& reader) {
  while (count > 0) {
    const std::string_view piece = input.some(count);
    if (piece.empty()) return cut(input);
    count -= piece.size();
    if (!reader.on_body(piece)) return HttpOutcome{HttpEnd::kStopped, ""};
  }
  return std::nullopt;
}

HttpOutcome read_chunks(Input& input, const HttpReader& reader) {
  constexpr std::size_t kMostLine = 1024;
  for (;;) {
    const auto line = input.until("\r\n", kMostLine);
    if (!line) return cut(input);
    std::uint64_t size = 0;
    const auto [end, error] = std::from_chars(line->data(), line->data() + line->size(), size, 16);
    if (error != std::errc() || (end != line->data() + line->size() && *end != ';' && *end != ' ')) {
      return {HttpEnd::kCut, "a chunk without a size"};
    }
    if (size == 0) return {HttpEnd::kWhole, ""};  // trailers are of no interest: the connection is closed
    if (const auto ended = pass_on(input, size, reader)) return *ended;
    if (input.until("\r\n", 2) != "") return cut(input);
  }
}

HttpOutcome read_body(Input& input, const Head& head, const HttpReader& reader) {
  const std::string coding = head.header("Transfer-Encoding");
  if (same_name(coding, "chunked")) return read_chunks(input, reader);
  if (!coding.empty()) return {HttpEnd::kCut, "a transfer encoding that was not asked for"};
  const std::string length = head.header("Content-Length");
  if (length.empty()) {
    for (;;) {
      const std::string_view piece = input.some(UINT64_MAX);
      if (piece.empty()) return input.failed() ? cut(input) : HttpOutcome{HttpEnd::kWhole, ""};
      if (!reader.on_body(piece)) return {HttpEnd::kStopped, ""};
    }
  }
  const auto count = whole_number(length);
  if (!count) return {HttpEnd::kCut, "a length that is no number"};
  if (const auto ended = pass_on(input, *count, reader)) return *ended;
  return {HttpEnd::kWhole, ""};
}

std::string request_text(const HttpRequest& request) {
  const bool usual_port = request.url.port == (request.url.secure ? 443 : 80);
  std::string host = request.url.origin();
  host.erase(0, host.find("://") + 3);
  if (usual_port) host.resize(host.rfind(':'));
  std::string text = fmt::format(
      "GET {} HTTP/1.1\r\nHost: {}\r\nUser-Agent: capbench\r\nAccept: */*\r\nAccept-Encoding: identity\r\n"
      "Connection: close\r\n",
      request.url.target, host);
  for (const auto& [name, value] : request.headers) text += fmt::format("{}: {}\r\n", name, value);
  return text + "\r\n";
}

}  // namespace

HttpOutcome http_get(const HttpRequest& request, const HttpReader& reader) {
  NetStream stream;
  std::string why;
  switch (stream.connect(request.url, request.connect_timeout, request.read_timeout, why)) {
    case NetFailure::kNone:
      break;
    case NetFailure::kUnreachable:
      return {HttpEnd::kNoAnswer, why};
    case NetFailure::kNotTrusted:
      return {HttpEnd::kNotTrusted, why};
  }
  if (!stream.write(request_text(request))) return {HttpEnd::kNoAnswer, "the connection was closed"};
  Input input(stream);
  // Servers may send notices (1xx) before their answer.
  constexpr int kMostNotices = 8;
  for (int i = 0; i < kMostNotices; ++i) {
    const auto text = input.until("\r\n\r\n", kMostHeadBytes);
    if (!text) return {HttpEnd::kNoAnswer, input.why().empty() ? "the connection was closed" : input.why()};
    const auto head = parse_head(*text);
    if (!head) return {HttpEnd::kNoAnswer, "it does not speak HTTP/1"};
    if (head->status < 200) continue;
    if (!reader.on_head({head->status, [&](std::string_view name) { return head->header(name); }})) {
      return {HttpEnd::kStopped, ""};
    }
    return read_body(input, *head, reader);
  }
  return {HttpEnd::kNoAnswer, "it sends notices only"};
}

}  // namespace capbench::models
