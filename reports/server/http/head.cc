#include "reports/server/http/head.h"

#include <algorithm>
#include <charconv>
#include <string>
#include <utility>

#include "base/utf8.h"

namespace capbench::http {
namespace {

constexpr std::string_view kEnd = "\r\n\r\n";
constexpr std::size_t kMaxMethod = 16;

Refusal refuse(int status, std::string what, std::string cause, std::string remedy) {
  return {status, {ErrorKind::kUsage, std::move(what), std::move(cause), std::move(remedy)}};
}

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

// tchar of RFC 9110.
bool is_token_character(char c) {
  if (is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z')) return true;
  return std::string_view("!#$%&'*+-.^_`|~").find(c) != std::string_view::npos;
}

bool is_token(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), is_token_character);
}

bool is_value_character(char c) {
  return c == '\t' || (static_cast<unsigned char>(c) >= 0x20 && c != 0x7F);
}

std::string lower(std::string_view text) {
  std::string low(text);
  for (char& c : low) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return low;
}

std::string_view trim(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.remove_suffix(1);
  return text;
}

int hex_value(char c) {
  if (is_digit(c)) return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

// Nothing if an escape is broken or what comes out is not printable text.
std::optional<std::string> decode(std::string_view text, bool plus_is_space) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '%') {
      if (text.size() - i < 3) return std::nullopt;
      const int high = hex_value(text[i + 1]);
      const int low = hex_value(text[i + 2]);
      if (high < 0 || low < 0) return std::nullopt;
      out.push_back(static_cast<char>(high * 16 + low));
      i += 2;
    } else {
      out.push_back(plus_is_space && text[i] == '+' ? ' ' : text[i]);
    }
  }
  const bool has_control =
      std::any_of(out.begin(), out.end(), [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7F; });
  if (has_control || !is_utf8(out)) return std::nullopt;
  return out;
}

std::optional<Refusal> parse_query(std::string_view text, const HeadLimits& limits, std::vector<Field>& query) {
  while (!text.empty()) {
    const std::string_view part = text.substr(0, text.find('&'));
    text.remove_prefix(std::min(text.size(), part.size() + 1));
    if (part.empty()) continue;
    if (query.size() == limits.parameters) {
      return refuse(400, "the query", "more than " + std::to_string(limits.parameters) + " parameters", "send fewer");
    }
    const std::size_t equals = part.find('=');
    std::optional<std::string> name = decode(part.substr(0, equals), true);
    std::optional<std::string> value =
        decode(equals == std::string_view::npos ? std::string_view() : part.substr(equals + 1), true);
    if (!name || !value) {
      return refuse(400, "the query", "not percent-encoded UTF-8 text", "encode it as RFC 3986 says");
    }
    query.push_back({std::move(*name), std::move(*value)});
  }
  return std::nullopt;
}

std::optional<Refusal> parse_target(std::string_view target, const HeadLimits& limits, Head& head) {
  if (target.size() > limits.target) {
    return refuse(414, "the request's target", "longer than " + std::to_string(limits.target) + " bytes",
                  "ask for less in one request");
  }
  // The absolute form, which proxies send, means the same here.
  for (const std::string_view scheme : {"http://", "https://"}) {
    if (target.substr(0, scheme.size()) != scheme) continue;
    target.remove_prefix(scheme.size());
    const std::size_t slash = target.find_first_of("/?");
    target.remove_prefix(std::min(slash, target.size()));
    if (target.empty() || target.front() == '?') {
      return refuse(400, "the request's target", "no path", "ask for /");
    }
    break;
  }
  if (target.empty() || target.front() != '/') {
    return refuse(400, "the request's target", "does not begin with /", "ask for a path: GET / HTTP/1.1");
  }
  const auto is_plain = [](char c) {
    return static_cast<unsigned char>(c) > 0x20 && static_cast<unsigned char>(c) < 0x7F && c != '#';
  };
  if (!std::all_of(target.begin(), target.end(), is_plain)) {
    return refuse(400, "the request's target", "holds a character that is not allowed there",
                  "percent-encode it as RFC 3986 says");
  }
  const std::size_t mark = target.find('?');
  std::optional<std::string> path = decode(target.substr(0, mark), false);
  if (!path) {
    return refuse(400, "the request's path", "not percent-encoded UTF-8 text", "encode it as RFC 3986 says");
  }
  head.path = std::move(*path);
  if (mark == std::string_view::npos) return std::nullopt;
  return parse_query(target.substr(mark + 1), limits, head.query);
}

std::optional<Refusal> parse_request_line(std::string_view line, const HeadLimits& limits, Head& head, int& minor) {
  const std::size_t first = line.find(' ');
  const std::size_t last = line.rfind(' ');
  if (first == std::string_view::npos || first == last) {
    return refuse(400, "the request line", "is not METHOD TARGET HTTP/1.1", "speak HTTP/1.1");
  }
  const std::string_view method = line.substr(0, first);
  if (!is_token(method) || method.size() > kMaxMethod) {
    return refuse(400, "the request's method", "not a method", "use GET, HEAD, POST, PUT or DELETE");
  }
  const std::string_view version = line.substr(last + 1);
  if (version.substr(0, 5) != "HTTP/") {
    return refuse(400, "the request line", "does not end with HTTP/1.1", "speak HTTP/1.1");
  }
  if (version != "HTTP/1.1" && version != "HTTP/1.0") {
    return refuse(505, "the version of HTTP", "neither 1.0 nor 1.1", "speak HTTP/1.1");
  }
  minor = version.back() - '0';
  head.method = method;
  return parse_target(line.substr(first + 1, last - first - 1), limits, head);
}

std::optional<Refusal> parse_field(std::string_view line, const HeadLimits& limits, Head& head) {
  if (head.fields.size() == limits.fields) {
    return refuse(431, "the header", "more than " + std::to_string(limits.fields) + " fields", "send fewer");
  }
  const std::size_t colon = line.find(':');
  if (colon == std::string_view::npos || !is_token(line.substr(0, colon))) {
    return refuse(400, "a header field", "is not NAME: VALUE on one line", "send fields as RFC 9112 says");
  }
  const std::string_view value = trim(line.substr(colon + 1));
  if (!std::all_of(value.begin(), value.end(), is_value_character)) {
    return refuse(400, "header field " + std::string(line.substr(0, colon)), "holds a control character",
                  "send text only");
  }
  head.fields.push_back({lower(line.substr(0, colon)), std::string(value)});
  return std::nullopt;
}

// What the fields say about the message itself.
std::optional<Refusal> apply_fields(Head& head, int minor) {
  int hosts = 0;
  int lengths = 0;
  bool transfer_encoded = false;
  bool close = minor == 0;
  for (const Field& field : head.fields) {
    if (field.name == "host") {
      ++hosts;
    } else if (field.name == "content-length") {
      ++lengths;
      const char* end = field.value.data() + field.value.size();
      const auto [stop, failure] = std::from_chars(field.value.data(), end, head.content_length);
      if (failure != std::errc() || stop != end) {
        return refuse(400, "Content-Length", "not a number of bytes", "send the body's size in decimal");
      }
    } else if (field.name == "transfer-encoding") {
      transfer_encoded = true;
    } else if (field.name == "content-encoding" && lower(field.value) != "identity") {
      return refuse(415, "Content-Encoding", "no coding is taken", "send the bytes as they are");
    } else if (field.name == "expect") {
      if (lower(field.value) != "100-continue") {
        return refuse(417, "Expect", "only 100-continue is known", "leave it out");
      }
      head.expects_continue = minor == 1;
    } else if (field.name == "connection") {
      const std::string value = lower(field.value);
      if (value.find("close") != std::string::npos) close = true;
      if (minor == 0 && value.find("keep-alive") != std::string::npos) close = false;
    }
  }
  head.keep_alive = !close;
  if (lengths > 1 || (lengths == 1 && transfer_encoded)) {
    return refuse(400, "the body's length", "stated twice", "send one Content-Length and no Transfer-Encoding");
  }
  if (transfer_encoded) {
    return refuse(411, "Transfer-Encoding", "a body in chunks is not taken", "send a Content-Length instead");
  }
  if (hosts > 1 || (minor == 1 && hosts == 0)) {
    return refuse(400, "Host", hosts == 0 ? "missing" : "given twice", "send it once");
  }
  return std::nullopt;
}

}  // namespace

std::optional<std::size_t> find_body(std::string_view bytes, std::size_t searched) {
  // The mark may have begun in what was searched.
  const std::size_t from = searched < kEnd.size() ? 0 : searched - (kEnd.size() - 1);
  const std::size_t found = bytes.find(kEnd, from);
  if (found == std::string_view::npos) return std::nullopt;
  return found + kEnd.size();
}

std::optional<Refusal> check_beginning(std::string_view bytes, const HeadLimits& limits) {
  const std::string_view method = bytes.substr(0, std::min(bytes.find(' '), bytes.size()));
  if (!method.empty() && (method.size() > kMaxMethod || !is_token(method))) {
    return refuse(400, "the request", "is not HTTP", "speak HTTP/1.1 without TLS");
  }
  if (bytes.size() < limits.bytes) return std::nullopt;
  if (bytes.find("\r\n") == std::string_view::npos) {
    return refuse(414, "the request line", "longer than " + std::to_string(limits.bytes) + " bytes",
                  "ask for less in one request");
  }
  return refuse(431, "the header", "longer than " + std::to_string(limits.bytes) + " bytes", "send fewer fields");
}

std::variant<Head, Refusal> parse_head(std::string_view text, const HeadLimits& limits) {
  Head head;
  int minor = 1;
  if (text.size() > limits.bytes) {
    return refuse(431, "the header", "longer than " + std::to_string(limits.bytes) + " bytes", "send fewer fields");
  }
  if (text.size() < kEnd.size() || text.substr(text.size() - kEnd.size()) != kEnd) {
    return refuse(400, "the header", "does not end with an empty line", "speak HTTP/1.1");
  }
  text.remove_suffix(2);
  bool first = true;
  while (!text.empty()) {
    const std::size_t end = text.find("\r\n");
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(end + 2);
    std::optional<Refusal> refusal =
        first ? parse_request_line(line, limits, head, minor) : parse_field(line, limits, head);
    if (refusal) return std::move(*refusal);
    first = false;
  }
  if (std::optional<Refusal> refusal = apply_fields(head, minor)) return std::move(*refusal);
  return head;
}

}  // namespace capbench::http
