// Requests to one results server over HTTP/1.1, TLS verified against the system's authorities. Redirects are not
// followed: a token and a bundle go where the user said, and nowhere else. One thread at a time.
#ifndef CAPBENCH_HARNESS_SUBMIT_HTTP_CLIENT_H_
#define CAPBENCH_HARNESS_SUBMIT_HTTP_CLIENT_H_

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"

namespace capbench::submit {

struct ServerAddress {
  bool secure = false;
  std::string host;  // lower case; an IPv6 address without brackets
  std::uint16_t port = 0;
  std::string prefix;  // path in front of the interface's own; empty, or "/results"

  // "https://host:port/results", as people know it: without a usual port.
  std::string text() const;
  // Whether nothing sent there can be read on the way: TLS, or this machine.
  bool is_private() const;
};

// From "https://results.example.org" or "http://127.0.0.1:8080/results/". No user names, no query.
Result<ServerAddress> parse_server(std::string_view text);

struct HttpLimits {
  std::chrono::milliseconds connect{15000};
  std::chrono::milliseconds read{60000};    // without a byte
  std::chrono::milliseconds whole{600000};  // of the answer's body
  std::size_t answer_bytes = 1U << 20U;
};

struct HttpAnswer {
  int status = 0;  // 0: there was none, `why` says why
  std::string why;
  bool untrusted = false;  // the server's certificate could not be verified: trying again is no use
  std::string body;
  // The first header of that name, whatever its case; empty if there is none.
  std::function<std::string(std::string_view name)> header = [](std::string_view) { return std::string(); };
};

class HttpClient {
 public:
  HttpClient(const ServerAddress& server, const HttpLimits& limits);
  HttpClient(HttpClient&&) noexcept;
  ~HttpClient();

  using Headers = std::vector<std::pair<std::string, std::string>>;
  // `path` begins behind the server's prefix.
  HttpAnswer send(const std::string& method, const std::string& path, const Headers& headers,
                  std::string_view body = {});

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace capbench::submit

#endif  // CAPBENCH_HARNESS_SUBMIT_HTTP_CLIENT_H_
