#include "harness/submit/http_client.h"

#include <httplib.h>

#include <algorithm>
#include <charconv>

#include "base/no_pipe_signal.h"

namespace capbench::submit {
namespace {

using Clock = std::chrono::steady_clock;

Error bad(std::string_view text, std::string cause) {
  std::string shown(text.substr(0, 120));
  std::replace_if(
      shown.begin(), shown.end(), [](char c) { return c < ' ' || c == '\x7F'; }, '?');
  return {ErrorKind::kUsage, "address '" + shown + "'", std::move(cause),
          "an address such as https://results.example.org"};
}

std::string lower(std::string_view text) {
  std::string result(text);
  for (char& c : result) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  return result;
}

bool is_host_character(char c) {
  return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '.' || c == '_';
}

bool is_address_character(char c) {
  return (c >= 'a' && c <= 'f') || (c >= '0' && c <= '9') || c == ':' || c == '.';
}

bool is_path_character(char c) {
  return is_host_character(c) || (c >= 'A' && c <= 'Z') || c == '/' || c == '~' || c == '+';
}

std::string origin(const ServerAddress& server) {
  const bool brackets = server.host.find(':') != std::string::npos;
  return std::string(server.secure ? "https" : "http") + "://" + (brackets ? "[" : "") + server.host +
         (brackets ? "]" : "");
}

std::uint16_t usual_port(bool secure) {
  return secure ? 443 : 80;
}

std::string why_none(httplib::Error error) {
  switch (error) {
    case httplib::Error::Connection:
      return "no connection";
    case httplib::Error::ConnectionTimeout:
      return "no connection in time";
    case httplib::Error::Read:
      return "the connection was lost, or it did not answer in time";
    case httplib::Error::Write:
      return "the connection was lost while sending";
    case httplib::Error::SSLConnection:
      return "it does not speak TLS";
    case httplib::Error::SSLLoadingCerts:
    case httplib::Error::SSLServerVerification:
      return "its certificate is not of a known authority, or of another host";
    case httplib::Error::Canceled:
      return "its answer is too long, or comes too slowly";
    default:
      return "no answer (" + httplib::to_string(error) + ")";
  }
}

}  // namespace

std::string ServerAddress::text() const {
  return origin(*this) + (port == usual_port(secure) ? "" : ":" + std::to_string(port)) + prefix;
}

bool ServerAddress::is_private() const {
  return secure || host == "localhost" || host == "::1" ||
         (host.starts_with("127.") && host.find_first_not_of("0123456789.") == std::string::npos);
}

Result<ServerAddress> parse_server(std::string_view text) {
  constexpr std::size_t kLongest = 1024;
  if (text.size() > kLongest) return bad(text, "longer than any server's");
  ServerAddress server;
  const std::string scheme = lower(text.substr(0, std::min(text.find("://"), text.size())));
  if (scheme != "https" && scheme != "http") return bad(text, "neither https:// nor http://");
  server.secure = scheme == "https";
  server.port = usual_port(server.secure);
  std::string_view rest = text.substr(scheme.size() + 3);
  const std::size_t slash = std::min(rest.find('/'), rest.size());
  server.prefix = rest.substr(slash);
  while (server.prefix.ends_with('/')) server.prefix.pop_back();
  if (!std::all_of(server.prefix.begin(), server.prefix.end(), is_path_character)) {
    return bad(text, "something in its path that no path of a server has");
  }
  std::string_view authority = rest.substr(0, slash);
  if (authority.find('@') != std::string_view::npos) return bad(text, "a user name in it is not taken");
  std::string_view port;
  bool sound = false;
  if (authority.starts_with('[')) {
    const std::size_t close = std::min(authority.find(']'), authority.size() - 1);
    server.host = lower(authority.substr(1, close - 1));
    port = authority.substr(close + 1);
    sound = authority[close] == ']' && server.host.find(':') != std::string::npos &&
            std::all_of(server.host.begin(), server.host.end(), is_address_character);
  } else {
    const std::size_t colon = std::min(authority.find(':'), authority.size());
    server.host = lower(authority.substr(0, colon));
    port = authority.substr(colon);
    sound = !server.host.empty() && std::all_of(server.host.begin(), server.host.end(), is_host_character);
  }
  if (!sound) return bad(text, "no host in it");
  if (!port.empty()) {
    const char* end = port.data() + port.size();
    const auto [stop, error] = std::from_chars(port.data() + 1, end, server.port);
    if (port.front() != ':' || error != std::errc() || stop != end || server.port == 0) {
      return bad(text, "no such port");
    }
  }
  return server;
}

struct HttpClient::State {
  State(const ServerAddress& server, const HttpLimits& given)
      : client(origin(server) + ":" + std::to_string(server.port)), prefix(server.prefix), limits(given) {
    client.set_connection_timeout(limits.connect);
    client.set_read_timeout(limits.read);
    client.set_write_timeout(limits.read);
    client.set_keep_alive(true);
    client.set_follow_location(false);
    client.set_decompress(false);
    client.enable_server_certificate_verification(true);
  }

  httplib::Client client;
  std::string prefix;
  HttpLimits limits;
};

HttpClient::HttpClient(const ServerAddress& server, const HttpLimits& limits)
    : state_(std::make_unique<State>(server, limits)) {}
HttpClient::HttpClient(HttpClient&&) noexcept = default;
HttpClient::~HttpClient() = default;

HttpAnswer HttpClient::send(const std::string& method, const std::string& path, const Headers& headers,
                            std::string_view body) {
  const NoPipeSignal guard;
  httplib::Request request;
  request.method = method;
  request.path = state_->prefix + path;
  request.headers.emplace("User-Agent", "capbench");
  request.headers.emplace("Accept-Encoding", "identity");
  for (const auto& [name, value] : headers) request.headers.emplace(name, value);
  request.body = body;
  HttpAnswer answer;
  const auto deadline = Clock::now() + state_->limits.whole;
  request.content_receiver = [&](const char* data, std::size_t size, std::uint64_t, std::uint64_t) {
    if (size > state_->limits.answer_bytes - answer.body.size() || Clock::now() > deadline) return false;
    answer.body.append(data, size);
    return true;
  };
  const httplib::Result result = state_->client.send(request);
  if (!result) {
    answer.why = why_none(result.error());
    answer.untrusted =
        result.error() == httplib::Error::SSLServerVerification || result.error() == httplib::Error::SSLLoadingCerts;
    answer.body.clear();
    return answer;
  }
  answer.status = result->status;
  // Who refuses a request may do so without reading its body, which would then pass for the next request.
  constexpr int kFirstRefusal = 300;
  if (!body.empty() && answer.status >= kFirstRefusal) state_->client.stop();
  answer.header = [fields = result->headers](std::string_view name) {
    const auto it = fields.find(std::string(name));
    return it == fields.end() ? std::string() : it->second;
  };
  return answer;
}

}  // namespace capbench::submit
