#include "models/testing/raw_server.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>

namespace capbench::models::testing {
namespace {

std::string lower(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(),
                 [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; });
  return text;
}

Request parse(const std::string& head) {
  Request request;
  std::size_t line = head.find("\r\n");
  const std::size_t space = head.find(' ');
  request.target = head.substr(space + 1, head.find(' ', space + 1) - space - 1);
  while (line != std::string::npos && line + 2 < head.size()) {
    const std::size_t start = line + 2;
    line = head.find("\r\n", start);
    const std::string text = head.substr(start, line - start);
    const std::size_t colon = text.find(": ");
    if (colon != std::string::npos) request.headers[lower(text.substr(0, colon))] = text.substr(colon + 2);
  }
  const auto range = request.headers.find("range");
  if (range != request.headers.end() && range->second.starts_with("bytes=")) {
    request.range_from = std::strtoull(range->second.c_str() + 6, nullptr, 10);
  }
  return request;
}

std::string read_head(int socket) {
  std::string head;
  char c = 0;
  while (!head.ends_with("\r\n\r\n") && ::recv(socket, &c, 1, 0) == 1) head += c;
  return head;
}

}  // namespace

RawServer::RawServer(Answer answer)
    : answer_(std::move(answer)), listener_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t length = sizeof(address);
  sockaddr* const any = reinterpret_cast<sockaddr*>(&address);
  if (::bind(listener_.get(), any, length) != 0 || ::listen(listener_.get(), 16) != 0 ||
      ::getsockname(listener_.get(), any, &length) != 0) {
    std::abort();
  }
  port_ = ntohs(address.sin_port);
  thread_ = std::thread([this] { serve(); });
}

RawServer::~RawServer() {
  stopped_ = true;
  thread_.join();
}

std::string RawServer::url(std::string_view target, std::string_view host) const {
  return fmt::format("http://{}:{}{}", host, port_, target);
}

std::vector<Request> RawServer::requests() const {
  const std::lock_guard lock(mutex_);
  return requests_;
}

void RawServer::serve() {
  while (!stopped_) {
    pollfd ready{listener_.get(), POLLIN, 0};
    if (::poll(&ready, 1, 20) <= 0) continue;
    const Fd socket(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC));
    if (!socket.valid()) continue;
    const std::string head = read_head(socket.get());
    if (head.empty()) continue;
    Request request = parse(head);
    {
      const std::lock_guard lock(mutex_);
      request.number = static_cast<int>(requests_.size());
      requests_.push_back(request);
    }
    answer_(request, socket.get());
  }
}

bool send_all(int socket, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t count = ::send(socket, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (count <= 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(count));
  }
  return true;
}

void send_file(const Request& request, int socket, std::string_view file, std::size_t count,
               std::string_view entity_tag) {
  const std::size_t from = std::min<std::size_t>(request.range_from, file.size());
  const auto if_range = request.headers.find("if-range");
  const bool same = if_range == request.headers.end() || if_range->second == entity_tag;
  const bool part = request.headers.count("range") != 0 && same;
  const std::string_view body = file.substr(part ? from : 0);
  std::string head = part ? fmt::format("HTTP/1.1 206 Partial Content\r\nContent-Range: bytes {}-{}/{}\r\n", from,
                                        file.size() - 1, file.size())
                          : "HTTP/1.1 200 OK\r\n";
  head += fmt::format("Content-Length: {}\r\nETag: {}\r\n\r\n", body.size(), entity_tag);
  if (send_all(socket, head)) send_all(socket, body.substr(0, count));
}

}  // namespace capbench::models::testing
